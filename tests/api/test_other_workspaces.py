"""Sessions of other workspaces are private to the user who runs the server."""

import json
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.api.operations import OPERATIONS
from planck.headless import Joining
from planck.testing import ScriptedProvider
from tests.api.bench import serving
from tests.api.test_roles import ask, check_mode_changes, is_refused, path_of

SECRET = b"TOPSECRET"
QUERIES = {
    "list_sessions": ["", "?all=true", "?q=TOPSECRET", "?all=true&q=TOPSECRET", "?all=true&limit=1"],
    "search": ["?q=TOPSECRET", "?q=TOPSECRET&all=true"],
    "read_result": ["", "?after=0"],
    "export": ["", "?format=md", "?format=html"],
    "read_content": ["?path=../other/notes.txt"],
}
"""What a route is asked for beside its path; the others are asked without a query."""


async def talk_elsewhere(folder: Path) -> str:
    """Returns the id of a session of another workspace with the same home."""
    home, other = folder / "home", folder / "other"
    home.mkdir()
    other.mkdir()
    (other / "notes.txt").write_text("TOPSECRET")
    provider = {"local": {"type": "openai", "base_url": "http://127.0.0.1:9"}}
    (home / "config.json").write_text(json.dumps({"default_model": "local/m", "providers": provider}))
    model = ScriptedProvider(["the TOPSECRET answer"])
    async with Planck(home, other, environ={}, providers={"local": model}) as planck:
        session = await planck.start(name="private-one")
        await session.run("what is the TOPSECRET word")
        return session.id


@pytest.mark.parametrize("pooled", [False, True])
async def test_no_route_shows_text_of_another_workspace_to_a_role_below_admin(
    tmp_path: Path, pooled: bool, request: pytest.FixtureRequest
) -> None:
    id = await talk_elsewhere(tmp_path)
    settings: dict[str, Any] = {}
    if pooled:
        settings = {"store": request.getfixturevalue("database"), "joining": Joining(name="north", work=0)}
    async with serving(tmp_path, ["well"] * 9, **settings) as server:
        for operation in OPERATIONS:
            if operation.method != "GET":
                continue
            for named in {id, "private-one", id[:6]} if "{id}" in operation.path else {id}:
                for query in QUERIES.get(operation.name, [""]):
                    for role in ("view", "submit", "approve"):
                        answer = await ask(server, role, "GET", path_of(operation, named) + query)
                        case = (operation.name, named, query, role, answer)
                        assert SECRET not in answer.body.replace(b"q=TOPSECRET", b""), case
                        assert is_refused(answer) or "all=true" not in query, case
        found = [
            await ask(server, "admin", "GET", f"{path}all=true") for path in ("/sessions?", "/search?q=TOP&")
        ]
        assert [SECRET in one.body for one in found] == [not pooled] * 2


async def test_a_search_in_a_pool_finds_what_its_sessions_say(tmp_path: Path, database: str) -> None:
    """Also on every node: a role that only submits narrows a session and never widens it."""
    async with serving(tmp_path, store=database, joining=Joining(name="north", work=2)) as server:
        row = (await ask(server, "submit", "POST", "/sessions", {"prompt": "a PUBLIC word"})).json
        hits = (await ask(server, "view", "GET", "/search?q=PUBLIC")).json["items"]
        assert {hit["session_id"] for hit in hits} == {row["id"]}
        await check_mode_changes(server, ("read-only", "workspace"))
