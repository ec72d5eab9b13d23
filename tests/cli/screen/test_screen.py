"""A conversation on a real terminal: typed, pasted, steered, interrupted and asked."""

from pathlib import Path

import pytest

from tests.command import Bench, until
from tests.terminal import TerminalRun, on_terminal
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

pytestmark = pytest.mark.serial

FULL = ("--permission-mode", "full")
TRACE = "Traceback (most recent call last):\n" + "".join(
    f'  File "a.py", line {n}, in f\n    call({n})\n' for n in range(20)
)


def echo(asked: Asked) -> Reply:
    return chat.text(f"heard {asked.json['messages'][-1]['content']!r}"[:60])


def bash(command: str) -> Reply:
    return chat.calls(("bash", {"command": command}))


def said(server: WireServer) -> list[str]:
    """What the user said, in the newest request."""
    return [m["content"] for m in server.asked[-1].json["messages"] if m["role"] == "user"]


async def talk(bench: Bench, *args: str, columns: int = 80) -> TerminalRun:
    run = await on_terminal(*args, home=bench.home, work=bench.work, columns=columns)
    await run.until("? keys")
    return run


async def leave(run: TerminalRun) -> None:
    run.type("\x04")
    assert await run.end() == 0


@pytest.mark.parametrize("brackets", [True, False])
async def test_a_pasted_stack_trace_is_one_message(tmp_path: Path, brackets: bool) -> None:
    async with WireServer(echo) as server:
        run = await talk(Bench(tmp_path, server.url), *FULL)
        pasted = TRACE.replace("\n", "\r")
        run.type(f"\x1b[200~{pasted}\x1b[201~" if brackets else pasted.rstrip("\r"))
        await run.until_seen(lambda rows: any("[pasted 4" in row for row in rows))
        run.type(" why?\r")
        await run.until("completed")
        await leave(run)
    (message,) = said(server)
    assert message.split() == f"{TRACE} why?".split()
    assert message.count("\n") >= 40


async def test_what_was_begun_before_a_question_steers_and_answers_nothing(tmp_path: Path) -> None:
    slow = "touch one && until [ -e ../gate/open ]; do sleep 0.01; done"
    (tmp_path / "gate").mkdir()
    async with WireServer([bash(slow), bash("touch two"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await on_terminal("go", home=bench.home, work=bench.work, columns=200)
        at = await run.until("y: yes, once")
        run.type("y")
        await until(bench.work / "one")
        run.type("y")  # not entered yet
        await run.until_seen(lambda rows: "> y" in rows)
        (tmp_path / "gate" / "open").touch()
        at = await run.until("    touch two", at)
        at = await run.until("y: yes, once", at)
        run.type("\r")
        at = await run.until("it will see that at its next step", at)
        run.type("n")
        await run.until("done", at)
        await leave(run)
    assert not (bench.work / "two").exists()


HELD_BACK = (
    "\x1b[200~y\x1b[201~",
    "\x1b[200~look at this:\ry\rs\ra\r\x1b[201~",
    "y\ry\r",
    "look at this:\ry\r",
    "y\rand then",
    "yes",
    "\r",
)


async def test_nothing_but_one_key_typed_by_hand_answers_a_question(tmp_path: Path) -> None:
    async with WireServer([bash("touch ran"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await on_terminal("go", home=bench.home, work=bench.work, columns=200)
        await run.until("y: yes, once")
        for number, typed in enumerate(HELD_BACK):
            run.type(typed)
            run.type(f"\x1b[200~end {number}\x1b[201~")  # seen once all before it was taken
            await run.until(f"end {number}")
            run.type("\x03")
            await run.until_seen(lambda rows: rows[-2] == ">")
        run.type("n")
        await run.until("done")
        await leave(run)
    assert not (bench.work / "ran").exists()
    assert "permissions" not in (bench.home / "config.json").read_text()
    assert "the user said no" in str(server.asked[-1].json["messages"])
