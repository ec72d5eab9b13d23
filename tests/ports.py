"""Doubles of the ports: a clock that stands still, ids that count, a journal that a test may stand in."""

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from planck.records.events import Event, View
from planck.toolkit.journal import Entry, Journal


class FixedClock:
    """Stands still: what needs time to pass uses the loop's."""

    def now(self) -> str:
        return "2026-01-01T00:00:00.000Z"

    def monotonic(self) -> float:
        return 0.0

    async def within(self, future: asyncio.Future[Any], seconds: float, key: str) -> bool:
        return bool((await asyncio.wait({future}, timeout=seconds))[0])


class CountedIds:
    def __init__(self) -> None:
        self._count = itertools.count(1)

    def new(self, cause: str = "") -> str:
        return f"{next(self._count):016x}"


class JournalProxy:
    """Passes everything on; a test overrides `record_all` to watch, delay or refuse any commit."""

    def __init__(self, inner: Journal) -> None:
        self._inner = inner

    async def record(
        self, agent_id: str | None, turn: int, *facts: View, barrier: bool = False
    ) -> list[Event]:
        return await self.record_all([Entry(agent_id, turn, fact) for fact in facts], barrier=barrier)

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        return await self._inner.record_all(entries, barrier=barrier)

    @property
    def moves(self) -> bool:
        return self._inner.moves

    def keep(self, blob: bytes, *, detached: bool = False) -> str:
        return self._inner.keep(blob, detached=detached)

    def recorded(self, agent_id: str) -> Iterator[Event]:
        return self._inner.recorded(agent_id)

    def publish(self, agent_id: str | None, turn: int, delta: View) -> None:
        self._inner.publish(agent_id, turn, delta)
