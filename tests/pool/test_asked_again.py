"""A question that waits when its node dies, or is cut off, is asked again under the same id."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.pool.nodes import hall, make_repository, until
from tests.pool.test_pool import read_log, said, submit, wait_for_state
from tests.postgres import run_sql
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

pytestmark = pytest.mark.heavy


def writes_once(asked: Asked) -> Reply:
    if any(message["role"] == "tool" for message in said(asked)):
        return chat.text("it is done")
    return chat.calls(("write", {"path": "note.txt", "content": "by an agent\n"}))


@pytest.mark.parametrize("allow", [True, False], ids=["yes", "no"])
async def test_the_next_node_asks_again_under_the_same_id(tmp_path: Path, database: str, allow: bool) -> None:
    repo = make_repository(tmp_path / "repo")
    config = {"permissions": {"mode": "ask"}}
    async with WireServer(writes_once) as model, hall(tmp_path, database, model.url, **config) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        north = await nodes.start("north", "--work", "1")
        made = await submit(gate, repo)

        async def asked() -> Any:
            return json.loads((await gate.planck("answer", made["id"], "--json")).out)

        (before,) = await until(asked, "it asks")
        north.kill()
        await north.process.wait()
        await nodes.start("north", "--work", "1", home="north again")
        (after,) = await until(asked, "it asks again")
        assert after["id"] == before["id"]
        word = "--allow" if allow else "--deny"
        done = await gate.planck("answer", made["id"], word, "--question", before["id"])
        assert done.code == 0, done.err
        await wait_for_state(gate, made["id"], "done")
        log = await read_log(gate, made["id"])
        types = [event["type"] for event in log]
        assert types.count("tool_start") == types.count("tool_end") == types.count("turn_end") == 1
        (end,) = [event["data"] for event in log if event["type"] == "tool_end"]
        assert end["ok"] is allow
        (decision,) = [event["data"] for event in log if event["type"] == "permission_decision"]
        assert decision["request_id"] == before["id"]
        told = [event["data"]["text"] for event in log if event["type"] == "message"]
        assert len(told) == 2
        assert told[1].startswith("[planck: The machine that was working on this was lost.")


async def test_a_node_that_was_stopped_for_longer_than_its_lease_asks_again(
    tmp_path: Path, database: str
) -> None:
    """It is fenced when it goes on, and takes the session up again itself: nobody else is there."""
    repo = make_repository(tmp_path / "repo")
    config: dict[str, Any] = {"permissions": {"mode": "ask"}, "cluster": {"lease_s": 3, "beat_s": 0.5}}
    async with WireServer(writes_once) as model, hall(tmp_path, database, model.url, **config) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        north = await nodes.start("north", "--work", "1")
        made = await submit(gate, repo)

        async def asks() -> Any:
            return json.loads((await gate.planck("answer", made["id"], "--json")).out)

        async def read_questions() -> list[str]:
            log = await read_log(gate, made["id"])
            return [event["data"]["id"] for event in log if event["type"] == "permission_request"]

        async def lapsed() -> Any:
            return run_sql(
                database, "SELECT 1 FROM nodes WHERE name = 'north' AND seen < now() - interval '3 s'"
            )

        async def asked_again() -> bool:
            return len(await read_questions()) == 2

        await until(asks, "it asks")
        north.process.send_signal(signal.SIGSTOP)
        await until(lapsed, "its lease is over")
        north.process.send_signal(signal.SIGCONT)
        await until(asked_again, "it asks again")
        first, second = await read_questions()
        assert first == second
        done = await gate.planck("answer", made["id"], "--allow", "--question", first)
        assert done.code == 0, done.err
        await wait_for_state(gate, made["id"], "done")
        log = await read_log(gate, made["id"])
        decided = [event["data"]["decision"] for event in log if event["type"] == "permission_decision"]
        ends = [event["data"]["status"] for event in log if event["type"] == "turn_end"]
        assert (decided, ends) == (["allow"], ["completed"])
