"""Nodes that are not as they should be: a clock that is off, a name that another machine has."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.pool.nodes import hall, make_repository, until
from tests.pool.test_pool import hangs_once, is_running_on, read_log, submit, wait_for_state
from tests.wire.server import WireServer

pytestmark = pytest.mark.heavy


async def test_a_node_whose_clock_is_an_hour_off_loses_nothing_and_takes_nothing_early(
    tmp_path: Path, database: str
) -> None:
    repo, flag = make_repository(tmp_path / "repo"), tmp_path / "flag"
    config = {"cluster": {"lease_s": 4, "beat_s": 1}}
    async with WireServer(hangs_once(flag)) as model, hall(tmp_path, database, model.url, **config) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        late = await nodes.start("late", "--work", "4", hours_off=-1)
        made = await submit(gate, repo)
        await until(lambda: asyncio.to_thread(flag.exists), "the command runs")
        await is_running_on(gate, made["id"], "late")
        await nodes.start("early", "--work", "4", hours_off=1)
        beats: set[str] = set()

        async def has_beaten() -> bool:
            async with gate.client() as client:
                rows = (await client.ask("GET", "/nodes")).data["items"]
            beats.update(row["seen"] for row in rows if row["name"] == "early")
            return len(beats) > 8  # two leases

        await until(has_beaten, "it was there for two leases")
        await is_running_on(gate, made["id"], "late")
        late.kill()
        await wait_for_state(gate, made["id"], "done")
        log = await read_log(gate, made["id"])
        assert [event["seq"] for event in log] == [*range(1, len(log) + 1)]
        assert log[-1]["ts"] > log[0]["ts"]
        assert flag.read_text() == "started\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="a name of its own for a machine takes root")
async def test_of_two_machines_with_one_name_the_later_has_it_and_the_other_says_why_it_ends(
    tmp_path: Path, database: str
) -> None:
    repo, flag = make_repository(tmp_path / "repo"), tmp_path / "flag"
    config: dict[str, Any] = {"cluster": {"lease_s": 600, "beat_s": 1}}
    async with WireServer(hangs_once(flag)) as model, hall(tmp_path, database, model.url, **config) as nodes:
        gate = await nodes.start("gate", "--work", "0")
        first = await nodes.start("north", "--work", "4")
        made = await submit(gate, repo)
        await until(lambda: asyncio.to_thread(flag.exists), "the command runs")
        await nodes.start("north", "--work", "4", host="elsewhere", home="second")
        async with asyncio.timeout(60):
            assert await first.process.wait() != 0
        assert "not_unique" in (first.home / "stderr").read_text()
        await wait_for_state(gate, made["id"], "done")  # by the later one, without waiting for a lease
        assert flag.read_text() == "started\n"
