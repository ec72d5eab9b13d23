"""The screen by itself, on a real terminal: pages in front of it, a terminal that stands still."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.command import WAIT, until
from tests.terminal import TerminalRun, leave, on_terminal

STAGE = (sys.executable, str(Path(__file__).parent / "stage.py"))


async def stage(tmp_path: Path, typed: str = "") -> TerminalRun:
    run = await on_terminal(home=tmp_path, work=tmp_path, program=STAGE, typed=typed)
    await run.until("ready")
    return run


async def test_a_page_stands_in_front_and_what_is_said_meanwhile_comes_behind_it(tmp_path: Path) -> None:
    run = await stage(tmp_path)
    run.type("overlay\r")
    at = await run.until("\x1b[?1049h")
    at = await run.until("page of 79 x 40", at)
    run.type("x")
    at = await run.until("key x", at)
    run.type("y\x1b")
    at = await run.until("\x1b[?1049l", at)
    at = await run.until("said behind it", at)
    run.type("on\r")
    await run.until("said 'on' False", at)
    await leave(run)
    before, _, rest = run.text.partition("\x1b[?1049h")
    page, _, behind = rest.partition("\x1b[?1049l")
    assert "said behind it" not in before + page
    assert behind.count("said behind it") == 1


@pytest.mark.parametrize("typed", ["\x1bon\r", "\x1b\x1b[200~on\x1b[201~\r", "\x1b\x1bon\r", "z\x1bon\r"])
async def test_what_is_typed_right_behind_the_key_that_leaves_a_page_is_the_input_s(
    tmp_path: Path, typed: str
) -> None:
    run = await stage(tmp_path)
    run.type("overlay\r")
    at = await run.until("page of 79 x 40")
    if typed[0] == "z":
        run.type("x")  # this page waits for a key more
        at = await run.until("key x", at)
    run.type(typed)
    at = await run.until("\x1b[?1049l", at)
    await run.until("said 'on' False", at)
    await leave(run)


async def test_nothing_that_is_printed_acts_on_the_terminal_but_its_colours(tmp_path: Path) -> None:
    run = await stage(tmp_path)
    run.type("stray\r")
    await run.until("\x1b[31mred\x1b[0m")
    await leave(run)
    assert "with  and  and red" in run.seen  # and `picture` knows no other sequence


async def test_a_terminal_that_takes_nothing_holds_nobody_up(tmp_path: Path) -> None:
    run = await stage(tmp_path)
    run.pause()
    run.type("flood\r")
    await until(tmp_path / "alive")
    run.go_on()
    await run.until("line 4999 of the flood")
    await leave(run)
    assert [row for row in run.seen if "of the flood" in row] == [
        f"line {n} of the flood" for n in range(5_000)
    ]


async def test_what_a_vanished_terminal_was_asked_is_answered_with_nothing(tmp_path: Path) -> None:
    run = await stage(tmp_path)
    run.type("ask\r")
    await run.until("sure? y n")
    run.hang_up()
    async with asyncio.timeout(WAIT):
        await run.process.wait()
