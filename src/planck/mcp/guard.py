"""What a peer says, before the SDK looks at it: bounded, and one wrong part does not take the rest along.

The SDK checks a whole result by every model of its version: 100,000 small parts took it seconds of the loop,
and one tool without a schema made a whole list an exception. It starts a task for each request.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from planck.mcp.meta import HTTP_FAILED
from planck.mcp.wire import Stream

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams, WriteStream

MAX_PARTS = 1_000
"""Of one result."""
_KEPT_PAGES = 4
MAX_OPEN = 16
"""Requests of a peer that wait for our refusal; what comes beyond is not answered."""
PAGE = "planck/page"
SAID_CLOSED = -32768
"""For a peer's own -32000, the general error of many servers: for the SDK that is a closed connection."""


class Sifted:
    """A transport around a transport."""

    def __init__(
        self, transport: "AbstractAsyncContextManager[TransportStreams]", on_changed: Callable[[], None]
    ) -> None:
        """`on_changed` is called for each word of a changed list of tools."""
        self._transport = transport
        self._on_changed = on_changed
        self._asked: dict[Any, str] = {}
        self._open: set[Any] = set()
        self._pages: dict[int, list[Any]] = {}
        self._count = 0

    def page(self, meta: Any) -> list[Any]:
        """The tools of a `tools/list` as they came; the SDK was shown none of them."""
        return self._pages.pop((meta or {}).get(PAGE, 0), [])

    async def __aenter__(self) -> "TransportStreams":
        incoming, outgoing = await self._transport.__aenter__()
        return _Incoming(incoming, self._heard), _Outgoing(outgoing, self._said)

    async def __aexit__(
        self, type: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._transport.__aexit__(type, value, trace)

    def _said(self, item: SessionMessage) -> None:
        match item.message:
            case JSONRPCRequest() as asked:
                self._asked[asked.id] = asked.method
            case JSONRPCResponse() | JSONRPCError() as answer:
                self._open.discard(answer.id)
            case JSONRPCNotification() as told if told.method == "notifications/cancelled":
                self._asked.pop((told.params or {}).get("requestId"), None)

    def _heard(self, item: SessionMessage | Exception) -> bool:
        """Whether the SDK hears of it too."""
        match item.message if isinstance(item, SessionMessage) else None:
            case JSONRPCResponse() as answer:
                self._answered(self._asked.pop(answer.id, ""), answer.result)
            case JSONRPCError() as refusal:
                self._asked.pop(refusal.id, None)
                if refusal.error.code == CONNECTION_CLOSED and not _of_transport(refusal.error):
                    refusal.error.code = SAID_CLOSED
            case JSONRPCRequest() as asked:
                if len(self._open) >= MAX_OPEN:
                    return False
                self._open.add(asked.id)
            case JSONRPCNotification(method="notifications/tools/list_changed"):
                self._on_changed()
                return False
            case JSONRPCNotification(method="notifications/message"):
                return False
        return True

    def _answered(self, method: str, result: dict[str, Any]) -> None:
        if method == "tools/list" and isinstance(result.get("tools"), list):
            self._count += 1
            self._pages[self._count] = result["tools"]
            self._pages.pop(self._count - _KEPT_PAGES, None)  # a probe takes none of what it is told
            result["tools"] = []
            result["_meta"] = {PAGE: self._count}
        elif method == "tools/call" and isinstance(result.get("content"), list):
            parts = result["content"]
            result["content"] = [_part(part) for part in parts[:MAX_PARTS]]
            if len(parts) > MAX_PARTS:
                result["content"].append(_text(f"[{len(parts) - MAX_PARTS} more parts are left out]"))


def _of_transport(error: ErrorData) -> bool:
    """What the SDK's HTTP transport, or ours below it, says in the place of an answer that did not come."""
    return error.message.startswith("SSE stream ended") or error.data == HTTP_FAILED


def _part(part: Any) -> dict[str, Any]:
    """As far as we read it; what is not understood is named, so that the rest counts."""
    match part:
        case {"type": "text", "text": str() as text}:
            return _text(text)
        case {"type": "image" | "audio" as kind, "data": str() as data, "mimeType": str() as media}:
            return {"type": kind, "data": data, "mimeType": media}
        case {"type": "resource", "resource": {"uri": str() as uri, "text": str() as text}}:
            return {"type": "resource", "resource": {"uri": uri, "text": text}}
        case {"type": "resource", "resource": {"uri": str() as uri, "blob": str() as blob}}:
            return {"type": "resource", "resource": {"uri": uri, "blob": blob}}
        case {"type": "resource_link", "uri": str() as uri, "name": str() as name}:
            return {"type": "resource_link", "uri": uri, "name": name}
        case {"type": str() as kind}:
            return _text(f"[a part of type {kind[:40]!r} that is not understood]")
    return _text("[a part that is not understood]")


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


class _Incoming(Stream):
    def __init__(
        self,
        stream: "ReadStream[SessionMessage | Exception]",
        heard: Callable[[SessionMessage | Exception], bool],
    ) -> None:
        self._stream = stream
        self._heard = heard

    async def receive(self) -> SessionMessage | Exception:
        while True:
            item = await self._stream.receive()
            if self._heard(item):
                return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            item = await self._stream.__anext__()
            if self._heard(item):
                return item

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Outgoing(Stream):
    def __init__(self, stream: "WriteStream[SessionMessage]", said: Callable[[SessionMessage], None]) -> None:
        self._stream = stream
        self._said = said

    async def send(self, item: SessionMessage, /) -> None:
        self._said(item)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()
