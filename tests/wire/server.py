"""An HTTP/1.1 server on a real socket that answers from a script and keeps what it was asked."""

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from planck.records import codec


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    """Counts from 1 in the order of acceptance."""

    @property
    def json(self) -> Any:
        return codec.decode(self.body)


@dataclass(frozen=True)
class Reply:
    """One answer; the pieces are chunks of a chunked body, an event among them is awaited."""

    pieces: Sequence[bytes | asyncio.Event] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    """Close the connection instead of ending the body."""


Script = Sequence[Reply] | Callable[[Asked], Reply]


class WireServer:
    """`async with WireServer(script) as server: server.url`; a list is used in order, its last one again."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None, *, host: str = "127.0.0.1") -> None:
        self.asked: list[Asked] = []
        self.url = ""
        self.port = 0
        self.connections = 0
        self.open_connections = 0
        self.closed_early = asyncio.Event()
        """Set once a client has closed a connection while an answer was on its way."""
        self._script = script
        self._tls = tls
        self._host = host
        self._handlers: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve, self._host, 0, ssl=self._tls, limit=1 << 24, backlog=2048
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for handler in self._handlers:
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._handlers.add(task)
        self.connections += 1
        self.open_connections += 1
        number = self.connections
        try:
            while asked := await _read(reader, number):
                self.asked.append(asked)
                if not await self._reply(self._next(asked), reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._handlers.discard(task)
            self.open_connections -= 1
            writer.close()

    def _next(self, asked: Asked) -> Reply:
        if callable(self._script):
            return self._script(asked)
        return self._script[min(len(self.asked), len(self._script)) - 1]

    async def _reply(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        headers = {"content-type": "text/event-stream", "transfer-encoding": "chunked", **reply.headers}
        lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        for piece in reply.pieces:
            if isinstance(piece, asyncio.Event):
                if not await self._wait(piece, reader):
                    return False
            elif piece:
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
        if reply.cut:
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _wait(self, event: asyncio.Event, reader: asyncio.StreamReader) -> bool:
        """Until the event, or until the client goes."""
        gone = asyncio.ensure_future(reader.read(1))
        told = asyncio.ensure_future(event.wait())
        done, _ = await asyncio.wait({gone, told}, return_when=asyncio.FIRST_COMPLETED)
        for task in (gone, told):
            task.cancel()
        await asyncio.gather(gone, told, return_exceptions=True)
        if gone in done:
            self.closed_early.set()
        return gone not in done


async def _read(reader: asyncio.StreamReader, connection: int) -> Asked | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body, connection)


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply([codec.encode(value)], status, {"content-type": "application/json", **(headers or {})})
