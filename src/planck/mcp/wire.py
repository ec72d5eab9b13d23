"""A wire carries JSON-RPC over two descriptors, one message a line, as the pair of streams the SDK asks for.

The SDK's own stdio transport splits a long line in quadratic time and keeps all of it; this one is bounded
before the SDK sees anything, matches answers strictly, and never blocks on a peer that does not read.
"""

import asyncio
import json
import os
from collections import deque
from contextlib import suppress

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from planck.records.outcome import ErrorKind
from planck.workspace.framing import MAX_LINE, LineBuffer, LineTooLong

MAX_BAD_LINES = 20
_CHUNK = 1 << 16
_GATHER = 0.001
"""Seconds for which answers are gathered into one write, while others are still owed."""
_WRITE_AHEAD = 1 << 18
"""Bytes that may wait for a peer that does not read, before those who send more wait too."""
_READ_AHEAD = 1 << 20
"""Bytes of lines taken from the pipe before they are wanted; then the pipe itself holds the peer back."""


class Wire:
    """Owns both descriptors, which must be pipes, sockets or terminals."""

    def __init__(self, read_end: int, write_end: int, held: int | None = None) -> None:
        """`held` keeps the peer's named pipe open; it is closed when the first bytes come, or none will."""
        self.ended = asyncio.Event()
        self.why = (ErrorKind.PEER_FAILED, "")
        """Once it ended: as the end of a sentence."""
        self._bad_lines = 0
        self.incoming = Incoming(self)
        self.outgoing = Outgoing(self)
        self._loop = asyncio.get_running_loop()
        self._read_end: int | None = read_end
        self._write_end: int | None = write_end
        self._lines = LineBuffer()
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._asked: set[int | str] = set()
        self._owed: set[int | str | None] = set()
        self._arrived = asyncio.Event()
        self._out = bytearray()
        self._drained = asyncio.Event()
        self._drained.set()
        self._flushing = False
        self._paused = False
        self._held = held
        for descriptor in (read_end, write_end):
            os.set_blocking(descriptor, False)
        self._loop.add_reader(read_end, self._readable)

    def end(self, reason: str, kind: ErrorKind = ErrorKind.PEER_FAILED) -> None:
        """Stops reading; of several reasons the first stays."""
        if not self.ended.is_set():
            self.why = (kind, reason)
            self.ended.set()
        if self._read_end is not None:
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = None
        self.release()
        self._arrived.set()

    def close_output(self) -> None:
        """Shows the peer the end of its input, after what was said before."""
        if self._write_end is not None and self._out:
            with suppress(OSError):
                os.write(self._write_end, self._out)
        if self._write_end is not None:
            self._loop.remove_writer(self._write_end)
            os.close(self._write_end)
            self._write_end = None
        self._drained.set()

    async def next(self) -> SessionMessage:
        while True:
            while self._queue:
                line = self._queue.popleft()
                self._queued -= len(line)
                message = self._parse(line)
                self._resume()
                if message is not None:
                    return SessionMessage(message)
            if self.ended.is_set():
                raise anyio.EndOfStream
            self._arrived.clear()
            await self._arrived.wait()

    async def send(self, message: JSONRPCMessage) -> None:
        """Returns when the message is ours to deliver; waits only while too much before it is stuck."""
        line = _encode(message) + b"\n"
        while len(self._out) > _WRITE_AHEAD and self._write_end is not None:
            self._drained.clear()
            await self._drained.wait()
        if self._write_end is None:
            raise anyio.BrokenResourceError
        if isinstance(message, JSONRPCRequest):
            self._asked.add(message.id)
        elif isinstance(message, JSONRPCResponse | JSONRPCError):
            self._owed.discard(message.id)
        self._out += line
        if not self._flushing:
            # With what is said meanwhile: each write wakes the peer, which costs more than the bytes.
            self._flushing = True
            self._loop.call_later(_GATHER if self._owed else 0, self._flush)

    def _readable(self) -> None:
        if self._read_end is None:
            return
        try:
            chunk = os.read(self._read_end, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self.end("it closed its output")
            return
        self.release()
        try:
            lines = self._lines.feed(chunk)
        except LineTooLong:
            self._queue.clear()
            self.end(f"it sent a line longer than {MAX_LINE} bytes", ErrorKind.PEER_PROTOCOL)
            return
        self._queue.extend(lines)
        self._queued += sum(map(len, lines))
        if self._queued > _READ_AHEAD:
            self._paused = True
            self._loop.remove_reader(self._read_end)
        self._arrived.set()

    def release(self) -> None:
        """Closes what was held open for the peer; from now on its own end decides."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _resume(self) -> None:
        if self._paused and self._read_end is not None and self._queued <= _READ_AHEAD // 2:
            self._paused = False
            self._loop.add_reader(self._read_end, self._readable)

    def _parse(self, line: bytes) -> JSONRPCMessage | None:
        if not line.strip():
            return None
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValueError, RecursionError):
            self._bad_lines += 1
            if self._bad_lines >= MAX_BAD_LINES:
                self._queue.clear()
                self.end(
                    f"it sent {self._bad_lines} lines that are no JSON-RPC, the last {line[:80]!r}",
                    ErrorKind.PEER_PROTOCOL,
                )
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

    def _flush(self) -> None:
        self._flushing = False
        if self._write_end is None:
            return
        try:
            sent = os.write(self._write_end, self._out)
        except BlockingIOError:
            sent = 0
        except OSError:  # nobody reads any more: what the peer still says decides
            self.close_output()
            return
        del self._out[:sent]
        if self._out:
            self._flushing = True
            self._loop.add_writer(self._write_end, self._flush)
        else:
            self._loop.remove_writer(self._write_end)
        if len(self._out) <= _WRITE_AHEAD:
            self._drained.set()


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
