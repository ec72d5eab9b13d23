"""Many nodes on one roster in virtual time: killed, paused, cut off, and without a database for a while."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from planck.headless.pool.node import Node, Terms
from planck.records.outcome import ErrorKind
from planck.store.roster import Command, NodeRow, SessionRow
from planck.store.store import StoreError
from tests.memory_roster import MemoryRoster
from tests.virtual_time import run_virtual

TERMS = Terms(lease_s=30.0, beat_s=5.0)
LOOK = 2.0
"""Seconds at most between two looks of a node for work."""


class LoopClock:
    def now(self) -> str:
        return ""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def within(self, future: Any, seconds: float, key: str) -> bool:
        raise AssertionError("a node does not")


class LoopWatchdog:
    """A watchdog on the loop's own timers, whose time is simulated."""

    def __init__(self, on_expiry: Callable[[], None]) -> None:
        self._on_expiry = on_expiry
        self._timer: asyncio.TimerHandle | None = None

    def grant(self, until: float) -> None:
        self.close()
        self._timer = asyncio.get_running_loop().call_at(until, self._on_expiry)

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()


class Pool:
    """The database, its gaps, and what must never happen."""

    def __init__(self, seed: int) -> None:
        self.roster = MemoryRoster()
        self.random = random.Random(seed)
        self.down = False
        self.lossy = True
        self.machines: dict[str, Machine] = {}
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def reach(self, machine: "Machine", ask: Callable[[], Awaitable[Any]]) -> Any:
        """A statement's way to the database and back."""
        await machine.running.wait()
        await asyncio.sleep(self.random.uniform(0.001, 0.05))
        if self.down or machine.cut:
            await asyncio.sleep(self.random.uniform(0.0, 3.0))
            raise StoreError(ErrorKind.NETWORK, "the database can't be reached")
        answer = await ask()
        lost = self.lossy and self.random.random() < 0.01
        await asyncio.sleep(self.random.uniform(0.001, 0.05))
        await machine.running.wait()
        if lost or machine.cut:
            raise StoreError(ErrorKind.NETWORK, "the answer was lost")
        return answer


class Link:
    """The roster as one machine has it."""

    def __init__(self, pool: Pool, machine: "Machine") -> None:
        self._pool = pool
        self._machine = machine

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._pool.roster, name)
        return lambda *args, **kwargs: self._pool.reach(self._machine, lambda: method(*args, **kwargs))


class Machine:
    """A process: its node, and hands that act on what it holds."""

    def __init__(self, pool: Pool, name: str, capacity: int) -> None:
        self.name = name
        self.cut = False
        self.running = asyncio.Event()
        self.running.set()
        self._pool = pool
        self._rows: dict[str, SessionRow] = {}
        self.leaving: set[str] = set()
        self._fenced = False
        self._paused_at = -1.0
        self._capacity = capacity
        self._lives = 0
        self.start()

    def start(self) -> None:
        self._lives += 1
        instance = f"{self.name}/{self._lives}"
        me = NodeRow(name=self.name, instance=instance, version="1", capacity=self._capacity)
        self._rows, self._fenced = {}, False
        self.node = Node(Link(self._pool, self), self, me, TERMS, LoopClock())
        self.node.watch(LoopWatchdog(self._expire))
        self._tasks = [asyncio.ensure_future(self.node.run()), asyncio.ensure_future(self._act())]

    def kill(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._rows = {}

    async def stop(self) -> None:
        self.kill()
        await asyncio.wait(self._tasks)

    def pause(self) -> None:
        self.running.clear()
        self._paused_at = self._pool.now

    def _expire(self) -> None:
        """A stopped process has no timers: they go off when it wakes."""
        if self.running.is_set():
            self.node.fence()
        else:
            self._tasks.append(asyncio.ensure_future(self._expire_late()))

    async def _expire_late(self) -> None:
        await self.running.wait()
        self.node.fence()

    # What a node asks of its work.

    @property
    def held(self) -> list[str]:
        return [*self._rows]

    def begin(self, row: SessionRow) -> None:
        pool = self._pool
        pool.counts["taken"] += 1
        for other in pool.machines.values():
            before = other._rows.get(row.id)
            if other is self or before is None or other._fenced:
                continue
            if other.running.is_set():
                pool.wrong.append(
                    f"{self.name} took {row.id} at {pool.now:.1f} while {other.name} acts on it"
                )
        self._rows[row.id] = row

    def fence(self) -> None:
        self._fenced = True
        self._pool.counts["fenced"] += 1

    async def abandon(self) -> None:
        self._rows, self._fenced = {}, False

    async def settle(self) -> None:
        raise AssertionError("nobody drains here")

    async def _act(self) -> None:
        """As an agent does: first the fact is committed, in this epoch, then it acts."""
        while True:
            await asyncio.sleep(1.0)
            await self.running.wait()
            if self._fenced or not self._rows:
                continue
            row = self._rows[self._pool.random.choice([*self._rows])]
            woken = self._paused_at >= 0
            try:
                found = await self._pool.reach(self, partial(self._pool.roster.find, row.id))
            except StoreError:
                continue
            if self._rows.get(row.id) is not row:
                continue
            if found.epoch != row.epoch:  # refused: it has no effect, and only who was stopped may come here
                self._pool.counts["refused"] += 1
                if not woken:
                    self._pool.wrong.append(f"{self.name} still acts on {row.id}, which is another's")
                self._rows.pop(row.id, None)
                continue
            self._pool.counts["effects"] += 1
            if self._pool.random.random() < 0.02:
                del self._rows[row.id]
                await self._finish(row)

    async def _finish(self, row: SessionRow) -> None:
        self.leaving.add(row.id)
        try:
            await self._pool.reach(self, partial(self._pool.roster.release, row.id, row.epoch, "idle"))
        except StoreError:
            self._pool.counts["unheard"] += 1
        finally:
            self.leaving.discard(row.id)


async def simulate(seed: int, nodes: int, sessions: int) -> Counter[str]:
    pool = Pool(seed)
    for number in range(sessions):
        row = SessionRow(id=f"s{number}", name=f"s{number}")
        prompt = Command(id=f"p{number}", session=row.id, kind="prompt")
        await pool.roster.submit(row, prompt)
        await pool.roster.drop([prompt])
    room = sessions // max(nodes - 3, 1) + 2
    for number in range(nodes):
        pool.machines[f"n{number}"] = Machine(pool, f"n{number}", room)
    try:
        await _run(pool)
    finally:
        for machine in pool.machines.values():
            await machine.stop()
    return pool.counts


async def _run(pool: Pool) -> None:
    await asyncio.sleep(40.0)
    for _ in range(4):
        await _disturb(pool)
        await asyncio.sleep(pool.random.uniform(0.0, 20.0))
    for machine in pool.machines.values():
        machine.running.set()
        machine.cut = False
    await asyncio.sleep(2 * (TERMS.lease_s + TERMS.beat_s))
    await _check_nothing_is_left(pool)
    assert pool.wrong == []


async def _disturb(pool: Pool) -> None:
    kind = pool.random.choice(["kill", "restart", "pause", "cut", "gap", "short gap"])
    one = pool.random.choice([*pool.machines.values()])
    pool.counts[kind] += 1
    match kind:
        case "kill":
            await _lose(pool, one)
        case "restart":
            one.kill()
            await asyncio.sleep(0.1)
            one.start()
        case "pause":
            one.pause()
            await asyncio.sleep(pool.random.uniform(1.0, 3 * TERMS.lease_s))
            one.running.set()
        case "cut":
            one.cut = True
            await asyncio.sleep(pool.random.uniform(1.0, 3 * TERMS.lease_s))
            one.cut = False
        case _:
            before = {id: row.owner for id, row in pool.roster._sessions.items() if row.owner}
            pool.down = True
            longest = TERMS.fence_s / 2 if kind == "short gap" else 3 * TERMS.lease_s
            await asyncio.sleep(pool.random.uniform(1.0, longest))
            pool.down = False
            await asyncio.sleep(TERMS.fence_s)
            moved = [
                id for id, owner in before.items() if pool.roster._sessions[id].owner not in (owner, None)
            ]
            if moved and kind == "short gap":
                pool.wrong.append(f"{len(moved)} sessions moved after a short gap")
            pool.counts["moved"] += len(moved)
            alive = sum(1 for id in moved if before[id] in pool.machines)
            if alive > len(before) // 10:
                pool.wrong.append(f"a storm after a gap: {alive} of {len(before)} sessions moved")


async def _lose(pool: Pool, one: Machine) -> None:
    """Everything that it had is somebody's again within a lease, a beat, and a look."""
    one.kill()
    del pool.machines[one.name]
    at_risk = [row.id for row in pool.roster._sessions.values() if row.owner == one.name]
    await asyncio.sleep(TERMS.lease_s + TERMS.beat_s + 2 * LOOK)
    left = [id for id in at_risk if pool.roster._sessions[id].owner == one.name]
    if left:
        pool.wrong.append(f"{len(left)} sessions are still {one.name}'s, which is dead")
    pool.counts["taken over"] += len(at_risk)
    pool.machines[one.name] = Machine(pool, one.name, one._capacity)


async def _check_nothing_is_left(pool: Pool) -> None:
    pool.lossy = False
    await asyncio.sleep(2 * LOOK + 1.0)
    rows = pool.roster._sessions.values()
    assert [row.id for row in rows if row.state == "queued"] == []
    for row in rows:
        if row.owner is not None and row.id not in pool.machines[row.owner].leaving:
            holder = pool.machines[row.owner]._rows.get(row.id)
            assert holder is not None, f"{row.id} is {row.owner}'s, which does not know"
            assert holder.epoch == row.epoch


@pytest.mark.parametrize("seed", range(12))
def test_nobody_acts_on_what_is_anothers_and_nothing_is_left_behind(seed: int) -> None:
    run_virtual(simulate(seed, nodes=6, sessions=60), seed=seed)


@pytest.mark.soak
def test_the_same_in_2000_schedules_of_100_nodes_and_10000_sessions() -> None:
    counts: Counter[str] = Counter()
    for seed in range(2000):
        large = seed % 100 == 0
        counts += run_virtual(simulate(seed, *((100, 10_000) if large else (20, 400))), seed=seed)
    print(dict(counts))
