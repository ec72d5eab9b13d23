"""What a model is shown and what it answers, in no vendor's shape."""

from collections.abc import Sequence
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


class UserMessage(msgspec.Struct, frozen=True, gc=False, tag="user", omit_defaults=True):
    """What is said to a model in the user's place: texts, and images beside them.

    Example:

        from planck.records.messages import Image, Text

        picture = Image("image/png", base64.b64encode(png).decode())
        await session.run(UserMessage((Text("What is in this picture?"), picture)))
    """

    parts: tuple[Text | Image, ...]
    sender: str = ""
    """The agent, the `SUMMARY`, or the origin that spoke in the user's place; empty: the user."""
    typed: str = ""
    """What the user wrote of it, where attached files stand in the text too; for frontends."""

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


class AssistantMessage(msgspec.Struct, frozen=True, gc=False, tag="assistant"):
    parts: tuple[Part, ...]
    dialect: str
    model: str
    stop: StopReason
    usage: Usage = Usage()
    response_id: str | msgspec.UnsetType = msgspec.UNSET
    """The provider's own name for the answer; absent where it gave none."""

    @property
    def text(self) -> str:
        return "".join([part.text for part in self.parts if isinstance(part, Text)])  # a list is faster

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])  # a list is faster


class ToolResult(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    id: str
    provider_id: str
    name: str
    ok: bool
    output: str
    images: tuple[Image, ...] = ()
    spilled: bool = False
    """Whether all of a long output is kept."""


class ToolMessage(msgspec.Struct, frozen=True, gc=False, tag="tool"):
    """All results of one step, in the order of the calls."""

    results: tuple[ToolResult, ...]


Message = UserMessage | AssistantMessage | ToolMessage


SUMMARY = "summary"


def user_text(text: str, sender: str = "") -> UserMessage:
    return UserMessage((Text(text),), sender)


def as_text(message: Message) -> str:
    """Renders what was said or done as plain text that begins with who; leaves out thinking and pictures."""
    match message:
        case UserMessage():
            return f"{message.sender or 'user'}: {message.text}"
        case AssistantMessage():
            return "agent: " + "\n".join(filter(None, map(_part_text, message.parts)))
        case ToolMessage():
            return "\n".join(f"{result.name} -> {result.output}" for result in message.results)


def _part_text(part: Part) -> str:
    match part:
        case Text():
            return part.text
        case ToolCall():
            return f"calls {part.name}({part.arguments})"
        case Thinking():
            return ""


def size(message: Message) -> int:
    """Estimates how many bytes a model is shown; an image counts as many as its usual tokens stand for."""
    match message:
        case UserMessage() | AssistantMessage():
            return sum(map(_part_size, message.parts))
        case ToolMessage():
            return sum([len(r.output.encode()) + _IMAGE * len(r.images) + 40 for r in message.results])


_IMAGE = 4800


def _part_size(part: Part | Image) -> int:
    match part:
        case Text():
            return len(part.text.encode()) + 20
        case Thinking():
            return len(part.text.encode()) + len(part.signature) + len(part.data)
        case ToolCall():
            return len(part.name) + len(part.arguments.encode()) + 60
        case Image():
            return _IMAGE


def assign_ids(message: AssistantMessage, ids: Sequence[str]) -> AssistantMessage:
    """Gives each call an id of ours. Provider ids may be empty or repeated: ours stand in for them then."""
    fresh = iter(ids)
    seen: set[str] = set()
    parts: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            id = next(fresh)
            wire = part.provider_id if part.provider_id and part.provider_id not in seen else id
            seen.add(wire)
            part = msgspec.structs.replace(part, id=id, provider_id=wire)
        parts.append(part)
    return msgspec.structs.replace(message, parts=tuple(parts))
