"""A trace of a real run: which functions of ours were entered, in which order, and which from below."""

import sys
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import planck
from tests.test_layers import ROW

ROOT = str(Path(planck.__file__).parent) + "/"

Hop = tuple[str, str]
"""A file below `src/planck`, and the function in it."""


class Trace:
    def __init__(self) -> None:
        self.hops: dict[Hop, int] = {}
        """By the order in which each was first entered."""
        self.upward: set[tuple[Hop, Hop]] = set()
        """Caller and callee, where the callee's row is above the caller's."""

    @property
    def files(self) -> set[str]:
        return {file for file, _ in self.hops}

    @contextmanager
    def running(self) -> Any:
        before = sys.getprofile()
        sys.setprofile(self._entered)
        try:
            yield self
        finally:
            sys.setprofile(before)

    def _entered(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or not (hop := _hop(frame)):
            return
        self.hops.setdefault(hop, len(self.hops))
        caller = _hop(frame.f_back) if frame.f_back else None
        if caller and _row(hop) > _row(caller):
            self.upward.add((caller, hop))


def _hop(frame: FrameType) -> Hop | None:
    code = frame.f_code
    return (code.co_filename[len(ROOT) :], code.co_qualname) if code.co_filename.startswith(ROOT) else None


def _row(hop: Hop) -> int:
    """The root and its `__main__` know nothing of rows: nothing is above them.

    `own_code` is loaded before all else and imports nothing of ours, so it is below every row.
    """
    if hop[0] == "own_code.py":
        return -1
    return ROW.get(hop[0].split("/")[0], len(ROW))
