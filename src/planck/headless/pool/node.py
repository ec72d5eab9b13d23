"""A node: says that it lives, takes what nobody works on, and stops acting before others take it over."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol

import msgspec

from planck.headless.pool.outage import Outage
from planck.headless.pool.watchdog import Watchdog
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.ports import Clock
from planck.store.roster import VERSION, Answer, NodeRow, Roster, SessionRow

log: logging.Logger = logging.getLogger(__name__)

_MANY = 64
"""Sessions taken at a time: the rest is there at the next look."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """How long a node that says nothing counts as alive, and how often it says so."""

    lease_s: float = 30.0
    beat_s: float = 5.0
    drain_s: float = 900.0

    @property
    def fence_s(self) -> float:
        """After so long without an answer it stops acting: others wait for the whole lease."""
        return self.lease_s * 2 / 3


class NodeError(PlanckError):
    """The node can't go on like this."""


class Work(Protocol):
    """The sessions that this node works on."""

    @property
    def held(self) -> Iterable[str]: ...

    def begin(self, row: SessionRow) -> None:
        """Takes it on; returns at once, and calls `Roster.release` when there is nothing left to do."""

    def fence(self) -> None:
        """Nothing acts after it returns, and nothing more is written. Called from any thread."""

    async def abandon(self) -> None:
        """Lets go of everything without a word in a log: it is others' now."""

    async def settle(self) -> None:
        """Returns once nothing is held any more."""


class Node:
    """One process that works on sessions of a database that others share."""

    def __init__(self, roster: Roster, work: Work, me: NodeRow, terms: Terms, clock: Clock) -> None:
        """`clock` counts the time for which the machine slept: other nodes did not."""
        self.me = me
        self.entered: asyncio.Event = asyncio.Event()
        """Set once the others know of it."""
        self._drains = asyncio.Event()
        self._roster = roster
        self._work = work
        self._terms = terms
        self._clock = clock
        self._watchdog: Watchdog | None = None
        self._fenced = False
        self._granted = 0.0
        """The moment until which it may act: others wait longer before they take what it has."""
        self._joined = False
        self._woken = asyncio.Event()

    def watch(self, watchdog: Watchdog) -> None:
        """Takes the watchdog that calls `fence`; before `run`."""
        self._watchdog = watchdog

    def fence(self) -> None:
        """Stops everything that acts: called by the watchdog, in whichever thread that has."""
        self._fenced = True
        self._work.fence()

    def check_lease(self) -> bool:
        """Returns whether it may act now; a beat that lapsed, after a sleep for example, fences it first."""
        if self._joined and not self._fenced and (late := self._clock.monotonic() - self._granted) >= 0:
            self._fence_lapsed(f"No heartbeat was confirmed for {late + self._terms.fence_s:.0f} s")
        return not self._fenced

    def _fence_lapsed(self, why: str) -> None:
        log.warning(
            "%s; the machine may have been suspended. "
            "This node stops working on its sessions and joins again.",
            why,
        )
        self.fence()

    async def run(self) -> None:
        """Beats and takes work until it is cancelled, or until another process has its name."""
        loops = [asyncio.ensure_future(self._beat()), asyncio.ensure_future(self._claim())]
        try:
            done, _ = await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in loops:
                task.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            if self._watchdog:
                self._watchdog.close()

    async def leave(self) -> None:
        """Says that it is gone, so that nobody waits for its lease; where it can't, they wait."""
        with suppress(PlanckError, OSError, TimeoutError):
            async with asyncio.timeout(self._terms.beat_s):
                await self._roster.leave(self.me.name, self.me.instance)

    def wake(self) -> None:
        """Looks for work now rather than at the next beat."""
        self._woken.set()

    async def _beat(self) -> None:
        silence = Outage(log, "Heartbeat failed")
        while True:
            sent = self._clock.monotonic()
            try:
                async with asyncio.timeout(self._terms.fence_s):
                    answer = await self._say(sent)
            except (PlanckError, OSError, TimeoutError) as problem:
                silence.note(problem)
                await asyncio.sleep(self._terms.beat_s / 5)
                continue
            silence.end()
            if answer == "gone":
                self.fence()
                await self._work.abandon()
                raise NodeError(
                    ErrorKind.NOT_UNIQUE,
                    f"Another process now runs as node {self.me.name!r}, or this node was removed with "
                    f'"planck nodes forget {self.me.name}". '
                    'Start this node under another name: "planck serve --store URL --name NAME".',
                )
            await asyncio.sleep(max(0.0, sent + self._terms.beat_s - self._clock.monotonic()))

    async def _say(self, sent: float) -> Answer:
        """Counts as alive from when it was said."""
        answer: Answer = "alive"
        self.check_lease()  # before it is called alive: others may have its sessions by now
        if self._joined:
            answer = await self._roster.beat(self.me.name, self.me.instance)
        if answer == "lapsed":  # though our clock stood still: a virtual machine that was paused, or macOS
            if not self._fenced:
                self._fence_lapsed("The last heartbeat reached the database too late")
            answer = await self._roster.beat(self.me.name, self.me.instance)
        if answer == "gone":
            return answer
        if self._fenced or not self._joined:
            sent = self._clock.monotonic()
            await self._begin_anew()
        if answer == "draining":
            self._drains.set()
        self._granted = max(self._granted, sent + self._terms.fence_s)
        if self._clock.monotonic() < self._granted and self._watchdog:
            self._watchdog.grant(self._granted)
        return answer

    async def _begin_anew(self) -> None:
        """Joins with empty hands. After a gap too: others were cut off as long, and take up their own."""
        if self._fenced:
            await self._work.abandon()
        await self._roster.join(self.me)
        self._joined, self._fenced = True, False
        self.entered.set()
        self.wake()

    async def _claim(self) -> None:
        """Looks for work at every beat, and when somebody hints that there is some."""
        idling = Outage(log, "Claiming sessions failed")
        while True:
            if self._joined and self.check_lease() and not self._drains.is_set():
                try:
                    while await self._take():
                        pass
                except (PlanckError, OSError, TimeoutError) as problem:
                    idling.note(problem)
                else:
                    idling.end()
            self._woken.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(self._terms.beat_s, 2.0)):
                    await self._woken.wait()

    async def _take(self) -> bool:
        """Returns whether there may be more at once."""
        held = tuple(self._work.held)
        room = min(self.me.capacity - len(held), _MANY)
        if room <= 0:
            return False
        async with asyncio.timeout(self._terms.fence_s):
            rows = await self._roster.claim(
                self.me,
                held=held,
                limit=room,
                lease_s=self._terms.lease_s,
                version=VERSION,
            )
        for row in rows:
            if not self.check_lease():
                return False  # taken in vain: it is taken again, by us or by others
            self._work.begin(row)
        return len(rows) == room

    async def drain(self) -> None:
        """Returns once it was told to, and what it has is done or the time for that is up."""
        await self._drains.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._terms.drain_s):
                await self._work.settle()
