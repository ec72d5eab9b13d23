"""A wire that can be cut: bytes go through until it is, and then nothing does."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress


class Wire:
    def __init__(self, port: int) -> None:
        self._port = port
        self._whole = asyncio.Event()
        self._whole.set()
        self._open: set[asyncio.StreamWriter] = set()
        self.refused = 0

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._whole.is_set():
            self.refused += 1
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        ends = {writer, back}
        self._open |= ends
        try:
            await asyncio.gather(_pump(reader, back), _pump(there, writer))
        finally:
            self._open -= ends
            for end in ends:
                end.transport.abort()

    def cut(self) -> None:
        self._whole.clear()
        for end in [*self._open]:
            end.transport.abort()

    def mend(self) -> None:
        self._whole.set()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with suppress(ConnectionError, OSError, RuntimeError):
        writer.write_eof()


@asynccontextmanager
async def wire(listening_port: int, port: int) -> AsyncGenerator[Wire, None]:
    """From one port of this machine to another."""
    made = Wire(port)
    server = await asyncio.start_server(made.carry, "127.0.0.1", listening_port)
    try:
        yield made
    finally:
        made.cut()
        server.close()
