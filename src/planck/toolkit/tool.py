"""What any tool needs: the contract, and nothing of what runs it."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum
from inspect import CO_VARARGS
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any, cast

import msgspec

from planck.records import codec
from planck.records.authority import Confinement
from planck.records.events import View
from planck.records.outcome import Err, ErrorKind, Ok, PlanckError
from planck.records.specs import ToolSpec


class ToolError(PlanckError):
    """A tool's expected failure, raised from deep inside it; the executor makes it an `Err`."""


class ArgumentError(ToolError):
    """What the model sent can't be used: `invalid_args`."""

    def __init__(self, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(ErrorKind.INVALID_ARGS, message, details)


class Effect(StrEnum):
    """What a call can change; the permission modes are written in these words."""

    NONE = "none"
    TEAM = "team"
    FILES = "files"
    COMMAND = "command"
    """Anything: a shell command, a program, a peer, a Python function that says nothing of itself."""


def unheard(text: str) -> None:
    """Where nobody watches, progress goes nowhere."""


async def unrecorded(fact: View) -> None:
    """Where there is no log (`planck tools call`), a fact goes nowhere."""


class ToolContext(msgspec.Struct, frozen=True):
    session_id: str
    agent_id: str
    call_id: str
    workspace: Path
    dry_run: bool = False
    deadline: float | None = None
    """On the loop's clock; None where nobody waits."""
    progress: Callable[[str], None] = unheard
    record: Callable[[View], Awaitable[None]] = unrecorded
    """Returns once the fact is durable: a before-image is recorded before the change."""
    confinement: Confinement | None = None
    """What this call may touch; None: nobody decided, so nothing protected and no sandbox (`tools call`)."""


Outcome = Ok[dict[str, Any]] | Err
Execute = Callable[[dict[str, Any], ToolContext], Outcome | Awaitable[Outcome]]
FindStranger = Callable[[dict[str, Any]], Awaitable[str]]
"""Arguments -> the address in them that the user did not configure; empty: there is none."""
Closure = Callable[[str, str, dict[str, Any]], Any]
"""`(agent_id, call_id, args)`; what it may return is told by `closure`."""


class Tool:
    """Name, description, parameters (JSON Schema) and two functions of `(args, ctx)`.

    A function that takes three arguments instead is the closure form: see `closure`.
    """

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        execute: Execute | Closure,
        dry_run: Execute | Closure | None = None,
        *,
        effect: Effect = Effect.COMMAND,
        timeout: float = 300.0,
        max_arguments: int = 1 << 20,
        always: Iterable[str] = (),
        plain_schema: bool = False,
        confinable: bool = False,
        stranger: FindStranger | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.parameters = dict(parameters)
        self.execute = _as_execute(execute)
        self.dry_run = self._plan if dry_run is None else _as_execute(dry_run)
        self.effect = effect
        self.timeout = timeout
        self.max_arguments = max_arguments
        """Bytes of argument text the executor will parse."""
        self.always = frozenset(always)
        """Keys that pass beside the schema, unvalidated: `cwd` and `timeout` of TOOL.json, `timeout_ms`."""
        self.plain_schema = plain_schema
        """Keys outside `properties` pass, as plain JSON Schema has it (MCP)."""
        self.confinable = confinable
        """Its effects happen under `ctx.confinement`, or in a sandbox already."""
        self.stranger = stranger
        """What it finds only the user can agree to, in every mode; then it is in `ctx.confinement`."""

    def to_ai_tool(self) -> ToolSpec:
        """The spec without the functions."""
        return ToolSpec(self.name, self.description, self.parameters)

    def _plan(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return describe_plan(self.name, args, f"Would call {self.name} with {codec.encode_str(args)}.")

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


def describe_plan(tool: str, args: dict[str, Any], text: str) -> Outcome:
    """Returns the result of a dry run."""
    return Ok({"output": text, "dry_run": True, "tool": tool, "args": args})


def closure(function: Closure) -> Execute:
    """A function of `(agent_id, call_id, args)` as one of `(args, ctx)`.

    It returns a text or any JSON value, `(ok, value)` with `ok` a bool, "ok" or "error", an `Ok` or an `Err`.
    A coroutine function stays one; any other is left for the executor to run in a thread.
    """

    def call(args: dict[str, Any], ctx: ToolContext) -> Outcome | Awaitable[Outcome]:
        value = function(ctx.agent_id, ctx.call_id, args)
        return _await_closure(value) if inspect.isawaitable(value) else _read_closure(value)

    async def call_async(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        return _read_closure(await function(ctx.agent_id, ctx.call_id, args))

    return call_async if is_async(function) else call


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine; every other function runs in a thread."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  the method itself is wanted, not whether it is callable
    )


def outcome_of(value: Any) -> Outcome:
    """What a Python function returned, as a result: text as it is, any other value as JSON."""
    match value:
        case Err():
            return value
        case Ok(value={"output": str()}):
            return cast(Outcome, value)
        case Ok():
            return outcome_of(value.value)
        case str():
            return Ok({"output": value})
        case _:
            return Ok({"output": codec.encode_str(value)})


def _as_execute(function: Execute | Closure) -> Execute:
    if _takes(function, 2):
        return cast(Execute, function)
    if _takes(function, 3):
        return closure(cast(Closure, function))
    raise TypeError(f"{function!r} must take (args, ctx), or (agent_id, call_id, args)")


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Reads the code object of a plain function: 60 signatures a start cost more than making the tools."""
    method = type(function) is MethodType
    plain = function.__func__ if type(function) is MethodType else function
    if type(plain) is FunctionType and not plain.__dict__:  # attributes may stand for another signature
        code, given = plain.__code__, count + method
        least = code.co_argcount - len(plain.__defaults__ or ())
        named = code.co_kwonlyargcount == len(plain.__kwdefaults__ or ())
        return named and least <= given and (given <= code.co_argcount or bool(code.co_flags & CO_VARARGS))
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a function in C that does not tell
        return count == 2
    return True


async def _await_closure(value: Awaitable[Any]) -> Outcome:
    return _read_closure(await value)


def _read_closure(value: Any) -> Outcome:
    if not isinstance(value, tuple):  # a list is a value, whatever it begins with
        return outcome_of(value)
    match value:
        case (True | "ok", ok):
            return outcome_of(ok)
        case (False | "error", Err() as err):
            return err
        case (False | "error", reason):
            text = reason if isinstance(reason, str) else codec.encode_str(reason)
            return Err(ErrorKind.COMMAND_FAILED, text)
        case _:
            return outcome_of(value)
