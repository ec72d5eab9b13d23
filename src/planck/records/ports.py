"""The ports that every layer may take: time, identity, what is worked on next, what may not be written down.

Live the first three are a line each; a replay takes their answers from a log.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # a port brings nothing along
    from planck.records.events import Envelope
    from planck.records.outcome import Err


class Clock(Protocol):
    def now(self) -> str:
        """UTC as `2026-01-31T12:00:00.000Z`."""

    def monotonic(self) -> float: ...

    async def within(self, future: Any, seconds: float, key: str) -> bool:
        """Waits for a future of the loop, which goes on if the time is up: False.

        `key`: what the log knows it by.
        """


class Ids(Protocol):
    def new(self, cause: str = "") -> str:
        """16 lower-case hex digits, never the same twice in a process; `cause`: the id of what led to it."""


class Schedule(Protocol):
    """Of the mail that is ready, in order of arrival: what is worked on now."""

    def choose_opening(self, ready: "Sequence[Envelope]") -> "Envelope | None":
        """Returns what opens the next turn; None: nothing does yet."""

    def choose_joining(self, ready: "Sequence[Envelope]") -> "Sequence[Envelope]":
        """Returns what joins the running turn at its next step."""


class QuotaHold(Protocol):
    def settle(self, micro_usd: int, tokens: int) -> None:
        """Gives back what was held, and counts what it came to; the first time counts."""


class Quotas(Protocol):
    """What one user may spend with a provider in a day, over all sessions, processes and nodes."""

    def counts_usd(self, provider: str) -> bool:
        """Whether money is counted there: then the price of what is bought must be known."""

    async def hold(self, provider: str, micro_usd: int, tokens: int) -> "QuotaHold | Err | None":
        """Sets the worst case of a request aside for whoever else asks; None: there is no quota."""

    def close(self) -> None: ...


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
