"""A session of a pool that cannot be closed properly is let go of all the same, with all that it had."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planck.client import ClientError
from planck.headless import Joining, OpenSession, Planck
from tests.api.bench import serving
from tests.headless.test_closing import PARTS, BrokenConnection, Part
from tests.pool.nodes import make_repository, until
from tests.postgres import run_sql
from tests.wire import chat
from tests.wire.server import WireServer


def find_open() -> tuple[list[OpenSession], int]:
    """Returns the open sessions of this process, and how many `Planck` are: a pool has one for each."""
    found = [one for one in gc.get_objects() if isinstance(one, OpenSession | Planck)]
    sessions = [one for one in found if isinstance(one, OpenSession) and not one.closed]
    return sessions, sum(isinstance(one, Planck) and not one._closed for one in found)


def break_file(session: OpenSession) -> None:
    file = session._opened.store._mirror.file  # type: ignore[attr-defined]
    file._db = BrokenConnection(file._db)


def break_team(session: OpenSession) -> None:
    owner, name = PARTS["the team"](session)
    part = Part(owner, name, OSError("as if it were broken"))

    async def close_and_fail() -> None:
        await part.close()
        await part.refuse()

    setattr(owner, name, close_and_fail)


WAYS: dict[str, Callable[[OpenSession], None]] = {"its team": break_team, "its copy": break_file}


def configure(model: WireServer) -> dict[str, Any]:
    providers = {"local": {"type": "openai", "base_url": model.url}}
    return {"providers": providers, "node": {"accept": ["*"]}, "permissions": {"mode": "full"}}


@pytest.mark.parametrize("way", WAYS)
async def test_one_that_a_client_closes(tmp_path: Path, database: str, way: str) -> None:
    north = Joining(name="north", work=0)
    async with (
        WireServer(lambda asked: chat.text("ok")) as model,
        serving(tmp_path, config=configure(model), store=database, joining=north) as server,
        server.client() as client,
    ):
        before = find_open()[1]
        session = await client.start()
        await session.run("go")
        ((opened,), count) = find_open()
        assert count == before + 1
        WAYS[way](opened)
        with pytest.raises(ClientError):
            await session.close()
        assert find_open() == ([], before)
        assert run_sql(database, "SELECT owner, state FROM sessions") == [[None, "idle"]]
        await session.ask("POST", "/open", {})
        assert (await session.run("on"))["text"] == "ok"


@pytest.mark.parametrize("way", WAYS)
async def test_one_that_a_node_has_worked_on(tmp_path: Path, database: str, way: str) -> None:
    flag = tmp_path / "go"
    call = ("bash", {"command": f"until test -e {flag}; do sleep 0.05; done"})
    repo, north = make_repository(tmp_path / "repo"), Joining(name="north", work=1)
    async with (
        WireServer([chat.calls(call), chat.text("ok")]) as model,
        serving(tmp_path, config=configure(model), store=database, joining=north) as server,
        server.client() as client,
    ):
        before = find_open()[1]
        await client.ask("POST", "/submissions", {"prompt": "go", "repo": str(repo)})

        async def runs() -> bool:
            return bool(run_sql(database, "SELECT 1 FROM events WHERE bytes LIKE '%tool_start%'::bytea"))

        await until(runs, "the command runs")
        ((opened,), count) = find_open()
        assert count == before + 1
        WAYS[way](opened)
        flag.touch()

        async def ended() -> bool:
            return find_open() == ([], before)

        await until(ended, "everything is closed")
        assert run_sql(database, "SELECT owner, state FROM sessions") == [[None, "idle"]]
