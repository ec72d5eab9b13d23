"""`planck serve`: requests and frames a second beside bare Starlette, many sessions in one server, its start.

Bare Starlette answers with the same bytes from memory: no guard, no log, no session behind it.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

CONNECTIONS = 8
REQUESTS = 4_000
TURNS = 400
READERS = 10
SESSIONS = 1_000
AT_ONCE = 50
ROUNDS = 3
STUCK = 200
WORDS = 400


def main() -> None:
    asyncio.run(_main())


async def _main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        with _child("serve_planck", folder) as planck:
            ready = _read_line(planck)
            print(f"import and start         {time.perf_counter() - began:7.2f} s     aim <= 0.6 s")
            token = Path(ready["token_file"]).read_text()
            own = Target(ready["url"], token)
            id = await _prepare(own)
            board = await own.get(f"/api/v1/sessions/{id}/board")
            events = await own.get(f"/api/v1/sessions/{id}/events?limit=10000")
            (Path(folder) / "board").write_bytes(board)
            (Path(folder) / "events").write_bytes(events)
            with _child("serve_bare", folder) as other:
                bare = Target(_read_line(other)["url"], token)
                await _compare_requests(own, bare, id)
                await _compare_frames(own, bare, id, events.count(b"\n"))
            await _run_sessions(own, ready["pid"])
            await _hear_among_stuck(own, ready["pid"])


async def _compare_requests(own: "Target", bare: "Target", id: str) -> None:
    figures: dict[str, float] = {"own": 0.0, "bare": 0.0}
    for _ in range(ROUNDS):  # in turns, so that a busy moment hits both alike; the best of each counts
        figures["own"] = max(figures["own"], await own.count_requests(f"/api/v1/sessions/{id}/board"))
        figures["bare"] = max(figures["bare"], await bare.count_requests("/board"))
    _print_ratio("GET board", figures)


async def _compare_frames(own: "Target", bare: "Target", id: str, count: int) -> None:
    figures: dict[str, float] = {"own": 0.0, "bare": 0.0}
    for _ in range(ROUNDS):
        figures["own"] = max(figures["own"], await own.count_frames(f"/api/v1/sessions/{id}/events", count))
        figures["bare"] = max(figures["bare"], await bare.count_frames("/events", count))
    _print_ratio("SSE frames, from the log", figures)


def _print_ratio(what: str, figures: dict[str, float]) -> None:
    own, bare = figures["own"], figures["bare"]
    print(f"{what:<24} {own:7.0f} /s    bare {bare:7.0f} /s  {own / bare:5.2f} x  aim >= 0.5 x")


async def _run_sessions(own: "Target", pid: int) -> None:
    """Start, one answer, close, many times; some at once."""
    before = _resident(pid)
    began, room = time.perf_counter(), asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with room:
            id = json.loads(await own.post("/api/v1/sessions", {"prompt": "hi"}))["id"]
            result = json.loads(await own.get(f"/api/v1/sessions/{id}/result"))
            assert result["text"] == "yes", result
            await own.post(f"/api/v1/sessions/{id}/close", {})

    await asyncio.gather(*(one() for _ in range(SESSIONS)))
    seconds = time.perf_counter() - began
    grown = (_resident(pid) - before) / 1024
    print(f"{SESSIONS} sessions, {AT_ONCE} at once  {SESSIONS / seconds:7.1f} /s    RSS +{grown:.1f} MB")


async def _hear_among_stuck(own: "Target", pid: int) -> None:
    """How late a client hears each word: alone, then beside many that never read anything.

    The model says when it says it, by the clock that all processes of a machine share.
    """
    id = str(json.loads(await own.post("/api/v1/sessions", {}))["id"])
    alone = await _hear(own, id)
    before = _resident(pid)
    stuck = [await own.connect_and_never_read(f"/api/v1/sessions/{id}/events") for _ in range(STUCK)]
    delays = [await _hear(own, id) for _ in range(ROUNDS)]
    grown = (_resident(pid) - before) / 1024
    for one in stuck:
        one.close()
    best = min(delays, key=lambda found: found[-1])
    print(f"a word, alone            {_summarise(alone)}")
    print(f"beside {STUCK} stuck clients  {_summarise(best)}   aim <= 200 ms; RSS +{grown:.1f} MB")


def _summarise(delays: list[float]) -> str:
    middle, late = delays[len(delays) // 2], delays[len(delays) * 99 // 100]
    return f"p50 {middle:.0f}, p99 {late:.0f}, last {delays[-1]:.0f} ms"


async def _hear(own: "Target", id: str) -> list[float]:
    """Milliseconds between each word and when it is here, the shortest first."""
    accepted = json.loads(await own.post(f"/api/v1/sessions/{id}/prompts", {"text": "talk"}))
    delays: list[float] = []
    async for line in own.read_lines(f"/api/v1/sessions/{id}/events?after={accepted['seq']}"):
        now = time.monotonic_ns()
        if b'"text_delta"' in line:
            words = json.loads(line.removeprefix(b"data: "))["data"]["text"].split()
            delays += [(now - int(word)) / 1e6 for word in words if word.isdigit()]
        if b'"turn_end"' in line:
            break
    assert len(delays) > WORDS * 0.9, len(delays)  # the first may be in what is told of the beginning
    return sorted(delays)


async def _prepare(own: "Target") -> str:
    """A session with some hundred events."""
    id = str(json.loads(await own.post("/api/v1/sessions", {}))["id"])
    for _ in range(TURNS):
        accepted = json.loads(await own.post(f"/api/v1/sessions/{id}/prompts", {"text": "go"}))
        await own.get(f"/api/v1/sessions/{id}/result?after={accepted['seq']}")
    return id


class Target:
    """HTTP by hand on kept connections: the client must not be what is measured."""

    def __init__(self, url: str, token: str) -> None:
        self._host = url.removeprefix("http://")
        self._port = int(url.rpartition(":")[2])
        self._head = f"Host: {self._host}\r\nAuthorization: Bearer {token}\r\n"

    async def get(self, path: str) -> bytes:
        return await self._once(f"GET {path} HTTP/1.1\r\n{self._head}Connection: close\r\n\r\n".encode())

    async def post(self, path: str, body: Any) -> bytes:
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\n{self._head}Connection: close\r\nContent-Type: application/json\r\n"
        return await self._once(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)

    async def _once(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(request)
        answer = await reader.read()
        writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.split(b" ", 2)[1] in (b"200", b"201", b"202"), answer
        return body

    async def connect_and_never_read(self, path: str) -> socket.socket:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(one, ("127.0.0.1", self._port))
        head = f"GET {path} HTTP/1.1\r\n{self._head}Accept: text/event-stream\r\n\r\n"
        await loop.sock_sendall(one, head.encode())
        return one

    async def read_lines(self, path: str) -> AsyncIterator[bytes]:
        """The lines of an event stream; the sizes of its chunks are among them."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 22)
        writer.write(f"GET {path} HTTP/1.1\r\n{self._head}Accept: text/event-stream\r\n\r\n".encode())
        try:
            while line := await reader.readline():
                yield line
        finally:
            writer.close()

    async def count_requests(self, path: str) -> float:
        request = f"GET {path} HTTP/1.1\r\n{self._head}\r\n".encode()

        async def ask(times: int) -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            for _ in range(times):
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200"), head
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
            writer.close()

        began = time.perf_counter()
        await asyncio.gather(*(ask(REQUESTS // CONNECTIONS) for _ in range(CONNECTIONS)))
        return REQUESTS / (time.perf_counter() - began)

    async def count_frames(self, path: str, count: int) -> float:
        request = f"GET {path} HTTP/1.1\r\n{self._head}Accept: text/event-stream\r\n\r\n".encode()

        async def read() -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(request)
            tail = b""
            while b"event: live" not in tail:
                chunk = await reader.read(1 << 16)
                assert chunk
                tail = tail[-20:] + chunk
            writer.close()

        began = time.perf_counter()
        await asyncio.gather(*(read() for _ in range(READERS)))
        return count * READERS / (time.perf_counter() - began)


class _child:
    def __init__(self, name: str, folder: str) -> None:
        program = f"from benchmarks.server import {name}; {name}({folder!r})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent
        )

    def __enter__(self) -> "subprocess.Popen[bytes]":
        return self._process

    def __exit__(self, *how: object) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


def _read_line(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    assert process.stdout
    line: dict[str, Any] = json.loads(process.stdout.readline())
    return line


def _resident(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0])


def serve_planck(folder: str) -> None:
    from planck.api.serve import Ready, ServerConfig, serve
    from planck.headless import Inbox, Planck
    from planck.llm.provider import Item, Request
    from planck.records.events import TextDelta
    from planck.testing import ScriptedProvider

    class _Model:
        """Says yes; and to `talk` what time it is, some hundred times, as fast as models do."""

        def __init__(self) -> None:
            self._short = ScriptedProvider(lambda request: "yes")

        async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
            if "talk" in str(request.history.messages[-1]):
                for _ in range(WORDS):
                    await asyncio.sleep(0.005)
                    yield TextDelta(text=f"{time.monotonic_ns()} {'x' * 100} ")
            async for item in self._short.stream(request):
                yield item

    home, work = Path(folder) / "home", Path(folder) / "work"
    home.mkdir()
    work.mkdir()
    local = {"type": "openai", "base_url": "http://127.0.0.1:9"}
    (home / "config.json").write_text(json.dumps({"default_model": "local/m", "providers": {"local": local}}))
    model, inbox = _Model(), Inbox()
    planck = Planck(home, work, environ={}, providers={"local": model}, approver=inbox)

    def announce(ready: Ready) -> None:
        print(json.dumps({"url": ready.url, "token_file": ready.token_file, "pid": os.getpid()}), flush=True)

    asyncio.run(serve(planck, inbox, ServerConfig(port=0, requests_per_second=1_000_000), announce))


def serve_bare(folder: str) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    board = (Path(folder) / "board").read_bytes()
    lines = (Path(folder) / "events").read_bytes().splitlines()

    async def read_board(request: Request) -> Response:
        return Response(board, media_type="application/json")

    async def read_events(request: Request) -> Response:
        async def frames() -> AsyncIterator[bytes]:
            for number, line in enumerate(lines, 1):
                yield b"id: %d\ndata: %s\n\n" % (number, line)
            yield b"event: live\ndata: {}\n\n"

        return StreamingResponse(frames(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/board", read_board), Route("/events", read_events)])
    config = uvicorn.Config(app, port=0, log_level="error", http="httptools", loop="asyncio")
    server = uvicorn.Server(config)

    async def run() -> None:
        serving = asyncio.ensure_future(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        print(json.dumps({"url": f"http://127.0.0.1:{port}"}), flush=True)
        await serving

    asyncio.run(run())
