"""`Inbox.next`: a program waits for a question."""

import asyncio
from pathlib import Path

from planck import Inbox
from tests.library.program import make_planck

WRITE = ("write", {"path": "a.txt", "content": "a"})


async def test_next_returns_a_question_that_waits_already_and_waits_for_one_that_comes(
    tmp_path: Path,
) -> None:
    inbox = Inbox()
    async with make_planck(tmp_path, [[WRITE], "done"], approver=inbox) as p:
        session = await p.start(mode="ask")
        coming = asyncio.ensure_future(inbox.next())
        await session.prompt("go")
        question = await coming
        assert await inbox.next(session.id) is question
        inbox.answer(question.id, question.digest, True)
        await session.settled()
    assert (tmp_path / "work/a.txt").exists()


async def test_next_of_a_session_leaves_out_the_questions_of_others(tmp_path: Path) -> None:
    inbox = Inbox()
    async with make_planck(tmp_path, [[WRITE], [WRITE], "done"], approver=inbox) as p:
        first, second = await p.start(mode="ask"), await p.start(mode="ask")
        await first.prompt("go")
        question = await inbox.next(first.id)
        await second.prompt("go")
        assert (await inbox.next(second.id)).session_id == second.id
        assert (await inbox.next()).id == question.id


async def test_a_program_that_stops_waiting_leaves_nothing_behind() -> None:
    inbox = Inbox()
    waiting = asyncio.ensure_future(inbox.next())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert inbox.pending() == ()
