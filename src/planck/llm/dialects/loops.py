"""A model that says the same thing again and again: small ones do, and then only the window ends them."""

from collections.abc import Iterable

from planck.llm.provider import Item
from planck.records.events import TextDelta

_LEAST = 2_048
"""Bytes of nothing but repeats before an answer is ended, in a tiny window; else half its tokens."""
_PERIOD = 1_024
"""Bytes of what is said again, at most."""
_NEEDLE = 24
_BETWEEN = 512
"""Bytes between two looks."""


class Loop:
    """Hears the text of one answer, and keeps as much of it as a loop must have."""

    def __init__(self, window: int) -> None:
        self._span = max(window // 2, _LEAST)
        self._tail = bytearray()
        self._next = self._span
        self.repeated: str = ""
        """What is said again and again, once that is known."""

    def hear(self, items: Iterable[Item]) -> bool:
        """True from the moment that the answer goes in circles."""
        for item in items:
            if isinstance(item, TextDelta):
                self._tail += item.text.encode("utf-8", "replace")
        if len(self._tail) >= self._next:
            del self._tail[: -self._span]
            self._next = self._span + _BETWEEN
            self.repeated = self._find()
        return bool(self.repeated)

    def _find(self) -> str:
        """Rules, rows of zeros and blanks are drawn on purpose: only what has a letter in it counts."""
        tail = bytes(self._tail)
        before = tail.rfind(tail[-_NEEDLE:], 0, -1)
        period = len(tail) - _NEEDLE - before
        if before < 0 or period > _PERIOD or tail[period:] != tail[:-period]:
            return ""
        said = tail[-period:].decode("utf-8", "ignore")
        return said if any(map(str.isalpha, said)) else ""
