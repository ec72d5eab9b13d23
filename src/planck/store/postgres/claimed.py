"""The library of a node: one session that the roster gave it, on the engine that all of them share."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from planck.closing import close_all
from planck.records.ports import Ids
from planck.store.postgres.commit_queue import CommitQueue
from planck.store.postgres.library import PostgresLibrary
from planck.store.postgres.store import PostgresStore
from planck.store.roster import Roster, SessionRow
from planck.store.sqlite.database import Durability
from planck.store.store import Store


class ClaimedLibrary(PostgresLibrary):
    """Opens the session in the epoch of its claim, and gives it back to the roster when it is closed."""

    def __init__(
        self, engine: CommitQueue, folder: Path, workspace: Path, owner: str, row: SessionRow, roster: Roster
    ) -> None:
        super().__init__(engine.url, folder, workspace, owner=owner, engine=engine)
        self._row = row
        self._roster = roster
        self.releases = False
        """Whether a close says that the session is at rest: not where its opening failed, nor where its node
        lets go of it because others may have it."""

    async def create(
        self, id: str, wanted: str, ids: Ids, meta: Mapping[str, str], durability: Durability = "process"
    ) -> PostgresStore:
        return await self.open_claimed(self._row.id, self._row.epoch)

    async def open(self, id_or_name: str, durability: Durability = "process") -> PostgresStore:
        return await self.open_claimed(self._row.id, self._row.epoch)

    async def close(self, store: Store, id: str, name: str) -> None:
        await close_all(partial(super().close, store, id, name), partial(self._release, store))

    async def _release(self, store: Store) -> None:
        if self.releases and not (isinstance(store, PostgresStore) and store.abandoned):
            await self._roster.release(self._row.id, self._row.epoch, "idle")

    async def discard(self, store: Store) -> None:
        """What could not be begun stays in the roster: another node may be able to."""
        await store.aclose()

    async def aclose(self) -> None:
        """The engine is the node's."""
