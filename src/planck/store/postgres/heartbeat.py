"""A process that is no node shows that it lives, while it has sessions open."""

import asyncio
from contextlib import suppress

from planck.store.postgres.commit_queue import CommitQueue
from planck.store.postgres.connection import Lost
from planck.store.store import StoreError

_BEAT = (
    "INSERT INTO nodes (name, instance, kind) VALUES ($1, $1, 'process') "
    "ON CONFLICT (name) DO UPDATE SET seen = now()"
)


class Heartbeat:
    def __init__(self, engine: CommitQueue, name: str, every: float) -> None:
        self._engine = engine
        self._name = name
        self._every = every
        self._beating: asyncio.Future[None] | None = None

    async def begin(self) -> None:
        """Returns once everybody can see this process; a second call does nothing."""
        if self._beating is None:
            await self._engine.queries.read(_BEAT, self._name)
            if self._beating is None:
                self._beating = asyncio.ensure_future(self._beat_for_ever())

    async def _beat_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            with suppress(StoreError, Lost):  # the engine's patience ends what this one can't hold
                await self._engine.queries.read(_BEAT, self._name)

    async def aclose(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait({self._beating})
            self._beating = None
            with suppress(StoreError):
                await self._engine.queries.read("DELETE FROM nodes WHERE name = $1", self._name, patience=2.0)
