"""Who works on what: the nodes that live, the sessions that wait for one, and what is said to them.

One contract suite runs over every implementation. "Not seen for a lease" is by the database's clock alone.
"""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec

State = Literal["queued", "running", "idle", "failed"]
"""Of a session's row: waiting for a node, on one, at rest, or lost too often."""
Answer = Literal["alive", "draining", "lapsed", "gone"]
"""To a heartbeat; `lapsed`, once: it came so late that other nodes may have taken the sessions."""
CommandKind = Literal["prompt", "steer", "interrupt", "answer", "stop"]
Role = Literal["view", "submit", "approve", "admin"]
"""Each may do what those before it may."""
VERSION = 1
"""Of what a session's row and log need of whoever works on it."""


class NodeRow(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    instance: str
    """Of this start of it: another process under the same name has another."""
    version: str
    labels: tuple[str, ...] = ()
    capacity: int = 0
    url: str = ""
    """Where its server answers other nodes."""
    seen: str = ""
    draining: bool = False
    sessions: tuple[str, ...] = ()


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    project: str = ""
    """The workspace, or the repository, that it belongs to."""
    state: State = "queued"
    owner: str | None = None
    epoch: int = 0
    head: int = 0
    needs: tuple[str, ...] = ()
    """Labels that a node must have."""
    workspace: dict[str, Any] = {}
    options: dict[str, Any] = {}
    version: int = VERSION
    """Nodes that know less leave it alone."""
    attempts: int = 0
    """How often a node took it since a turn of it last ended."""
    problem: str = ""
    """Why no node could work on it."""
    created: str = ""
    updated: str = ""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody outside says to a session; its id is of that session alone, a prompt's its message's."""

    id: str
    session: str
    kind: CommandKind
    data: dict[str, Any] = {}
    by: str = ""


class TokenRow(msgspec.Struct, frozen=True, kw_only=True):
    digest: str
    """SHA-256 in hex; the token itself is nowhere."""
    who: str
    role: Role


class Common(msgspec.Struct, frozen=True):
    """What all nodes have together of the providers."""

    nodes: int
    """How many ask them: that live, and work on something or may."""
    cold: dict[str, float] = {}
    """Models that were refused, and for how many seconds more nobody asks them."""


class Roster(Protocol):
    async def join(self, node: NodeRow) -> None:
        """Enters the node, or its new instance: whoever had the name is gone from its next beat on."""

    async def beat(self, name: str, instance: str) -> Answer: ...

    async def leave(self, name: str, instance: str) -> None:
        """Leaves at once: its sessions can be taken."""

    async def nodes(self) -> list[NodeRow]: ...

    async def drain(self, name: str) -> bool:
        """It takes nothing new from now on. False: there is no such node."""

    async def forget(self, name: str) -> bool:
        """It is gone, and what it had can be taken at once. False: there is no such node."""

    async def claim(
        self,
        node: NodeRow,
        *,
        held: Sequence[str],
        limit: int,
        lease_s: float,
        version: int,
        only: str = "",
    ) -> list[SessionRow]:
        """Makes the node the owner of sessions, in a new epoch each, and returns them.

        Of those that are queued, its own that it does not hold, and of nodes not seen for a lease, once the
        node itself has been connected for one. None while it drains, or where its instance is not the one
        that joined last. `only` names a session: it may be idle too, and is
        none that this node has already.
        """

    async def release(self, session: str, epoch: int, state: State, problem: str = "") -> bool:
        """Makes it nobody's. False: it is another epoch's. At rest with a command that waits it is queued."""

    async def reset_attempts(self, session: str, epoch: int) -> None:
        """A turn of it has ended."""

    async def submit(self, row: SessionRow, command: Command | None) -> bool:
        """Enters a session, queued with the prompt that it begins with, or at rest without one.

        False: the id is there, nothing is entered.
        """

    async def discard(self, session: str, owner: str) -> bool:
        """Leaves nothing of a session of this owner that never began. False: it has, or is another's."""

    async def post(self, command: Command) -> bool:
        """Leaves a command; a session at rest is queued for it. False: the id is there, or no such one."""

    async def commands(self, sessions: Sequence[str]) -> list[Command]:
        """Returns what waits for them, oldest first."""

    async def drop(self, commands: Sequence[Command]) -> None:
        """They are in a log, or came too late."""

    async def find(self, id_or_name: str) -> SessionRow | None:
        """Raises `not_unique` for a name that sessions of several projects have."""

    async def list_sessions(self, *, limit: int = 100, before: str = "") -> list[SessionRow]:
        """Returns the newest first; `before`: an `updated` and id that an answer ended with."""

    async def read_common(self, lease_s: float) -> Common: ...

    async def back_off(self, scope: str, seconds: float) -> None:
        """Nobody asks that model until then."""

    async def wait(self, seconds: float) -> None:
        """Returns at the latest after so long, earlier where somebody hints that there is something to do."""

    async def add_token(self, token: TokenRow) -> None: ...

    async def revoke_token(self, digest: str) -> bool: ...

    async def tokens(self) -> list[TokenRow]: ...
