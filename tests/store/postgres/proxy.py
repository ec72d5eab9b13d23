"""A door to PostgreSQL that a test can shut: before a statement arrives, or after it was done."""

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit


class Proxy:
    """Passes bytes on. What is armed happens once, to the connection that sends the marker next."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "", parts.port or 0)
        self._url = self.target_url = url
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.open = True
        """New connections are let through."""
        self.marker = b""
        self.cut_after = False
        """True: the statement arrives and its answer does not; False: neither does."""
        self.cuts = 0
        self.refused = 0

    async def __aenter__(self) -> "Proxy":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return self._url.replace(f":{self._target[1]}/", f":{port}/")

    def arm(self, marker: bytes, *, after: bool) -> None:
        self.marker, self.cut_after = marker, after

    def cut(self) -> None:
        """Ends every connection that is open now."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.open:
            self.refused += 1
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, far_writer)
        self._writers.update(pair)
        muted = asyncio.Event()
        for work in (self._up(reader, far_writer, muted, pair), self._down(far_reader, writer, muted, pair)):
            task = asyncio.ensure_future(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _up(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        muted: asyncio.Event,
        pair: tuple[asyncio.StreamWriter, ...],
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                if self.marker and self.marker in data:
                    self.marker = b""
                    self.cuts += 1
                    if not self.cut_after:
                        break
                    muted.set()
                writer.write(data)
                await writer.drain()
        if not muted.is_set():
            self._end(pair)

    async def _down(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        muted: asyncio.Event,
        pair: tuple[asyncio.StreamWriter, ...],
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                if muted.is_set():  # the server has answered: it is done, and nobody hears of it
                    break
                writer.write(data)
                await writer.drain()
        self._end(pair)

    def _end(self, pair: tuple[asyncio.StreamWriter, ...]) -> None:
        for writer in pair:
            writer.transport.abort()
            self._writers.discard(writer)
