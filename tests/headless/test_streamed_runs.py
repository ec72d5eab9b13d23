"""`session.stream`, cancelled runs and results, as a program that embeds Planck uses them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from planck import ErrorKind, Planck, PlanckError, tool
from planck.headless import OpenSession
from planck.records.events import Envelope, TurnEnd
from planck.records.outcome import Err
from planck.testing.scripted import ScriptedProvider
from tests.teams import ask

REFUSED = Err(ErrorKind.PROVIDER_HTTP_ERROR, "no such model", {"status": 400})


@asynccontextmanager
async def started(folder: Path, script: Any, **options: Any) -> AsyncIterator[OpenSession]:
    (folder / "work").mkdir()
    provider = ScriptedProvider(script)
    async with Planck(folder / "home", folder / "work", environ={}, providers={"double": provider}) as planck:
        yield await planck.start(model="double/m", mode="full", **options)


async def test_a_stream_has_every_event_of_its_run_and_ends_with_it(tmp_path: Path) -> None:
    async with started(tmp_path, [[("list_dir", {})], "done", "again"]) as session:
        for expected in ("done", "again"):
            before, seen = session.head, [event async for event in session.stream("go")]
            numbers = [event.seq for event in seen if event.seq]
            assert numbers == list(range(before + 1, session.head + 1))
            assert session.result(before).text == expected
            assert any(event.type == "text_delta" for event in seen)


async def test_a_stream_has_also_what_is_said_as_soon_as_it_begins(tmp_path: Path) -> None:
    """Nothing waits for a disk here, so that a run can be over before its reader is woken."""
    async with started(tmp_path, ["done"] * 100, stored=False) as session:
        for _ in range(100):
            assert "text_delta" in [event.type async for event in session.stream("go")]


async def test_a_slow_reader_of_a_stream_misses_nothing(tmp_path: Path) -> None:
    async with started(
        tmp_path, [*[[("list_dir", {"path": f"./{'/' * n}"})] for n in range(5)], "done"]
    ) as session:
        numbers = []
        async with aclosing(session.stream("go")) as events:
            async for event in events:
                await session.settled()  # the run is over before the first event is taken
                numbers.append(event.seq)
        before = min(number for number in numbers if number)
        assert [number for number in numbers if number] == list(range(before, session.head + 1))


async def test_a_stream_goes_on_after_the_turn_of_a_worker(tmp_path: Path) -> None:
    helper = ("spawn_agent", {"type": "h", "name": "helper", "description": "", "system_prompt": "Help."})
    lead = iter([[helper], [ask("helper")], "the lead's answer"])

    def script(request: Any) -> Any:
        return next(lead) if "spawn_agent" in {tool.name for tool in request.tools} else "the helper's answer"

    async with started(tmp_path, script) as session:
        ended = [event async for event in session.stream("go") if event.type == "turn_end"]
        assert len({event.agent_id for event in ended}) == 2
        assert ended[-1].agent_id == session.orchestrator.id


async def test_a_refused_prompt_is_raised_by_its_stream(tmp_path: Path) -> None:
    async with started(tmp_path, ["done"]) as session:
        with pytest.raises(PlanckError) as refused:
            [event async for event in session.stream("  ")]
        assert refused.value.err.kind is ErrorKind.NO_PROMPT


class Waiting:
    """A tool that waits until it is cancelled."""

    def __init__(self) -> None:
        self.began, self.ended = asyncio.Event(), asyncio.Event()
        self.tool = tool(name="wait")(self.wait)

    async def wait(self) -> str:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        return ""


def status_of(session: OpenSession) -> str:
    return str(session.result(0).status)


async def test_a_cancelled_run_has_ended_its_turn_and_its_tools(tmp_path: Path) -> None:
    waiting = Waiting()
    async with started(tmp_path, [[("wait", {})], "after"], tools=[waiting.tool]) as session:
        running = asyncio.ensure_future(session.run("go"))
        await waiting.began.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert waiting.ended.is_set()
        assert status_of(session) == "interrupted"
        assert (await session.run("and now")).text == "after"


async def test_runs_at_the_same_time_each_have_their_own_result(tmp_path: Path) -> None:
    async with started(tmp_path, ["one", [("list_dir", {})], "two"]) as session:
        first, second = await asyncio.gather(session.run("a"), session.run("b"))
        assert [(result.text, result.steps) for result in (first, second)] == [("one", 1), ("two", 2)]


async def test_a_cancelled_run_leaves_one_that_waits_behind_it_alone(tmp_path: Path) -> None:
    waiting = Waiting()
    async with started(tmp_path, [[("wait", {})], "after"], tools=[waiting.tool]) as session:
        first, second = asyncio.ensure_future(session.run("a")), asyncio.ensure_future(session.run("b"))
        await waiting.began.wait()
        first.cancel()
        assert (await second).text == "after"
        assert first.cancelled()


async def test_leaving_a_stream_early_ends_the_turn_and_its_tools(tmp_path: Path) -> None:
    waiting = Waiting()
    async with started(tmp_path, [[("wait", {})], "after"], tools=[waiting.tool]) as session:
        async with aclosing(session.stream("go")) as events:
            async for _ in events:
                if waiting.began.is_set():
                    break
        assert waiting.ended.is_set()
        assert status_of(session) == "interrupted"
        assert [event.type async for event in session.stream("and now")][-1] == "turn_end"


async def test_a_result_raises_its_first_error_and_shows_it(tmp_path: Path) -> None:
    async with started(tmp_path, [REFUSED, "fine"]) as session:
        failed, fine = await session.run("go"), await session.run("again")
        with pytest.raises(PlanckError) as raised:
            failed.raise_for_status()
        assert raised.value.err == REFUSED
        assert "provider_http_error: no such model" in repr(failed)
        assert (failed.ok, fine.ok) == (False, True)
        fine.raise_for_status()
        assert "text='fine'" in repr(fine)


async def test_an_interrupted_run_raises_that_it_was_interrupted(tmp_path: Path) -> None:
    waiting = Waiting()
    async with started(tmp_path, [[("wait", {})]], tools=[waiting.tool]) as session:
        running = asyncio.ensure_future(session.run("go"))
        await waiting.began.wait()
        session.interrupt()
        with pytest.raises(PlanckError) as raised:
            (await running).raise_for_status()
        assert raised.value.err.kind is ErrorKind.INTERRUPTED


async def test_two_streams_at_once_have_the_events_of_their_own_runs(tmp_path: Path) -> None:
    async with started(tmp_path, ["one", "two"]) as session:

        async def collect(prompt: str) -> list[str]:
            events = [event.view async for event in session.stream(prompt)]
            return [fact.text for fact in events if isinstance(fact, Envelope | TurnEnd)]

        assert tuple(await asyncio.gather(collect("a"), collect("b"))) == (["a", "one"], ["b", "two"])
