"""A peer by address: headers, bounds and deadlines hold as they do for a process."""

import asyncio
import gc
import gzip
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from planck.http.address import read_network
from planck.mcp.address import open_address
from planck.mcp.http import serve_http
from planck.mcp.peer import State
from planck.peers.server import ServerLaunch, read_server, tool_prefix
from planck.records.messages import ToolCall
from planck.records.outcome import Err, ErrorKind, Ok
from planck.records.specs import ToolSpec
from planck.toolkit.clock import SystemClock
from planck.toolkit.journal import Unrecorded
from planck.toolkit.permit import Allowed
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet
from planck.tools.executor import Executor, Site, read_calls
from planck.tools.results import Finished
from tests.llm.raw_server import Proxy
from tests.llm.raw_server import raw_server as tcp_server
from tests.mcp.bench import WAIT, Leaping, watched
from tests.memory import growth

Answer = Callable[[dict[str, Any], asyncio.StreamWriter], Awaitable[None]]


def server(url: str, **options: Any) -> Any:
    spec = read_server(
        "web", {"url": url, "headers": {"Authorization": "Bearer ${TOKEN}"}}, {"TOKEN": "t0ken"}
    )
    start_timeout = options.pop("start_timeout", 10.0)
    launch = ServerLaunch("web", spec, Path("/"), options.pop("environ", {}))
    launch.start_timeout, launch.probe_timeout = start_timeout, 0.3
    return watched("web", launch, prefix=tool_prefix("web"), **options)


@asynccontextmanager
async def raw_server(answer: Answer) -> AsyncGenerator[str, None]:
    """HTTP by hand: each request's JSON is answered with whatever bytes the test likes."""

    handlers = set[Any]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.add(asyncio.current_task())
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = (
                int(head.split("content-length: ")[1].split("\r\n")[0]) if "content-length: " in head else 0
            )
            body = await reader.readexactly(length)
            await answer(json.loads(body) if body else {}, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
    finally:
        listening.close()
        for handler in handlers:
            handler.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)


def head(kind: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode()


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_body_without_end_is_cut_off_in_bounded_memory(kind: str) -> None:
    async def flood(message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(head(kind) + (b"data: " if "stream" in kind else b'"'))
        for _ in range(200):
            writer.write(b"x" * (1 << 20))
            await writer.drain()

    async with raw_server(flood) as url, server(url) as one:
        grown = growth()
        await one.until(State.DISCONNECTED)
        assert grown() < 40 << 10


async def test_an_address_that_hangs_or_refuses_has_a_deadline() -> None:
    async def hang(message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3600)

    async with raw_server(hang) as url, server(url, start_timeout=0.3, clock=Leaping()) as one:
        assert await one.peer.call("x", {}, timeout=0.2) == Err(ErrorKind.TIMEOUT, ANY, ANY)
        await one.until(State.DISCONNECTED)
    async with server("http://127.0.0.1:9/mcp") as one:
        await one.until(State.ERROR)
        assert "gave up" in one.peer.detail


class Up:
    """One tool, served."""

    def __init__(self) -> None:
        schema = {"type": "object", "properties": {"t": {"type": "string"}}}
        self._tools = ToolSet([Tool("up", "", schema, lambda agent, call, args: args["t"].upper())])

    def specs(self) -> Sequence[ToolSpec]:
        return self._tools.specs

    def run(
        self, call: ToolCall, meta: dict[str, Any], progress: Callable[[str, str], None] | None
    ) -> AsyncGenerator[Finished, None]:
        scribe = Scribe(Unrecorded(), "a")
        site = Site("s", Path("/"))
        executor = Executor(self._tools, site, permit=Allowed(), scribe=scribe, clock=SystemClock())
        return executor.run(read_calls(self._tools, [call]))


async def test_our_own_server_is_reached_with_its_token() -> None:
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve_http("up", Up(), 0, "t0ken", ready.set_result))
    try:
        async with asyncio.timeout(WAIT):
            url = await ready
        async with server(url) as one:
            await one.until(State.CONNECTED)
            assert [listed.spec.name for listed in one.peer.tools.tools] == ["mcp__web__up"]
            assert await one.peer.call("up", {"t": "abc"}, timeout=WAIT) == Ok({"output": "ABC"})
            many = await asyncio.gather(
                *(one.peer.call("up", {"t": f"n{n}"}, timeout=WAIT) for n in range(20))
            )
            assert many == [Ok({"output": f"N{n}"}) for n in range(20)]
    finally:
        serving.cancel()
        await asyncio.wait({serving})


class Scripted:
    """A server that speaks just enough, and does to a call what the test says."""

    def __init__(self, *calls: bytes, first: bytes = b"") -> None:
        self.asked: list[str] = []
        self._calls = list(calls)
        self._first = first

    async def __call__(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        method = str(message.get("method"))
        self.asked.append(method)
        writer.write(self._first or self._answer(method, message.get("id")))
        await writer.drain()

    def _answer(self, method: str, id: Any) -> bytes:
        result: dict[str, Any] = {}
        match method:
            case "initialize":
                capabilities: dict[str, Any] = {"tools": {}}
                info = {"name": "web", "version": "1"}
                version = "2025-06-18"
                result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
            case "tools/list":
                result = {"tools": [{"name": "up", "inputSchema": {"type": "object"}}]}
            case "tools/call" if self._calls:
                return self._calls.pop(0)
            case "tools/call":
                result = {"content": [{"type": "text", "text": "ok"}]}
            case _ if id is None:
                return answered("202 Accepted")
            case _:
                return answered("400 Bad Request")
        body = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
        return answered("200 OK", body, "Content-Type: application/json", "Mcp-Session-Id: one")


def answered(status: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode() + body


OK = Ok({"output": "ok"})


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        (head("text/event-stream") + b"event: mess", "SSE stream ended"),
        (answered("500 Oops", b"boom\x1b[31m\n"), "HTTP 500 Oops: boom"),
        (answered("401 Unauthorized"), "HTTP 401 Unauthorized; check `headers`"),
    ],
    ids=["cut", "500", "401"],
)
async def test_a_call_that_is_cut_or_refused_says_why_and_takes_nothing_along(
    cut: bytes, expected: str
) -> None:
    async with raw_server(Scripted(cut)) as url, server(url) as one:
        await one.until(State.CONNECTED)
        failed = await one.peer.call("up", {}, timeout=10)
        assert isinstance(failed, Err)
        assert failed.kind is ErrorKind.PEER_FAILED
        assert expected in failed.message
        assert "\x1b" not in failed.message
        assert await one.peer.call("up", {}, timeout=10) == OK
        assert one.peer.starts == 1


async def test_a_server_that_forgot_our_session_is_greeted_anew() -> None:
    script = Scripted(answered("404 Not Found"))
    async with raw_server(script) as url, server(url) as one:
        await one.until(State.CONNECTED)
        assert await one.peer.call("up", {}, timeout=10) == Err(ErrorKind.PEER_FAILED, ANY)
        await one.until(State.CONNECTED, 2)
        assert await one.peer.call("up", {}, timeout=10) == OK
        assert script.asked.count("initialize") == 2


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (answered("401 Unauthorized", b"who?"), "HTTP 401; run `planck mcp login web`, or check"),
        (answered("503 Busy"), "HTTP 503 Busy"),
        (answered("307 Away", b"", "Location: http://127.0.0.1:9/mcp"), "not followed"),
        (answered("200 OK", gzip.compress(b"x" * 99), "Content-Encoding: gzip"), "compressed"),
    ],
    ids=["401", "503", "redirect", "gzip"],
)
async def test_a_server_that_lets_nobody_in_says_why(first: bytes, expected: str) -> None:
    async with raw_server(Scripted(first=first)) as url, server(url) as one:
        await one.until(State.ERROR)
        assert expected in one.peer.detail


DEAD = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("url", "environ"),
    [
        *(
            ("http://mcp.test/mcp", {name: "{}"})
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
        ),
        ("{0}/mcp", {"HTTP_PROXY": DEAD}),  # this machine is never reached through one
        ("http://0.0.0.0:{1}/mcp", {"HTTP_PROXY": DEAD, "NO_PROXY": "x.test, 0.0.0.0"}),
        ("{0}/mcp", {"HTTPS_PROXY": DEAD}),
    ],
)
async def test_a_server_is_reached_through_the_proxy_of_the_environment(
    url: str, environ: dict[str, str]
) -> None:
    async with raw_server(Scripted()) as served:
        here = served.removesuffix("/mcp")
        environ = {name: value.format(here) for name, value in environ.items()}
        async with server(url.format(here, here.rpartition(":")[2]), environ=environ) as one:
            await one.until(State.CONNECTED)


async def test_connections_through_a_proxy_are_closed_with_the_link() -> None:
    closed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")  # and stays open for the next
        await reader.read()
        writer.close()
        closed.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as proxy:
        network = read_network({"HTTP_PROXY": f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"})
        gc.disable()  # which would close what nobody has closed
        try:
            async with open_address("http://mcp.test/mcp", {}, network=network) as link:
                assert (await link.client.get("http://mcp.test/mcp")).text == "{}"  # type: ignore[attr-defined]
            async with asyncio.timeout(WAIT):
                await closed.wait()
        finally:
            gc.enable()


async def test_tls_goes_through_a_tunnel_of_the_proxy() -> None:
    proxy = Proxy(0, refuse=b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    async with tcp_server(proxy) as via:
        environ = {"HTTPS_PROXY": f"http://me:pass@127.0.0.1:{via.port}"}
        async with server("https://mcp.test/mcp", environ=environ) as one:
            await one.until(State.ERROR)
    line, headers = proxy.asked[0]
    assert (line, headers["proxy-authorization"]) == ("CONNECT mcp.test:443 HTTP/1.1", "Basic bWU6cGFzcw==")


async def test_a_proxy_that_cannot_be_used_names_the_variable_that_it_came_from() -> None:
    async with server(
        "https://mcp.test/mcp", environ={"all_proxy": "socks5h://me:hunter2@proxy:1080"}
    ) as one:
        await one.until(State.ERROR)
        assert "Cannot use the proxy in all_proxy. The scheme 'socks5h'" in one.peer.detail
        assert "hunter2" not in one.peer.detail
