"""A question that waits when its node dies is asked again by the next node, under the same id."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.pool.nodes import hall, make_repository, until
from tests.pool.test_pool import read_log, said, submit, wait_for_state
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
