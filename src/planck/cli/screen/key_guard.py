"""Decides whether a key at a question was typed by hand once it was seen: not held, pasted or typed ahead."""

from collections.abc import Collection
from enum import Enum, auto

from planck.cli.screen.keyboard import Stroke

REPEAT = 0.25
"""Seconds within which the same key again is one that is held down; nobody reads a question so fast."""
TYPING = 0.6
"""Seconds after which who was writing something has stopped."""
AT_ONCE = frozenset({"c-c", "c-d", "esc"})
"""Keys that only ever refuse: they count as soon as they come."""


class Verdict(Enum):
    ANSWER = auto()
    """It counts if nothing else comes within `REPEAT` seconds."""
    NOW = auto()
    """It counts already."""
    INPUT = auto()
    """It is for the input, and so is what `withdraw` gives."""
    NOTHING = auto()
    """A key that is held down."""


class KeyGuard:
    """Guards one question that is on the screen; `last` and `since`: the stroke before it, and its time."""

    def __init__(self, keys: Collection[str], last: str, since: float) -> None:
        self.keys: frozenset[str] = frozenset(keys)
        self._last = last
        self._since = since
        self.candidate: str = ""

    def judge(self, stroke: Stroke, now: float, *, writing: bool) -> Verdict:
        """`writing`: somebody writes a text in the input, and this stroke goes on with it."""
        held = stroke.key == self._last and now - self._since < REPEAT
        self._last, self._since = stroke.key, now
        if stroke.key in AT_ONCE and stroke.key in self.keys:
            self.candidate = stroke.key
            return Verdict.NOW
        if self.candidate and stroke.key == "enter":
            return Verdict.NOW
        if held and stroke.key in self.keys and not writing:
            self.candidate = ""
            return Verdict.NOTHING
        if stroke.key in self.keys and stroke.alone and not writing and not self.candidate:
            self.candidate = stroke.key
            return Verdict.ANSWER
        return Verdict.INPUT

    def withdraw(self) -> str:
        """The key that was no answer, because something came right behind it: it began a text."""
        candidate, self.candidate = self.candidate, ""
        return candidate
