"""A sidecar's compactors travel as one more tool, which only the runtime is shown."""

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from planck.mcp.listing import ListedTool
from planck.records import codec
from planck.records.messages import AssistantMessage, Image, Message, Thinking, ToolMessage, UserMessage
from planck.records.outcome import Err, ErrorKind, Ok
from planck.sidecar.discovery import Compact
from planck.toolkit.tool import Outcome, Tool, ToolContext
from planck.toolkit.truncate import DEFAULT_MAX
from planck.workspace.process.framing import MAX_LINE

if TYPE_CHECKING:  # the sidecar's own process is no client
    from planck.mcp.peer import Peer

TOOL_NAME = "planck__compact"
_MOST = MAX_LINE // 2
"""Bytes of messages: they are quoted once more on their way."""


def compacting_tool(compactors: Mapping[str, Compact]) -> Tool:
    """In the sidecar: returns the tool that calls the compactor that is named."""

    def run(args: dict[str, Any], ctx: ToolContext) -> Any:
        value = compactors[args["name"]](msgspec.convert(args["messages"], list[Message]))
        return _check_awaited(value) if inspect.isawaitable(value) else _check(value)

    properties = {"name": {"enum": list(compactors)}, "messages": {"type": "array"}}
    parameters = {"type": "object", "properties": properties, "required": ["name", "messages"]}
    return Tool(TOOL_NAME, "Compact a history.", parameters, run, max_arguments=2 * _MOST)


def names_of(listed: ListedTool) -> tuple[str, ...]:
    """In the runtime: returns the compactors that the sidecar offers."""
    match listed.spec.parameters:
        case {"properties": {"name": {"enum": [*found]}}}:
            return tuple(name for name in found if isinstance(name, str))
    return ()


async def compact(peer: "Peer", name: str, messages: Sequence[Message], timeout: float) -> Ok[str] | Err:
    """In the runtime: returns the text that stands for the messages, in time or not at all."""
    whole = codec.encode([_strip(message) for message in messages])
    if len(whole) > _MOST:
        why = f"the messages have {len(whole)} bytes, but a sidecar accepts at most {_MOST} bytes"
        return Err(ErrorKind.LIMIT_EXCEEDED, why)
    arguments = {"name": name, "messages": codec.decode(whole)}
    outcome = await peer.call(TOOL_NAME, arguments, timeout=timeout)
    return outcome if isinstance(outcome, Err) else Ok(outcome.value["output"])


def _strip(message: Message) -> Message:
    """Leaves out what no summary is made of: pictures, and a vendor's sealed thoughts."""
    match message:
        case UserMessage():
            return replace(message, parts=tuple(p for p in message.parts if not isinstance(p, Image)))
        case AssistantMessage():
            return replace(message, parts=tuple(p for p in message.parts if not isinstance(p, Thinking)))
        case ToolMessage():
            return ToolMessage(tuple(replace(result, images=()) for result in message.results))


async def _check_awaited(value: Any) -> Outcome:
    return _check(await value)


def _check(value: Any) -> Outcome:
    """Refuses a result that is too long: it would be cut in the middle, which no summary survives."""
    if not isinstance(value, str):
        return Err(ErrorKind.INVALID_ARGS, f"a compactor must return a string, not {type(value).__name__}")
    if (size := len(value.encode("utf-8", "replace"))) > DEFAULT_MAX:
        why = f"the summary has {size} bytes, but the limit is {DEFAULT_MAX} bytes; return a shorter one"
        return Err(ErrorKind.LIMIT_EXCEEDED, why)
    return Ok({"output": value})
