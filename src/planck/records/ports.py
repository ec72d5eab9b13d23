"""The two ports that every layer may take: time and identity."""

from datetime import datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> str:
        """UTC as `2026-01-31T12:00:00.000Z`."""

    def monotonic(self) -> float: ...


class Ids(Protocol):
    def new(self) -> str:
        """16 lower-case hex digits, never the same twice in a process."""


def add_seconds(ts: str, seconds: float) -> str:
    """Moves a clock's time on."""
    moment = datetime.fromisoformat(ts) + timedelta(seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
