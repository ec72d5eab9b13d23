"""Requests of our own adapters, as they left: a whole session with everything in it."""

from typing import Any

from planck.llm.provider import Request
from planck.records.events import AssistantSaid, Delivery, Envelope, Kind, ToolEnd
from planck.records.history import History
from planck.records.messages import AssistantMessage, Image, StopReason, Text, ToolCall
from planck.records.specs import ToolSpec
from tests.wire import samples
from tests.wire.known import Known
from tests.wire.memory import MemoryTransport
from tests.wire.script import SHOW, play

TOOLS = (
    ToolSpec(
        "read",
        "Reads a file.",
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "where"},
                "limit": {"type": ["integer", "null"], "minimum": 1},
                "mode": {"enum": ["text", "bytes"]},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
            },
            "required": ["path"],
            "additionalProperties": False,
            "$defs": {"tag": {"type": "string"}},
        },
    ),
    ToolSpec("now", "Tells the time.", {"type": "object", "properties": {}}),
    ToolSpec("free", "Takes any.", {"type": "object", "properties": {"any": {"type": "object"}}}),
)


async def sent_by_our_adapter(known: Known) -> list[Any]:
    """The bodies of two requests: a first one with settings, and one with results, thoughts and images."""
    transport = MemoryTransport(play(known.server, [samples.TEXT]))
    provider = known.provider("http://here", transport, params={"temperature": 0.5, "max_tokens": 300})
    told = History()
    _prompt(told, "e1")
    asked = Request("a1", "be brief", told, TOOLS, {"effort": "low", "stop": ["END"]}, "required")
    assert [item async for item in provider.stream(asked)]
    parts = (*known.thoughts, Text("I look."), *(_numbered(n, call) for n, call in enumerate(samples.CALLS)))
    told.apply(
        AssistantSaid(message=AssistantMessage(parts, known.server.name, known.model, StopReason.TOOL_CALLS))
    )
    picture = (Image("image/png", "aGk="),)
    told.apply(ToolEnd(id="t0", name="read", ok=True, output="text", duration_ms=1, images=picture))
    told.apply(ToolEnd(id="t1", name="now", ok=False, output="timeout: late", duration_ms=1))
    _prompt(told, "e2")
    assert [item async for item in provider.stream(Request("a1", "be brief", told, TOOLS))]
    return [sent.json for sent in transport.asked if sent.path != SHOW]


def exhaust(value: Any) -> Any:
    """All of a validated value: pydantic checks the elements of an `Iterable` only when they are taken."""
    if isinstance(value, dict):
        return {key: exhaust(inner) for key, inner in value.items()}
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return value
    return [exhaust(inner) for inner in value]


def _prompt(told: History, id: str) -> None:
    told.apply(Envelope(id=id, kind=Kind.PROMPT, sender="user", receiver="a", text="hello"))
    told.apply(Delivery(ids=(id,), state="delivered"))


def _numbered(number: int, call: ToolCall) -> ToolCall:
    return ToolCall(f"t{number}", call.provider_id, call.name, call.arguments)
