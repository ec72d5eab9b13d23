"""What the dialects share about parts: an answer's on the way in, a recorded call's on the way out."""

import re
from collections.abc import Sequence
from zlib import crc32

import msgspec

from planck.records import codec
from planck.records.messages import AssistantMessage, Image, Part, StopReason, Text, ToolCall
from planck.records.usage import Usage

_WHOLE = (StopReason.END, StopReason.TOOL_CALLS)


def conclude(
    parts: Sequence[Part], stop: StopReason, dialect: str, model: str, usage: Usage
) -> AssistantMessage:
    """The message of a stream that ended properly; one cut short by length, refusal or filter loses every
    call, since the last may be half a call and the rest were meant together with it."""
    kept = tuple(part for part in parts if not _empty(part))
    if stop not in _WHOLE:
        kept = tuple(part for part in kept if not isinstance(part, ToolCall))
    else:
        called = any(isinstance(part, ToolCall) for part in kept)
        stop = StopReason.TOOL_CALLS if called else StopReason.END
    return AssistantMessage(kept, dialect, model, stop, usage)


def _empty(part: Part) -> bool:
    return isinstance(part, Text) and not part.text


def json_text(arguments: str) -> str:
    """The model's own argument text where it is a JSON object; else an object that carries the text.

    Servers parse what they are sent back: one broken call would make the whole history unsendable.
    """
    text = arguments.strip() or "{}"
    try:
        if isinstance(codec.decode(text), dict):
            return text
    except codec.DecodeError:
        pass
    return codec.encode_str({"invalid_arguments": arguments})


def json_arguments(raw: msgspec.Raw) -> str:
    """What a server sends as an object, as text: null is none, and a text is the object that it spells."""
    value = bytes(raw)
    if value == b"null":
        return "{}"
    return str(codec.decode(value)) if value.startswith(b'"') else value.decode()


def json_object(arguments: str) -> msgspec.Raw:
    return msgspec.Raw(json_text(arguments).encode())


def wire_id(id: str) -> str:
    """The id of a call from any vendor in the alphabet and length that all accept; one that fits stays."""
    if _SAFE.fullmatch(id):
        return id
    return f"{_UNSAFE.sub('_', id)[:48]}_{crc32(id.encode('utf-8', 'replace')):08x}"


def wire_name(name: str) -> str:
    """The same for the name of a tool, which a model may have made up."""
    return name if _SAFE.fullmatch(name) else _UNSAFE.sub("_", name)[:64] or "unnamed"


_SAFE = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")


def describe_unseen(image: Image) -> str:
    """What stands for an image that the model has no eyes for."""
    return f"[an image ({image.media_type}) that this model can't see]"
