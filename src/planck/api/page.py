"""The page's own files: an exact list, read once, the same for everybody, and nothing beside them."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import planck
from planck.api.exchange import Reply, Scope
from planck.records import codec
from planck.records.outcome import Err, ErrorKind

_FOLDER = Path(planck.__file__).parent / "web"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
"""A file of any other kind is not part of the page."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # Text never becomes markup: even our own code can't assign `innerHTML`.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}


@cache
def list_files(folder: Path = _FOLDER) -> Mapping[bytes, Reply]:
    """Returns the answer for each path as it is sent: what is not written exactly so is not there."""
    found = {b"/web/" + path.relative_to(folder).as_posix().encode(): path for path in folder.rglob("*")}
    files = {name: _answer(path) for name, path in found.items() if path.suffix in _TYPES and path.is_file()}
    if b"/web/index.html" in files:
        files[b"/"] = files[b"/web/index.html"]
    return files


def _answer(path: Path) -> Reply:
    body = path.read_bytes()
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    return Reply(200, body, _TYPES[path.suffix], {**_HEADERS, "etag": tag})


def choose_answer(reply: Reply, scope: Scope) -> Reply:
    """Says 304 to who has it already, and 405 to who wants to do something with it."""
    if scope["method"] not in ("GET", "HEAD"):
        refused = Err(ErrorKind.INVALID_ARGS, "Method not allowed. Use GET or HEAD.")
        return Reply(405, codec.encode(refused.envelope()), headers={"allow": "GET, HEAD"})
    sent = b",".join(value for key, value in scope["headers"] if key == b"if-none-match").decode("latin-1")
    known = [one.strip().removeprefix("W/") for one in sent.split(",")]
    if reply.headers["etag"] in known or "*" in known:
        return Reply(304, headers=reply.headers)
    return reply
