"""What the executor asks before it runs a call."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol

from planck.records.authority import Confinement
from planck.records.outcome import Err
from planck.toolkit.tool import Outcome, Tool, ToolContext


class Trial(Protocol):
    """A call that is run, and about which the user is asked again if it could not do what it was to do: with
    few rights, before anybody is asked for more, or after a yes to something that changed since."""

    @property
    def confinement(self) -> Confinement: ...

    async def settle(self, outcome: Outcome) -> "Err | Confinement | Trial | None":
        """Returns None where the outcome of the try is that of the call; else the rights with which it is
        run again, or why it is not."""


class Preview(NamedTuple):
    text: str = ""
    failed: bool = False
    """The dry run failed or did not finish: `text` says why."""
    error: Err | None = None
    """With what the dry run failed; None: it did not, or broke or took too long, which says nothing."""


Rehearse = Callable[[Tool, dict[str, Any], ToolContext], Awaitable[Preview]]
"""Returns what the tool's dry run says, bounded; nothing is changed, and nothing asked."""


class Permit(Protocol):
    async def decide(
        self, tool: Tool, args: dict[str, Any], ctx: ToolContext
    ) -> Err | Confinement | Trial | None:
        """Returns an error, or the rights of the call (None: as the tool has them).

        Asked after validation and before the call runs; never for a dry run.
        """


class Allowed:
    """Permits every call as the tool has it: for a user who calls a tool directly."""

    async def decide(self, tool: Tool, args: dict[str, Any], ctx: ToolContext) -> None:
        return None
