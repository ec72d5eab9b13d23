"""One request and its answer, between the protocol server and the handlers."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from planck.api.access import Caller
from planck.api.errors import ApiError
from planck.api.rights import Role
from planck.records import codec
from planck.records.outcome import ErrorKind

MAX_BODY = 8 << 20
JSON = "application/json"
NDJSON = "application/x-ndjson"
EVENTS = "text/event-stream"
PIECE = 16 << 10
"""Bytes that are handed to a connection at a time: what a stuck client holds is this and its buffer."""

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Connection(Protocol):
    """The socket below a request."""

    def cut(self) -> None:
        """Closes it now, whatever is still to be written."""


class Reply(msgspec.Struct, frozen=True):
    """An answer that is no plain JSON with the operation's status."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = {}


class Streamed(msgspec.Struct, frozen=True):
    """An answer in pieces. `patience`: seconds in which the client must take each; 0: any time."""

    pieces: AsyncGenerator[bytes, None]
    content_type: str
    patience: float = 0.0
    headers: Mapping[str, str] = {}


class Call:
    """What a handler is given: decoded, checked, and by somebody who may."""

    def __init__(
        self,
        scope: Scope,
        path: Mapping[str, str],
        query: Any,
        body: Any,
        *,
        raw: bytes = b"",
        caller: Caller | None = None,
    ) -> None:
        self.path = path
        self.query = query
        self.body = body
        self.raw = raw
        """The body as it came."""
        self.way = caller.way if caller else None
        self.role: Role = caller.role if caller else "view"
        """What the caller may do. Every door to a session asks for it."""
        self.query_string: str = scope["query_string"].decode("latin-1")
        self._headers: list[tuple[bytes, bytes]] = scope["headers"]

    def headers(self, name: str) -> list[bytes]:
        key = name.encode()
        return [value for found, value in self._headers if found == key]

    def header(self, name: str) -> str:
        """The one value; several of a header that has one place are refused."""
        found = self.headers(name)
        if len(found) > 1:
            raise ApiError(400, ErrorKind.INVALID_ARGS, f"Send the header {name!r} only once.")
        return found[0].decode("latin-1") if found else ""

    def accepts(self, kind: str) -> bool:
        """Whether a kind of answer is asked for by its name; `*/*` asks for none."""
        said = b",".join(self.headers("accept")).decode("latin-1").lower()
        return any(one.partition(";")[0].strip() == kind for one in said.split(","))

    @property
    def id(self) -> str:
        return self.path["id"]


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Returns the whole body; one that is, or says that it is, too large is not read to its end."""
    said = [value for key, value in scope["headers"] if key == b"content-length"]
    if said and said[0].isdigit() and int(said[0]) > MAX_BODY:
        raise _too_large()
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_BODY:
            raise _too_large()
        if part:
            parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


class ClientGone(Exception):
    """Nobody is left to answer."""


class FellBehind(Exception):
    """The client takes less than there is: it is cut, and comes back to the log."""


def _too_large() -> ApiError:
    return ApiError(
        413,
        ErrorKind.LIMIT_EXCEEDED,
        f"The request body is larger than {MAX_BODY >> 20} MiB. Send less, or several smaller requests.",
    )


async def send_reply(send: Send, reply: Reply) -> None:
    headers = [(b"x-content-type-options", b"nosniff")]
    if "cache-control" not in reply.headers:
        headers.append((b"cache-control", b"no-store"))
    if reply.status not in (204, 304):
        headers.append((b"content-type", reply.content_type.encode()))
        headers.append((b"content-length", b"%d" % len(reply.body)))
    headers += [(name.encode(), value.encode()) for name, value in reply.headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


def encode_reply(value: Any, status: int) -> Reply:
    if isinstance(value, Reply):
        return value
    if value is None:
        return Reply(status)
    return Reply(status, codec.encode(value))
