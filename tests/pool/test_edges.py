"""What a pool does with requests at the wrong moment: for nobody, twice, or while their node is lost."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from planck.client import ClientError
from planck.records.outcome import ErrorKind
from tests.pool.nodes import hall, make_repository, until
from tests.pool.test_pool import hangs_once, read_log, submit, wait_for_state
from tests.postgres import run_sql
from tests.wire import chat
from tests.wire.server import WireServer

pytestmark = pytest.mark.heavy


async def test_a_prompt_reaches_its_own_session_or_is_refused(tmp_path: Path, database: str) -> None:
    """A key is a client's own: the same one for another session is another request."""
    repo = make_repository(tmp_path / "repo")
    async with WireServer([chat.text("well")] * 8) as model, hall(tmp_path, database, model.url) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        made = [await submit(gate, repo, prompt=f"begin {number}") for number in range(2)]
        async with gate.client() as client:
            with pytest.raises(ClientError) as refused:
                await client.session("nobody").prompt("hello", key="k0")
            assert refused.value.err.kind is ErrorKind.NOT_FOUND
            for one in made:
                for _ in range(2):
                    taken = await client.session(one["id"]).prompt(f"and {one['name']}", key="k1")
                    assert taken["message_id"] == "k1"
            with pytest.raises(ClientError) as refused:
                await client.session(made[0]["id"]).prompt("something else", key="k1")
            assert refused.value.err.kind is ErrorKind.NOT_UNIQUE
            with pytest.raises(ClientError) as refused:
                await client.ask("POST", "/sessions", {"model": "nowhere/none"})
            await nodes.start("north", "--work", "2")
            for one in made:
                await wait_for_state(gate, one["id"], "done")
                log = await read_log(gate, one["id"])
                said = [
                    e["data"]["text"] for e in log if e["type"] == "message" and e["data"]["kind"] == "prompt"
                ]
                assert said[1:] == [f"and {one['name']}"]
            rows = run_sql(database, "SELECT id, state, problem FROM sessions")
            assert {row[0] for row in rows} == {one["id"] for one in made}, rows


async def test_whoever_follows_a_session_sees_each_event_once_through_a_takeover(
    tmp_path: Path, database: str
) -> None:
    repo, flag = make_repository(tmp_path / "repo"), tmp_path / "flag"
    async with WireServer(hangs_once(flag)) as model, hall(tmp_path, database, model.url) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        north = await nodes.start("north", "--work", "1")
        made = await submit(gate, repo)
        await until(lambda: asyncio.to_thread(flag.exists), "the command runs")
        seen: list[Any] = []

        async def follow() -> None:
            async with gate.client() as client:
                async for event in client.session(made["id"]).events():
                    if event["seq"] is not None:
                        seen.append(event)

        following = asyncio.ensure_future(follow())
        await until(lambda: asyncio.sleep(0, seen), "the stream has begun")
        await nodes.start("south", "--work", "1")
        north.kill()
        await wait_for_state(gate, made["id"], "done")
        log = await read_log(gate, made["id"])
        await until(lambda: asyncio.sleep(0, len(seen) >= len(log)), "the stream is at the end")
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        assert [event["seq"] for event in seen] == [*range(1, len(log) + 1)]


async def test_files_that_can_t_be_sent_home_are_told_of_with_where_they_are(
    tmp_path: Path, database: str
) -> None:
    repo = make_repository(tmp_path / "repo")
    answers = [chat.calls(("bash", {"command": f"echo x > new.txt; rm -rf {repo}"})), chat.text("done")]
    async with WireServer(answers) as model, hall(tmp_path, database, model.url) as nodes:
        north = await nodes.start("north", "--work", "1")
        made = await submit(north, repo)
        await wait_for_state(north, made["id"], "done")
        log = await read_log(north, made["id"])
        (told,) = [event["data"] for event in log if event["type"] == "error"]
        place = north.home / "work" / made["id"]
        assert f"on node north in {str(place)!r}" in told["message"]
        assert (place / "new.txt").read_text() == "x\n"


async def test_a_prompt_to_a_node_that_lost_the_session_reaches_whoever_has_it(
    tmp_path: Path, database: str
) -> None:
    repo = make_repository(tmp_path / "repo")
    async with WireServer([chat.text("well")] * 4) as model, hall(tmp_path, database, model.url) as nodes:
        north = await nodes.start("north", "--work", "1")
        made = await submit(north, repo)
        await wait_for_state(north, made["id"], "done")
        async with north.client() as client:
            await client.ask("PATCH", f"/sessions/{made['id']}", {"mode": "workspace"})  # it is open here now
            taken = "UPDATE sessions SET owner = NULL, state = 'idle', epoch = epoch + 1"
            run_sql(database, taken)  # as another node did that was quick with its work
            await client.session(made["id"]).prompt("still there?", key="k")

            async def is_answered() -> bool:
                log = await read_log(north, made["id"])
                ids = [event["data"]["id"] for event in log if event["type"] == "message"]
                ends = [event for event in log if event["type"] == "turn_end"]
                return ids.count("k") == 1 and len(ends) == 2

            await until(is_answered, "it is in the log, once, and answered")
