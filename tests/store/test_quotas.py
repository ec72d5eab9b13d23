"""One quota for all processes of a home: never over, whoever dies and whatever the clock does."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planck.records.outcome import Err, ErrorKind
from planck.store.sqlite.quotas import QuotaFile, QuotaHold, is_alive, name_owner
from planck.toolkit.clock import SystemClock
from tests.command import WAIT, Bench
from tests.wire import chat
from tests.wire.server import Reply, WireServer

DIME = {"id": "dear", "model": "m", "provider": "local", "max_output": 5}
DIME["price"] = {"input": 0.0, "output": 20_000.0}


class Hand:
    """A clock that somebody sets."""

    def __init__(self, now: str = "2026-11-16T12:00:00.000Z") -> None:
        self.time = now

    def now(self) -> str:
        return self.time

    def monotonic(self) -> float:
        return 0.0

    async def within(self, future: Any, seconds: float, key: str) -> bool:
        raise NotImplementedError


def make(folder: Path, usd: float | None = None, tokens: int | None = None, clock: Any = None) -> QuotaFile:
    quota = SimpleNamespace(usd_per_day=usd, tokens_per_day=tokens)
    return QuotaFile(folder / "quotas.db", lambda: {"p": quota}, clock or Hand())


def spent(folder: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "quotas.db")) as db, db:
        rows = db.execute("SELECT day, micro_usd, tokens, lost_usd FROM days ORDER BY day").fetchall()
    db.close()
    return rows


@pytest.fixture
def quotas(tmp_path: Path) -> Iterator[QuotaFile]:
    file = make(tmp_path, usd=1.0)
    yield file
    file.close()


def test_what_is_held_counts_until_it_is_settled_and_then_what_it_came_to(quotas: QuotaFile) -> None:
    first, second = quotas.take("p", 600_000, 0), quotas.take("p", 600_000, 0)
    assert isinstance(first, QuotaHold)
    assert isinstance(second, Err)
    assert (second.kind, second.details["left"], second.details["unit"]) == ("budget_exceeded", 0.4, "usd")
    assert "`quotas.p.usd_per_day`" in second.message
    first.settle(100_000, 7)
    first.settle(900_000, 7)  # the first time counts
    assert isinstance(quotas.take("p", 900_000, 0), QuotaHold)
    assert isinstance(quotas.take("p", 1, 0), Err)
    assert quotas.take("other", 10**9, 10**9) is None


def test_tokens_have_a_quota_of_their_own_and_need_no_price(tmp_path: Path) -> None:
    file = make(tmp_path, tokens=100)
    assert (file.counts_usd("p"), isinstance(file.take("p", 0, 101), Err)) == (False, True)
    assert isinstance(file.take("p", 0, 100), QuotaHold)
    file.close()


def test_a_clock_that_steps_back_over_midnight_does_not_give_the_day_before_again(tmp_path: Path) -> None:
    clock = Hand("2026-11-16T23:59:00.000Z")
    file = make(tmp_path, usd=1.0, clock=clock)

    def take() -> bool:
        held = file.take("p", 1_000_000, 0)
        if isinstance(held, QuotaHold):
            held.settle(1_000_000, 0)
        return isinstance(held, QuotaHold)

    clock.time = "2026-11-17T00:01:00.000Z"
    assert (take(), take()) == (True, False)
    clock.time = "2026-11-16T23:58:00.000Z"  # of which nothing was spent
    assert take() is False
    clock.time = "2026-11-18T00:00:00.000Z"
    assert take() is True
    clock.time = "2031-01-01T00:00:00.000Z"  # a clock that was wrong for a while, and is mended
    assert take() is True
    clock.time = "2026-11-19T00:00:00.000Z"
    assert (take(), take()) == (True, False)
    assert [row[1] for row in spent(tmp_path)] == [1_000_000] * 4
    file.close()


def test_a_request_that_ends_after_midnight_counts_for_the_day_it_began_on(tmp_path: Path) -> None:
    clock = Hand("2026-11-16T23:59:59.000Z")
    file = make(tmp_path, usd=1.0, clock=clock)
    held = file.take("p", 1_000_000, 0)
    assert isinstance(held, QuotaHold)
    clock.time = "2026-11-17T00:00:10.000Z"
    held.settle(500_000, 3)
    assert [row[:3] for row in spent(tmp_path)] == [("2026-11-16", 500_000, 3)]
    file.close()


def test_a_process_is_known_by_more_than_its_number() -> None:
    world, pid, start = name_owner(os.getpid()).split(" ")
    assert is_alive(f"{world} {pid} {start}") is True
    assert is_alive(f"{world} {pid} {int(start) - 1}") is False
    assert is_alive(f"elsewhere {pid} {start}") is None


def test_what_another_machine_holds_comes_back_when_it_expires(tmp_path: Path) -> None:
    clock = Hand()
    file = make(tmp_path, usd=1.0, clock=clock)
    assert isinstance(file.take("p", 1_000_000, 0), QuotaHold)
    with closing(sqlite3.connect(tmp_path / "quotas.db")) as db, db:
        db.execute("UPDATE holds SET owner = 'elsewhere 1 1'")
    db.close()
    assert isinstance(file.take("p", 1, 0), Err)
    clock.time = "2026-11-16T12:14:59.000Z"
    assert isinstance(file.take("p", 1, 0), Err)
    clock.time = "2026-11-16T12:15:01.000Z"
    assert isinstance(file.take("p", 1, 0), QuotaHold)
    assert spent(tmp_path)[0][3] == 1_000_000
    file.close()


def test_a_file_that_is_none_stops_the_request_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "quotas.db").write_bytes(b"no database" * 1000)
    file = make(tmp_path, usd=1.0)
    refused = file.take("p", 1, 1)
    assert isinstance(refused, Err)
    assert (refused.kind, "config.json" in refused.message) == (ErrorKind.READ_FAILED, True)
    file.close()


WORKER = """
import random, sys
from pathlib import Path
from types import SimpleNamespace
from planck.records.outcome import Err
from planck.store.sqlite.quotas import QuotaFile
from planck.toolkit.clock import SystemClock
folder, seed, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
quota = SimpleNamespace(usd_per_day=1.0, tokens_per_day=None)
file = QuotaFile(folder / "quotas.db", lambda: {"p": quota}, SystemClock())
chance, held, settled = random.Random(seed), [], 0
for _ in range(rounds):
    if held and chance.random() < 0.5:
        hold, most = held.pop()
        took = chance.randint(0, most)
        hold.settle(took, 1)
        settled += took
    else:
        most = chance.randint(1, 20_000)
        hold = file.take("p", most, 1)
        if not isinstance(hold, Err):
            held.append((hold, most))
for hold, most in held:
    hold.settle(most, 1)
    settled += most
print(settled, flush=True)
if sys.argv[4:]:
    file.take("p", 1, 1)
    print("held", flush=True)
    sys.stdin.read()
"""


def run_processes(folder: Path, processes: int, rounds: int) -> int:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder), str(seed), str(rounds)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in range(processes)
    ]
    total = 0
    for process in started:
        out, _ = process.communicate(timeout=10 * WAIT)
        assert process.returncode == 0
        total += int(out)
    return total


def test_eight_processes_never_take_more_than_the_quota(tmp_path: Path) -> None:
    """What each of them settled is what the file says, and together it is the quota at most."""
    total = run_processes(tmp_path, 8, 60)
    file = make(tmp_path, usd=1.0, clock=SystemClock())
    assert sum(row[1] for row in spent(tmp_path)) == total <= 1_000_000 * len(spent(tmp_path))
    assert total > 900_000  # it was fought for
    file.close()


@pytest.mark.soak
def test_eight_processes_a_thousand_rounds(tmp_path: Path) -> None:
    for at in range(10):
        folder = tmp_path / str(at)
        folder.mkdir()
        total = run_processes(folder, 8, 1_000)
        assert sum(row[1] for row in spent(folder)) == total <= 1_000_000 * len(spent(folder))


def test_what_a_killed_process_held_is_given_back_and_noted(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", WORKER, str(tmp_path), "1", "0", "wait"]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert [process.stdout.readline(), process.stdout.readline()] == ["0\n", "held\n"]
    file = make(tmp_path, usd=1.0, clock=SystemClock())
    assert isinstance(file.take("p", 1_000_000, 0), Err)
    process.kill()
    process.wait(WAIT)
    assert isinstance(file.take("p", 1_000_000, 0), QuotaHold)
    assert sum(row[3] for row in spent(tmp_path)) == 1
    file.close()
    process.stdout.close()
    assert process.stdin is not None
    process.stdin.close()


async def test_a_quota_is_the_user_s_over_sessions_and_stops_before_the_request(tmp_path: Path) -> None:
    async with WireServer([chat.text("one"), chat.text("two"), chat.text("three")]) as server:
        quotas = {"local": {"usd_per_day": 0.25}}
        bench = Bench(tmp_path, server.url, models=[DIME], default_model="dear", quotas=quotas)
        runs = [await bench.run("run", "go", "--output-format", "json") for _ in range(3)]
    assert [run.code for run in runs] == [0, 0, 4], [run.err for run in runs]
    assert len(server.asked) == 2
    (error,) = runs[2].result["errors"]
    assert (error["kind"], error["details"]["asked"], round(error["details"]["left"], 6)) == (
        "budget_exceeded",
        0.1,
        0.05,
    )


async def test_a_run_that_is_killed_in_the_middle_does_not_keep_its_part_of_the_quota(tmp_path: Path) -> None:
    stalled = Reply([asyncio.Event()])
    async with WireServer([stalled, chat.text("two")]) as server:
        quotas = {"local": {"usd_per_day": 0.1}}
        bench = Bench(tmp_path, server.url, models=[DIME], default_model="dear", quotas=quotas)
        process = await bench.start("run", "go")
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(WAIT):
            while not server.asked:
                await asyncio.sleep(0.01)
        refused = await bench.run("run", "go", "--output-format", "json")
        process.send_signal(signal.SIGKILL)
        await process.wait()
        done = await bench.run("run", "go", "--output-format", "json")
    assert (refused.code, done.code, done.result["text"]) == (4, 0, "two")
