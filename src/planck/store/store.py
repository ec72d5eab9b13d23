"""Where a session's events live. One contract suite runs over every implementation."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from planck.records.events import Draft, Event
from planck.records.outcome import Err, PlanckError

Committed = Callable[[Sequence[Event]], None]


class StoreError(PlanckError):
    """The log can't be read or written; the kind says which."""


class Store(Protocol):
    async def append(self, drafts: Sequence[Draft]) -> list[Event]:
        """Number and commit the batch, all or nothing; returns once it survives the death of the process.

        A batch handed in is committed even if the caller is cancelled meanwhile; a failure to do so stands in
        the place of the cancellation.
        """

    async def barrier(self) -> None:
        """Returns once everything appended so far survives a power cut."""

    def read(self, after: int = 0, *, agent_id: str | None = None) -> Iterator[Event]:
        """Committed events with a larger seq, oldest first; damage ends it with `corrupt_log_line`."""

    def read_back(self, before: int | None = None, limit: int = 512) -> list[Event]:
        """The page of events that ends just before that seq (default: the newest), oldest first."""

    async def keep(self, blob: bytes) -> str:
        """Store bytes that an event will refer to by the name returned; the same bytes are stored once."""

    def blob(self, name: str) -> bytes:
        """The bytes of that name; `resource_missing` where they are gone or damaged."""

    def watch(self, committed: Committed) -> None:
        """Call this in the very step that commits, in order of commit."""

    @property
    def head(self) -> int:
        """The newest committed seq; 0 for an empty log."""

    @property
    def meta(self) -> dict[str, str]: ...

    @property
    def damage(self) -> Err | None:
        """What opening the log found wrong with it; the user is told."""

    def checkpoint(self) -> None:
        """Tidy up at the end of a turn; may take a few milliseconds."""

    def close(self) -> None: ...
