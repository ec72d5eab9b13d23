"""Where a session's events live. One contract suite runs over every implementation."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from planck.records.events import Draft, Event
from planck.records.outcome import PlanckError


class StoreError(PlanckError):
    """The log can't be read or written; the kind says which."""


class Store(Protocol):
    async def append(self, drafts: Sequence[Draft]) -> list[Event]:
        """Number and commit the batch, all or nothing; returns once it survives the death of the process."""

    async def barrier(self) -> None:
        """Returns once everything appended so far survives a power cut."""

    def read(self, after: int = 0, *, agent_id: str | None = None) -> Iterator[Event]:
        """Committed events with a larger seq, oldest first."""

    @property
    def head(self) -> int:
        """The newest committed seq; 0 for an empty log."""

    def close(self) -> None: ...
