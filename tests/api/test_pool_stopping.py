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


LAST = b"\r\n0\r\n\r\n"
"""How a stream ends that was not cut."""


@asynccontextmanager
async def waiting(
    server: Served, id: str
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamReader], None]:
    """Gives the answers to a request for a result and to one for a stream, which both wait at the server."""
    async with (
        ask(server, f"/sessions/{id}/result") as result,
        ask(server, f"/sessions/{id}/events") as events,
    ):
        async with asyncio.timeout(SOON):
            # The other request was sent before this one, and both look into the same database first.
            assert b" 200 " in await events.readuntil(b"event: live")
        yield result, events


@asynccontextmanager
async def ask(server: Served, path: str) -> AsyncGenerator[asyncio.StreamReader, None]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(
            f"GET {PREFIX}{path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n"
            f"Authorization: Bearer {server.token}\r\nAccept: text/event-stream\r\n\r\n".encode()
        )
        yield reader
    finally:
        writer.close()


async def check_stop(server: Served, id: str) -> None:
    """Stops the newest server of this process while requests wait there."""
    async with waiting(server, id) as (result, events), asyncio.timeout(SOON):
        signal.raise_signal(signal.SIGTERM)
        assert (await events.read()).endswith(LAST)
        assert parse(await result.read()).status == 204


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
