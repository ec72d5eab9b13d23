"""A wire carries JSON-RPC over two descriptors, one message a line, as the pair of streams the SDK asks for.

The SDK's own stdio transport splits a long line in quadratic time and keeps all of it; this one is bounded
before the SDK sees anything, matches answers strictly, and never blocks on a peer that does not read.
"""

import json

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from planck.records.outcome import ErrorKind
from planck.workspace.process.duplex import Duplex
from planck.workspace.process.framing import MAX_LINE

MAX_BAD_LINES = 20
_GATHER = 0.001
"""Seconds for which answers are gathered into one write, while others are still owed."""


class Wire:
    def __init__(self, lines: Duplex) -> None:
        self._lines = lines
        self.incoming: Incoming = Incoming(self)
        self.outgoing: Outgoing = Outgoing(self)
        self._bad_lines = 0
        self._is_foul = False
        """The peer broke the protocol: what it said behind that is not heard."""
        self._asked: set[int | str] = set()
        self._owed: set[int | str | None] = set()

    def end(self, reason: str, kind: ErrorKind = ErrorKind.PEER_FAILED) -> None:
        """Stops reading; of several reasons the first stays."""
        self._lines.end(reason, kind)

    def close_output(self) -> None:
        """Shows the peer the end of its input, after what was said before."""
        self._lines.close_output()

    async def next(self) -> SessionMessage:
        while not self._is_foul:
            try:
                line = await self._lines.next()
            except EOFError:
                break
            if line is None:
                self._refuse(f"it sent a line longer than {MAX_LINE} bytes")
            elif (message := self._parse(line)) is not None:
                return SessionMessage(message)
        raise anyio.EndOfStream

    async def send(self, message: JSONRPCMessage) -> None:
        """Returns when the message is ours to deliver; waits only while too much before it is stuck."""
        line = _encode(message)
        if isinstance(message, JSONRPCRequest):
            self._asked.add(message.id)
        elif isinstance(message, JSONRPCResponse | JSONRPCError):
            self._owed.discard(message.id)
        if not await self._lines.send(line, gather=_GATHER if self._owed else 0):
            raise anyio.BrokenResourceError

    def _refuse(self, reason: str) -> None:
        self._is_foul = True
        self.end(reason, ErrorKind.PEER_PROTOCOL)

    def _parse(self, line: bytes) -> JSONRPCMessage | None:
        if not line.strip():
            return None
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValueError, RecursionError):
            self._bad_lines += 1
            if self._bad_lines >= MAX_BAD_LINES:
                last = line[:80].decode(errors="replace")
                said = f"it sent {self._bad_lines} lines that are not JSON-RPC (the last is {last!r})"
                self._refuse(said)
            return None
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            # Strictly: the SDK would take "7" for 7. What nobody asked for has a wrong, late or doubled id.
            if message.id is None or type(message.id) is not int or message.id not in self._asked:
                return None
            self._asked.discard(message.id)
        elif isinstance(message, JSONRPCRequest):
            self._owed.add(message.id)
        elif message.method == "notifications/cancelled":  # never answered
            cancelled = (message.params or {}).get("requestId")
            if isinstance(cancelled, int | str):
                self._owed.discard(cancelled)
        return message


def _encode(message: JSONRPCMessage) -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except ValueError:  # half a surrogate pair, from a file name or an exception of somebody's code
        plain = message.model_dump(by_alias=True, exclude_unset=True)
        return json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace")


class Incoming(ObjectReceiveStream[SessionMessage | Exception]):
    """Carries what the peer says; the SDK closes it when it is done."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def receive(self) -> SessionMessage | Exception:
        return await self._wire.next()

    async def aclose(self) -> None:
        self._wire.end("closed")


class Outgoing(ObjectSendStream[SessionMessage]):
    """Carries what we say to the peer."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def send(self, item: SessionMessage, /) -> None:
        await self._wire.send(item.message)

    async def aclose(self) -> None:
        self._wire.close_output()
