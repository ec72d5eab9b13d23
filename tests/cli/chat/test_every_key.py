"""Each key of the page `?` does what that page says, in every state of a conversation, on a real terminal."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

import pytest

from planck.cli.screen.key_map import ACTIONS
from tests.command import Bench
from tests.terminal import TerminalRun, on_terminal
from tests.wire import chat
from tests.wire.chat import bash
from tests.wire.server import Asked, Reply, WireServer

SENT = {"enter": "\r", "tab": "\t", "esc": "\x1b", "s-tab": "\x1b[Z", "up": "\x1b[A", "down": "\x1b[B"}
SENT |= {"a-enter": "\x1b\r", "s-enter": "\x1b[13;2u", "?": "?"}
SENT |= {f"c-{letter}": chr(ord(letter) - 96) for letter in "cdgjlnoprt"}
STATES = {"idle": ("", "? keys"), "running": ("wait", "until test -e go"), "question": ("ask", "n e o")}
"""By state: what is said to get there, and what is seen then."""
CLEAR, CLOSE = (("\x03", "\x1b[2K> "),), (("q", "\x1b[?1049l"),)


class Case(NamedTuple):
    typed: str
    """Before the key."""
    seen: str
    """After it."""
    then: tuple[tuple[str, str], ...] = ()
    """What leads back to an empty input, and what is seen of that."""
    ends: bool = False
    """Whether the state is over."""
    shown: str = ""
    """What is seen of what was typed, where that is not the text itself."""


CASES: dict[str, dict[str, Case]] = {
    "older": {"": Case("", "> draft", CLEAR)},
    "newer": {"": Case("now\x1b[A", "> now", (("\x15", "> \r"),), shown="> draft")},
    "newline": {"": Case("up", "\r\x1b[2C", CLEAR)},
    "queue": {
        "idle": Case("/statu", "> /status ", CLEAR, shown="Show the session"),
        "": Case("later", "queued: later", (("\x1b[A", "> later"), *CLEAR)),
    },
    "search": {"": Case("", "search:", (("\x1b", ""),))},
    "output": {"": Case("", "Output, newest ", CLOSE)},
    "team": {"": Case("", "Team", CLOSE)},
    "editor": {"": Case("edited by", "> edited by hand", CLEAR)},
    "redraw": {"": Case("draft", "> draft", CLEAR)},
    "keys": {"": Case("", "Keys (/help", CLOSE)},
    "interrupt": {
        "idle": Case("", "Press Esc again to rewind"),
        "running": Case("", "Interrupted · ", ends=True),
        "question": Case("", "denied by you", (("", "Completed · "),), ends=True),
    },
    "clear": {
        "idle": Case("", "Press Ctrl+C again to exit"),
        "": Case("", "Interrupted · ", ends=True),
    },
    "submit": {"idle": Case("one", "heard: one"), "": Case("one", "will read this")},
    "mode": {"": Case("", " · \x1b[0m\x1b[1m")},
    "exit": {
        "question": Case("", "denied by you", (("", "Completed · "),), ends=True),
        "running": Case(
            "",
            "Press Ctrl+D again to exit; it ends the turn",
            (("\x04", "Resume with: planck -r"),),
            ends=True,
        ),
        "": Case("", "Resume with: planck -r", ends=True),
    },
}
"""By action, then by state; the empty state stands for the others."""


def answer(asked: Asked) -> Reply:
    last = asked.json["messages"][-1]
    if last["role"] == "tool":
        return chat.text("counted")
    said = str(last["content"])
    if said in ("count", "wait"):
        return bash("seq 100" if said == "count" else "until test -e go; do sleep 0.02; done")
    return bash("touch ran") if said == "ask" else chat.text(f"heard: {said}")


@asynccontextmanager
async def conversation(folder: Path, state: str) -> AsyncIterator[TerminalRun]:
    """In that state; there is a folded output, and the last input of the history is `draft`."""
    editor = folder / "editor"
    editor.write_text('#!/bin/sh\nprintf " hand" >> "$1"\n')
    editor.chmod(0o755)
    async with WireServer(answer) as server:
        bench = Bench(folder, server.url)
        env = {"VISUAL": str(editor)}
        run = await on_terminal(home=bench.home, work=bench.work, columns=100, env=env)
        await run.until("Completed · ", await type_and_see(run, "count\r", "counted"))
        await enter(run, state)
        for typed, seen in (("draft", "> draft"), *CLEAR):
            await type_and_see(run, typed, seen)
        try:
            yield run
        finally:
            if run.process.returncode is None:
                run.process.kill()
                await run.end()


async def type_and_see(run: TerminalRun, typed: str, seen: str) -> int:
    at = len(run.text)
    run.type(typed)
    return await run.until(seen, at)


async def enter(run: TerminalRun, state: str) -> None:
    said, seen = STATES[state]
    if said:
        await type_and_see(run, f"{said}\r", seen)


def test_every_action_of_the_page_is_pressed_here_but_suspend() -> None:
    """Ctrl+Z is pressed in test_screen, which has a shell for it to come back to."""
    assert {*CASES, "suspend"} == set(ACTIONS)
    assert {key for action in CASES for key in ACTIONS[action][0]} == set(SENT)


@pytest.mark.parametrize("state", STATES)
async def test_each_key_does_what_the_page_says(tmp_path: Path, state: str) -> None:
    async with conversation(tmp_path, state) as run:
        # In another mode nothing would be asked again.
        for action in sorted(CASES, key=lambda action: action == "mode" and state == "question"):
            case = CASES[action].get(state) or CASES[action][""]
            for key in ACTIONS[action][0]:
                if case.typed:
                    await type_and_see(run, case.typed, case.shown or f"> {case.typed}")
                at = await type_and_see(run, SENT[key], case.seen)
                for typed, seen in case.then:
                    at = len(run.text) if typed else at
                    run.type(typed)
                    at = await run.until(seen, at)
                if case.ends and (action != "exit" or state == "question"):
                    await enter(run, state)
        if state != "question":
            assert await run.end() == 0


PAGES = {"\x14": "Team", "?": "Keys (/help", "\x0f": "Output, newest "}
"""By what is typed: the title of the page that it opens. All of them work in every state."""
TRIPLES = [("\x14", "?", "\x0f"), ("?", "\x14", "?"), ("\x0f", "\x0f", "\x14"), ("\x14", "\x14", "\x14")]


@pytest.mark.parametrize("state", STATES)
async def test_pages_that_one_read_opens_are_left_one_by_one(tmp_path: Path, state: str) -> None:
    """Each pair of keys in each order, the same twice, and some triples; then lines are taken as before."""
    async with conversation(tmp_path, state) as run:
        for number, keys in enumerate([*product(PAGES, repeat=2), *TRIPLES]):
            at = len(run.text)
            run.type("".join(keys))
            for key, following in pairwise((*keys, "")):
                at = await run.until(PAGES[key], at)
                at = len(run.text)
                run.type("q")
                if key == following or not following:  # else it may stand behind this one
                    at = await run.until("\x1b[?1049l", at)
            await type_and_see(run, f"/none{number}\r", f"Unknown command /none{number}")


@pytest.mark.parametrize("keys", [("\x07", "\x07"), ("\x07", "\x14"), ("\x14", "\x07"), ("\x0f", "\x07")])
async def test_an_editor_that_is_opened_with_something_else_leaves_the_terminal_whole(
    tmp_path: Path, keys: tuple[str, str]
) -> None:
    async with conversation(tmp_path, "idle") as run:
        await type_and_see(run, "edited by", "> edited by")
        at = len(run.text)
        run.type("".join(keys))
        for title in (PAGES[key] for key in keys if key in PAGES):
            at = await run.until(title, at)
            await type_and_see(run, "q", "\x1b[?1049l")
        await run.until("> edited by hand", at if "\x07" == keys[-1] == keys[0] else 0)
        assert run.text.count(" hand hand") == 0
        run.type("\x03")
        await type_and_see(run, "/none\r", "Unknown command /none")


async def test_keys_that_the_user_changed_work_and_are_the_ones_that_hints_name(tmp_path: Path) -> None:
    chosen = {"team": "a-q", "interrupt": "c-x", "clear": "c-y", "older": "a-o"}
    async with WireServer(answer) as server:
        bench = Bench(tmp_path, server.url, keys=chosen)
        run = await on_terminal(home=bench.home, work=bench.work, columns=100)
        at = await run.until("? keys")
        await type_and_see(run, "\x1bq", "Team")
        await type_and_see(run, *CLOSE[0])
        await type_and_see(run, "\x18", "Press Ctrl+X again to rewind")
        await type_and_see(run, "\x19", "Press Ctrl+Y again to exit")
        await type_and_see(run, "wait\r", "until test -e go")
        await type_and_see(run, "later\t", "queued: later")
        await type_and_see(run, "\x1bo", "No longer queued: Tab queues it again, Ctrl+Y removes it")
        await type_and_see(run, "\x19", "\x1b[2K> ")
        at = await type_and_see(run, "\x18", "Interrupted · ")
        run.type("\x04")
        await run.until("Resume with: planck -r", at)
        assert await run.end() == 0
