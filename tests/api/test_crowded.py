"""Connections that ask for nothing, or never to the end, do not keep the owner of a server out."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.api.bench import Served, served
from tests.command import Bench

CROWD = 300
WAYS: dict[str, Callable[[Served], bytes]] = {
    "nothing": lambda server: b"",
    "slow headers": lambda server: f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Slow: ".encode(),
    "slow body": lambda server: (
        f"POST /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        "Content-Length: 99\r\n\r\n{".encode()
    ),
    "slow body with a token": lambda server: (
        f"POST /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {server.token}\r\nContent-Length: 99\r\n\r\n{{".encode()
    ),
    "garbage": lambda server: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # how TLS begins
    "idle": lambda server: f"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode(),
    "readers that stopped": lambda server: (
        f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {server.token}\r\n\r\n".encode()
    ),
}


@pytest.mark.parametrize("files", [256, 4096])
async def test_300_connections_leave_room_for_the_owner(tmp_path: Path, files: int) -> None:
    """Also where a process may have few files: each connection is one of them."""
    before = ("prlimit", f"--nofile={files}")
    async with served(Bench(tmp_path, "http://127.0.0.1:9"), before=before) as (server, process):
        for way, make in WAYS.items():
            with ExitStack() as crowd:
                for _ in range(CROWD):
                    one = crowd.enter_context(socket.socket())
                    one.setblocking(False)
                    with suppress(OSError):  # one that is sent away, or waits for its place
                        one.connect_ex(("127.0.0.1", server.port))
                        one.send(make(server))
                try:
                    async with asyncio.timeout(4):  # less than slow ones are given, which is 10 s
                        answer = await server.send("GET", "/api/v1/me")
                except TimeoutError:
                    process.kill()
                    await process.communicate()  # else a full pipe would keep us
                    pytest.fail(f"the owner was kept out by {way}")
                assert answer.status == 200, way
