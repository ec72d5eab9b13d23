"""What a pool takes over HTTP: checked names, teams and texts, and no more rights after a reopening."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

from planck.api.operations import OPERATIONS, PREFIX, Operation
from planck.cli.server import find_session
from planck.headless import Joining, Planck
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import RECORDED, SessionOptions
from planck.store.names import is_valid_name
from planck.store.postgres.library import PostgresLibrary
from planck.testing import ScriptedProvider
from tests.api.bench import parse, serving
from tests.api.test_pool_stopping import LAST, waiting
from tests.api.test_reopening import read_options
from tests.command import WAIT, Bench
from tests.postgres import run_sql

_NUL = "a%00b"
_SOUND = {"string": "x", "integer": 1, "boolean": True}
NORTH = Joining(name="north", work=0)
NAMES = [
    *(
        "/../../made/PWN",
        "../x",
        "..",
        ".",
        "a/b",
        "/a",
        "-x",
        "_x",
        " x",
        "x ",
        "~",
        "*",
        "a?b",
        "[a]",
        "a:b",
    ),
    *("a\nb", "a\n", "\x1b[31mred\x07", "\x7f", "a\u202eb", "é", "x" * 65, "a\\b", "a b", "$(id)", "%2e%2e"),
]
PATHS = ["/etc/TEAM.json", "evil/TEAM.json", "./evil", "../evil", "..", ".", "~/evil", "/", "a/", "evil/"]


async def test_a_pool_takes_names_that_a_session_may_have_and_teams_by_their_alias(
    tmp_path: Path, database: str
) -> None:
    assert not any(map(is_valid_name, NAMES))
    async with serving(tmp_path, store=database, joining=NORTH) as server:
        for route, body in (
            ("/submissions", {"repo": "https://git.example/r", "prompt": "x"}),
            ("/sessions", {}),
        ):
            for name in NAMES:
                answer = await server.post(PREFIX + route, {**body, "name": name})
                assert (answer.status, answer.kind) == (400, "invalid_args"), (route, name, answer)
            for team in PATHS:
                answer = await server.post(PREFIX + route, {**body, "team": team})
                assert answer.status in (400, 404), (route, team, answer)
        assert run_sql(database, "SELECT name FROM sessions") == []
        sound = {"repo": "https://git.example/r", "prompt": "x", "name": "deploy", "team": "crew"}
        assert (await server.post(f"{PREFIX}/submissions", sound)).status == 201


async def test_a_name_that_several_sessions_have_means_none_of_them(tmp_path: Path, database: str) -> None:
    """Names are of one project, and a command that names a session may answer its questions."""
    async with serving(tmp_path, store=database, joining=NORTH) as server, server.client() as client:
        ids = set()
        for number in range(3):
            ids.add((await client.start(name="deploy")).id)
            if number == 0:
                assert {await find_session(client, "deploy")} == ids
            run_sql(database, f"UPDATE sessions SET project = project || '{number}'")  # of another project
        for id in ids:
            assert await find_session(client, id) == id
        with pytest.raises(PlanckError) as refused:
            await find_session(client, "deploy")
        assert refused.value.err.kind is ErrorKind.NOT_UNIQUE
        assert {id for id in ids if id in refused.value.err.message} == ids
        everywhere = PostgresLibrary(database, tmp_path / "copies", None, owner="south")
        with pytest.raises(PlanckError, match="not_unique"):
            await asyncio.to_thread(everywhere.find, "deploy")
        assert {(await asyncio.to_thread(everywhere.find, id)).id for id in ids} == ids
        await everywhere.aclose()
        for operation in OPERATIONS:
            if operation.path.startswith("/sessions/{id}"):
                path = operation.path.replace("{id}", "deploy")
                sent = json.dumps(fill(operation.body)).encode() if operation.body else b""
                answer = await server.send(operation.method, PREFIX + re.sub(r"\{\w+\}", "x", path), sent)
                assert answer.status in (404, 409), (operation.name, answer)


async def test_a_name_in_the_database_leads_to_no_file_elsewhere(tmp_path: Path, database: str) -> None:
    """A row may be older than the check, or by somebody else: the copy on the disk is named after it."""
    async with serving(tmp_path, store=database, joining=NORTH) as server, server.client() as client:
        session = await client.start()
        await session.close()
        for name in ("/../../made/PWN", "x/PWN", "../PWN"):
            run_sql(database, f"UPDATE sessions SET name = '{name}'")
            answer = await server.post(f"{PREFIX}/sessions/{session.id}/open", {})
            assert (answer.status, answer.kind) == (400, "invalid_args"), answer
        assert [*tmp_path.rglob("*PWN*")] == []


async def test_a_name_means_the_session_of_the_server_s_folder_before_those_of_others(tmp_path: Path) -> None:
    async def keep(folder: str) -> str:
        (tmp_path / folder).mkdir(exist_ok=True)
        double = ScriptedProvider(["well"])
        async with Planck(
            tmp_path / "home", tmp_path / folder, environ={}, providers={"local": double}
        ) as one:
            return (await one.start(model="local/m", name="deploy")).id

    others = {await keep("one"), await keep("other")}
    async with serving(tmp_path) as server, server.client() as client:
        with pytest.raises(PlanckError) as refused:
            await find_session(client, "deploy")
        assert refused.value.err.kind is ErrorKind.NOT_UNIQUE
        assert {id for id in others if id in refused.value.err.message} == others
        own = await client.start(name="deploy")
        assert await find_session(client, "deploy") == own.id


def find_texts(shape: Any) -> list[str]:
    """Returns the fields of a shape that hold text, alone or in a list or a map."""
    hints = get_type_hints(shape) if isinstance(shape, type) else {}
    return [name for name, hint in hints.items() if "str" in str(hint)]


def fill(shape: Any, name: str = "") -> dict[str, Any]:
    """Returns the smallest body that is sound, but for a NUL in the field of that name."""
    schema = msgspec.json.schema(shape)["$defs"][shape.__name__]
    kinds = {one: schema["properties"][one].get("type") for one in schema["required"]}
    body: dict[str, Any] = {one: _SOUND[kind] for one, kind in kinds.items()}
    if not name:
        return body
    hint = str(get_type_hints(shape)[name])
    if "dict" in hint:
        return {**body, name: {"a": "a\0b"}}
    nul = ["a\0b"] if "tuple" in hint or "list" in hint else "a\0b"
    return {**body, name: nul}


def list_requests(operation: Operation) -> list[tuple[str, dict[str, Any] | None]]:
    """Returns every request of an operation that has one NUL in it: in its path, its query or its body."""
    plain = PREFIX + re.sub(r"\{\w+\}", "0123456789abcdef", operation.path)
    sound = fill(operation.body) if operation.body else None
    found: list[tuple[str, dict[str, Any] | None]] = []
    for one in re.findall(r"\{\w+\}", operation.path):
        found.append((PREFIX + re.sub(r"\{\w+\}", "x", operation.path.replace(one, _NUL)), sound))
    found += [(f"{plain}?{name}={_NUL}", sound) for name in find_texts(operation.query)]
    found += [(plain, fill(operation.body, name)) for name in find_texts(operation.body)]
    return found


async def test_a_nul_in_any_text_of_a_request_is_refused_as_such(tmp_path: Path, database: str) -> None:
    tried = 0
    async with serving(tmp_path, store=database, joining=NORTH) as server:
        for operation in OPERATIONS:
            for path, body in list_requests(operation):
                sent = json.dumps(body).encode() if body is not None else b""
                answer = await server.send(operation.method, path, sent)
                tried += 1
                assert "postgres" not in str(answer.body)
                said = answer.json["error"]["message"]
                if _NUL in path.partition("?")[0]:  # nothing has that id
                    assert answer.status == 404, (operation.name, path, answer)
                    continue
                assert answer.status == 400, (operation.name, path, body, answer)
                assert "NUL" in said or "matching regex" in said, (operation.name, path, body, said)
    assert tried > 40


async def test_no_answer_tells_the_address_of_the_store(tmp_path: Path, database: str) -> None:
    async with serving(tmp_path, store=database, joining=NORTH) as server:
        body = {"repo": "https://git.example/r", "prompt": "x"}
        made = (await server.post(f"{PREFIX}/submissions", body)).json["id"]
        run_sql(
            database, f"UPDATE sessions SET problem = 'network: Cannot reach the database at {database}: no'"
        )
        shown = await server.send("GET", f"{PREFIX}/sessions/{made}")
        assert "failed" in shown.json["problem"]
        run_sql(database, "ALTER TABLE commands RENAME TO gone")
        failed = await server.post(f"{PREFIX}/submissions", body)
        run_sql(database, "ALTER TABLE gone RENAME TO commands")
        assert failed.status >= 500
        for answer in (shown, failed):
            assert not any(word in str(answer.body) for word in ("postgres", database.rpartition("/")[2]))


async def test_a_client_that_waits_for_what_no_node_takes_is_told_why(tmp_path: Path, database: str) -> None:
    why = "permission_denied: node north does not accept it (`node.accept`)"
    async with serving(tmp_path, store=database, joining=NORTH) as server, server.client() as client:
        body = {"repo": "https://git.example/r", "prompt": "x", "name": "refused"}
        id = (await server.post(f"{PREFIX}/submissions", body)).json["id"]
        at = f"{PREFIX}/sessions/{id}"
        assert await find_session(client, "refused") == id
        stream = {"Accept": "text/event-stream"}
        async with waiting(server, id) as (result, events), asyncio.timeout(WAIT):
            run_sql(database, f"UPDATE sessions SET state = 'failed', problem = '{why}'")
            early = parse(await result.read())
            assert (await events.read()).endswith(LAST)  # a client that comes again is told why
        late = [await server.send("GET", f"{at}/{route}", headers=stream) for route in ("result", "events")]
        for answer in (early, *late):
            assert (answer.status, answer.kind) == (410, "target_gone"), answer
            assert why in answer.json["error"]["message"]
        assert why in (await server.send("GET", f"{at}/why")).json["lines"][0]
        (tmp_path / "user").mkdir()
        bench = Bench(tmp_path / "user", "http://127.0.0.1:9")
        where = ("--server", server.url, "--token-file", str(server.token_file))
        watched = await bench.run("watch", "refused", *where)
        assert watched.code == 1
        assert why in watched.err
        assert "then submit it again" in watched.err


START: dict[str, Any] = {"mode": "workspace", "max_steps": 7, "dry_run": True, "max_budget_usd": 2.0}
"""What a session was started with; then somebody makes it read-only."""
OF_THE_LOG = {"mode": "read-only", "max_steps": 7, "dry_run": True}
OF_THE_ROW = {"session_budget": {"usd": 2.0}}
OF_THE_NODE = {"limits", "rules", "sandbox", "catalog", "person", "added", "program_tools"}
"""By the configuration of the node that opens it, which passes no tools of its own."""


def test_it_is_known_of_every_option_of_a_session_who_keeps_it() -> None:
    known = {*RECORDED, "budget", *OF_THE_ROW, *OF_THE_NODE}  # the first: tests/api/test_run_options.py
    assert known == {*SessionOptions.__struct_fields__}


ROWS: list[tuple[dict[str, Any] | None, dict[str, Any]]] = [
    (None, {**OF_THE_LOG, **OF_THE_ROW}),
    ({}, OF_THE_LOG),
    ({"mode": "full", "max_steps": 99, "dry_run": False}, OF_THE_LOG),
    (
        {"mode": "plan", "max_steps": 3, "max_budget_usd": 1.0},
        {"max_steps": 3, "session_budget": {"usd": 1.0}},
    ),
]
"""What the row says when the session is opened again, as it was or with less or more, and what holds then."""


async def test_a_pool_opens_a_session_with_the_stricter_of_its_row_and_its_log(
    tmp_path: Path, database: str
) -> None:
    config = {"permissions": {"mode": "workspace"}}
    async with (
        serving(tmp_path, config=config, store=database, joining=NORTH) as server,
        server.client() as client,
    ):
        for row, expected in ROWS:
            session = await client.start(**START)
            begun = await read_options(session)
            assert (begun["mode"], begun["dry_run"]) == ("workspace", True)
            await session.ask("PATCH", "", {"mode": "read-only"})
            await session.close()
            if row is not None:
                run_sql(
                    database, f"UPDATE sessions SET options = '{json.dumps(row)}' WHERE id = '{session.id}'"
                )
            await session.ask("POST", "/open", {})
            after = await read_options(session)
            assert {name: after.get(name) for name in expected} == expected, row
            assert (after["mode"], after["dry_run"]) == ("read-only", True), row
