"""What a model is shown and what it answers, in no vendor's shape."""

from enum import StrEnum

import msgspec

from planck.records.usage import Usage


class Text(msgspec.Struct, frozen=True, tag="text"):
    text: str


class Thinking(msgspec.Struct, frozen=True, tag="thinking", omit_defaults=True):
    """Reasoning; `signature` and `data` are opaque and go back only to the same dialect and model."""

    text: str = ""
    signature: str = ""
    data: str = ""


class Image(msgspec.Struct, frozen=True, tag="image"):
    media_type: str
    data: str
    """base64"""


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call"):
    """`arguments` is the model's own JSON text, parsed by the executor only."""

    id: str
    """Ours, unique in the session; empty until the turn mints it."""
    provider_id: str
    """What goes over the wire with the call and its result."""
    name: str
    arguments: str


Part = Text | Thinking | ToolCall


class StopReason(StrEnum):
    END = "end"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSAL = "refusal"
    FILTER = "filter"


class UserMessage(msgspec.Struct, frozen=True, tag="user"):
    parts: tuple[Text | Image, ...]


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant"):
    parts: tuple[Part, ...]
    dialect: str
    model: str
    stop: StopReason
    usage: Usage = Usage()

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


class ToolResult(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    provider_id: str
    name: str
    ok: bool
    output: str
    images: tuple[Image, ...] = ()


class ToolMessage(msgspec.Struct, frozen=True, tag="tool"):
    """All results of one step, in the order of the calls."""

    results: tuple[ToolResult, ...]


Message = UserMessage | AssistantMessage | ToolMessage


def user_text(text: str) -> UserMessage:
    return UserMessage((Text(text),))
