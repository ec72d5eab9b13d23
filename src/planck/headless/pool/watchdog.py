"""Says when this node may no longer act: by a timer of its own, because a loop that hangs asks nobody."""

import threading
from collections.abc import Callable
from typing import Protocol

from planck.records.ports import Clock

_LOOK = 1.0
"""Seconds between two looks at the clock: a timer does not count the time for which the machine slept."""


class Watchdog(Protocol):
    """Calls `on_expiry` once the time that was granted last is over; a later grant winds it up again."""

    def grant(self, until: float) -> None:
        """From now on it expires at that moment of the node's clock."""

    def close(self) -> None: ...


class ThreadWatchdog:
    """A thread that sleeps until the moment: `on_expiry` runs in it, whatever the loop is at."""

    def __init__(self, clock: Clock, on_expiry: Callable[[], object]) -> None:
        self._clock = clock
        self._on_expiry = on_expiry
        self._until: float | None = None
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="planck-watchdog", daemon=True)
        self._thread.start()

    def grant(self, until: float) -> None:
        with self._changed:
            self._until = until
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                left = None if self._until is None else self._until - self._clock.monotonic()
                if left is None or left > 0:
                    self._changed.wait(left and min(left, _LOOK))
                    continue
                self._until = None
            self._on_expiry()
