"""A node that is told to stop ends the requests that wait for other nodes, rather than wait with them."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from planck.api.operations import PREFIX
from planck.headless import Joining
from tests.api.bench import Served, parse, serving

SOON = 15.0
"""Seconds, half of what a request for a result waits: only a server that does not end it needs them."""


async def ask(server: Served, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(
        f"GET {PREFIX}{path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n"
        f"Authorization: Bearer {server.token}\r\nAccept: text/event-stream\r\n\r\n".encode()
    )
    return reader, writer


async def check_stop(server: Served, id: str) -> None:
    """Stops the newest server of this process while a request for a result and a stream wait there."""
    result, first = await ask(server, f"/sessions/{id}/result")
    stream, second = await ask(server, f"/sessions/{id}/events")
    async with asyncio.timeout(SOON):
        # The request for a result was sent before this one, and both look into the same database first.
        assert b" 200 " in await stream.readuntil(b"event: live")
        signal.raise_signal(signal.SIGTERM)
        assert (await stream.read()).endswith(b"\r\n0\r\n\r\n")  # to its end, not cut
        assert parse(await result.read()).status == 204
    for writer in (first, second):
        writer.close()


@asynccontextmanager
async def node(folder: Path, database: str, name: str) -> AsyncGenerator[Served, None]:
    folder.mkdir()
    async with serving(folder, store=database, joining=Joining(name=name, work=0)) as server:
        yield server


async def test_a_node_stops_while_somebody_waits_for_what_none_has_begun(
    tmp_path: Path, database: str
) -> None:
    async with node(tmp_path / "north", database, "north") as north:
        body = {"repo": "https://git.example/r", "prompt": "x"}
        made = await north.post(f"{PREFIX}/submissions", body)
        await check_stop(north, made.json["id"])


async def test_a_node_stops_while_somebody_follows_a_session_of_another(
    tmp_path: Path, database: str
) -> None:
    async with (
        node(tmp_path / "north", database, "north") as north,
        north.client() as client,
        node(tmp_path / "south", database, "south") as south,
    ):
        await check_stop(south, (await client.start()).id)
