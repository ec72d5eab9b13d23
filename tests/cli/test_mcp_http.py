"""Attacks H2, H6, H7 and H12 on the one thing here that speaks HTTP: `planck mcp serve --http`."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

from planck.mcp.http import serve_http
from planck.records.messages import ToolCall
from planck.records.specs import ToolSpec
from planck.tools.results import Finished
from tests.command import WAIT, Bench
from tests.memory import growth

CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}).encode()


class Served:
    def __init__(self, pid: int, port: int, token: str) -> None:
        self.pid = pid
        self.port = port
        self.token = token

    async def raw(self, request: bytes, flood: int = 0) -> bytes:
        """The head of the answer; `flood` MiB follow the request as far as they are taken."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            async with asyncio.timeout(WAIT):
                writer.write(request)
                try:
                    for _ in range(flood):
                        writer.write(b"x" * (1 << 20))
                        await writer.drain()
                except ConnectionError:
                    pass
                return await reader.readuntil(b"\r\n\r\n")
        finally:
            writer.close()

    async def ask(self, method: str = "POST", path: str = "/mcp", **change: str | None) -> int:
        """The status of a sound request, but for what is changed in it."""
        head = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Content-Length": str(len(HELLO)),
            **{name.replace("_", "-"): value for name, value in change.items()},
        }
        lines = [f"{name}: {value}" for name, value in head.items() if value is not None]
        request = "\r\n".join((f"{method} {path} HTTP/1.1", *lines)).encode()
        answer = await self.raw(request + b"\r\n\r\n" + HELLO)
        assert b"access-control-" not in answer.lower()
        return int(answer.split()[1])


@asynccontextmanager
async def served(bench: Bench) -> AsyncGenerator[Served, None]:
    process = await bench.start("mcp", "serve", "--http", "0", "--permission-mode", "read-only")
    assert process.stderr is not None
    try:
        async with asyncio.timeout(WAIT):
            line = (await process.stderr.readline()).decode()
        found = re.fullmatch(r"planck: serving at http://127\.0\.0\.1:(\d+)/mcp with the token (\w+)\n", line)
        assert found, line
        yield Served(process.pid, int(found[1]), found[2])
    finally:
        process.terminate()
        await process.wait()


async def test_h2_h6_forms_and_odd_paths_get_nothing_token_or_not(tmp_path: Path) -> None:
    """The rest of who is let in, and to what, is in test_mcp.py."""
    async with served(Bench(tmp_path, "http://127.0.0.1:9")) as one:
        assert await one.ask() == 200
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            assert await one.ask(Content_Type=kind) in (400, 415)
        for path in ("/", "/docs", "/..%2f..%2fetc/passwd", "/%2e%2e/etc/passwd", "/mcp/../../etc/passwd"):
            assert await one.ask("GET", path) == 404
            assert await one.ask("GET", path, Authorization="Bearer wrong") == 401
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13"}
        key = {"Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==", "Authorization": None}
        assert await one.ask("GET", "/mcp", **upgrade, **key) == 401


async def test_h7_a_flood_and_half_a_request_cost_nothing(tmp_path: Path) -> None:
    async with served(Bench(tmp_path, "http://127.0.0.1:9")) as one:
        assert await one.ask() == 200
        grown = growth(one.pid)
        for token in (one.token, "wrong"):
            head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{one.port}\r\nContent-Length: {300 << 20}\r\n"
            head += f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\r\n"
            answer = await one.raw(head.encode(), flood=300)
            assert answer.split()[1] == (b"413" if token == one.token else b"401")
        halves = [await asyncio.open_connection("127.0.0.1", one.port) for _ in range(200)]
        for _, writer in halves:
            writer.write(b"POST /mcp HTTP/1.1\r\nHo")
        assert await one.ask() == 200
        assert grown() < 32 << 10
        for _, writer in halves:
            writer.close()


async def test_h12_the_token_is_nowhere_but_in_the_line_that_tells_it(tmp_path: Path) -> None:
    async with served(Bench(tmp_path, "http://127.0.0.1:9")) as one, served_again(tmp_path) as other:
        assert other.token != one.token
        for secret in ("environ", "cmdline"):
            assert one.token.encode() not in Path(f"/proc/{one.pid}/{secret}").read_bytes()
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert [path for path in files if one.token.encode() in path.read_bytes()] == []
        answer = await one.raw(f"GET /{one.token} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert one.token.encode() not in answer


def served_again(folder: Path) -> AbstractAsyncContextManager[Served]:
    (folder / "again").mkdir()
    return served(Bench(folder / "again", "http://127.0.0.1:9"))


async def test_half_open_connections_do_not_keep_others_out(tmp_path: Path) -> None:
    """Each says nothing, or half a request; who asks properly is answered all the same."""
    async with served(Bench(tmp_path, "http://127.0.0.1:9")) as one:
        halves = [b"", b"POST /mcp HT", b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"]
        half_open = []
        for number in range(300):
            reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
            writer.write(halves[number % 3])
            half_open.append((reader, writer))
        assert await one.ask() == 200
        async with asyncio.timeout(WAIT):  # the oldest are sent away as soon as there are too many
            for reader, _ in half_open[:200:3]:
                with suppress(ConnectionError):
                    await reader.read()
        assert await one.ask() == 200
        for _, writer in half_open:
            writer.close()


async def test_half_a_request_is_not_waited_for_for_ever() -> None:
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(serve_http("x", Nothing(), 0, "token", address.set_result, patience=0.2))
    port = int((await address).rsplit(":", 1)[1].split("/")[0])
    whole = f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    try:
        async with asyncio.timeout(WAIT):
            for said in (b"", whole[:9], whole[:-2], b"POST" + whole[3:-2] + b"Content-Length: 9\r\n\r\nxx"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(said)
                with suppress(ConnectionError):
                    while await reader.read(1000):
                        pass
                writer.close()
    finally:
        serving.cancel()
        await asyncio.wait({serving})


class Nothing:
    """A service that is never asked."""

    def specs(self) -> list[ToolSpec]:
        raise AssertionError

    def run(self, call: ToolCall, meta: object, progress: object) -> AsyncGenerator[Finished, None]:
        raise AssertionError
