"""Where a session's events live. One contract suite runs over every implementation."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from planck.records import codec
from planck.records.events import Draft, Event
from planck.records.outcome import Err, ErrorKind, PlanckError

IMPORTED = "imported"
"""In a log's metadata, and its forks': its facts are the words of the person who made the export."""


LOST = "lost"
"""In a log's metadata, its exports' and its forks': the gaps in it, as JSON."""


class Gap(msgspec.Struct, frozen=True, array_like=True):
    """Events that a log had once and lost; what follows was written later, under the same numbers."""

    after: int
    events: int | None
    """None: the machine stopped while the log was open, and nobody knows whether it had more."""


def read_gaps(meta: Mapping[str, str]) -> tuple[Gap, ...]:
    """Returns where a log lost events; nothing where what it says of that can't be read."""
    try:
        return codec.decode_as(meta.get(LOST, "[]").encode(), tuple[Gap, ...])
    except codec.DecodeError:
        return ()


class StoreError(PlanckError):
    """The log can't be read or written; the kind says which."""


def report_damage(seq: int, where: str, why: str) -> StoreError:
    """Returns the error for an event that is not what was written; `where` names the file or the session."""
    sound = seq - 1
    intact = (
        f"Events 1 to {sound} are intact" if sound > 1 else f"{'Event 1' if sound else 'No event'} is intact"
    )
    step = f"Fork the session at event {sound} to continue" if sound else "Start a new session"
    return StoreError(
        ErrorKind.CORRUPT_LOG_LINE,
        f"Event {seq} of {where} is damaged: {why}. {intact}. {step}.",
        {"seq": seq, "sound": sound},
    )


class SessionError(PlanckError):
    """No such session, or a name that can't be used."""


class Log(Protocol):
    def read(self, after: int = 0, *, agent_id: str | None = None) -> Iterator[Event]:
        """Yields committed events with a larger seq, oldest first; damage ends it with `corrupt_log_line`."""

    def read_back(self, before: int | None = None, limit: int = 512) -> list[Event]:
        """Returns the page of events that ends just before that seq (default: the newest), oldest first."""

    def blob(self, name: str) -> bytes:
        """Returns the bytes of that name; `resource_missing` where they are gone or damaged."""

    @property
    def head(self) -> int:
        """The newest committed seq; 0 for an empty log."""

    @property
    def meta(self) -> dict[str, str]: ...

    @property
    def damage(self) -> Err | None:
        """What opening the log found wrong with it; the user is told."""


def find_last(head: int, before: int | None) -> int:
    """Returns the last event of the page that ends just before a number, which a reader may choose freely."""
    return head if before is None else min(max(before - 1, 0), head)


class CommitListener(Protocol):
    def on_commit(self, events: Sequence[Event]) -> None:
        """Runs in the very step that commits, in order of commit."""


class Store(Log, Protocol):
    async def append(self, drafts: Sequence[Draft], then: CommitListener | None = None) -> list[Event]:
        """Numbers and commits the batch, all or nothing; returns once it survives the death of the process.

        `then` hears of this batch alone, before whoever watches.

        A batch handed in is committed even if the caller is cancelled meanwhile; a failure to do so stands in
        the place of the cancellation.
        """

    async def barrier(self) -> None:
        """Returns once everything appended so far survives a power cut."""

    @property
    def moves(self) -> bool:
        """Whether another machine may go on with it, which has nothing of what lies beside the log."""

    def keep(self, blob: bytes, *, detached: bool = False) -> str:
        """Stores bytes that an event will refer to by the name returned; the same bytes are stored once.

        They are committed with the next batch: no event names a blob that is not there. `detached`: few will
        ask for them, so that copies of the log are made without.
        """

    def watch(self, listener: CommitListener) -> None:
        """From here on this one hears of each commit, and no other."""

    def checkpoint(self) -> None:
        """Tidies up at the end of a turn; may take a few milliseconds."""

    async def aclose(self) -> None:
        """Commits what is queued, then lets go of the log; what waits for a disk or a server is awaited."""

    @property
    def closed(self) -> bool: ...
