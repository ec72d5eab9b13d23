"""What any tool needs: the contract, and nothing of what runs it."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from planck.records.events import View
from planck.records.outcome import Err, Ok, PlanckError
from planck.records.specs import ToolSpec


class ToolError(PlanckError):
    """A tool's expected failure, raised from deep inside it; the executor makes it an `Err`."""


class Effect(StrEnum):
    """What a call can change; the permission modes are written in these words."""

    NONE = "none"
    TEAM = "team"
    FILES = "files"
    COMMAND = "command"
    """Anything: a shell command, a program, a peer, a Python function that says nothing of itself."""


async def _unrecorded(fact: View) -> None:
    """Where there is no log (`planck tools call`), a fact goes nowhere."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    session_id: str
    agent_id: str
    call_id: str
    workspace: Path
    dry_run: bool = False
    deadline: float | None = None
    """On the loop's clock; None where nobody waits."""
    progress: Callable[[str], None] = field(default=lambda text: None)
    record: Callable[[View], Awaitable[None]] = _unrecorded
    """Returns once the fact is durable: a before-image is recorded before the change."""


Outcome = Ok[dict[str, Any]] | Err
Execute = Callable[[dict[str, Any], ToolContext], Outcome | Awaitable[Outcome]]


class Tool:
    """Name, description, parameters (JSON Schema) and two functions of `(args, ctx)`."""

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        execute: Execute,
        dry_run: Execute | None = None,
        *,
        effect: Effect = Effect.COMMAND,
        timeout: float = 300.0,
        max_arguments: int = 1 << 20,
        always: Iterable[str] = (),
        plain_schema: bool = False,
    ) -> None:
        self.name = name
        self.description = description
        self.parameters = dict(parameters)
        self.execute = execute
        self.dry_run = dry_run or self._plan
        self.effect = effect
        self.timeout = timeout
        self.max_arguments = max_arguments
        """Bytes of argument text the executor will parse."""
        self.always = frozenset(always)
        """Keys that pass beside the schema, unvalidated: `cwd` and `timeout` of TOOL.json, `timeout_ms`."""
        self.plain_schema = plain_schema
        """Keys outside `properties` pass, as plain JSON Schema has it (MCP)."""

    def to_ai_tool(self) -> ToolSpec:
        """The spec without the functions."""
        return ToolSpec(self.name, self.description, self.parameters)

    def _plan(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return Ok(
            {
                "output": f"Would call {self.name} with {args!r}.",
                "dry_run": True,
                "tool": self.name,
                "args": args,
            }
        )

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"
