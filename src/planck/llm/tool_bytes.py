"""Tool specs in a dialect's shape, encoded once for as long as the set is the same object."""

from collections.abc import Callable, Sequence
from typing import Any

from planck.records import codec
from planck.records.specs import ToolSpec

_KEPT = 1024
"""Tool sets remembered: one for each agent that shares the provider."""


class ToolBytes:
    def __init__(self, shape: Callable[[ToolSpec], Any]) -> None:
        self._shape = shape
        self._known: dict[int, tuple[Sequence[ToolSpec], bytes]] = {}

    def of(self, specs: Sequence[ToolSpec]) -> bytes:
        known = self._known.get(id(specs))
        if known is not None and known[0] is specs:
            return known[1]
        encoded = codec.encode([self._shape(spec) for spec in specs])
        if isinstance(specs, tuple):  # what may change in place is not remembered
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[id(specs)] = (specs, encoded)
        return encoded
