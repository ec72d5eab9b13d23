"""Server-sent events: in order and whole; a client that comes back misses nothing, and gets nothing twice."""

import asyncio
import json
import os
import signal
import socket
import struct
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.server import Target
from planck.api.handlers.streams import Filter, Limits, Streams
from planck.api.metrics import Metrics
from planck.api.session_cache import SessionCache
from planck.api.shapes import Holder
from planck.client import Client, RemoteSession
from planck.client.messages import Message
from planck.headless import Inbox, Planck
from planck.records.specs import RunOptions
from planck.testing import Say, ScriptedProvider
from tests.api.bench import Served, parse, served, serving
from tests.command import WAIT, Bench
from tests.memory import growth
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer


async def read_until(session: RemoteSession, event: str, after: int = 0, **query: Any) -> list[Message]:
    seen = []
    async with asyncio.timeout(WAIT), aclosing(session.messages(after, **query)) as messages:
        async for message in messages:
            seen.append(message)
            if message.event == event:
                return seen
    return seen


def is_end(message: Message, turn: int) -> bool:
    event = json.loads(message.data)
    return (event["type"], event["turn"]) == ("turn_end", turn)


async def test_first_the_log_then_what_is_said_now_then_what_happens(tmp_path: Path) -> None:
    wait = asyncio.Event()
    script: list[Any] = ["one", Say(text="half a sentence", wait=wait), "and another one"]
    async with serving(tmp_path, script) as server, server.client() as client:
        session = await client.start()
        await session.run("first")
        await session.prompt("second")
        while (board := await session.board())["agents"][0]["status"] != "streaming":
            await asyncio.sleep(0.01)
        seen = []
        async with asyncio.timeout(WAIT), aclosing(session.messages()) as messages:
            async for message in messages:
                seen.append(message)
                if message.event == "live":
                    wait.set()
                    await session.prompt("third")
                if message.id and is_end(message, 3):
                    break
        live = [message.event for message in seen].index("live")
        assert [int(message.id) for message in seen[:live]] == [*range(1, board["seq"] + 1)]
        assert [message.event for message in seen].count("live") == 1
        facts = [int(message.id) for message in seen if message.id]
        assert facts == [*range(1, facts[-1] + 1)]
        for message in seen:
            if message.event == "message":
                assert (json.loads(message.data)["seq"] is None) == (message.id == "")
        said = "".join(
            [*(text["text"] for text in json.loads(seen[live].data).values())]
            + [
                json.loads(message.data)["data"]["text"]
                for message in seen[live:]
                if message.event == "message" and json.loads(message.data)["type"] == "text_delta"
            ]
        )
        assert said == "half a sentence" + "and another one"
        assert [message for message in seen if message.event == "message" and not message.id]


async def test_h9_a_client_comes_back_from_anywhere(tmp_path: Path) -> None:
    async with serving(tmp_path, lambda request: "yes") as server, server.client() as client:
        session = await client.start()
        await session.run("one")
        head = (await session.board())["seq"]
        for after in range(head + 1):
            seen = await read_until(session, "live", after)
            assert [int(message.id) for message in seen if message.id] == [*range(after + 1, head + 1)]
        for number in (head + 1, 10**6, 2**63, 10**30):
            future = await read_until(session, "live", number)
            assert (future[0].event, json.loads(future[0].data)) == ("reset", {"head": head})
            assert [int(message.id) for message in future if message.id] == [*range(1, head + 1)]
        path = f"/api/v1/sessions/{session.id}/events"
        for garbage in ("x", "-1", "1.5", "1e9", "", "²"):
            headers = {"Accept": "text/event-stream", "Last-Event-ID": garbage}
            answer = await server.send("GET", path, headers=headers)
            assert (answer.status, answer.kind) == (400, "invalid_args"), garbage
        only = await read_until(session, "live", type="turn_end,turn_start", agent="orchestrator")
        types = [json.loads(message.data)["type"] for message in only if message.id]
        assert types == ["turn_start", "turn_end"]


async def test_a_page_of_events_is_cut_where_it_was_asked_to_be(tmp_path: Path) -> None:
    async with serving(tmp_path, lambda request: "yes") as server, server.client() as client:
        session = await client.start()
        await session.run("one")
        head = (await session.board())["seq"]

        async def page(**query: Any) -> list[int]:
            return [
                json.loads(line)["seq"]
                for line in (await session.ask("GET", "/events", **query) or b"").splitlines()
            ]

        assert await page() == [*range(1, head + 1)]
        assert await page(after=2, limit=3) == [3, 4, 5]
        assert await page(before=head, limit=2) == [head - 2, head - 1]
        assert await page(after=10**6) == []
        answer = await server.send("GET", f"/api/v1/sessions/{session.id}/events?limit=2")
        assert "after=2" in answer.headers["link"]
        path, lines = f"/api/v1/sessions/{session.id}/events?limit=1&type=turn_start,turn_end", list[bytes]()
        while path:  # what was asked for holds for the next page too
            answer = await server.send("GET", path)
            lines += answer.body.splitlines()
            path = answer.headers.get("link", "").partition("<")[2].partition(">")[0]
        assert [json.loads(line)["type"] for line in lines] == ["turn_start", "turn_end"]


async def test_a_stream_ends_only_when_somebody_closes_or_deletes_its_session(tmp_path: Path) -> None:
    limits, yes = Limits(ping=0.05), (lambda request: "yes")
    async with serving(tmp_path, yes, streams=limits) as server, server.client() as client:
        session = await client.start()
        watching = asyncio.ensure_future(read_until(session, "end"))
        await read_until(session, "ping")
        await session.close()
        seen = await watching
        head = (await session.board())["seq"]
        assert [int(message.id) for message in seen if message.id] == [*range(1, head + 1)]
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(head)}
        path = f"/api/v1/sessions/{session.id}/events"
        assert (await server.send("GET", path, headers=headers)).status == 204
        missed = await read_until(session, "end", 1)  # who has not seen all of it still does
        assert [int(message.id) for message in missed if message.id] == [*range(2, head + 1)]
        lost = await read_until(session, "end", head + 1)  # who has seen what is not in it begins anew
        assert lost[0].event == "reset"
        assert [int(message.id) for message in lost if message.id] == [*range(1, head + 1)]
        await session.ask("POST", "/open", {})
        assert (await read_until(session, "ping", head))[-1].event == "ping"
        watching = asyncio.ensure_future(read_until(session, "end"))
        await read_until(session, "live")
        await session.delete()
        assert (await watching)[-1].event == "end"
        assert (await server.send("GET", path, headers=headers)).status == 204


async def test_who_joins_again_in_mid_sentence_gets_its_beginning(tmp_path: Path) -> None:
    """A client that was slow over the log of a sleeping session, which somebody else has woken."""
    wait = asyncio.Event()
    model = ScriptedProvider([Say(text="half a sentence", wait=wait)])
    (tmp_path / "work").mkdir()
    planck = Planck(
        tmp_path / "home", tmp_path / "work", environ={}, providers={"local": model}, approver=Inbox()
    )
    async with planck, asyncio.timeout(WAIT):
        cache = SessionCache(planck, Holder(pid=1, host="here"), limit=1, idle=0.0)
        id = (await cache.start("admin", RunOptions(model="local/m"))).session.id
        while cache.find(id):
            await cache.put_to_sleep()
            await asyncio.sleep(0)
        async with aclosing(Streams(cache, Metrics(), Limits()).follow(id, 0, Filter(), 2)) as pieces:
            while not (await anext(pieces)).startswith(b"event: live"):
                pass
            async with cache.using(id, "admin") as kept:
                await kept.session.prompt("go on")
                while [said.text for said in kept.session.live().values()] != ["half a sentence"]:
                    await asyncio.sleep(0.01)
                while b"event: live" not in (piece := await anext(pieces)):
                    pass
                assert b"half a sentence" in piece
                wait.set()
        await cache.aclose()


async def test_what_another_process_writes_is_seen_here(tmp_path: Path) -> None:
    async with WireServer([chat.text("theirs")]) as model:
        bench = Bench(tmp_path, model.url)
        async with served(bench) as (server, _), server.client() as client:
            first = await bench.run("run", "one", "--name", "fox")
            assert first.code == 0, first.err
            (row,) = [row async for row in client.sessions()]
            session = client.session(row["id"])
            watching = asyncio.ensure_future(find_turn(session, 2))
            assert (await bench.run("run", "two", "-r", "fox")).code == 0
            async with asyncio.timeout(WAIT):
                facts = await watching
            assert facts == [*range(1, len(facts) + 1)]


async def find_turn(session: RemoteSession, turn: int) -> list[int]:
    """The numbers of all facts up to the end of that turn."""
    facts = []
    async with aclosing(session.events()) as events:
        async for event in events:
            if event["seq"] is not None:
                facts.append(event["seq"])
                if (event["type"], event["turn"]) == ("turn_end", turn):
                    break
    return facts


async def test_more_clients_than_there_is_room_for_are_told_to_come_again(tmp_path: Path) -> None:
    async with serving(tmp_path, streams=Limits(clients=1)) as server, server.client() as client:
        session = await client.start()
        response = await client.open("GET", f"/sessions/{session.id}/events", last_id=0)
        assert await anext(aiter(response.chunks()))
        path = f"/api/v1/sessions/{session.id}/events"
        answer = await server.send("GET", path, headers={"Accept": "text/event-stream"})
        assert (answer.status, answer.kind) == (503, "limit_exceeded")
        await response.aclose()


async def test_h8_stuck_clients_cost_little_and_hold_nobody_up(tmp_path: Path) -> None:
    """200 that never read, and one that does: it gets every word."""
    words = [f"{number:05d} " + "x" * 500 for number in range(2000)]
    async with WireServer([chat.text("hello"), chat.text(*words)]) as model:
        bench = Bench(tmp_path, model.url)
        async with served(bench) as (server, _), server.client() as client:
            session = await client.start()
            await session.run("warm up")
            stuck = [await connect_and_never_read(server, session.id) for _ in range(200)]
            await until_clients(client, 200)
            grown = growth(server.pid)
            seen = asyncio.ensure_future(hear(session, len("".join(words))))
            await until_clients(client, 201)
            await session.prompt("talk")
            async with asyncio.timeout(2 * WAIT):
                assert await seen == "".join(words)
            assert grown() < 64 << 10
            for one in stuck:
                one.close()


async def until_clients(client: Client, count: int) -> None:
    async with asyncio.timeout(WAIT):
        while f"planck_sse_clients {count}\n".encode() not in (await client.ask("GET", "/metrics")).data:
            await asyncio.sleep(0.02)


async def connect_and_never_read(server: Served, id: str) -> socket.socket:
    return await Target(server.url, server.token).connect_and_never_read(f"/api/v1/sessions/{id}/events")


async def hear(session: RemoteSession, size: int) -> str:
    said = ""
    async with aclosing(session.messages()) as messages:
        async for message in messages:
            data = json.loads(message.data)
            if message.event == "live":
                said = "".join(one["text"] for one in data.values())
            elif message.event == "message" and data["type"] == "text_delta" and data["turn"] == 2:
                said += data["data"]["text"]
            if len(said) >= size:
                return said
    return said


async def test_a_client_that_takes_nothing_is_cut(tmp_path: Path) -> None:
    limits, long = Limits(stuck=0.2), (lambda request: "x" * 8_000_000)
    async with serving(tmp_path, long, streams=limits) as server, server.client() as client:
        session = await client.start()
        one = await connect_and_never_read(server, session.id)
        await session.prompt("talk")
        async with asyncio.timeout(WAIT):
            while b"planck_sse_drops_total 0\n" in (await client.ask("GET", "/metrics")).data:
                await asyncio.sleep(0.02)
        one.close()


@pytest.mark.parametrize("rounds", [5, pytest.param(50, marks=pytest.mark.soak)])
async def test_a_server_that_is_killed_in_mid_stream_loses_no_event_and_repeats_none(
    tmp_path: Path, rounds: int
) -> None:
    def answer(asked: Asked) -> Reply:
        if len(model.asked) % 3:
            return chat.calls(("list_dir", {"path": "."}))
        return chat.text(*("word " * 50).split(" "))

    async with WireServer(answer) as model:
        bench, port = Bench(tmp_path, model.url), "0"
        facts: list[int] = []
        id = ""
        for number in range(rounds):
            async with served(bench, "--port", port) as (server, process), server.client() as client:
                session = client.session(id) if id else await client.start()
                id, port = session.id, str(server.port)
                asked = (await session.prompt(f"round {number}"))["seq"]
                enough = len(facts) + 4 + number % 7
                async with (
                    asyncio.timeout(WAIT),
                    aclosing(session.events(facts[-1] if facts else 0)) as events,
                ):
                    async for event in events:
                        facts.extend([event["seq"]] if event["seq"] is not None else [])
                        over = event["type"] == "turn_end" and event["seq"] > asked
                        if len(facts) >= enough or over:
                            break
                    os.kill(server.pid, signal.SIGKILL)
                    await process.wait()
        async with served(bench) as (server, _), server.client() as client:
            lines = (await client.session(id).ask("GET", "/events", limit=10_000)).splitlines()
            recorded = [json.loads(line)["seq"] for line in lines]
            assert recorded == [*range(1, len(recorded) + 1)]
            assert facts == recorded[: len(facts)]
            shown = await bench.run("sessions", "show", id, "--json")
            assert json.loads(shown.out)["info"]["problem"] == ""


async def test_h7_a_request_that_never_ends_is_told_so(tmp_path: Path) -> None:
    async with serving(tmp_path, patience=0.2) as server:
        for request in (
            b"GET /api/v1/me HTTP/1.1\r\nHo",
            b"POST /api/v1/sessions HTTP/1.1\r\nContent-Length: 9\r\nContent-Type: application/json\r\n"
            + f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n\r\n{{".encode(),
        ):
            answer = parse(await server.raw(request))
            assert (answer.status, answer.kind) == (408, "timeout")
        headers = "".join(f"X-{number}: y\r\n" for number in range(10_000))
        answer = parse(await server.raw(f"GET /api/v1/me HTTP/1.1\r\n{headers}\r\n".encode()))
        assert (answer.status, answer.kind) == (431, "limit_exceeded")
        answer = parse(await server.raw(b"\x16\x03\x01 this is no HTTP\r\n\r\n"))
        assert (answer.status, answer.kind) == (400, "invalid_args")
        assert (await server.send("GET", "/api/v1/me")).status == 200


async def test_a_connection_that_the_client_resets_leaves_nothing_behind(tmp_path: Path) -> None:
    """A process that ends with an answer unread resets its connection; tests/leaks.py sees what stays."""
    async with serving(tmp_path) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        async with asyncio.timeout(WAIT):
            assert b" 200 " in await reader.readline()
        reset = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        writer.close()
        await writer.wait_closed()
        assert (await server.send("GET", "/api/v1/me")).status == 200  # the reset was heard before


async def test_a_session_that_a_key_starts_anew_is_streamed_through_a_sleep(tmp_path: Path) -> None:
    """It has the id of the one that was deleted, whose streams are over."""
    limits = Limits(ping=0.05)
    async with serving(tmp_path, streams=limits, idle=0.2) as server, server.client() as client:
        first = await client.start(key="k")
        await first.delete()
        session = await client.start(key="k")
        assert session.id == first.id
        async with asyncio.timeout(WAIT):
            while (await session.ask("GET"))["holder"]:
                await asyncio.sleep(0.02)
        assert (await read_until(session, "ping"))[-1].event == "ping"
