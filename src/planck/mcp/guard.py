"""A guard bounds what a peer says before the SDK sees it, and one wrong part does not take the rest along.

The SDK checks a whole result by every model of its version: 100,000 small parts took it seconds of the loop,
and one tool without a schema made a whole list an exception. It starts a task for each request.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from planck.mcp.listing import MAX_SCHEMA, MAX_TOOLS
from planck.mcp.meta import HTTP_FAILED
from planck.mcp.results import bound_parts
from planck.records import codec

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, TransportStreams, WriteStream

_KEPT_PAGES = 4
MAX_OPEN = 16
"""Requests of a peer that wait for our refusal; what comes beyond is not answered."""
PAGE = "planck/page"
_IN_ROUNDS = frozenset({"tools/call", "resources/read", "prompts/get"})
"""What a server may answer with a question, and the answer to that with the result."""
SAID_CLOSED = -32768
"""For a peer's own -32000, the general error of many servers: for the SDK that is a closed connection."""


class PeerLimits:
    def __init__(self, tools_changed: asyncio.Event) -> None:
        """`tools_changed` is set when the peer tells of a changed list of tools."""
        self._tools_changed = tools_changed
        self._asked: dict[Any, str] = {}
        self._open: set[Any] = set()
        self._pages: dict[int, tuple[list[Any], set[str]]] = {}
        self._count = 0

    def take_page(self, meta: Any) -> tuple[list[Any], set[str]]:
        """Returns the tools of a `tools/list` as they came, once, and the names that the SDK was shown."""
        return self._pages.pop((meta or {}).get(PAGE, 0), ([], set()))

    @asynccontextmanager
    async def watch(
        self, transport: "AbstractAsyncContextManager[TransportStreams]"
    ) -> "AsyncGenerator[TransportStreams, None]":
        async with transport as (incoming, outgoing):
            yield _Incoming(incoming, self), _Outgoing(outgoing, self)

    def note_sent(self, item: SessionMessage) -> None:
        match item.message:
            case JSONRPCRequest() as asked:
                self._asked[asked.id] = asked.method
            case JSONRPCResponse() | JSONRPCError() as answer:
                self._open.discard(answer.id)
            case JSONRPCNotification() as notice if notice.method == "notifications/cancelled":
                self._asked.pop((notice.params or {}).get("requestId"), None)

    def admit(self, item: SessionMessage | Exception) -> bool:
        """Bounds a message of the peer's in place; returns whether the SDK hears of it."""
        match item.message if isinstance(item, SessionMessage) else None:
            case JSONRPCResponse() as answer:
                self._bound_result(self._asked.pop(answer.id, ""), answer.result)
            case JSONRPCError() as refusal:
                self._asked.pop(refusal.id, None)
                if refusal.error.code == CONNECTION_CLOSED and not _of_transport(refusal.error):
                    refusal.error.code = SAID_CLOSED
            case JSONRPCRequest() as asked:
                if len(self._open) >= MAX_OPEN:
                    return False
                self._open.add(asked.id)
            case JSONRPCNotification(method="notifications/tools/list_changed"):
                self._tools_changed.set()
                return False
            case JSONRPCNotification(method="notifications/message"):
                return False
        return True

    def _bound_result(self, method: str, result: dict[str, Any]) -> None:
        if method in _IN_ROUNDS:  # a result that does not say what it is is the whole one
            result.setdefault("resultType", "complete")
        if method == "tools/list" and isinstance(result.get("tools"), list):
            self._count += 1
            outline = _outline(result["tools"])
            self._pages[self._count] = result["tools"], {tool["name"] for tool in outline}
            self._pages.pop(self._count - _KEPT_PAGES, None)  # a probe takes none of what it is told
            result["tools"] = outline
            result["_meta"] = {PAGE: self._count}
        elif isinstance(asked := result.get("inputRequests"), dict):
            result["inputRequests"] = dict(islice(asked.items(), MAX_OPEN))
        elif method == "tools/call" and isinstance(result.get("content"), list):
            result["content"] = bound_parts(result["content"])


def _outline(tools: list[Any]) -> list[dict[str, Any]]:
    """What the SDK sends headers by and says which tools it refuses: names, and schemas that ask for headers.

    No output schema is among it: the SDK would check results by it, with the peer's own patterns.
    """
    found: dict[str, dict[str, Any]] = {}
    for tool in tools[:MAX_TOOLS]:
        match tool:
            case {"name": str() as name, "inputSchema": dict() as schema} if name not in found:
                found[name] = {"type": "object"}
                if _asks_for_headers(schema):
                    found[name] = {**schema, "type": "object"}
    return [{"name": name, "inputSchema": schema} for name, schema in found.items()]


def _asks_for_headers(schema: dict[str, Any]) -> bool:
    try:
        text = codec.encode(schema)
    except (TypeError, ValueError, RecursionError):
        return False
    return len(text) <= MAX_SCHEMA and b'"x-mcp-header"' in text


def _of_transport(error: ErrorData) -> bool:
    """Whether the SDK's HTTP transport, or ours below it, said it in the place of a missing answer."""
    return error.message.startswith("SSE stream ended") or error.data == HTTP_FAILED


class _Incoming(ObjectReceiveStream[SessionMessage | Exception]):
    def __init__(self, stream: "ReadStream[SessionMessage | Exception]", guard: PeerLimits) -> None:
        self._stream = stream
        self._guard = guard

    async def receive(self) -> SessionMessage | Exception:
        while True:
            item = await self._stream.receive()
            if self._guard.admit(item):
                return item

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Outgoing(ObjectSendStream[SessionMessage]):
    def __init__(self, stream: "WriteStream[SessionMessage]", guard: PeerLimits) -> None:
        self._stream = stream
        self._guard = guard

    async def send(self, item: SessionMessage, /) -> None:
        self._guard.note_sent(item)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()
