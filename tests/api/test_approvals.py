"""Questions over HTTP: any number at once, answered in any order, by whoever is first."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from planck.client import Client, ClientError
from planck.client.messages import Messages
from planck.records import codec
from planck.records.outcome import ErrorKind
from tests.api.bench import Served, serving
from tests.command import WAIT

TWO: list[Any] = [
    [("write", {"path": "a.txt", "content": "a"}), ("write", {"path": "b.txt", "content": "b"})],
    "done",
]


async def wait_for(client: Client, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(WAIT):
        while len(found := await client.approvals()) != count:
            await asyncio.sleep(0.02)
    return found


async def conflict(client: Client, question: dict[str, Any], **answer: Any) -> tuple[int, ErrorKind]:
    with pytest.raises(ClientError) as caught:
        await client.answer(question, **answer)
    return caught.value.status, caught.value.err.kind


async def test_two_are_answered_out_of_order_and_a_third_answer_comes_too_late(tmp_path: Path) -> None:
    late = (409, ErrorKind.WRITER_CONFLICT)
    async with serving(tmp_path, TWO) as server, server.client() as client, server.client() as other:
        session = await client.start(mode="ask")
        accepted = await session.prompt("write both")
        first, second = await wait_for(client, 2)
        assert {"id", "digest", "session_id", "tool", "text", "adds", "reason"} <= set(first)
        assert first["session_id"] == session.id
        assert (await session.ask("GET"))["state"] == "waiting"
        assert await client.approvals("another") == []
        assert await conflict(other, {**second, "digest": first["digest"]}, allow=True) == late
        await client.answer(second, True, key="k")
        await client.answer(second, True, key="k")  # the same request again
        assert await conflict(client, second, allow=False, key="k") == (409, ErrorKind.NOT_UNIQUE)
        assert await conflict(other, second, allow=False) == late
        await other.answer(first, False, reason="not that one")
        assert await conflict(client, {**first, "id": "f" * 16}, allow=True) == (404, ErrorKind.NOT_FOUND)
        result = await session.ask("GET", "/result", after=accepted["seq"])
        assert (result["text"], len(result["denials"])) == ("done", 1)
        assert await client.approvals() == []
        assert sorted(path.name for path in (tmp_path / "work").iterdir()) == [
            "b.txt" if "b.txt" in second["text"] else "a.txt"
        ]


async def test_h11_an_answer_fits_no_other_session_and_no_question_that_is_over(tmp_path: Path) -> None:
    script = lambda request: TWO[0] if len(request.history.messages) < 2 else "done"  # noqa: E731
    async with serving(tmp_path, script) as server, server.client() as client:
        session = await client.start(mode="ask")
        await session.prompt("write both")
        questions = await wait_for(client, 2)
        await session.interrupt()
        await wait_for(client, 0)
        for question in questions:
            assert await conflict(client, question, allow=True) == (409, ErrorKind.WRITER_CONFLICT)
        assert [*(tmp_path / "work").iterdir()] == []
        bad = {"digest": "", "allow": "yes"}
        answer = await server.post(f"/api/v1/approvals/{questions[0]['id']}", bad)
        assert (answer.status, answer.kind) == (400, "invalid_args")


async def test_the_inbox_tells_every_client_of_questions_and_sessions(tmp_path: Path) -> None:
    async with serving(tmp_path, TWO) as server, server.client() as client:
        watching = asyncio.ensure_future(watch(server, "settled", 2))
        session = await client.start(mode="ask")
        await session.prompt("write both")
        for question in await wait_for(client, 2):
            await client.answer(question, True)
        async with asyncio.timeout(WAIT):
            seen = await watching
        asked = {data["id"] for event, data in seen if event == "question"}
        assert asked == {data["id"] for event, data in seen if event == "settled"}
        states = [data["state"] for event, data in seen if event == "session"]
        assert "waiting" in states


async def watch(server: Served, until: str, times: int) -> list[tuple[str, Any]]:
    seen: list[tuple[str, Any]] = []
    async with server.client() as client:
        response = await client.open("GET", "/inbox/events", last_id=0)
        feed = Messages()
        async for chunk in response.chunks():
            for message in feed.feed(chunk):
                seen.append((message.event, codec.decode(message.data)))
            if sum(event == until for event, _ in seen) >= times:
                break
        await response.aclose()
    return seen


async def test_an_answer_with_a_key_is_known_after_a_restart(tmp_path: Path) -> None:
    async with serving(tmp_path, TWO) as server, server.client() as client:
        session = await client.start(mode="ask")
        accepted = await session.prompt("write both")
        first, second = await wait_for(client, 2)
        await client.answer(first, True, key="k")
        await client.answer(second, False)
        await session.ask("GET", "/result", after=accepted["seq"])
    async with serving(tmp_path) as server, server.client() as client:
        await client.answer(first, True, key="k")
        assert await conflict(client, first, allow=False, key="k") == (409, ErrorKind.NOT_UNIQUE)
        assert await conflict(client, first, allow=True, key="j") == (409, ErrorKind.WRITER_CONFLICT)
        assert await conflict(client, second, allow=False, key="k") == (409, ErrorKind.WRITER_CONFLICT)
        unknown = {**first, "id": "f" * 16}
        assert await conflict(client, unknown, allow=True, key="k") == (404, ErrorKind.NOT_FOUND)
