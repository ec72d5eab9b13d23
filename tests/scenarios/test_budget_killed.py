"""A process killed at any moment leaves a ledger that adds up: what is resumed is the sum of `usage`."""

import asyncio
import json
import random
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from tests.command import WAIT, Bench
from tests.teams import Brains, delegate, write_team
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

MODEL = {"id": "dear", "model": "m", "provider": "local", "max_output": 5}
MODEL["price"] = {"input": 0.0, "output": 20_000.0}
LEAD = {"type": "orchestrator", "name": "lead", "tools": ["list_dir"]}
BOB = {"type": "bob", "name": "bob", "tools": ["list_dir"], "budget": {"usd": 50}}


class Busy(Brains):
    """A lead that lends and a worker that looks around, without an end; says when enough was asked."""

    def __init__(self, enough: int) -> None:
        loan = ("delegate_task", {**delegate("bob")[1], "budget": {"usd": 5}})
        look = chat.calls(("list_dir", {}))
        super().__init__({"lead": [chat.calls(loan), *[look] * 999], "bob": [look] * 999})
        self.enough = asyncio.Event()
        self._left = enough

    def __call__(self, asked: Asked) -> Reply:
        self._left -= 1
        if self._left <= 0:
            self.enough.set()
        return super().__call__(asked)


def read_usage(log: Path) -> tuple[float, list[dict[str, Any]]]:
    with closing(sqlite3.connect(log)) as db, db:
        rows = db.execute("SELECT bytes FROM events ORDER BY seq").fetchall()
    db.close()
    events = [json.loads(row[0]) for row in rows]
    return sum(event["data"]["cost_usd"] for event in events if event["type"] == "usage"), events


async def kill_once(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    folder.mkdir()
    brains = Busy(chance.randint(1, 12))
    team = write_team(folder / "team", LEAD, BOB)
    async with WireServer(brains) as server:
        config = {"models": [MODEL], "default_model": "dear", "budget": {"usd": 1_000}}
        bench = Bench(folder, server.url, **config)
        process = await bench.start("run", "go", "--team", team, "--permission-mode", "full")
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(2 * WAIT):
            await brains.enough.wait()
            for _ in range(chance.randint(0, 200)):
                await asyncio.sleep(0)
            process.send_signal(signal.SIGKILL)
            await process.wait()
        (log,) = (bench.home / "sessions").glob("*.db")
        total, _ = read_usage(log)
        environ = {"PATH": "/usr/bin:/bin"}
        async with Planck(bench.home, bench.work, environ=environ) as planck:
            (info,) = planck.archive.sessions()
            session = await planck.resume(info.id)
            budget = session.result(0).budget
            assert budget
            assert round(budget.spent_usd, 6) == round(total, 6)
            assert round(session.costs().cost_usd or 0.0, 6) == round(total, 6)
            assert round(sum(one.cost_usd or 0.0 for one in session.result(0).agents), 6) == round(total, 6)
            await session.aclose()


async def test_what_is_resumed_after_a_kill_is_the_sum_of_what_was_used(tmp_path: Path) -> None:
    for seed in range(3):
        await kill_once(tmp_path / str(seed), seed)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
async def test_three_hundred_kills_leave_ledgers_that_add_up(tmp_path: Path, part: int) -> None:
    for seed in range(30):
        await kill_once(tmp_path / str(seed), 1_000 + part * 30 + seed)
