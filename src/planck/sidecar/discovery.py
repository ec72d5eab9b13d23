"""The entry class of a sidecar is found, and its tools are called, in its own process."""

import gc
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from planck.records.messages import Message
from planck.records.outcome import Err, ErrorKind, PlanckError, name_exception
from planck.records.specs import ToolSpec
from planck.toolkit.tool import Outcome, Tool, ToolContext, outcome_of

Compact = Callable[[list[Message]], str | Awaitable[str]]
"""From old messages to the text that stands for them."""


class Sidecar:
    """The base class of a sidecar, which runs in a process of its own; Planck finds the subclass by itself.

    Example:

        class Mine(Sidecar):
            def tools(self) -> list[Tool]:
                return [Tool("ping", "Answer.", {"type": "object"}, lambda args, ctx: "pong")]
    """

    def tools(self) -> Sequence[Tool]:
        """Read at every call, so that tools may come and go."""
        return []

    def compactors(self) -> Mapping[str, Compact]:
        """By name, for the `compactor` of a member in TEAM.json."""
        return {}


class SidecarError(PlanckError):
    """A sidecar that can't be used: it does not build, import, start or say what it is."""


AnySidecar = type[Sidecar] | Sidecar


def discover() -> type[Sidecar] | None:
    """Returns the one class that implements `Sidecar` in this process; a miss is looked for again.

    A class that others derive from is no entry point itself. Two entry points are a `SidecarError`.
    """
    if _found:
        return _found[0]
    entries = _find_entries()
    if len(entries) > 1:
        gc.collect()  # a class that nobody holds any more lives until then
        entries = _find_entries()
    if len(entries) > 1:
        names = ", ".join(sorted(f"{entry.__module__}.{entry.__qualname__}" for entry in entries))
        raise SidecarError(
            ErrorKind.NOT_UNIQUE,
            f"more than one class implements Sidecar: {names}; keep one, or derive one from the other",
            {"classes": names},
        )
    _found.extend(entries)
    return entries[0] if entries else None


def list_tools(sidecar: AnySidecar | None = None, /) -> list[ToolSpec]:
    """The tools without their functions; none where there is no entry class."""
    entry = sidecar or discover()
    return [] if entry is None else [tool.to_ai_tool() for tool in read_tools(entry)]


@overload
def execute_tool(
    name: str, agent_id: str, call_id: str, args: dict[str, Any]
) -> Outcome | Awaitable[Outcome]: ...
@overload
def execute_tool(
    sidecar: AnySidecar, /, name: str, agent_id: str, call_id: str, args: dict[str, Any]
) -> Outcome | Awaitable[Outcome]: ...


def execute_tool(*call: Any, **named: Any) -> Outcome | Awaitable[Outcome]:
    """Run a named tool here, in this process; of an async tool the result is to be awaited.

    Nobody's schema, permission or clock is asked: that is done by whoever calls the sidecar.
    """
    explicit = bool(call) and not isinstance(call[0], str)
    entry, values = (call[0], call[1:]) if explicit else (discover(), call)
    name, agent_id, call_id, args = _arguments(*values, **named)
    if entry is None:
        return Err(ErrorKind.NOT_FOUND, "no sidecar entry module found")
    tool = next((tool for tool in read_tools(entry) if tool.name == name), None)
    if tool is None:
        return Err(ErrorKind.UNKNOWN_TOOL, f"unknown tool: {name}")
    context = ToolContext(session_id="", agent_id=agent_id, call_id=call_id, workspace=Path.cwd())
    try:
        value = tool.execute(args, context)
    except (Exception, SystemExit) as problem:
        return _failed(name, problem)
    return _awaited(name, value) if inspect.isawaitable(value) else outcome_of(value)


def read_tools(sidecar: AnySidecar) -> list[Tool]:
    """Returns what `tools()` gives now, checked."""
    instance = _instance(sidecar)
    tools = list(instance.tools())
    for tool in tools:
        if not isinstance(tool, Tool):
            raise SidecarError(
                ErrorKind.INVALID_ARGS,
                f"{type(instance).__name__}.tools() returned {tool!r}, which is not a Tool; "
                "use Tool(...) or @tool",
            )
    return tools


def read_compactors(sidecar: AnySidecar) -> dict[str, Compact]:
    """Returns what `compactors()` gives now, checked."""
    instance = _instance(sidecar)
    compactors = instance.compactors()
    if not isinstance(compactors, Mapping) or not all(map(callable, compactors.values())):
        raise SidecarError(
            ErrorKind.INVALID_ARGS,
            f"{type(instance).__name__}.compactors() returned {compactors!r}; "
            "return a mapping from names to functions",
        )
    return {str(name): function for name, function in compactors.items()}


def _instance(sidecar: AnySidecar) -> Sidecar:
    """One object per class lives as long as the process."""
    if isinstance(sidecar, Sidecar):
        return sidecar
    if sidecar not in _instances:
        _instances[sidecar] = sidecar()
    return _instances[sidecar]


_found: list[type[Sidecar]] = []
_instances: dict[type[Sidecar], Sidecar] = {}


def _find_entries() -> list[type[Sidecar]]:
    newest = {(entry.__module__, entry.__qualname__): entry for entry in _leaves(Sidecar)}
    return list(newest.values())


def _leaves(parent: type[Sidecar]) -> Iterator[type[Sidecar]]:
    """In the order of definition, so that a module loaded again replaces its older self."""
    for child in parent.__subclasses__():
        grandchildren = list(_leaves(child))
        yield from grandchildren or ([] if inspect.isabstract(child) else [child])


async def _awaited(name: str, value: Awaitable[Outcome]) -> Outcome:
    try:
        return outcome_of(await value)
    except (Exception, SystemExit) as problem:
        return _failed(name, problem)


def _arguments(name: str, agent_id: str, call_id: str, args: dict[str, Any]) -> tuple[Any, ...]:
    return name, agent_id, call_id, args


def _failed(name: str, problem: BaseException) -> Err:
    if isinstance(problem, PlanckError):
        return problem.err
    return Err(ErrorKind.INTERNAL_ERROR, f"{name} failed: {name_exception(problem)}")
