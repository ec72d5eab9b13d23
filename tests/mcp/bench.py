"""Peers for tests: real processes, states that can be waited for, and a clock that may jump."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from planck.mcp.instances import Instances
from planck.mcp.listing import Listing
from planck.mcp.peer import State
from planck.mcp.transport import Launch, Link, open_process
from planck.peers.server import tool_prefix
from planck.records.ports import Clock
from planck.toolkit.clock import SystemClock

FAKE = Path(__file__).parent / "fake_server.py"
WAIT = 30.0


class Leaping(SystemClock):
    """Every look is a minute later: no two failures fall into one window."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = 0

    def monotonic(self) -> float:
        self._looks += 1
        return self._looks * 61.0


class Watched:
    """A peer, and all that it said of itself."""

    def __init__(self, name: str, launch: Launch, clock: Clock | None = None, prefix: str = "") -> None:
        launch.name, launch.prefix = name, prefix
        self.states: list[State] = []
        self.details: list[str] = []
        self.listings: list[Listing] = []
        self._changed = asyncio.Event()
        self.instances = Instances(launch, clock or SystemClock(), self)
        self.peer = self.instances.own

    async def until(self, state: State, count: int = 1) -> None:
        """Waits until it has been in that state so many times."""
        async with asyncio.timeout(WAIT):
            while self.states.count(state) < count:
                self._changed.clear()
                await self._changed.wait()

    async def until_listed(self, count: int) -> None:
        async with asyncio.timeout(WAIT):
            while len(self.listings) < count:
                self._changed.clear()
                await self._changed.wait()

    def changed_state(self, state: State, detail: str) -> None:
        self.states.append(state)
        self.details.append(detail)
        self._changed.set()

    def listed_tools(self, listing: Listing) -> None:
        self.listings.append(listing)
        self._changed.set()

    def failed_in_sandbox(self) -> None:
        raise AssertionError("it is never confined")


@asynccontextmanager
async def watched(name: str, launch: Launch, **options: Any) -> AsyncGenerator[Watched, None]:
    """Started; when left, nothing of it is alive."""
    one = Watched(name, launch, **options)
    one.peer.start()
    try:
        yield one
    finally:
        await one.peer.aclose()


class FakeLaunch(Launch):
    def __init__(self, *behaviours: str, start_timeout: float = 10.0, probe_timeout: float = 0.3) -> None:
        self.start_timeout = start_timeout
        self.probe_timeout = probe_timeout
        self._argv = (sys.executable, "-S", "-E", str(FAKE), *behaviours)

    def open(self) -> AbstractAsyncContextManager[Link]:
        return open_process(self._argv, cwd=Path("/"), environment={"PATH": "/usr/bin:/bin"})


def fake(*behaviours: str, start_timeout: float = 10.0, probe_timeout: float = 0.3, **options: Any) -> Any:
    launch = FakeLaunch(*behaviours, start_timeout=start_timeout, probe_timeout=probe_timeout)
    return watched("fake", launch, prefix=tool_prefix("fake"), **options)


def names(listing: Listing) -> Sequence[str]:
    return [listed.spec.name for listed in listing.tools]


def descendants() -> set[int]:
    """Every living process below this one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry.name)] = int(fields[1])
    import os

    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}
