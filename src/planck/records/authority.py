"""What an agent may do, and what one call may touch: facts that policy decides and the kernel enforces."""

from enum import StrEnum

import msgspec


class Mode(StrEnum):
    """What agents may do without a question, from the strictest mode to the widest.

    Example:

        planck.run("Say hello.", mode=Mode.READ_ONLY)
    """

    READ_ONLY = "read-only"
    PLAN = "plan"
    ASK = "ask"
    WORKSPACE = "workspace"
    FULL = "full"


class Right(StrEnum):
    """What a command may be given beyond reading in the sandbox; the last one includes the others."""

    WRITE = "write"
    """To write in the workspace."""
    NETWORK = "network"
    OUTSIDE = "outside"
    """To run outside the sandbox, with the permissions of the user."""


CHANGELESS = (Mode.READ_ONLY, Mode.PLAN)
"""Nothing may be changed; `plan` differs from `read-only` in what agents are told, not in rights."""

STRICTNESS = (Mode.READ_ONLY, Mode.PLAN, Mode.ASK, Mode.WORKSPACE, Mode.FULL)

PROTECTED = (".git", ".planck", ".agents", ".mcp.json")
"""Names under a writable root, at any depth and also when absent, that only mode `full` writes."""


class Authority(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an agent may do at most; `permissions.authority` shrinks it on the way down, nothing widens it."""

    mode: Mode
    tools: tuple[str, ...] | None = None
    """Sorted names; None: every tool there is."""
    skills: tuple[str, ...] | None = None
    roots: tuple[str, ...] = ()
    """Canonical absolute folders that may be written."""
    writes: tuple[str, ...] | None = None
    """Canonical folders inside the roots that alone may be written; None: all of the roots."""
    network: bool = False
    """Whether a rule may give a command the network."""
    spawn_depth: int = 0
    """How many generations may still be spawned below this agent."""


class Confinement(msgspec.Struct, frozen=True):
    """The rights of one call, the same for the file tools and for the sandbox around a command."""

    mode: Mode
    """`full` is unconfined: the user said so, for the session or for this call; `plan` is `read-only`."""
    roots: tuple[str, ...] = ()
    """The workspace, canonical: seen in its place whatever else is hidden."""
    writable: tuple[str, ...] = ()
    """Those of them that may be written."""
    protected: tuple[str, ...] = PROTECTED
    masked: tuple[str, ...] = ()
    """Canonical absolute files and folders that can't even be read."""
    shown: tuple[str, ...] = ()
    """Canonical files and folders in masked or hidden ones that can be read all the same; links to them."""
    hidden: tuple[str, ...] = ()
    """Canonical homes: a command sees only what is shown of them, and the roots in them."""
    seen: tuple[str, ...] = ()
    """Absolute paths that can be read though they lie in a private place: what a peer is made of."""
    network: bool = False
    addresses: tuple[str, ...] = ()
    """Named by the call and known to nobody: the user agreed to each, for this very call."""
    basis: str = ""
    """Names what the user was shown of the files that the call changes: a yes is for nothing else."""

    @property
    def rights(self) -> tuple[Right, ...]:
        """What a command may do with it beyond reading."""
        if self.mode is Mode.FULL:
            return tuple(Right)
        write = (Right.WRITE,) if self.writable else ()
        return (*write, Right.NETWORK) if self.network else write
