"""Sessions over HTTP, as a program in any language drives them."""

import asyncio
import os
import resource
from contextlib import aclosing
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from planck.client import ClientError, RemoteSession
from planck.headless import Planck
from planck.records.outcome import ErrorKind
from planck.testing import Say, ScriptedProvider
from tests.api.bench import served, serving
from tests.command import WAIT, Bench

SESSION = {
    *["id", "name", "state", "first_prompt", "team", "model", "mode", "cost_usd", "head", "created"],
    *["updated", "node", "holder", "parent", "forked_at", "estimated"],
}


async def until(session: RemoteSession, type: str) -> int:
    """Returns the number of the first event of that type, once it is there."""
    async with asyncio.timeout(WAIT), aclosing(session.events()) as events:
        async for event in events:
            if event["type"] == type:
                return int(event["seq"])
    raise AssertionError(f"the stream ended without {type!r}")


async def test_a_session_is_started_prompted_and_gives_its_result(tmp_path: Path) -> None:
    async with serving(tmp_path, ["one", "two"]) as server, server.client() as client:
        answer = await client.ask(
            "POST", "/sessions", {"name": "fox", "prompt": "first", "mode": "read-only"}
        )
        assert (answer.status, set(answer.data)) == (201, SESSION)
        assert answer.headers["location"] == f"/api/v1/sessions/{answer.data['id']}"
        session = client.session(answer.data["id"])
        assert (await session.ask("GET", "/result"))["text"] == "one"
        accepted = await client.ask("POST", f"/sessions/{session.id}/prompts", {"text": "second"})
        assert (accepted.status, set(accepted.data)) == (202, {"message_id", "seq"})
        result = await session.ask("GET", "/result", after=accepted.data["seq"])
        assert (result["status"], result["text"], result["session_name"]) == ("completed", "two", "fox")
        row = await session.ask("GET")
        assert (row["state"], row["first_prompt"], row["mode"]) == ("done", "first", "read-only")
        assert row["holder"]["pid"] == server.pid
        assert [agent["turns"] for agent in row["agents"]] == [2]


async def test_a_closed_session_is_read_as_before_and_opened_by_the_next_prompt(tmp_path: Path) -> None:
    async with serving(tmp_path, lambda request: "yes") as server, server.client() as client:
        session = await client.start()
        await session.run("one")
        open_row, board = await session.ask("GET"), await session.board()
        await session.close()
        row = await session.ask("GET")
        assert {**row, "holder": None} == {**open_row, "holder": None}
        assert (row["holder"], await session.board()) == (None, board)
        closed = await session.ask("GET", "/result")
        assert closed["text"] == "yes"
        await session.ask("POST", "/open", {})
        assert await session.ask("GET", "/result") == closed  # at once: it was done before it was opened
        assert (await session.run("two"))["text"] == "yes"
        assert (await session.board())["counts"]["resumes"] == 1


async def test_a_result_says_how_long_the_orchestrator_worked_by_its_log(tmp_path: Path) -> None:
    async with serving(tmp_path, lambda request: "yes") as server, server.client() as client:
        session = await client.start()
        each = [(await session.run(text))["duration_ms"] for text in ("one", "two")]
        await session.close()
        assert (await session.ask("GET", "/result"))["duration_ms"] == sum(each)
        async with aclosing(session.events()) as events:
            wanted = ("turn_start", "turn_end")
            times = [datetime.fromisoformat(event["ts"]) async for event in events if event["type"] in wanted]
        turns = zip(times[::2], times[1::2], strict=True)
        assert [round((end - begin).total_seconds() * 1000) for begin, end in turns] == each


async def test_a_key_runs_a_prompt_once_also_over_a_restart(tmp_path: Path) -> None:
    async with serving(tmp_path, lambda request: "done") as server, server.client() as client:
        session = await client.start()
        first = await session.prompt("work", key="k-1")
        again = await asyncio.gather(*(session.prompt("work", key="k-1") for _ in range(5)))
        assert again == [first] * 5
        await session.ask("GET", "/result", after=first["seq"])
        with pytest.raises(ClientError) as refusal:
            await session.prompt("other work", key="k-1")
        assert (refusal.value.status, refusal.value.err.kind) == (409, ErrorKind.NOT_UNIQUE)
    async with serving(tmp_path, lambda request: "done") as server, server.client() as client:
        session = client.session(session.id)
        assert await session.prompt("work", key="k-1") == first
        assert server.model
        assert server.model.asked == []
        assert (await session.board())["counts"]["messages"] == 1
        with pytest.raises(ClientError, match="Idempotency-Key"):
            await session.prompt("work", key="a key with spaces")


async def test_lists_are_cut_into_pages_that_miss_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, server.client() as client:
        ids = [(await client.start(name=f"s{number}")).id for number in range(7)]
        listed = [row async for row in client.sessions(limit=2)]
        assert sorted(row["id"] for row in listed) == sorted(ids)
        assert [row["updated"] for row in listed] == sorted((row["updated"] for row in listed), reverse=True)
        assert [row["name"] async for row in client.sessions(limit=1, q="S3")] == ["s3"]
        with pytest.raises(ClientError, match="cursor"):
            await client.ask("GET", "/sessions", cursor="nonsense")


async def test_pages_miss_nothing_where_files_were_written_in_another_order(tmp_path: Path) -> None:
    """A server that stops closes all that is open at once, in any order."""
    async with serving(tmp_path) as server, server.client() as client:
        ids = [(await client.start()).id for _ in range(7)]
        for id in ids:
            await client.session(id).close()
        later = int(datetime.now().timestamp()) + 60
        for number, id in enumerate(ids):
            (file,) = (tmp_path / "home" / "sessions").glob(f"{id}_*.db")
            os.utime(file, (later - number, later - number))
        for limit in (1, 2, 3, 10):
            assert [row["id"] async for row in client.sessions(limit=limit)] == ids[::-1]


async def test_a_session_that_was_renamed_is_listed_and_found_by_its_new_name(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, server.client() as client:
        session = await client.start(name="fox")
        await session.ask("PATCH", "", {"name": "owl"})
        for _ in ("open", "closed"):
            assert [row["name"] async for row in client.sessions()] == ["owl"]
            assert [row["id"] async for row in client.sessions(q="owl")] == [session.id]
            assert [row["id"] async for row in client.sessions(q="fox")] == []
            await session.close()


async def test_a_session_is_found_by_its_name_in_every_path(tmp_path: Path) -> None:
    async with serving(tmp_path, ["one", "two"]) as server, server.client() as client:
        session = await client.start(name="fox", prompt="go")
        named = client.session("fox")
        assert (await named.ask("GET", "/result", after=0))["text"] == "one"
        assert (await named.run("again"))["text"] == "two"
        for state in ("open", "closed"):
            assert (await named.ask("GET"))["id"] == session.id, state
            for path in ("/board", "/why", "/agents", "/agents/orchestrator", "/changes"):
                assert await named.ask("GET", path), (state, path)
            export = await server.send("GET", "/api/v1/sessions/fox/export")
            assert (export.status, session.id in export.headers["content-disposition"]) == (200, True)
            await named.close()
        for other in ("fo", "owl", "fox%2f", session.id[:8]):  # a beginning of a name or an id is neither
            assert (await server.send("GET", f"/api/v1/sessions/{other}")).status == 404, other
        await named.ask("PATCH", "", {"name": "owl"})
        assert (await server.send("GET", "/api/v1/sessions/fox")).status == 404
        assert (await server.send("DELETE", "/api/v1/sessions/owl")).status == 204
        assert [row["id"] async for row in client.sessions()] == []


async def test_an_answer_that_the_client_has_already_is_not_sent_again(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, server.client() as client:
        session = await client.start()
        path = f"/api/v1/sessions/{session.id}/board"
        first = await server.send("GET", path)
        tag = first.headers["etag"]
        again = await server.send("GET", path, headers={"If-None-Match": tag})
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        await session.run("work")
        assert (await server.send("GET", path, headers={"If-None-Match": tag})).status == 200
        tag = (await server.send("GET", path)).headers["etag"]
        several = {"If-None-Match": '"another"', "if-none-match": f"W/{tag}"}  # a list, in two lines
        assert (await server.send("GET", path, headers=several)).status == 304


async def test_interrupting_ends_the_turn_and_the_session_goes_on(tmp_path: Path) -> None:
    wait = asyncio.Event()
    script: list[Any] = [Say(text="never", wait=wait), "after"]
    async with serving(tmp_path, script) as server, server.client() as client:
        session = await client.start()
        accepted = await session.prompt("work")
        await until(session, "turn_start")
        await session.interrupt()
        result = await session.ask("GET", "/result", after=accepted["seq"])
        assert result["status"] == "interrupted"
        assert (await session.run("go on"))["text"] == "after"


async def test_a_session_of_another_workspace_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with serving(tmp_path) as server, server.client() as client:
        model = ScriptedProvider(["x"])
        home = tmp_path / "home"
        async with Planck(home, tmp_path / "other", environ={}, providers={"local": model}) as planck:
            stranger = (await planck.start(model="local/m", name="theirs")).id
        for (method, path), named in product(
            (("GET", ""), ("GET", "/events"), ("POST", "/open"), ("DELETE", "")), (stranger, "theirs")
        ):
            with pytest.raises(ClientError) as refusal:
                await client.session(named).ask(method, path, {} if method == "POST" else None)
            assert (refusal.value.status, refusal.value.err.kind) == (404, ErrorKind.NOT_FOUND)
        assert [row["id"] async for row in client.sessions()] == []
        assert [row["id"] async for row in client.sessions(all="true")] == [stranger]


async def test_a_session_that_another_process_has_is_read_only_with_its_holder_named(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, server.client() as client:
        model = ScriptedProvider(["theirs"])
        home, work = tmp_path / "home", tmp_path / "work"
        async with Planck(home, work, environ={}, providers={"local": model}) as planck:
            held = await planck.start(model="local/m")
            await held.run("work")
            session = client.session(held.id)
            row = await session.ask("GET")
            assert (row["holder"]["pid"], row["state"]) == (server.pid, "done")
            assert (await session.board())["counts"]["turns"] == 1
            for method, path, body in (
                ("POST", "/prompts", {"text": "mine"}),
                ("POST", "/open", {}),
                ("POST", "/close", {}),
                ("POST", "/interrupt", {}),
                ("PATCH", "", {"mode": "full"}),
                ("DELETE", "", None),
            ):
                with pytest.raises(ClientError) as refusal:
                    await session.ask(method, path, body)
                assert (refusal.value.status, refusal.value.err.kind) == (409, ErrorKind.WRITER_CONFLICT)
                assert str(server.pid) in refusal.value.err.message
        assert (await session.run("mine"))["text"] == "hello"


async def test_an_idle_session_is_put_to_sleep_and_its_stream_goes_on(tmp_path: Path) -> None:
    yes: Any = lambda request: "yes"  # noqa: E731
    async with serving(tmp_path, yes, sessions=1, idle=0.2) as server, server.client() as client:
        first, seen = await client.start(), list[int]()
        await first.run("one")

        async def watch() -> str:
            async for event in first.events():
                seen.extend([event["seq"]] if event["seq"] else [])
                if event["type"] == "turn_end" and event["turn"] == 2:
                    return "the second turn was seen"
            return "the stream ended"

        watching = asyncio.ensure_future(watch())
        async with asyncio.timeout(WAIT):
            while (await first.ask("GET"))["holder"]:
                await asyncio.sleep(0.02)
        await first.prompt("two")
        async with asyncio.timeout(WAIT):
            assert await watching == "the second turn was seen"
        assert seen == [*range(1, len(seen) + 1)]


async def test_too_many_sessions_at_work_are_refused_and_an_idle_one_makes_room(tmp_path: Path) -> None:
    wait = asyncio.Event()
    script: list[Any] = [Say(text="x", wait=wait), Say(text="y", wait=wait), "z"]
    async with serving(tmp_path, script, sessions=2) as server, server.client() as client:
        idle = await client.start()
        for _ in range(2):
            await (await client.start()).prompt("work")  # the second one sends the idle one to sleep
        assert (await idle.ask("GET"))["holder"] is None
        answer = await server.post("/api/v1/sessions", {})
        assert (answer.status, answer.kind) == (503, "limit_exceeded")
        assert answer.headers["retry-after"]
        wait.set()


async def test_requests_a_second_are_bounded_with_the_way_out_named(tmp_path: Path) -> None:
    async with serving(tmp_path, requests_per_second=1) as server:
        answers = await asyncio.gather(*(server.send("GET", "/api/v1/me") for _ in range(30)))
        refused = [answer for answer in answers if answer.status == 429]
        assert refused
        assert refused[0].kind == "limit_exceeded"
        assert int(refused[0].headers["retry-after"]) >= 1
        assert (await server.send("GET", "/api/v1/health", headers={"Authorization": ""})).status == 200


BAD = [
    ("POST", "/sessions", b"{", 400, "invalid_args"),
    ("POST", "/sessions", b"\xff\xfe", 400, "invalid_args"),
    ("POST", "/sessions", b"[" * 100_000, 400, "invalid_args"),
    ("POST", "/sessions", b'{"unknown": 1}', 400, "invalid_args"),
    ("POST", "/sessions", b'{"mode": "root"}', 400, "invalid_args"),
    ("POST", "/sessions", b'{"max_steps": -1}', 400, "invalid_args"),
    ("POST", "/sessions", b'{"name": "../x"}', 400, "invalid_args"),
    ("POST", "/sessions", b'{"team": "nobody"}', 404, "not_found"),
    ("POST", "/sessions", b"[]", 400, "invalid_args"),
    ("POST", "/sessions", b'{"prompt": "  "}', 400, "no_prompt"),
    ("POST", "/sessions/{id}/prompts", b"{}", 400, "invalid_args"),
    ("POST", "/sessions/{id}/prompts", b'{"text": "  "}', 400, "no_prompt"),
    ("POST", "/sessions/{id}/prompts", b'{"text": "x", "agent": "nobody"}', 404, "not_found"),
    ("GET", "/sessions/{id}/board?at=x", b"", 400, "invalid_args"),
    ("GET", "/sessions/{id}/board?at=-1", b"", 400, "invalid_args"),
    ("GET", "/sessions/{id}/board?at=1&at=2", b"", 400, "invalid_args"),
    ("GET", "/sessions?limit=0", b"", 400, "invalid_args"),
    ("GET", "/sessions?q=%ff", b"", 400, "invalid_args"),
    ("GET", "/sessions/0000000000000000", b"", 404, "not_found"),
    ("PUT", "/sessions", b"{}", 405, "invalid_args"),
    ("GET", "/nothing", b"", 404, "not_found"),
]


async def test_bad_input_has_its_kind_and_the_server_lives(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, server.client() as client:
        id = (await client.start()).id
        for method, path, body, status, kind in BAD:
            answer = await server.send(method, "/api/v1" + path.replace("{id}", id), body)
            assert (answer.status, answer.kind) == (status, kind), (path, body[:40], answer)
        for key in ("", " ", "a b", "x" * 129):  # one that is no key is told so: it would guard nothing
            answer = await server.post(
                f"/api/v1/sessions/{id}/prompts", {"text": "x"}, {"Idempotency-Key": key}
            )
            assert (answer.status, answer.kind) == (400, "invalid_args"), key
        assert [row["id"] async for row in client.sessions()] == [id]
        assert (await client.session(id).run("and yet"))["text"] == "hello"


async def test_a_body_that_is_too_large_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        head = (
            f"POST /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {server.token}\r\nContent-Type: application/json\r\n"
        )
        for length, body in (
            (f"Content-Length: {100 << 20}\r\n\r\n", b"x" * (1 << 20)),
            ("Transfer-Encoding: chunked\r\n\r\n", b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write((head + length).encode())
            for _ in range(100):
                writer.write(body)
                await writer.drain()
            async with asyncio.timeout(WAIT):
                line = await reader.readline()
            assert line.split()[1] == b"413"
            writer.close()
        assert (await server.send("GET", "/api/v1/me")).status == 200


async def test_a_client_that_closes_its_connection_reads_why_its_body_was_refused(tmp_path: Path) -> None:
    """It writes all of it before it reads: a reset would take the answer away."""
    async with serving(tmp_path) as server:
        for token, status in ((server.token, 413), ("wrong", 401)):
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
            request = Request(f"{server.url}/api/v1/sessions", b"x" * (9 << 20), headers)
            with pytest.raises(HTTPError) as refused:  # which sends `Connection: close`
                await asyncio.to_thread(urlopen, request, timeout=WAIT)
            with refused.value as answer:
                assert (answer.code, b'"ok":false' in answer.read()) == (status, True)


async def test_a_prompt_that_no_agent_would_take_starts_nothing(tmp_path: Path) -> None:
    config = {"limits": {"envelope_bytes": 1000}}
    async with serving(tmp_path, config=config) as server, server.client() as client:
        session = await client.start()
        for path, body in (("", {"prompt": "x" * 1001}), (f"/{session.id}/prompts", {"text": "é" * 501})):
            answer = await server.post(f"/api/v1/sessions{path}", body)
            assert (answer.status, answer.kind) == (413, "limit_exceeded")
            assert "retry-after" not in answer.headers
        assert [row["id"] async for row in client.sessions()] == [session.id]


@pytest.mark.parametrize("at", ["a prompt", "a turn", "a call", "a question"])
async def test_a_fork_of_a_session_at_work_says_that_nobody_works_on_it(tmp_path: Path, at: str) -> None:
    """By every way to ask: its row, the list, its board, why, and its result."""
    call = ("bash", {"command": "sleep 60"}) if at == "a call" else ("write", {"path": "a", "content": "b"})
    script = [Say(text="never", wait=asyncio.Event()) if at in ("a prompt", "a turn") else Say(calls=[call])]
    types = {"a prompt": "message", "a turn": "turn_start", "a call": "tool_start"}
    async with serving(tmp_path, script) as server, server.client() as client:
        session = await client.start(mode="full" if at == "a call" else "ask")
        await session.prompt("work")
        seq = await until(session, types.get(at, "permission_request"))
        made = await session.ask("POST", "/fork", {"at": seq})
        fork = client.session(made["id"])
        (listed,) = [row async for row in client.sessions() if row["id"] == made["id"]]
        assert (made["state"], made) == ("interrupted", listed)
        board = await fork.board()
        (agent,) = board["agents"]
        assert (board["state"], board["questions"]) == ("interrupted", [])
        assert (agent["status"], agent["calls"], agent["opened_by"]) == ("idle", [], "")
        assert "No process has this session open" in (await fork.ask("GET", "/why"))["lines"][0]
        assert (await fork.ask("GET", "/result", after=0))["status"] == "interrupted"
        assert (await session.board())["state"] in ("running", "waiting")


async def test_a_damaged_session_is_exported_with_a_status_that_says_so(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, server.client() as client:
        session = await client.start()
        await session.run("a sentence to be damaged")
        await session.close()
        (file,) = (tmp_path / "home" / "sessions").glob(f"{session.id}_*.db")
        whole = file.read_bytes()
        assert b"a sentence" in whole
        file.write_bytes(whole.replace(b"a sentence", b"b sentence"))
        for kind in ("ndjson", "md", "html"):
            answer = await server.send("GET", f"/api/v1/sessions/{session.id}/export?format={kind}")
            assert (answer.status, answer.kind) == (500, "corrupt_log_line"), kind


async def test_a_full_disk_is_told_as_one_whatever_was_asked(tmp_path: Path) -> None:
    async with served(Bench(tmp_path, "http://127.0.0.1:9")) as (server, process), server.client() as client:
        session = await client.start()
        (file,) = (tmp_path / "home" / "sessions").glob(f"{session.id}_*.db-wal")
        most = (file.stat().st_size, resource.RLIM_INFINITY)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, most)
        refused = set()
        for method, path, body in (
            ("POST", "/rewind", {"to": 1}),
            ("POST", "/prompts", {"text": "x"}),
            ("PATCH", "", {"mode": "plan"}),
        ):
            with pytest.raises(ClientError) as caught:
                await session.ask(method, path, body)
            refused.add((caught.value.status // 100, caught.value.err.kind))
        assert refused == {(5, ErrorKind.LOG_WRITE_FAILED)}
