"""A program cancels a run: nothing of it goes on, and nothing of it comes back with the next one."""

import asyncio
from pathlib import Path

import pytest

from planck.records.messages import UserMessage
from planck.testing import ScriptedProvider
from tests.library.program import make_planck


@pytest.mark.parametrize("steps", range(12))
async def test_the_next_run_does_not_do_what_a_cancelled_one_was_told(tmp_path: Path, steps: int) -> None:
    """`steps` of the loop: before the prompt is in the log, while it is written, and after."""
    provider = ScriptedProvider(["well"] * 2)
    async with make_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.start()
        running = asyncio.ensure_future(session.run("delete it all"))
        for _ in range(steps):
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        before = len(provider.asked)
        result = await session.run("say hello")
        assert result.steps == 1
        [asked] = provider.asked[before:]
        assert [one.text for one in asked.messages if isinstance(one, UserMessage)][-1] == "say hello"


async def test_a_stream_that_is_left_before_its_turn_begins_is_not_done_later(tmp_path: Path) -> None:
    from contextlib import aclosing

    provider = ScriptedProvider(["well"])
    async with make_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.start()
        async with aclosing(session.stream("delete it all")) as events:
            assert (await anext(events)).type == "message"
        assert (await session.run("say hello")).steps == 1
        assert len(provider.asked) == 1


async def test_a_prompt_that_was_sent_beside_a_cancelled_run_stays(tmp_path: Path) -> None:
    provider = ScriptedProvider(["well"] * 2)
    async with make_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.start()
        running = asyncio.ensure_future(session.run("delete it all"))
        await asyncio.sleep(0)
        await session.prompt("list the files")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await session.run("say hello")
        texts = [one.text for one in provider.asked[-1].messages if isinstance(one, UserMessage)]
        assert "list the files" in texts
        assert "say hello" in texts
