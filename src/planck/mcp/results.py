"""Outcomes become MCP results and come back; one of ours comes back as it was."""

from typing import Any

from planck.mcp.listing import drop_unseen
from planck.mcp.meta import OUTCOME
from planck.mcp.rpc import CallResult
from planck.records import codec
from planck.records.messages import Image
from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit.images import image_from_base64
from planck.toolkit.tool import Outcome

MAX_PARTS = 1_000
"""Of one result."""
_MAX_IMAGES = 20


def encode_outcome(outcome: Outcome, output: str, images: tuple[Image, ...] = ()) -> CallResult:
    """Gives any client text and pictures, and ours the outcome itself beside them."""
    content = [_make_text(output)]
    content += [{"type": "image", "data": image.data, "mimeType": image.media_type} for image in images]
    ours = outcome.envelope() if isinstance(outcome, Err) else {"ok": True, "value": outcome.value}
    failed = isinstance(outcome, Err) or outcome.value.get("ok") is False
    return CallResult(content, is_error=failed, meta={OUTCOME: codec.decode(codec.encode(ours))})


def bound_parts(parts: list[Any]) -> list[dict[str, Any]]:
    """Keeps what we read of each part of a result, and no more parts than a result may have."""
    bound = [_read_part(part) for part in parts[:MAX_PARTS]]
    if len(parts) > MAX_PARTS:
        bound.append(_make_text(f"[{len(parts) - MAX_PARTS} more parts omitted]"))
    return bound


def decode_outcome(result: CallResult, *, ours: bool) -> Outcome:
    """Reads a result with `bound_parts`. `ours`: a sidecar's, whose word on kinds and values is taken."""
    images = _images(result)
    pictures = {"images": images} if images else {}
    if ours and (outcome := _read_own(result)):
        return outcome if isinstance(outcome, Err) else Ok({**outcome.value, **pictures})
    text = "\n".join(filter(None, map(_show, result.content)))
    if result.is_error:
        return Err(
            ErrorKind.COMMAND_FAILED, text or "the tool failed without giving a reason; check the arguments"
        )
    if not text and result.structured_content is not None:
        text = codec.encode_str(result.structured_content)
    return Ok({"output": text, **pictures})


def _read_own(result: CallResult) -> Outcome | None:
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


def _images(result: CallResult) -> tuple[Image, ...]:
    found = (image_from_base64(part["data"]) for part in result.content if part["type"] == "image")
    return tuple(image for image in found if image)[:_MAX_IMAGES]


def _show(part: dict[str, Any]) -> str:
    match part:
        case {"type": "text", "text": text}:
            return str(text)
        case {"type": "image", "data": data} if image_from_base64(data):
            return ""
        case {"type": "audio" | "image", "data": data, "mimeType": media}:
            return f"[{drop_unseen(media)}, {len(data)} bytes as base64, not shown]"
        case {"type": "resource", "resource": {"text": text}}:
            return str(text)
        case {"type": "resource", "resource": {"uri": uri}} | {"type": "resource_link", "uri": uri}:
            return f"[resource {drop_unseen(uri)}]"
    return ""


def _read_part(part: Any) -> dict[str, Any]:
    """Keeps what we read of it; what is not understood is named, so that the rest counts."""
    match part:
        case {"type": "text", "text": str() as text}:
            return _make_text(text)
        case {"type": "image" | "audio" as kind, "data": str() as data, "mimeType": str() as media}:
            return {"type": kind, "data": data, "mimeType": media}
        case {"type": "resource", "resource": {"uri": str() as uri, "text": str() as text}}:
            return {"type": "resource", "resource": {"uri": uri, "text": text}}
        case {"type": "resource", "resource": {"uri": str() as uri, "blob": str() as blob}}:
            return {"type": "resource", "resource": {"uri": uri, "blob": blob}}
        case {"type": "resource_link", "uri": str() as uri, "name": str() as name}:
            return {"type": "resource_link", "uri": uri, "name": name}
        case {"type": str() as kind}:
            return _make_text(f"[unsupported content of type {kind[:40]!r}]")
    return _make_text("[unsupported content]")


def _make_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
