"""Images that every vendor takes."""

import base64
import binascii

from planck.records.messages import Image

MAX_IMAGE = 4 << 20


def image_type(content: bytes) -> str | None:
    """By the content itself: a name or a label may be wrong."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_from_base64(data: str) -> Image | None:
    """From somebody's base64. None where a vendor would refuse it, and with it every later request."""
    if len(data) > MAX_IMAGE * 4 // 3 + 4:
        return None
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    media_type = image_type(content)
    return Image(media_type, data) if media_type else None
