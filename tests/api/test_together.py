"""Requests that come at the same time, or ask for several things at once: each has one outcome."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.api.bench import Answer, Served, serving

ROUNDS = 5


async def start(server: Served, **body: Any) -> str:
    answer = await server.post("/api/v1/sessions", body)
    assert answer.status == 201, answer
    return str(answer.json["id"])


async def change(server: Served, id: str, **fields: Any) -> Answer:
    return await server.send("PATCH", f"/api/v1/sessions/{id}", json.dumps(fields).encode())


async def test_of_two_who_delete_a_session_one_does_and_the_other_finds_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        for number in range(ROUNDS):
            id = await start(server)
            path = f"/api/v1/sessions/{id}"
            if number % 2:
                assert (await server.post(f"{path}/close", {})).status == 200
            answers = await asyncio.gather(*(server.send("DELETE", path) for _ in range(4)))
            assert sorted(answer.status for answer in answers) == [204, 404, 404, 404], answers


async def test_nobody_is_told_that_the_server_itself_is_in_the_way(tmp_path: Path) -> None:
    """Opening, closing, renaming and interrupting one session at the same time wait for each other."""
    async with serving(tmp_path) as server:
        id = await start(server)
        path = f"/api/v1/sessions/{id}"
        for number in range(ROUNDS):
            answers = await asyncio.gather(
                server.post(f"{path}/close", {}),
                server.post(f"{path}/interrupt", {}),
                server.post(f"{path}/open", {}),
                change(server, id, name=f"fox-{number}"),
                server.post(f"{path}/close", {}),
            )
            assert {answer.status for answer in answers} <= {200, 202}, answers


async def test_a_change_of_several_things_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        id, _ = await start(server, name="fox", mode="read-only"), await start(server, name="owl")
        before = (await server.send("GET", f"/api/v1/sessions/{id}")).json
        for refused in (
            {"name": "hen", "mode": "plan", "model": "nowhere/m"},
            {"name": "owl", "mode": "plan", "model": "local/n"},
            {"name": "not a name", "mode": "plan"},
            {"name": "hen", "mode": "no such mode"},
            {"name": "hen", "model": ""},
            {"model": ""},
            {"name": ""},
        ):
            answer = await change(server, id, **refused)
            assert answer.status in (400, 404, 409), answer
            assert (await server.send("GET", f"/api/v1/sessions/{id}")).json == before, refused
        empty = json.dumps({"model": ""}).encode()
        agent = await server.send("PATCH", f"/api/v1/sessions/{id}/agents/orchestrator", empty)
        assert (agent.status, agent.kind) == (400, "invalid_args")


async def test_a_team_is_named_by_its_alias_and_by_no_path(tmp_path: Path) -> None:
    member = json.dumps({"name": "Duo", "members": [{"type": "orchestrator"}]})
    known, elsewhere = tmp_path / "home" / "teams" / "duo", tmp_path / "elsewhere"
    for folder in (known, elsewhere):
        folder.mkdir(parents=True)
        (folder / "TEAM.json").write_text(member)
    async with serving(tmp_path) as server:
        assert (await server.post("/api/v1/sessions", {"team": "duo"})).json["team"] == "duo"
        for path in (elsewhere, elsewhere / "TEAM.json", known, "../elsewhere", "duo/../duo"):
            answer = await server.post("/api/v1/sessions", {"team": str(path)})
            assert (answer.status, answer.kind) == (404, "not_found"), path


async def test_names_of_schemes_and_of_kinds_of_answers_are_read_in_any_case(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        id = await start(server)
        for scheme, status in (("bearer ", 200), ("BEARER  ", 200), ("Basic ", 401), ("", 401)):
            headers = {"Authorization": f"{scheme}{server.token}"}
            answer = await server.send("GET", "/api/v1/sessions", headers=headers)
            assert answer.status == status, scheme
        await server.post(f"/api/v1/sessions/{id}/close", {})
        path = f"/api/v1/sessions/{id}/events"
        for accept, kind in (
            ("Text/Event-Stream", "text/event-stream"),
            ("application/json, text/event-stream;q=0.9", "text/event-stream"),
            ("application/x-ndjson", "application/x-ndjson"),
            ("*/*", "application/x-ndjson"),
            ("text/event-streams", "application/x-ndjson"),
        ):
            answer = await server.send("GET", path, headers={"Accept": accept})
            assert answer.headers["content-type"] == kind, accept
