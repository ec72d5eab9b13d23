"""The one road by which facts leave an agent."""

from typing import Protocol

from planck.records.events import Event, View


class Journal(Protocol):
    async def record(
        self, agent_id: str | None, turn: int, *facts: View, barrier: bool = False
    ) -> list[Event]:
        """Append the facts in one commit, then publish them; what fails to persist is not published.

        Cancelling the wait does not cancel the commit: `CancelledError` comes after it, or a failure does.
        """

    def publish(self, agent_id: str | None, turn: int, delta: View) -> None:
        """Send a delta to whoever watches now; it is never stored."""
