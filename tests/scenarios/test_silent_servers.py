"""Silence is not zero: whatever a server leaves out of its count, a budget in USD comes to its end."""

import asyncio
import re
from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path

import pytest

from planck import Planck
from planck.agent.metered import Metered
from planck.agent.seat import Tariff
from planck.cli.main import main
from planck.cli.tell.figures import summarise
from planck.llm.provider import ProviderError, Request
from planck.llm.retry import Retrying
from planck.records.messages import AssistantMessage
from planck.records.outcome import ErrorKind
from planck.records.usage import Usage
from planck.testing import Say, ScriptedProvider
from tests.budgets import meter
from tests.command import WAIT
from tests.teams import facts
from tests.wire.known import KNOWN, Known, request
from tests.wire.memory import MemoryTransport
from tests.wire.samples import TEXT
from tests.wire.script import play

COUNT = re.compile(rb'("\w*(?:[tT]oken|eval_)\w*"): ?\d+')


class ByToken:
    """One cent for each token."""

    def cost_usd(self, usage: Usage) -> float:
        return usage.context_tokens / 100


class Free:
    def cost_usd(self, usage: Usage) -> float:
        return 0.0


ENDINGS: dict[str, Callable[[bytes], bytes]] = {
    "whole": lambda body: body,
    "no counts": lambda body: COUNT.sub(rb"\1:null", body),
    "counts of zero": lambda body: COUNT.sub(rb"\1:0", body),
    "odd counts": lambda body: COUNT.sub(rb'\1:["?"]', body),
    "nothing": lambda body: b"",
    "half an event": lambda body: body[:20],
    "cut in the middle": lambda body: COUNT.sub(rb"\1:null", body)[: len(body) // 2],
    "cut before the end": lambda body: body[: -len(body) // 8],
}


async def ask(known: Known, ending: str, stopped: str, tariff: Tariff) -> tuple[int, int]:
    """Asks until a budget of $1 is used up, at most 30 times; returns how often, and what was spent."""
    transport = MemoryTransport(play(known.server, [TEXT] * 30), alter=ENDINGS[ending])
    metered, accounts = meter(known.provider("http://here", transport), 1.0, tariff, max_output=20)
    spent = [0]
    for number in range(30):
        asked = request()
        try:
            with suppress(asyncio.CancelledError):
                await listen(metered, asked, stopped)
        except ProviderError as failure:
            if failure.err.kind is ErrorKind.BUDGET_EXCEEDED:
                return number, spent[-1]
        spent.append(accounts.run.spent.micro_usd or 0)
        assert accounts.run.held.micro_usd == 0
        assert spent[-1] > spent[-2] or isinstance(tariff, Free), "what left the machine costs something"
    return 30, spent[-1]


async def listen(metered: Metered, asked: Request, stopped: str) -> None:
    async with aclosing(metered.stream(asked)) as stream:
        async for _ in stream:
            if stopped == "left":
                return
            if stopped == "cancelled":
                raise asyncio.CancelledError


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("stopped", ["heard", "left", "cancelled"])
async def test_thirty_requests_under_a_dollar_stop(known: Known, ending: str, stopped: str) -> None:
    sent, spent = await ask(known, ending, stopped, ByToken())
    assert 1 <= sent < 30
    assert spent > 0


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
async def test_a_free_model_is_not_stopped(known: Known) -> None:
    assert await ask(known, "no counts", "heard", Free()) == (30, 0)


HALF = {
    "input": re.compile(
        rb'("(?:prompt_tokens|input_tokens|promptTokenCount|prompt_eval_count|cached_tokens'
        rb'|cache_(?:read|creation)_input_tokens|cachedContentTokenCount)"): ?\d+'
    ),
    "output": re.compile(
        rb'("(?:completion_tokens|output_tokens|candidatesTokenCount|thoughtsTokenCount|eval_count)"): ?\d+'
    ),
}
"""The counts of each side of an answer, as the six dialects name them."""


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
@pytest.mark.parametrize("silent", [(), ("input",), ("output",), ("input", "output")], ids="+".join)
async def test_without_a_budget_what_nobody_counted_is_a_marked_estimate_too(
    known: Known, silent: tuple[str, ...]
) -> None:
    def alter(body: bytes) -> bytes:
        for side in silent:
            body, found = HALF[side].subn(rb"\1:0", body)
            assert found, "the dialect has another name for it"
        return body

    transport = MemoryTransport(play(known.server, [TEXT]), alter=alter)
    asked = request()
    provider = Retrying(known.provider("http://here", transport), lambda: 0.0, retries=0)
    async with aclosing(provider.stream(asked)) as stream:
        (answer,) = [item async for item in stream if isinstance(item, AssistantMessage)]
    assert answer.usage.output_tokens > 0
    assert answer.usage.context_tokens > answer.usage.output_tokens
    assert asked.tally.answer() == bool(silent)


@pytest.mark.parametrize("price", [1.0, 0.0])
async def test_the_cost_of_an_answer_that_nobody_counted_is_not_known(tmp_path: Path, price: float) -> None:
    double = ScriptedProvider([Say(text="done", usage=Usage())])
    async with open_priced(tmp_path, double, price) as planck:
        session = await planck.start()
        async with asyncio.timeout(WAIT):
            result = await session.run("go")
    assert (result.status, result.cost_usd) == ("completed", None if price else 0.0)


async def test_a_request_that_was_interrupted_is_in_the_log_as_it_is_in_the_budget(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def hang(request: Request) -> Say:
        asked.set()
        await asyncio.Event().wait()
        return Say()

    async with open_priced(tmp_path, ScriptedProvider(hang), 1_000.0) as planck:
        session = await planck.start(max_budget_usd=100.0)
        await session.prompt("go")
        async with asyncio.timeout(WAIT):
            await asked.wait()
            session.interrupt()
            await session.settled()
        result = session.result(0)
        spent = [data for type, data in await facts(session) if type == "usage"]
    assert result.budget
    assert result.budget.held_usd == 0
    assert [one["outcome"] for one in spent] == ["cut"]
    assert spent[0]["cost_usd"] > 0
    assert spent[0]["cost_usd"] == pytest.approx(result.budget.spent_usd)


@pytest.mark.parametrize("counted", [True, False])
def test_every_amount_that_is_shown_is_marked_where_it_is_an_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], counted: bool
) -> None:
    async def work() -> str:
        said = Say(text="done", usage=Usage(10, 5) if counted else Usage())
        async with open_priced(tmp_path, ScriptedProvider([said]), 1_000.0) as planck:
            session = await planck.start(max_budget_usd=100.0)
            await session.run("go")
            capsys.readouterr()
            print(summarise(session.result(0)))
        return session.id

    id = asyncio.run(work())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLANCK_HOME", str(tmp_path / "home"))
    for command in ([], ["sessions", "list"], ["sessions", "show", id], ["stats"]):
        assert not command or main(command) == 0
        shown = capsys.readouterr().out
        marks = re.findall(r"(about |≈|)\$?\d+\.\d\d", shown)
        assert marks, shown
        assert all(marks) if not counted else not any(marks), shown


def open_priced(folder: Path, double: ScriptedProvider, price: float) -> Planck:
    model = {"id": "dear", "model": "m", "provider": "local", "max_output": 5}
    flags = {
        "models": [{**model, "price": {"input": price, "output": price}}],
        "default_model": "dear",
        "providers": {"local": {"type": "openai", "base_url": "http://127.0.0.1:9"}},
    }
    return Planck(folder / "home", folder, environ={}, flags=flags, providers={"local": double})
