"""Approvals that outlive the process: a question is stored, and answered from another one."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from planck.headless import Inbox
from planck.records import codec
from planck.records.approval import Question
from tests.library.program import make_planck, results

WRITE = ("write", {"path": "a.txt", "content": "a"})


async def ask_and_suspend(folder: Path, script: Any) -> tuple[str, str, str]:
    """Returns what a program stores: the ids of the session and of the question, and what was asked."""
    inbox = Inbox()
    async with make_planck(folder, script, approver=inbox) as p:
        session = await p.start(mode="ask")
        await session.prompt("go")
        question = await inbox.next(session.id)
        await session.suspend()
        assert inbox.pending() == ()
    return session.id, question.id, question.digest


async def answer(folder: Path, stored: tuple[str, str, str], allow: bool, script: Any) -> list[str]:
    inbox = Inbox()
    async with make_planck(folder, script, approver=inbox) as p:
        session = await p.resume(stored[0])
        assert session.asks_again
        running = asyncio.ensure_future(session.go_on())
        question = await inbox.next(session.id)
        assert (question.id, question.digest) == stored[1:]
        assert inbox.answer(question.id, question.digest, allow) is None
        result = await running
        assert result.text == "done"
        return results(session)


async def test_a_suspended_question_is_allowed_from_another_process(tmp_path: Path) -> None:
    stored = await ask_and_suspend(tmp_path, [[WRITE]])
    assert not (tmp_path / "work/a.txt").exists()
    assert len(await answer(tmp_path, stored, True, ["done"])) == 1
    assert (tmp_path / "work/a.txt").read_text() == "a"


async def test_a_suspended_question_is_denied_from_another_process(tmp_path: Path) -> None:
    stored = await ask_and_suspend(tmp_path, [[WRITE]])
    [output] = await answer(tmp_path, stored, False, ["done"])
    assert output.startswith("permission_denied")
    assert not (tmp_path / "work/a.txt").exists()


async def test_a_question_can_be_suspended_many_times(tmp_path: Path) -> None:
    stored = await ask_and_suspend(tmp_path, [[WRITE]])
    for _ in range(3):
        inbox = Inbox()
        async with make_planck(tmp_path, [], approver=inbox) as p:
            session = await p.resume(stored[0])
            question = await inbox.next(session.id)
            assert (question.id, question.digest) == stored[1:]
            await session.suspend()
    await answer(tmp_path, stored, True, ["done"])
    assert (tmp_path / "work/a.txt").exists()


async def test_a_question_is_stored_as_plain_data(tmp_path: Path) -> None:
    inbox = Inbox()
    async with make_planck(tmp_path, [[WRITE]], approver=inbox) as p:
        session = await p.start(mode="ask")
        await session.prompt("go")
        question = await inbox.next(session.id)
        plain = msgspec.to_builtins(question)
        assert codec.decode_as(codec.encode(plain), Question).digest == question.digest
        await session.suspend()


async def test_a_turn_that_does_not_wait_for_the_user_ends_with_the_suspension(tmp_path: Path) -> None:
    stalled = asyncio.Event()
    from planck.testing import Say

    async with make_planck(tmp_path, [Say(text="x", wait=stalled), "later"]) as p:
        session = await p.start(name="mine")
        await session.prompt("go")
        async for event in session.events():
            if event.type == "text_delta":
                break
        await session.suspend()
        session = await p.resume("mine")
        ends = [event for event in session.recorded() if event.type == "turn_end"]
        assert len(ends) == 1
        assert not session.asks_again
        assert (await session.run("again")).text == "later"


PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from planck import Planck
from planck.headless import Inbox
from planck.testing import ScriptedProvider

async def main(folder, session_id, question_id, digest):
    inbox = Inbox()
    provider = ScriptedProvider(["done"])
    async with Planck(
        folder / "home", folder / "work", environ={}, approver=inbox, providers={"double": provider}
    ) as p:
        session = await p.resume(session_id)
        running = asyncio.ensure_future(session.go_on())
        await inbox.next()
        inbox.answer(question_id, digest, True)
        print((await running).text)

asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
"""


async def test_another_process_really_answers(tmp_path: Path) -> None:
    stored = await ask_and_suspend(tmp_path, [[WRITE]])
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, str(tmp_path), *stored), stdout=subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert out == b"done\n"
    assert (tmp_path / "work/a.txt").read_text() == "a"
