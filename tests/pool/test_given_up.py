"""A session that no node continues says so, and why, wherever somebody looks."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from planck.client import ClientError
from tests.pool.nodes import hall, make_repository, until
from tests.pool.test_pool import submit, wait_for_state
from tests.postgres import run_sql
from tests.wire import chat
from tests.wire.server import WireServer, json_reply

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("way", ["its nodes were lost", "no node can open it"])
async def test_a_session_that_was_given_up_has_failed_with_a_reason(
    tmp_path: Path, database: str, way: str
) -> None:
    repo = make_repository(tmp_path / "repo")
    lost = way == "its nodes were lost"
    answers: Any = [chat.calls(("bash", {"command": "sleep 1000"}))] if lost else [chat.text("well")]
    async with WireServer(answers) as model, hall(tmp_path, database, model.url, store=database) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        north = await nodes.start("north", "--work", "1")
        made = await submit(gate, repo)
        id = made["id"]
        if lost:

            async def runs() -> bool:
                rows = run_sql(database, "SELECT count(*) FROM events WHERE bytes LIKE '%tool_start%'::bytea")
                return rows[0][0] == 1

            await until(runs, "the command runs")
            north.kill()
            await north.process.wait()
            run_sql(database, "UPDATE sessions SET attempts = 3")
            await nodes.start("north", "--work", "1", home="north again")
            reason = "3 nodes were lost while they ran this session, and none finished a turn"
        else:
            await wait_for_state(gate, id, "done")
            shutil.rmtree(repo)
            shutil.rmtree(north.home / "work")
            async with gate.client() as client:
                await client.session(id).prompt("and another thing")
            reason = str(repo)
        row = await wait_for_state(gate, id, "failed")
        assert reason in row["problem"]
        async with gate.client() as client:
            listed = await client.ask("GET", "/sessions")
            why = await client.session(id).ask("GET", "/why")
        assert [one["state"] for one in listed.data["items"] if one["id"] == id] == ["failed"]
        assert reason in why["lines"][0]
        told = await gate.planck("sessions", "show", id, "--why-blocked")
        assert reason in told.out, told
        watched = await gate.planck("watch", id, "--json")
        assert watched.code == 1, watched
        assert watched.result["status"] == "failed"
        gone = [error for error in watched.result["errors"] if error["kind"] == "target_gone"]
        assert [reason in error["message"] for error in gone] == [True]
        # From here on nothing was said: who waits for what comes next is told as well, and does not wait.
        late = await gate.planck("watch", id, "--json", "--after", str(row["head"]))
        assert late.code == 1, late
        assert reason in late.result["errors"][-1]["message"]


async def test_one_whose_last_turn_had_failed_is_told_apart_from_that_turn(
    tmp_path: Path, database: str
) -> None:
    """Its log says that it failed, too, but not why nobody answers the next prompt."""
    repo, refused = make_repository(tmp_path / "repo"), json_reply({"error": {"message": "no"}}, 400)
    async with WireServer([refused]) as model, hall(tmp_path, database, model.url) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        north = await nodes.start("north", "--work", "1")
        id = (await submit(gate, repo))["id"]
        row = await wait_for_state(gate, id, "failed")
        assert row["problem"] == ""
        shutil.rmtree(repo)
        shutil.rmtree(north.home / "work")
        async with gate.client() as client:
            said = await client.session(id).prompt("and another thing")

            async def given_up() -> Any:
                return (await client.session(id).ask("GET"))["problem"]

            assert str(repo) in await until(given_up, "it was given up")
            with pytest.raises(ClientError, match="There is no Git repository") as told:
                await client.session(id).ask("GET", "/result", after=said["seq"])
            assert told.value.err.kind == "target_gone"
