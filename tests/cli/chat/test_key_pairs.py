"""Any two keys that open or close something, in one read: the conversation still takes lines afterwards."""

import asyncio
import random
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.cli.chat.test_every_key import conversation, enter
from tests.terminal import TerminalRun

_ESC = "\x1b[27u"
"""As terminals send it that tell it from the beginning of a sequence."""
KEYS = {
    "team": "\x14",
    "keys": "?",
    "output": "\x0f",
    "search": "\x12",
    "commands": "/",
    "files": "@",
    "editor": "\x07",
    "esc": _ESC,
    "rewind": _ESC + _ESC,
    "clear": "\x03",
}
"""What is typed. All of them open or close something."""
PAIRS = [(one, other) for one in KEYS for other in KEYS]
ENDS = ("Completed · ", "Interrupted · ")
_FRAME = "\x1b[?2026h"


_AT_ONCE = 4
"""Conversations: each waits for its frames most of the time."""


async def press_all(folder: Path, state: str, pairs: Sequence[tuple[str, str]]) -> None:
    """Presses each pair in that state of a conversation, and leaves what they opened."""
    async with asyncio.TaskGroup() as group:
        for number in range(_AT_ONCE):
            (own := folder / str(number)).mkdir()
            group.create_task(_press(own, state, pairs[number::_AT_ONCE]))


async def _press(folder: Path, state: str, pairs: Sequence[tuple[str, str]]) -> None:
    async with conversation(folder, "idle") as run:
        for number, pair in enumerate(pairs):
            # An editor has left a text. Esc first: a busy terminal may read this behind the Enter of the line
            # before it, and text directly behind an Enter is a paste of two lines.
            run.type(f"{_ESC}\x15")
            await enter(run, state)
            at = len(run.text)
            run.type("".join(KEYS[key] for key in pair))
            await leave_and_say(run, f"/none{number}", at, () if state == "idle" else ENDS)
        run.type("\x15\x04\x04")
        assert await run.end() == 0


async def leave_and_say(run: TerminalRun, line: str, at: int, ends: Collection[str]) -> None:
    """Esc and a line, until that is answered and the turn is over: each Esc leaves one of what is open."""
    said = f"Unknown command {line}"

    def is_done(text: str) -> bool:
        return said in text[at:] and (not ends or any(end in text[at:] for end in ends))

    for _ in range(40):
        typed = len(run.text)
        run.type(f"{_ESC}\x15{line}\r")
        await run.until_text(partial(_has_answered, typed, is_done), said, at)
        if is_done(run.text):
            return
    raise AssertionError(f"{line!r} was not answered: {run.text[at:]!r}")


def _has_answered(typed: int, is_done: Callable[[str], bool], text: str) -> bool:
    return is_done(text) or _FRAME in text[typed:]


async def test_two_keys_in_one_read_leave_a_conversation_that_answers(tmp_path: Path) -> None:
    await press_all(tmp_path, "idle", [pair for pair in PAIRS if pair != ("clear", "clear")])  # which exits


@pytest.mark.parametrize("state", ["running", "question"])
async def test_two_keys_while_agents_work_leave_a_conversation_that_answers(
    tmp_path: Path, state: str, seed: int
) -> None:
    """At a question each pair that has a Ctrl+C in it, else some. The first Esc or Ctrl+C ends the turn."""
    pairs = random.Random(seed).sample(PAIRS, 10)
    if state == "question":
        pairs = [pair for pair in PAIRS if "clear" in pair]
    await press_all(tmp_path, state, pairs)


@pytest.mark.soak
@pytest.mark.parametrize("state", ["running", "question"])
async def test_every_two_keys_while_agents_work_leave_a_conversation_that_answers(
    tmp_path: Path, state: str
) -> None:
    await press_all(tmp_path, state, PAIRS)
