"""A conversation on a real terminal: typed, pasted, steered, interrupted and asked."""

import asyncio
import re
import sys
from pathlib import Path

import pytest

from planck.records.visible import count_columns
from tests.command import FULL, WAIT, Bench, until
from tests.terminal import leave, on_terminal, talk
from tests.wire import chat
from tests.wire.chat import bash
from tests.wire.server import Asked, Reply, WireServer

TRACE = "Traceback (most recent call last):\n" + "".join(
    f'  File "a.py", line {n}, in f\n    call({n})\n' for n in range(20)
)


def echo(asked: Asked) -> Reply:
    return chat.text(f"heard {asked.json['messages'][-1]['content']!r}"[:60])


def said(server: WireServer) -> list[str]:
    """What the user said, in the newest request."""
    texts = [m["content"] for m in server.asked[-1].json["messages"] if m["role"] == "user"]
    return [text for text in texts if not text.startswith("[planck: ")]


@pytest.mark.parametrize("brackets", [True, False])
async def test_a_pasted_stack_trace_is_one_message(tmp_path: Path, brackets: bool) -> None:
    async with WireServer(echo) as server:
        run = await talk(Bench(tmp_path, server.url), *FULL)
        pasted = TRACE.replace("\n", "\r")
        run.type(f"\x1b[200~{pasted}\x1b[201~" if brackets else pasted.rstrip("\r"))
        await run.until_seen(lambda rows: any("[pasted 4" in row for row in rows))
        run.type(" why?\r")
        await run.until("Completed")
        await leave(run)
    (message,) = said(server)
    assert message.split() == f"{TRACE} why?".split()
    assert message.count("\n") >= 40


async def test_what_was_begun_before_a_question_steers_and_answers_nothing(tmp_path: Path) -> None:
    slow = "touch one && until [ -e gate ]; do sleep 0.01; done"
    async with WireServer([bash(slow), bash("touch two"), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await on_terminal("go", home=bench.home, work=bench.work, columns=200)
        at = await run.until("y once")
        run.type("y")
        await until(bench.work / "one")
        run.type("y")  # not entered yet
        await run.until_seen(lambda rows: "> y" in rows)
        (bench.work / "gate").touch()
        at = await run.until("touch two", at)
        at = await run.until("y once", at)
        run.type("\r")
        at = await run.until("orchestrator will read this at its next step.", at)
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
        await run.until("y once")
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


async def test_esc_ends_a_stream_says_so_and_leaves_the_input_as_it_is(tmp_path: Path) -> None:
    never = asyncio.Event()
    stream = chat.text("one\n\n", "two\n\n", "never seen\n\n")
    held = Reply([*stream.pieces[:3], never, *stream.pieces[3:]], stream.status, stream.headers)
    async with WireServer([held, chat.text("on")]) as server:
        run = await talk(Bench(tmp_path, server.url), *FULL)
        run.type("go\r")
        await run.until_seen(lambda rows: "two" in rows)
        run.type("and also")
        await run.until_seen(lambda rows: "> and also" in rows)
        run.type("\x1b")
        rows = await run.until_seen(
            lambda rows: any(
                row.startswith("Interrupted before the first response was complete · ") for row in rows
            )
        )
        assert "> and also" in rows
        run.type(" this\r")
        await run.until("Completed")
        await leave(run)
    assert said(server) == ["go", "and also this"]


async def test_lines_typed_before_the_input_is_there_are_in_it(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        run = await on_terminal(*FULL, home=bench.home, work=bench.work, typed="日本 typed ahead")
        await run.until_seen(lambda rows: "> 日本 typed ahead" in rows)
        run.type(" and on\n\r")
        await run.until("Completed")
        await leave(run)
    assert said(server) == ["日本 typed ahead and on"]
    assert "日本 typed ahead and on" in (bench.home / "history").read_text()


async def test_ctrl_z_gives_the_terminal_back_and_fg_goes_on(tmp_path: Path) -> None:
    """Below a real shell: it stops the job, has a terminal as it was, and brings the job back."""
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        shell = ("bash", "--norc", "--noprofile", "-i")
        run = await on_terminal(home=bench.home, work=bench.work, program=shell)
        run.type(f"PS1='shell$ '; {sys.executable} -m planck --permission-mode full\n")
        await run.until("? keys")
        run.type("half a thought")
        at = await run.until("half a thought", len(run.text))
        run.type("\x1a")
        at = await run.until("Stopped", at)
        at = await run.until("shell$ ", at)
        run.type("stty -a | tr ' ;' '\\n\\n' | grep -xc 'icanon\\|echo\\|icrnl\\|isig'; echo modes\n")
        at = await run.until("4\r\nmodes", at)
        run.type("fg\n")
        at = await run.until("> half a thought", at)
        run.type(" is whole\r")
        at = await run.until("Completed", at)
        run.type("\x1a")
        at = await run.until("shell$ ", at)
        run.type("bg\n")  # from there nothing is written
        at = await run.until("shell$ ", at)
        run.type("fg\n")
        at = await run.until("? keys", at)
        run.type("\x04")
        at = await run.until("shell$ ", at)
        run.type("exit\n")
        await run.end()
    assert said(server) == ["half a thought is whole"]


async def test_a_terminal_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    """The turn is ended in order, what was being written is in the history, and the process ends."""
    async with WireServer([bash("touch begun; sleep 600"), chat.text("never")]) as server:
        bench = Bench(tmp_path, server.url)
        run = await talk(bench, *FULL)
        run.type("go\r")
        await until(bench.work / "begun")
        run.type("half a thought")
        await run.until("half a thought")
        run.hang_up()
        async with asyncio.timeout(WAIT):
            await run.process.wait()
        shown = await bench.run("sessions", "list", "--json")
    assert "half a thought" in (bench.home / "history").read_text()
    assert '"state": "interrupted"' in shown.out.replace('":"', '": "')


async def test_keys_of_the_user_count_and_mistakes_in_them_are_told(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url, keys={"submit": "c-x", "newline": "enter", "tem": "c-y"})
        run = await talk(bench, *FULL)
        await run.until("keys: unknown action 'tem'. Did you mean team?")
        run.type("one")
        run.type("\r")
        await run.until_seen(lambda rows: "> one" in rows and "" in rows[rows.index("> one") :])
        run.type("two\x18")
        await run.until("Completed")
        await leave(run)
    assert said(server) == ["one\ntwo"]


@pytest.mark.parametrize("columns", [40, 80, 140])
async def test_wide_letters_and_long_lines_fit_any_width(tmp_path: Path, columns: int) -> None:
    text = "日本語の文を書く🙂" * 12
    async with WireServer(echo) as server:
        run = await talk(Bench(tmp_path, server.url), *FULL, columns=columns)
        run.type(text)
        await run.until_seen(lambda rows: text in "".join(row[2:] for row in rows))
        assert all(count_columns(row) < columns for row in run.seen)
        run.type("\r")
        await run.until("Completed")
        assert all(count_columns(row) <= columns for row in run.seen)
        await leave(run)
    assert said(server) == [text]


async def test_without_colours_nothing_is_coloured_and_all_is_there(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        run = await on_terminal(*FULL, home=bench.home, work=bench.work, env={"NO_COLOR": "1"})
        await run.until("? keys")
        run.type("hello\r")
        await run.until("Completed")
        await leave(run)
    assert not re.search(r"\x1b\[[0-9;]*m", run.text)
    assert "> hello" in run.seen


async def test_it_rings_when_it_is_done_unless_it_is_told_not_to(tmp_path: Path) -> None:
    for number, config in enumerate(({}, {"keys": {"bell": "off"}})):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with WireServer(echo) as server:
            bench = Bench(folder, server.url, **config)
            run = await talk(bench, *FULL)
            run.type("hello\r")
            await run.until("Completed")
            await leave(run)
        assert ("\x1b]9;planck: " in run.text) is (not config)
        assert ("\x07" in run.text) is (not config)
