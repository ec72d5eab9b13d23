"""The ports that every layer may take: time, identity, and what may not be written down."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> str:
        """UTC as `2026-01-31T12:00:00.000Z`."""

    def monotonic(self) -> float: ...


class Ids(Protocol):
    def new(self) -> str:
        """16 lower-case hex digits, never the same twice in a process."""


class Keys(Protocol):
    """The keys that are known by now."""

    def split_bytes(self, data: bytes) -> tuple[bytes, bytes]:
        """Returns what may be kept of data that goes on, keys marked, and the end that may begin one."""


KnownKeys = Callable[[], Keys]
"""Asked anew each time: a key may become known while a command runs."""


def add_seconds(ts: str, seconds: float) -> str:
    """Moves a clock's time on."""
    moment = datetime.fromisoformat(ts) + timedelta(seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
