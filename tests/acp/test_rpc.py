"""JSON-RPC with a peer over pipes, which keeps to nothing."""

import asyncio
import json
import os
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from planck.acp.rpc import MAX_BAD_LINES, MAX_REQUESTS, Peer, UnknownMethod
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.workspace.process.duplex import Duplex


class Echo:
    """Answers with what it was given; `wait` never ends by itself."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.cancelled = 0
        self.waiting = 0

    async def answer(self, method: str, params: Raw) -> Any:
        if method == "echo":
            return params
        if method == "fail":
            return Err(ErrorKind.NOT_FOUND, "there is none; make one")
        if method == "raise":
            raise PlanckError(ErrorKind.INVALID_ARGS, "not so")
        if method == "break":
            raise ZeroDivisionError
        if method == "wait":
            self.waiting += 1
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self.cancelled += 1
        raise UnknownMethod(method)

    async def hear(self, method: str, params: Raw) -> None:
        self.heard.append((method, bytes(params)))
        if method == "break":
            raise ZeroDivisionError


class Line:
    """A peer, and the test as the other end of its two pipes."""

    def __init__(self, limit: int = 1 << 16) -> None:
        read_end, self.to_it = os.pipe()
        self.from_it, write_end = os.pipe()
        self.echo = Echo()
        self.peer = Peer(Duplex(read_end, write_end, limit=limit), self.echo)
        self.other = Duplex(self.from_it, self.to_it)

    async def say(self, *messages: Any) -> None:
        for one in messages:
            await self.other.send(
                one if isinstance(one, bytes) else json.dumps({"jsonrpc": "2.0", **one}).encode()
            )

    async def hear(self) -> Any:
        async with asyncio.timeout(30):
            return json.loads(await self.other.next() or b"null")


@asynccontextmanager
async def connected(limit: int = 1 << 16) -> AsyncGenerator[Line, None]:
    line = Line(limit)
    running = asyncio.ensure_future(line.peer.run())
    try:
        yield line
    finally:
        line.other.close_output()
        line.other.end("done")
        async with asyncio.timeout(30):
            await running
        line.peer.stream.close_output()


@pytest.mark.parametrize(
    ("said", "code", "kind"),
    [
        (b"{no json", -32700, "peer_protocol"),
        (b"\xff\xfe", -32700, "peer_protocol"),
        (b"[" * 5000, -32700, "peer_protocol"),
        (b"[]", -32600, "peer_protocol"),
        (b'{"id": 1, "method": "echo"}', -32600, "peer_protocol"),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "echo"}', -32600, "peer_protocol"),
        (b"x" * 70_000, -32700, "limit_exceeded"),
    ],
)
async def test_a_line_that_is_no_message_is_refused_and_the_connection_goes_on(
    said: bytes, code: int, kind: str
) -> None:
    async with connected() as line:
        await line.say(said, {"id": "a", "method": "echo", "params": {"x": [1]}})
        refused = await line.hear()
        assert (refused["error"]["code"], refused["error"]["data"]["kind"]) == (code, kind)
        # A request that has an id is answered: somebody waits for it.
        assert refused["id"] == (1 if said.startswith(b'{"id": 1,') else None)
        assert await line.hear() == {"jsonrpc": "2.0", "id": "a", "result": {"x": [1]}}


@pytest.mark.parametrize(
    ("method", "code", "kind"),
    [
        ("unknown", -32601, "not_found"),
        ("fail", -32002, "not_found"),
        ("raise", -32602, "invalid_args"),
        ("break", -32603, "internal_error"),
    ],
)
async def test_a_request_that_fails_is_answered_with_its_kind(method: str, code: int, kind: str) -> None:
    async with connected() as line:
        await line.say({"id": 7, "method": method})
        answer = await line.hear()
        assert (answer["id"], answer["error"]["code"], answer["error"]["data"]["kind"]) == (7, code, kind)


async def test_a_hundred_megabytes_without_an_end_are_never_kept() -> None:
    read_end, to_it = os.pipe()
    from_it, write_end = os.pipe()
    peer = Peer(Duplex(read_end, write_end), Echo())

    def write() -> None:
        with os.fdopen(to_it, "wb") as pipe:
            for _ in range(100):
                pipe.write(b"x" * (1 << 20))
            pipe.write(b'\n{"jsonrpc": "2.0", "id": 1, "method": "echo"}\n')

    tracemalloc.start()
    try:
        async with asyncio.timeout(60):
            await asyncio.gather(peer.run(), asyncio.to_thread(write))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    refused, answered = os.read(from_it, 1 << 16).splitlines()
    os.close(from_it)
    peer.stream.close_output()
    assert json.loads(refused)["error"]["data"]["kind"] == "limit_exceeded"
    assert json.loads(answered) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert peak < 32 << 20  # the limit of a line, and what a buffer that grows has in spare


async def test_somebody_who_talks_something_else_is_left() -> None:
    async with connected() as line:
        await line.say(*[b"hello"] * MAX_BAD_LINES)
        for _ in range(MAX_BAD_LINES):
            assert (await line.hear())["error"]["code"] == -32700
        async with asyncio.timeout(30):
            await line.peer.stream.ended.wait()
        assert await line.peer.ask("any", {}, dict) == Err(
            ErrorKind.PEER_PROTOCOL,
            "the connection is closed: it sent 20 lines that are not JSON-RPC (the last is 'hello')",
        )


CANCEL = {"method": "$/cancel_request", "params": {"requestId": 1}}


async def test_a_cancelled_request_ends_its_work_and_is_answered_once() -> None:
    async with connected() as line:
        await line.say({"id": 1, "method": "wait"}, {"id": 2, "method": "echo"})
        assert (await line.hear())["id"] == 2
        await line.say(CANCEL)
        answer = await line.hear()
        assert (answer["id"], answer["error"]["code"], line.echo.cancelled) == (1, -32800, 1)
        unknown = {"method": "$/cancel_request", "params": {"requestId": 99}}
        await line.say(CANCEL, unknown, {"method": "$/cancel_request"}, {"id": 1, "method": "echo"})
        assert await line.hear() == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_a_request_that_is_cancelled_in_the_same_breath_is_answered_too() -> None:
    async with connected() as line:
        await line.say({"id": 1, "method": "wait"}, CANCEL)
        answer = await line.hear()
        assert (answer["id"], answer["error"]["code"]) == (1, -32800)


async def test_requests_in_flight_are_bounded_and_an_id_is_used_once_at_a_time() -> None:
    async with connected() as line:
        await line.say(*({"id": n, "method": "wait"} for n in range(MAX_REQUESTS)))
        await line.say({"id": 0, "method": "echo"}, {"id": "more", "method": "echo"})
        doubled, more = await line.hear(), await line.hear()
        assert (doubled["id"], doubled["error"]["data"]["kind"]) == (0, "not_unique")
        assert (more["id"], more["error"]["data"]["kind"]) == ("more", "limit_exceeded")
    assert line.echo.cancelled == line.echo.waiting == MAX_REQUESTS


async def test_what_is_asked_of_the_peer_gets_its_own_answer_only() -> None:
    class Answer(msgspec.Struct):
        n: int

    async with connected() as line:
        asks = [asyncio.ensure_future(line.peer.ask("give", {"n": n}, Answer)) for n in range(4)]
        requests = [await line.hear() for _ in asks]
        assert [request["params"] for request in requests] == [{"n": n} for n in range(4)]
        ids = [request["id"] for request in requests]
        await line.say(
            {"id": str(ids[0]), "result": {"n": 9}},  # a string is no number
            {"id": 99, "result": {"n": 9}},
            {"id": ids[3], "error": {"code": 1, "message": "no", "data": {"kind": "budget_exceeded"}}},
            {"id": ids[2], "error": {"message": "without a code"}},
            {"id": ids[1], "result": {"n": "one"}},
            {"id": ids[0], "result": {"n": 0}},
            {"id": ids[0], "result": {"n": 5}},
        )
        async with asyncio.timeout(30):
            first, second, third, fourth = await asyncio.gather(*asks)
        assert first == Answer(0)
        assert isinstance(second, Err)
        assert second.kind is ErrorKind.PEER_PROTOCOL
        assert isinstance(third, Err)
        assert third.kind is ErrorKind.PEER_PROTOCOL
        assert fourth == Err(ErrorKind.PEER_FAILED, "no", {"code": 1, "data": {"kind": "budget_exceeded"}})


async def test_who_stops_waiting_for_an_answer_tells_the_peer() -> None:
    async with connected() as line:
        ask = asyncio.ensure_future(line.peer.ask("give", {}, dict))
        id = (await line.hear())["id"]
        ask.cancel()
        told = await line.hear()
        assert told == {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id}}
        with pytest.raises(asyncio.CancelledError):
            await ask


async def test_the_end_of_the_peer_ends_what_it_asked_and_what_it_was_asked() -> None:
    async with connected() as line:
        ask = asyncio.ensure_future(line.peer.ask("give", {}, dict))
        await line.hear()
        await line.say({"id": 1, "method": "wait"}, {"id": 2, "method": "echo"})
        assert (await line.hear())["id"] == 2
        line.other.close_output()
        async with asyncio.timeout(30):
            gone = await ask
        assert gone == Err(ErrorKind.PEER_FAILED, "the connection is closed: the process closed its output")
    assert line.echo.cancelled == 1


async def test_notifications_are_heard_in_their_order_whatever_becomes_of_one() -> None:
    async with connected() as line:
        await line.say(*({"method": name, "params": {"n": n}} for n, name in enumerate(("a", "break", "c"))))
        await line.say({"id": 1, "method": "echo"})
        await line.hear()
        assert line.echo.heard == [("a", b'{"n": 0}'), ("break", b'{"n": 1}'), ("c", b'{"n": 2}')]


async def test_a_peer_that_does_not_read_holds_up_who_tells_and_no_memory() -> None:
    read_end, to_it = os.pipe()
    from_it, write_end = os.pipe()
    peer = Peer(Duplex(read_end, write_end), Echo())

    async def tell() -> None:
        while await peer.tell("news", {"text": "x" * 10_000}):
            pass

    telling = asyncio.ensure_future(tell())
    for _ in range(200):
        await asyncio.sleep(0)
    assert not telling.done()
    assert len(peer.stream._out) < 1 << 20
    os.close(from_it)  # nobody will ever read
    async with asyncio.timeout(30):
        await telling
    peer.stream.end("done")
    os.close(to_it)
