"""Outcomes become MCP results and come back; one of ours comes back as it was."""

from typing import Any

from mcp_types import AudioContent, CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent

from planck.mcp.listing import drop_unseen
from planck.mcp.meta import OUTCOME
from planck.records import codec
from planck.records.messages import Image
from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit.images import image_from_base64
from planck.toolkit.tool import Outcome

_MAX_IMAGES = 20


def encode_outcome(outcome: Outcome, output: str, images: tuple[Image, ...] = ()) -> CallToolResult:
    """Gives any client text and pictures, and ours the outcome itself beside them."""
    content: list[Any] = [TextContent(type="text", text=output)]
    content += [ImageContent(type="image", data=image.data, mime_type=image.media_type) for image in images]
    ours = outcome.envelope() if isinstance(outcome, Err) else {"ok": True, "value": outcome.value}
    failed = isinstance(outcome, Err) or outcome.value.get("ok") is False
    return CallToolResult(content=content, is_error=failed, _meta={OUTCOME: codec.decode(codec.encode(ours))})


def decode_outcome(result: CallToolResult, *, ours: bool) -> Outcome:
    """`ours`: the peer is a sidecar, whose word on kinds and values is taken."""
    images = _images(result)
    pictures = {"images": images} if images else {}
    if ours and (outcome := _read_own(result)):
        return outcome if isinstance(outcome, Err) else Ok({**outcome.value, **pictures})
    text = "\n".join(filter(None, map(_text, result.content)))
    if result.is_error:
        return Err(
            ErrorKind.COMMAND_FAILED, text or "the tool failed without giving a reason; check the arguments"
        )
    if not text and result.structured_content is not None:
        text = codec.encode_str(result.structured_content)
    return Ok({"output": text, **pictures})


def _read_own(result: CallToolResult) -> Outcome | None:
    match (result.meta or {}).get(OUTCOME):
        case {"ok": True, "value": {"output": str()} as value}:
            return Ok(value)
        case {"ok": False} as envelope:
            return read_own_error(envelope)
    return None


def read_own_error(envelope: Any) -> Err | None:
    """Reads a sidecar's error as it sent it; a kind that we do not know is a fault of the protocol."""
    match envelope:
        case {"error": {"kind": str() as kind, "message": str() as message, **rest}}:
            details = rest.get("details")
            known = ErrorKind(kind) if kind in tuple(ErrorKind) else ErrorKind.PEER_PROTOCOL
            return Err(known, message, details if isinstance(details, dict) else {})
    return None


def _images(result: CallToolResult) -> tuple[Image, ...]:
    found = (image_from_base64(block.data) for block in result.content if isinstance(block, ImageContent))
    return tuple(image for image in found if image)[:_MAX_IMAGES]


def _text(block: Any) -> str:
    match block:
        case TextContent():
            return block.text
        case ImageContent() if image_from_base64(block.data):
            return ""
        case AudioContent() | ImageContent():
            return f"[{drop_unseen(block.mime_type)}, {len(block.data)} bytes as base64, not shown]"
        case EmbeddedResource():
            text = getattr(block.resource, "text", None)
            return text if isinstance(text, str) else f"[resource {drop_unseen(str(block.resource.uri))}]"
        case ResourceLink():
            return f"[resource {drop_unseen(str(block.uri))}]"
        case _:
            return ""
