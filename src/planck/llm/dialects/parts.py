"""What several dialects write the same way: calls, their results and ids, images beside them."""

import re
from collections.abc import Sequence
from zlib import crc32

import msgspec

from planck.records import codec
from planck.records.messages import Image, Part, Text, Thinking, ToolCall, ToolResult

PromptPart = Text | Image


def repair_arguments(arguments: str) -> str:
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


def read_arguments(raw: msgspec.Raw) -> str:
    """What a server sends as an object, as text: null is none, as PHP's `[]` is; a text is what it spells."""
    value = bytes(raw)
    if value in (b"null", b"[]"):
        return "{}"
    return str(codec.decode(value)) if value.startswith(b'"') else value.decode()


def read_begun(arguments: str) -> dict[str, str]:
    """The texts at the beginning of arguments that are being written, up to the first that is not whole.

    A path comes first as a rule; what stands behind a number or a list is not looked for.
    """
    found: dict[str, str] = {}
    at = len(arguments) - len(arguments.lstrip(" \t\r\n{"))
    while pair := _PAIR.match(arguments, at):
        try:
            found[codec.decode_as(pair[1].encode(), str)] = codec.decode_as(pair[2].encode(), str)
        except codec.DecodeError:
            break
        at = pair.end()
    return found


_PAIR = re.compile(r'\s*("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*")\s*,?')


def embed_arguments(arguments: str) -> msgspec.Raw:
    return msgspec.Raw(repair_arguments(arguments).encode())


def clean_id(part: ToolCall | ToolResult) -> str:
    """The id of a call from any vendor in the alphabet and length that all accept; one that fits stays."""
    id = part.provider_id or part.id
    if _SAFE.fullmatch(id):
        return id
    return f"{_UNSAFE.sub('_', id)[:48]}_{crc32(id.encode('utf-8', 'replace')):08x}"


def clean_name(name: str) -> str:
    """The same for the name of a tool, which a model may have made up."""
    return name if _SAFE.fullmatch(name) else _UNSAFE.sub("_", name)[:64] or "unnamed"


_SAFE = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]")


def join_thoughts(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Thinking))


FROM_USER = b'{"role":"user"'


def fill_ends(encoded: Sequence[bytes], filler: bytes) -> list[bytes]:
    """The messages that say something, with `filler` where a vendor insists on one of the user's."""
    messages = [message for message in encoded if message]
    if not messages or not messages[0].startswith(FROM_USER):
        messages.insert(0, filler)
    if not messages[-1].startswith(FROM_USER):
        messages.append(filler)
    return messages
