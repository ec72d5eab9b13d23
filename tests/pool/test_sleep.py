"""A machine that slept: its node was silent for too long, and does nothing more until it has joined again."""

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from planck.headless.pool.node import Node
from planck.headless.pool.watchdog import ThreadWatchdog
from planck.store.roster import Command, NodeRow, SessionRow
from tests.memory_roster import MemoryRoster
from tests.pool.test_simulation import TERMS, LoopClock
from tests.virtual_time import run_virtual


class SleepyClock(LoopClock):
    """Goes on while the machine sleeps; the timers of its loop do not."""

    slept = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.slept


class SleepyRoster(MemoryRoster):
    """Its server does not sleep. It may have the machine sleep while a statement is on its way."""

    def __init__(self, clock: SleepyClock) -> None:
        super().__init__(clock.monotonic)
        self.during = ""
        self.sleep: Callable[[], None] = lambda: None

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        if name != "during" and name == self.during:
            self.during = ""

            async def answer_late(*args: Any, **more: Any) -> Any:
                answer = await method(*args, **more)
                self.sleep()
                return answer

            return answer_late
        return method


class Sessions:
    """Keeps what a node does with its work, in order."""

    def __init__(self) -> None:
        self.held: list[str] = []
        self.did: list[str] = []

    def begin(self, row: SessionRow) -> None:
        self.held.append(row.id)
        self.did.append("begin")

    def fence(self) -> None:
        self.did.append("fence")

    async def abandon(self) -> None:
        self.held.clear()
        self.did.append("abandon")

    async def settle(self) -> None: ...


LAPSE = TERMS.fence_s
SLEEPS = [
    (LAPSE - TERMS.beat_s - 2.5, False),
    (LAPSE + 0.5, True),
    (TERMS.lease_s + 1, True),
    (86_400.0, True),
]


@pytest.mark.parametrize(("slept", "lapsed"), SLEEPS)
@pytest.mark.parametrize("during", ["", "beat", "claim"])
def test_a_node_whose_beat_lapsed_is_fenced_before_it_does_anything(
    during: str, slept: float, lapsed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> list[str]:
        clock, work = SleepyClock(), Sessions()
        roster = SleepyRoster(clock)
        node = Node(roster, work, NodeRow(name="north", instance="1", version="1", capacity=2), TERMS, clock)
        running = asyncio.ensure_future(node.run())

        def sleep() -> None:
            clock.slept += slept
            work.did.append("wake")
            work.did.append("may write" if node.check_lease() else "may not write")

        roster.sleep = sleep
        await asyncio.sleep(12)
        if during == "claim":
            await roster.submit(
                SessionRow(id="s", name="s"), Command(id="p", session="s", kind="prompt", data={})
            )
        if during:
            roster.during = during
        else:
            sleep()
        await asyncio.sleep(12)
        work.did.append("may write" if node.check_lease() else "may not write")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return work.did

    with caplog.at_level(logging.WARNING):
        did = run_virtual(play())
    said = [record.getMessage() for record in caplog.records if "heartbeat" in record.getMessage()]
    taken = ["begin"] if during == "claim" else []
    if lapsed:
        assert did == ["wake", "fence", "may not write", "abandon", *taken, "may write"]
        assert len(said) == 1
        assert "stops working on its sessions" in said[0]
    else:
        assert did == ["wake", "may write", *taken, "may write"]
        assert said == []


@pytest.mark.parametrize("drained", [False, True])
@pytest.mark.parametrize(("slept", "lapsed"), SLEEPS)
def test_a_node_whose_clock_stood_still_is_fenced_by_its_first_heartbeat(
    slept: float, lapsed: bool, drained: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A virtual machine that was paused, for example: only the database knows for how long."""

    async def play() -> list[str]:
        clock, work = SleepyClock(), Sessions()
        roster = SleepyRoster(clock)
        row = NodeRow(name="north", instance="1", version="1", capacity=2)
        node = Node(roster, work, row, TERMS, LoopClock())
        running = asyncio.ensure_future(node.run())
        await asyncio.sleep(12)
        clock.slept += slept
        work.did.append("wake")
        if drained:
            await roster.drain("north")
        await asyncio.sleep(TERMS.beat_s + 1)
        await roster.submit(
            SessionRow(id="s", name="s"), Command(id="p", session="s", kind="prompt", data={})
        )
        await asyncio.sleep(12)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return work.did

    with caplog.at_level(logging.WARNING):
        did = run_virtual(play())
    fenced = ["fence", "abandon"] if lapsed else []
    assert did == ["wake", *fenced, *([] if drained else ["begin"])]
    said = [record.getMessage() for record in caplog.records]
    assert [line.partition(";")[0] for line in said] == [
        "The last heartbeat reached the database too late"
    ] * lapsed


def test_the_watchdog_notices_a_sleep_that_its_own_timer_did_not_count() -> None:
    looked = threading.Event()

    class Standing:
        at = 0.0

        def now(self) -> str:
            return ""

        def monotonic(self) -> float:
            looked.set()
            return self.at

        async def within(self, future: Any, seconds: float, key: str) -> bool:
            raise AssertionError("a watchdog does not")

    clock, expired = Standing(), threading.Event()
    watchdog = ThreadWatchdog(clock, expired.set)
    try:
        watchdog.grant(1000.0)
        assert looked.wait(30)
        clock.at = 2000.0
        assert expired.wait(30)
    finally:
        watchdog.close()


_READ = (
    "import time; from planck.toolkit.clock import BootClock, SystemClock; "
    "print(BootClock().monotonic() - SystemClock().monotonic() > 5000)"
)


def test_a_node_counts_the_time_that_its_machine_slept() -> None:
    """Where the time since the start of the machine is ahead, as it is after a sleep."""
    command = ["unshare", "--time", "--boottime", "10000", sys.executable, "-c", _READ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if "unshare" in done.stderr:
        pytest.skip("a time namespace takes root")
    assert (done.stdout, done.stderr) == ("True\n", "")
