"""The database of a pool: its roster, its sessions, and the one engine through which this node writes."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from planck.archive.archive import Archive
from planck.archive.listing import SessionInfo
from planck.config.load import ConfigError
from planck.config.project import Project
from planck.headless.pool.store import find_copies
from planck.records.outcome import ErrorKind
from planck.store.postgres.claimed import ClaimedLibrary
from planck.store.postgres.commit_queue import CommitQueue
from planck.store.postgres.dev import DEV, find_url
from planck.store.postgres.library import PostgresLibrary
from planck.store.postgres.roster import PostgresRoster
from planck.store.roster import SessionRow
from planck.store.store import StoreError

if TYPE_CHECKING:
    from planck.archive.search import Hit


class PoolDatabase:
    def __init__(self, url: str, folder: Path, owner: str, lease: float) -> None:
        self.url = url
        self.roster: PostgresRoster = PostgresRoster(url, lease=lease)
        self._engine = CommitQueue(url)
        self._folder = folder
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._all = PostgresLibrary(url, folder, None, owner=owner, lease=lease, engine=self._engine)

    @property
    def place(self) -> str:
        """The address without its password."""
        return self._engine.place

    async def start(self) -> None:
        await self._engine.start()
        await self.roster.start()

    def archive(self, workspace: Path) -> Archive:
        """Returns all sessions of the database, on every node."""
        return PoolArchive(self._folder, workspace, self._all)

    def claimed(self, row: SessionRow, workspace: Path) -> ClaimedLibrary:
        """Returns the one session that the roster gave to this node."""
        return ClaimedLibrary(self._engine, self._folder, workspace, self._owner, row, self.roster)

    def follow_lease(self, check: Callable[[], bool]) -> None:
        """Writes nothing any more once the check says no."""

        def fence_lapsed() -> None:
            if not check():
                self._fence()

        self._engine.before_append = fence_lapsed

    def fence(self) -> None:
        """From any thread: a loop that hangs sends nothing, and hears of it first when it goes on."""
        self._loop.call_soon_threadsafe(self._fence)

    def _fence(self) -> None:
        self._engine.fence(
            StoreError(
                ErrorKind.WRITER_CONFLICT,
                "This node was cut off from its database for too long. Other nodes continue its sessions.",
            )
        )

    async def aclose(self) -> None:
        await self._all.aclose()
        await self._engine.close()
        await self.roster.aclose()


class PoolArchive(Archive):
    """Sees no workspace: a pool's sessions are all its own."""

    def sessions(self, *, everywhere: bool = False, limit: int | None = None) -> list[SessionInfo]:
        return super().sessions(everywhere=True, limit=limit)

    def search(
        self,
        text: str,
        *,
        everywhere: bool = False,
        limit: int = 50,
        skipped: Callable[[SessionInfo, str], None] | None = None,
    ) -> Iterator["Hit"]:
        return super().search(text, everywhere=True, limit=limit, skipped=skipped)


async def find_address(project: Project, store: str) -> str:
    """Returns the database's address; the `dev` one is started if it does not run, which takes seconds."""
    if store != DEV and not store.startswith(("postgresql://", "postgres://")):
        raise ConfigError(
            ErrorKind.INVALID_ARGS,
            "The store must be a postgresql:// address, or `dev` for a database in Planck's home.",
        )
    return await asyncio.to_thread(find_url, store, project.home)


async def connect_database(store: str, project: Project, owner: str, lease: float) -> PoolDatabase:
    """Returns the database, its tables at this version; the `dev` one is started if it does not run."""
    url = await find_address(project, store)
    # A node's own, also where two share a home: one that hangs would hold the other's copies.
    copies = find_copies(store, project.home) / owner
    database = PoolDatabase(url, copies, owner, lease)
    try:
        await database.start()
    except BaseException:
        await database.aclose()
        raise
    return database
