"""Connections whose request is not whole yet: few at a time, none for long, none large."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from planck.records import codec
from planck.records.outcome import Err, ErrorKind

PATIENCE = 10.0
"""Seconds for a request to arrive as a whole."""
_UNASKED = 64
"""Connections that have not asked for anything yet: one more sends the oldest of them away."""
_CONNECTIONS = 1024
_HEAD = 64 << 10
_HEADERS = 100


class Lobby:
    def __init__(self, patience: float = PATIENCE, *, unasked: int = _UNASKED) -> None:
        """`unasked`: a burst of so many that come at once is let in whole."""
        self._patience = patience
        self._unasked = unasked
        self._deadlines: dict[GuardedProtocol, float] = {}
        """In the order in which they end: all have the same patience."""
        self._timer: asyncio.TimerHandle | None = None
        self.connections: int = 0

    @property
    def full(self) -> bool:
        return self.connections > _CONNECTIONS

    def enter(self, connection: "GuardedProtocol") -> None:
        if connection in self._deadlines:
            return  # another byte is no other request
        if len(self._deadlines) >= self._unasked:
            self._send_away(next(iter(self._deadlines)))
        loop = asyncio.get_running_loop()
        self._deadlines[connection] = loop.time() + self._patience
        if self._timer is None:  # one for all: a timer for each request would cost more than its answer
            self._timer = loop.call_later(self._patience, self._look)

    def leave(self, connection: "GuardedProtocol") -> None:
        self._deadlines.pop(connection, None)

    def lose(self, connection: "GuardedProtocol") -> None:
        self.connections -= 1
        self.leave(connection)
        # Not when nobody waits: a connection that stays open would need a new timer for each request.
        if not self.connections and self._timer:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        late = [one for one, until in self._deadlines.items() if until <= loop.time()]
        for connection in late:
            self._send_away(connection)
        if self._deadlines:
            until = next(iter(self._deadlines.values()))
            self._timer = loop.call_later(max(until - loop.time(), 0.001), self._look)

    def _send_away(self, connection: "GuardedProtocol") -> None:
        self.leave(connection)
        connection.give_up()


class GuardedProtocol(HttpToolsProtocol):
    """A connection that is in the lobby whenever it has not asked, or not to the end."""

    def __init__(self, lobby: Lobby, **given: Any) -> None:
        super().__init__(**given)
        self._lobby = lobby
        self._asking = False
        self._leaving = False
        """Answered, and to be closed once the rest of the request is here."""
        self._head = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._lobby.connections += 1
        self._lobby.enter(self)
        if self._lobby.full:
            self.refuse(503, ErrorKind.LIMIT_EXCEEDED, "Too many connections. Close some, or try again.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._lobby.lose(self)
        super().connection_lost(exc)
        # uvicorn leaves it running where the other side reset the connection.
        if self.timeout_keep_alive_task:
            self.timeout_keep_alive_task.cancel()

    def data_received(self, data: bytes) -> None:
        if not self.transport.is_closing():  # what follows a refusal is of no interest
            super().data_received(data)

    def on_message_begin(self) -> None:
        self._lobby.enter(self)
        self._asking, self._head = True, 0
        super().on_message_begin()
        self.scope["connection"] = self  # type: ignore[typeddict-unknown-key]

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count_head(len(name) + len(value))

    def _count_head(self, size: int) -> None:
        self._head += size
        if self._head > _HEAD or len(self.headers) > _HEADERS:
            self.refuse(
                431,
                ErrorKind.LIMIT_EXCEEDED,
                "The request headers are too large. Send fewer or shorter headers.",
            )

    def on_headers_complete(self) -> None:
        if not self.transport.is_closing():
            self.scope["target"] = self.url  # type: ignore[typeddict-unknown-key]
            super().on_headers_complete()
            if not self.cycle.keep_alive:
                self.cycle.transport = _Door(self)  # type: ignore[assignment]  # all that it is used for

    def on_body(self, body: bytes) -> None:
        # The rest of one that was refused is taken, for as long as patience lasts: else nobody reads why.
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._asking = False
        self._lobby.leave(self)
        if self._leaving:
            self.transport.close()
        if not self.transport.is_closing():
            super().on_message_complete()
            if self.cycle.response_complete:  # it was refused before it was whole
                self._lobby.enter(self)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._lobby.enter(self)

    def send_400_response(self, msg: str) -> None:
        self.refuse(
            400, ErrorKind.INVALID_ARGS, "Not an HTTP request. Use the address that the server printed."
        )

    def give_up(self) -> None:
        """Closes a connection that is too slow; one that is in a request hears why."""
        if self._asking and (self.cycle is None or not self.cycle.response_started):
            self.refuse(408, ErrorKind.TIMEOUT, "The request took too long to arrive. Send it again.")
        else:
            self.cut()

    def close_politely(self) -> None:
        """Takes the rest of the request first: one that still writes would not read why."""
        if self._asking:
            self._leaving = True
            self.transport.write_eof()
        else:
            self.transport.close()

    def refuse(self, status: int, kind: ErrorKind, message: str) -> None:
        """Answers below the application, and closes."""
        if self.transport.is_closing():
            return
        if self._leaving:  # it has its answer
            self.cut()
            return
        body = codec.encode(Err(kind, message).envelope())
        head = f"HTTP/1.1 {status} Refused\r\ncontent-type: application/json\r\nconnection: close\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()

    def cut(self) -> None:
        """Closes the connection now, whatever is still to be written."""
        if self.cycle:
            self.cycle.disconnected = True  # nobody is to wonder why the answer has no end
        self.transport.abort()


class _Door:
    """The transport of a request that is the last of its connection, as its answer is written to it."""

    def __init__(self, connection: GuardedProtocol) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection.transport, name)

    def close(self) -> None:
        self._connection.close_politely()
