"""A fork in a pool works where its parent works, and may do no more than its parent or than who made it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from planck.config.private import CLONES
from planck.headless import Joining, Planck
from planck.headless.pool.store import find_copies
from planck.headless.requests import name_session
from planck.records.authority import STRICTNESS
from planck.records.outcome import ErrorKind
from planck.store.library import Contents, Origin
from planck.store.postgres.library import PostgresLibrary
from planck.store.store import StoreError
from planck.testing import ScriptedProvider
from planck.toolkit.clock import RandomIds
from tests.api.bench import Answer, Served, serving
from tests.api.test_roles import ROLES, ask, is_refused
from tests.command import WAIT
from tests.pool.nodes import make_repository
from tests.postgres import run_sql
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

MODES = tuple(mode.value for mode in STRICTNESS)
WAYS = (
    "whole",
    "at 2",
    "by key",
    "of a fork",
    "of one at rest",
    "by another node",
    "at rest by another node",
)
"""How a fork is made; each is tried with every role and with a parent in every mode."""


@asynccontextmanager
async def node(
    folder: Path, database: str, name: str, *, work: int = 0, model: str = "http://127.0.0.1:9"
) -> AsyncIterator[Served]:
    """A node whose own mode is `full`: what narrows a session is nothing else."""
    folder.mkdir(exist_ok=True)
    config = {
        "providers": {"local": {"type": "openai", "base_url": model}},
        "permissions": {"mode": "full"},
        "node": {"accept": [f"{folder.parent}/*"]},
    }
    joining = Joining(name=name, work=work)
    async with serving(folder, config=config, store=database, joining=joining) as server:
        yield server


@asynccontextmanager
async def two_nodes(tmp_path: Path, database: str) -> AsyncIterator[tuple[Served, Served]]:
    async with (
        node(tmp_path / "north", database, "north") as north,
        node(tmp_path / "south", database, "south") as south,
    ):
        yield north, south


async def start(server: Served, **body: Any) -> str:
    answer = await ask(server, "admin", "POST", "/sessions", body)
    assert answer.status == 201, answer
    return str(answer.json["id"])


async def act(server: Served, id: str, what: str, body: Any = None, role: str = "admin") -> dict[str, Any]:
    answer = await ask(server, role, "POST", f"/sessions/{id}/{what}", body or {})
    assert answer.status in (200, 201, 202), answer
    done: dict[str, Any] = answer.json
    return done


async def change_mode(server: Served, id: str, mode: str) -> None:
    answer = await ask(server, "admin", "PATCH", f"/sessions/{id}", {"mode": mode})
    assert (answer.status, answer.json.get("mode")) == (200, mode), answer


async def fork(server: Served, role: str, id: str, **body: Any) -> Answer:
    key = {"idempotency-key": body.pop("key")} if "key" in body else {}
    return await ask(server, role, "POST", f"/sessions/{id}/fork", body, **key)


async def read_log(server: Served, id: str) -> list[dict[str, Any]]:
    answer = await ask(server, "view", "GET", f"/sessions/{id}/events?limit=1000")
    return [json.loads(line) for line in answer.body.splitlines()]


async def wait_for_end(server: Served, id: str) -> None:
    async with asyncio.timeout(WAIT):
        while (await ask(server, "view", "GET", f"/sessions/{id}/result")).status != 200:
            pass  # the server itself waits


def read_rows(database: str) -> dict[str, tuple[Any, ...]]:
    """Returns what nodes go by: where each session is worked on, by which of them, and at most how."""
    sql = "SELECT id, project, workspace, needs, version, pooled, state = 'making', options FROM sessions"
    return {
        str(id): (project, json.loads(str(workspace)), *rest, json.loads(str(options)))
        for id, project, workspace, *rest, options in run_sql(database, sql)
    }


@pytest.mark.heavy
async def test_a_fork_has_the_workspace_and_the_mode_of_its_parent_and_the_ceiling_of_its_maker(
    tmp_path: Path, database: str
) -> None:
    made_of: dict[str, tuple[str, str]] = {}
    async with two_nodes(tmp_path, database) as (north, south):
        for number, (mode, way) in enumerate(product(MODES, WAYS)):
            parent = await start(north, mode=mode)
            if way == "of a fork":
                parent = (await fork(north, "admin", parent)).json["id"]
                await act(north, parent, "open")
            if "at rest" in way:
                await act(north, parent, "close")
            asked = south if "another node" in way else north
            for role in ROLES:
                key = {"key": f"{mode}-{role}"} if way == "by key" else {}
                made = await fork(asked, role, parent, **({"at": 2} if way == "at 2" else {}), **key)
                case = (way, mode, role, made)
                if role == "view" or (role == "submit" and mode == "full"):
                    assert is_refused(made), case
                    continue
                assert (made.status, made.json.get("mode")) == (201, mode), case
                id = made.json["id"]
                made_of[id] = parent, role
                if key:
                    assert (await fork(asked, role, parent, **key)).json["id"] == id, case
                if role == ROLES[1 + number % 3]:  # to open all of them takes seconds
                    opened = await ask(north, role, "POST", f"/sessions/{id}/open", {})
                    assert (opened.status, opened.json.get("mode")) == (200, mode), (*case, opened)
        rows = read_rows(database)
        assert len(made_of) == len(WAYS) * (len(MODES) * 3 - 1)
        for id, (parent, role) in made_of.items():
            *place, options = rows[parent]
            ceiling = {"ceiling": "workspace"} if role == "submit" else {}
            assert place[1]["path"] == str(tmp_path / "north" / "work")
            assert rows[id] == (*place, {**options, **ceiling}), role


@pytest.mark.heavy
async def test_a_prompt_for_a_fork_at_rest_is_taken_by_the_node_that_has_its_workspace(
    tmp_path: Path, database: str
) -> None:
    async with (
        WireServer([chat.text("well")]) as model,
        node(tmp_path / "north", database, "north", work=4, model=model.url) as north,
        node(tmp_path / "south", database, "south", work=4, model=model.url) as south,
    ):
        parent = await start(north, mode="workspace")
        for asked in (north, south):
            id = (await fork(asked, "submit", parent)).json["id"]
            await act(asked, id, "prompts", {"text": "go on"}, role="submit")
            await wait_for_end(north, id)
            ended = [event["data"] for event in await read_log(north, id) if event["type"] == "turn_end"]
            assert [(end["status"], end["text"]) for end in ended] == [("completed", "well")]
            opened = [
                event["data"] for event in await read_log(north, id) if event["type"] == "session_resumed"
            ]
            assert [one["options"]["mode"] for one in opened] == ["workspace"]


def writes_then_says(asked: Asked) -> Reply:
    if asked.json["messages"][-1]["role"] == "tool":
        return chat.text("it is done")
    return chat.calls(("write", {"path": "note.txt", "content": "by an agent\n"}))


@pytest.mark.heavy
async def test_a_fork_of_work_in_a_clone_begins_with_the_files_that_its_parent_has_on_record(
    tmp_path: Path, database: str
) -> None:
    repo = make_repository(tmp_path / "repo")
    async with (
        WireServer(writes_then_says) as model,
        node(tmp_path / "north", database, "north", work=4, model=model.url) as north,
        node(tmp_path / "south", database, "south", model=model.url) as south,
    ):
        body = {"prompt": "do it", "repo": str(repo), "mode": "full"}
        parent = (await ask(north, "admin", "POST", "/submissions", body)).json["id"]
        async with asyncio.timeout(WAIT):
            while "snapshot" not in {event["type"] for event in await read_log(north, parent)}:
                pass
        first = (await fork(north, "admin", parent)).json["id"]  # which nobody opens before it is forked
        second = (await fork(south, "admin", first)).json["id"]
        rows = read_rows(database)
        assert {rows[id][0] for id in (parent, first, second)} == {str(repo)}
        for id in (second, first):
            await act(south, id, "open")
            clone = tmp_path / "south" / "home" / CLONES / id
            assert (clone / "note.txt").read_text() == "by an agent\n"
            assert (clone / "prices.py").exists()
            await act(south, id, "close")


async def start_narrowed(server: Served, database: str) -> str:
    """Returns a session that was begun in `full` and made read-only, in a folder that every node may use."""
    id = await start(server, mode="full")
    await change_mode(server, id, "read-only")
    where = "workspace = jsonb_set(workspace, '{kind}', '\"shared\"'), needs = '{}', project = 'https://git.example/r'"
    run_sql(database, f"UPDATE sessions SET {where} WHERE id = '{id}'")
    return id


@pytest.mark.heavy
async def test_a_fork_of_a_narrowed_session_stays_narrowed_on_every_node(
    tmp_path: Path, database: str
) -> None:
    """Its first events are those of a session in mode `full`."""
    async with two_nodes(tmp_path, database) as (north, south):
        parent = await start_narrowed(north, database)
        for role in ("submit", "approve", "admin"):
            for body in ({}, {"at": 2}):
                made = await fork(north, role, parent, **body)
                assert (made.status, made.json.get("mode")) == (201, "read-only"), (role, body, made)
                id = made.json["id"]
                again = (await fork(south, role, id, at=2)).json
                assert read_rows(database)[id][0] == "https://git.example/r"
                for one in (id, again["id"]):
                    for server in (south, north, south):
                        row = await act(server, one, "open", role=role)
                        assert row["mode"] == "read-only", (role, body, row)
                        await act(server, one, "close", role=role)
                # Somebody may widen it, but not beyond who made it once it is opened again.
                await change_mode(south, id, "full")
                await act(south, id, "close")
                wide = "workspace" if role == "submit" else "full"
                assert (await act(north, id, "open"))["mode"] == wide, role
                await act(north, id, "close")


async def test_a_fork_by_a_server_without_a_pool_stays_narrowed_too(tmp_path: Path) -> None:
    config = {"permissions": {"mode": "full"}}
    async with serving(tmp_path, config=config) as server:
        parent = await start(server, mode="full")
        await change_mode(server, parent, "ask")
        for role in ("submit", "approve", "admin"):
            for body in ({}, {"at": 2}):
                id = (await fork(server, role, parent, **body)).json["id"]
                for _ in range(2):
                    assert (await act(server, id, "open", role=role))["mode"] == "ask", (role, body)
                    await act(server, id, "close", role=role)


async def test_a_key_gives_nobody_a_fork_that_the_role_may_not_use(tmp_path: Path, database: str) -> None:
    async with node(tmp_path / "north", database, "north") as north:
        parent = await start(north, mode="ask")
        id = (await fork(north, "admin", parent, key="k")).json["id"]
        await change_mode(north, id, "full")
        assert is_refused(await fork(north, "submit", parent, key="k"))
        assert (await fork(north, "approve", parent, key="k")).json["id"] == id


async def test_a_rename_keeps_place_options_and_the_prompt_that_waits(tmp_path: Path, database: str) -> None:
    async with node(tmp_path / "north", database, "north") as north:
        parent = await start(north, mode="workspace")
        id = (await fork(north, "submit", parent)).json["id"]
        before = read_rows(database)[id]
        await act(north, id, "prompts", {"text": "go on"})
        renamed = await ask(north, "submit", "PATCH", f"/sessions/{id}", {"name": "owl"})
        assert renamed.json["name"] == "owl"
        assert read_rows(database)[id] == before
        assert run_sql(database, f"SELECT state, waiting FROM sessions WHERE id = '{id}'") == [["queued", 1]]


async def test_rewind_and_undo_leave_place_and_options_as_they_are(tmp_path: Path, database: str) -> None:
    async with node(tmp_path / "north", database, "north") as north:
        parent = await start(north, mode="full")
        await change_mode(north, parent, "read-only")
        before = read_rows(database)[parent]
        head = (await ask(north, "view", "GET", f"/sessions/{parent}")).json["head"]
        for _ in range(2):
            assert (await act(north, parent, "rewind", {"to": 1}))["mode"] == "read-only"
            await ask(north, "admin", "POST", f"/sessions/{parent}/undo/plan", {})
            await act(north, parent, "close")
            assert (await act(north, parent, "open"))["mode"] == "read-only"
        assert (await ask(north, "view", "GET", f"/sessions/{parent}")).json["head"] > head
        assert read_rows(database)[parent] == before


async def test_a_session_that_no_pool_made_is_refused_in_words(tmp_path: Path, database: str) -> None:
    """An import, and what `planck run` kept in the database: nobody knows on which machine its files are."""
    async with node(tmp_path / "north", database, "north") as north:
        (tmp_path / "alone").mkdir()
        async with Planck(
            tmp_path / "user",
            tmp_path / "alone",
            environ={},
            flags={"store": database},
            providers={"local": ScriptedProvider(["well"])},
        ) as planck:
            session = await planck.start(model="local/m", name="own")
            await session.run("x")
            await session.aclose()
            file = tmp_path / "export"
            file.write_bytes(b"".join(planck.archive.events("own")))
            await asyncio.to_thread(planck.archive.delete, "own")
            imported = (await planck.archive.import_session(file)).id
            again = await planck.start(model="local/m", name="other")
            await again.aclose()
        forked = (await fork(north, "admin", imported)).json["id"]
        for id in (imported, again.id, forked):
            for what, body in (("open", {}), ("prompts", {"text": "x"}), ("interrupt", {"agent": "a"})):
                answer = await ask(north, "admin", "POST", f"/sessions/{id}/{what}", body)
                assert (answer.status, answer.kind) == (404, "not_found"), (what, answer)
                assert "planck --resume" in answer.json["error"]["message"], answer
        assert run_sql(database, "SELECT count(*) FROM commands") == [[0]]


async def leave_half(database: str, folder: Path, owner: str, id: str, parent: str) -> None:
    """Leaves what a process leaves that is killed while it makes a fork."""
    log = run_sql(database, f"SELECT bytes FROM events WHERE session = '{parent}' ORDER BY seq")
    what = Contents([bytes(row[0]) for row in log], (), Origin(parent))  # type: ignore[call-overload]  # a column of bytes
    library = PostgresLibrary(database, folder, None, owner=owner)
    half = await library.copy(id, f"half-{id}", RandomIds(), {"created": "2026"}, what)
    half.abandon(StoreError(ErrorKind.INTERRUPTED, "killed"))  # nothing more is said to the database
    await half.aclose()
    await library.aclose()
    await library.engine.close()
    assert run_sql(database, f"SELECT head FROM sessions WHERE id = '{id}'") == [[len(log)]]


async def test_a_fork_that_was_cut_short_is_not_there_and_its_key_makes_it_anew(
    tmp_path: Path, database: str
) -> None:
    """What narrows it comes last in its log: until then nobody may open it."""
    async with node(tmp_path / "north", database, "north") as north:
        parent = await start(north, mode="full")
        for owner in ("gone", "north"):  # another node, and an earlier start of this one
            id = name_session(tmp_path / "north" / "work", parent, owner)
            copies = find_copies(database, tmp_path / "north" / "home") / "north"
            await leave_half(database, copies, owner, id, parent)
            for method, path in (("POST", "/open"), ("GET", ""), ("POST", "/fork"), ("DELETE", "")):
                body: dict[str, str] | None = {} if method == "POST" else None
                answer = await ask(north, "admin", method, f"/sessions/{id}{path}", body)
                assert answer.status == 404, (path, answer)
            made = await fork(north, "admin", parent, key=owner)
            assert (made.status, made.json.get("id")) == (201, id), made
            assert (await act(north, id, "open"))["mode"] == "full"
            assert [event["type"] for event in await read_log(north, id)].count("forked") == 1
