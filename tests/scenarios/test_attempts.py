"""Every attempt at a model call is a fact of its own: as the server counted it, else as a marked estimate."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.llm.provider import Item, ProviderError, Request
from planck.llm.retry import Retrying
from planck.records.events import TextDelta, UsageDelta
from planck.records.messages import AssistantMessage, StopReason, Text
from planck.records.outcome import ErrorKind
from planck.records.usage import Usage
from tests.budgets import meter
from tests.command import WAIT
from tests.teams import facts
from tests.wire.known import request

COUNTED = Usage(100, 7)


class ByToken:
    """One cent for each token."""

    def cost_usd(self, usage: Usage) -> float:
        return usage.context_tokens / 100


class Breaking:
    """Does one thing of a list at each attempt."""

    def __init__(self, *ways: str) -> None:
        self._ways = [*ways]
        self.stalled = asyncio.Event()

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        way = self._ways.pop(0)
        if way == "answers":
            yield AssistantMessage((Text("there"),), "x", "m", StopReason.END, Usage(200, 20))
            return
        if way == "connects":
            request.tally.unsent = True
            self.stalled.set()
            await asyncio.Event().wait()
        if way == "is refused":
            raise ProviderError(ErrorKind.OVERLOADED, "busy")
        if way != "is silent":
            yield TextDelta(text="half an answer")
        if way == "counts":
            yield UsageDelta(usage=COUNTED)
        if way == "stalls":
            self.stalled.set()
            await asyncio.Event().wait()
        raise ProviderError(ErrorKind.STREAM_CUT, "cut")


def open_priced(folder: Path, double: Breaking) -> Planck:
    model = {"id": "dear", "model": "m", "provider": "local", "max_output": 5}
    flags = {
        "models": [{**model, "price": {"input": 1.0, "output": 1.0}}],
        "default_model": "dear",
        "providers": {"local": {"type": "openai", "base_url": "http://127.0.0.1:9"}},
    }
    provider = Retrying(double, lambda: -1.0)
    return Planck(folder / "home", folder, environ={}, flags=flags, providers={"local": provider})


ENDS: dict[str, list[bool]] = {"counts": [False], "writes": [True], "is silent": [True], "is refused": []}
"""By how an attempt ends: whether each of its facts is an estimate."""


@pytest.mark.parametrize("way", ENDS)
async def test_each_attempt_is_a_fact_and_an_estimate_says_so(tmp_path: Path, way: str) -> None:
    async with open_priced(tmp_path, Breaking(way, way, "answers")) as planck:
        session = await planck.start()
        result = await session.run("go")
        *cut, answered = await list_usage(session)
        await session.aclose()
        stats = planck.archive.stats(None)
    marks = [one.get("estimated", False) for one in cut]
    assert marks == ENDS[way] * 2
    assert all(one["outcome"] == "cut" and one["cost_usd"] > 0 for one in cut)
    assert answered["usage"]["input_tokens"] == 200
    assert "estimated" not in answered
    assert result.cost_usd == pytest.approx(sum(one["cost_usd"] for one in (*cut, answered)))
    assert (result.estimated or 0, result.agents[0].estimated) == (sum(marks), sum(marks))
    assert (stats.all.calls, stats.all.estimated) == (len(marks) + 1, sum(marks))
    assert stats.all.cost_usd == pytest.approx(result.cost_usd)


@pytest.mark.parametrize("way", ENDS)
async def test_what_is_recorded_of_attempts_is_what_the_budget_counts(way: str) -> None:
    metered, accounts = meter(Breaking(way, way, "answers"), 100.0, ByToken(), max_output=5)
    asked = request()
    async with aclosing(Retrying(metered, lambda: -1.0).stream(asked)) as stream:
        items = [item async for item in stream]
    _, cut = asked.tally.take()
    assert isinstance(items[-1], AssistantMessage)
    assert [one.estimated for one in cut] == ENDS[way] * 2
    used = sum(one.usage.context_tokens for one in cut) + items[-1].usage.context_tokens
    assert accounts.run.spent.tokens == used


@pytest.mark.parametrize("under_budget", [True, False])
async def test_a_request_that_was_not_sent_costs_nothing(under_budget: bool) -> None:
    double = Breaking("connects")
    metered, accounts = meter(double, 100.0, ByToken(), max_output=5)
    asked = request()

    async def ask() -> None:
        async with aclosing(
            Retrying(metered if under_budget else double, lambda: -1.0).stream(asked)
        ) as stream:
            async for _ in stream:
                pass

    async with asyncio.timeout(WAIT):
        task = asyncio.ensure_future(ask())
        await double.stalled.wait()
        task.cancel()
        await asyncio.wait({task})
    assert asked.tally.empty
    assert (accounts.run.spent.tokens, accounts.run.held.tokens) == (0, 0)


async def test_an_interrupted_turn_counts_once_and_a_resume_does_not_count_it_again(tmp_path: Path) -> None:
    double = Breaking("stalls", "answers")
    async with open_priced(tmp_path, double) as planck:
        session = await planck.start()
        await session.prompt("go")
        async with asyncio.timeout(WAIT):
            await double.stalled.wait()
            session.interrupt()
            await session.settled()
        (cut,) = await list_usage(session)
        assert cut["estimated"] is True
        assert cut["cost_usd"] > 0
        await session.aclose()
        again = await planck.resume(session.id)
        report = again.costs()
        await again.aclose()
    assert (report.calls, report.estimated) == (1, 1)
    assert report.cost_usd == pytest.approx(cut["cost_usd"])


async def list_usage(session: Any) -> list[dict[str, Any]]:
    return [data for type, data in await facts(session) if type == "usage"]
