"""The one road by which facts leave an agent."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec

from planck.records.events import Event, ToolProgress, View


class Follower(Protocol):
    def apply(self, fact: View) -> None:
        """Takes in a fact that is in the log now; it awaits nothing and does not fail."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A fact, whose it is, and the state that it changes in the very step that commits it.

    So what lives is always the fold of the log, and two facts take effect in the log's own order.
    """

    agent_id: str | None
    turn: int
    fact: View
    follower: Follower | None = None


class Journal(Protocol):
    async def record(
        self, agent_id: str | None, turn: int, *facts: View, barrier: bool = False
    ) -> list[Event]:
        """Append the facts in one commit, then publish them; what fails to persist is not published.

        Cancelling the wait does not cancel the commit: `CancelledError` comes after it, or a failure does.
        """

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        """The same for facts of several agents: one commit, all or nothing; then their followers know."""

    @property
    def moves(self) -> bool:
        """Whether another machine may go on with the log: see `Store.moves`."""

    def keep(self, blob: bytes, *, detached: bool = False) -> str:
        """Returns the name for a fact to refer to these bytes by; they are stored with it at the latest.

        `detached`: few will ask for them.
        """

    def recorded(self, agent_id: str) -> Iterator[Event]:
        """What was recorded of one agent, oldest first."""

    def publish(self, agent_id: str | None, turn: int, delta: View) -> None:
        """Send a delta to the present readers; it is never stored."""


class Unrecorded:
    """A journal where there is no log: facts go nowhere, and progress to the caller that asked for it."""

    moves = False

    def __init__(self, on_progress: Callable[[str, str], None] | None = None) -> None:
        """`on_progress` takes the call's id and the text."""
        self._on_progress = on_progress

    async def record(
        self, agent_id: str | None, turn: int, *facts: View, barrier: bool = False
    ) -> list[Event]:
        return []

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        for entry in entries:
            if entry.follower is not None:
                entry.follower.apply(entry.fact)
        return []

    def keep(self, blob: bytes, *, detached: bool = False) -> str:
        return ""

    def recorded(self, agent_id: str) -> Iterator[Event]:
        return iter(())

    def publish(self, agent_id: str | None, turn: int, delta: View) -> None:
        if self._on_progress is not None and isinstance(delta, ToolProgress):
            self._on_progress(delta.id, delta.text)


_: type[Journal] = Unrecorded
