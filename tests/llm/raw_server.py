"""A TCP server whose handler does to a client whatever a test wants done to it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import trustme

OK = b"HTTP/1.1 200 OK\r\n"
HELLO = OK + b"content-length: 5\r\n\r\nhello"


@dataclass
class Peer:
    """One accepted connection, as the server sees it."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def request(self) -> tuple[str, dict[str, str], bytes]:
        """The request line, the headers and the body; `IncompleteReadError` when the client is gone."""
        line, headers = await self.head()
        return line, headers, await self.reader.readexactly(int(headers.get("content-length", "0")))

    async def head(self) -> tuple[str, dict[str, str]]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *lines = head.rstrip("\r\n").split("\r\n")
        pairs = (text.partition(":") for text in lines)
        return line, {name.lower(): value.strip() for name, _, value in pairs}

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def gone(self) -> None:
        """Returns when the client has closed the connection."""
        try:
            while await self.reader.read(65_536):
                pass
        except ConnectionError:
            pass


Handler = Callable[[Peer], Awaitable[None]]


@dataclass
class RawServer:
    url: str = ""
    port: int = 0
    accepted: int = 0
    open: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)


@asynccontextmanager
async def raw_server(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    server = RawServer()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        server.tasks.add(task)
        server.accepted += 1
        server.open += 1
        try:
            await handler(Peer(server.accepted, reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            server.open -= 1
            server.tasks.discard(task)
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, limit=1 << 24, backlog=2048)
    server.port = listener.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.port}"
    try:
        yield server
    finally:
        listener.close()
        for task in server.tasks:
            task.cancel()
        await asyncio.gather(*server.tasks, return_exceptions=True)


def server_tls(ca: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(*names).configure_cert(context)
    return context


def bundle(ca: trustme.CA, folder: Path) -> str:
    path = folder / "ca.pem"
    ca.cert_pem.write_to_path(str(path))
    return str(path)


class Proxy:
    """Joins a CONNECT to a server of ours, whatever name was asked for, and keeps what it was asked."""

    def __init__(self, to_port: int, refuse: bytes = b"") -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._to_port = to_port
        self._refuse = refuse

    async def __call__(self, peer: Peer) -> None:
        line, headers = await peer.head()
        self.asked.append((line, headers))
        if self._refuse:
            await peer.send(self._refuse)
            return
        if not line.startswith("CONNECT"):
            await peer.reader.readexactly(int(headers["content-length"]))
            await peer.send(HELLO)
            return
        reader, writer = await asyncio.open_connection("127.0.0.1", self._to_port)
        await peer.send(OK + b"\r\n")
        try:
            await asyncio.gather(_pump(peer.reader, writer), _pump(reader, peer.writer))
        finally:
            writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()
