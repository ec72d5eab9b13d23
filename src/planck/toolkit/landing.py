"""How an agent's own view of the workspace comes back: the port between a team and what merges."""

from typing import Protocol

import msgspec


class Landed(msgspec.Struct, frozen=True):
    """The workspace has what the view changed."""

    landing: str
    paths: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    """Paths that somebody changed while they were written: they were left alone."""


class Refused(msgspec.Struct, frozen=True):
    """Nothing of it landed, and the view has everything still."""

    landing: str
    text: str
    """Says why and what to do, to the agent, or (`final`) to the one that gave it the task."""
    final: bool = False
    """Whether the agent is not asked to try again."""


class Lander(Protocol):
    async def propose(self, agent_id: str, task: str) -> Landed | Refused | None:
        """Merges what the agent's view changed into the workspace; None: it has no view, or changed nothing.

        A caller that is cancelled while files change waits until they are whole.
        """
