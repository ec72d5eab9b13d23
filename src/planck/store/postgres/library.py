"""The library over PostgreSQL: rows name the sessions, copies on this machine are what is read."""

import asyncio
import glob
import hashlib
import os
import shutil
import socket
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from planck.closing import close_all
from planck.records.outcome import ErrorKind
from planck.records.ports import Ids
from planck.store.chain import GENESIS, BrokenChain, Row, decoded, link
from planck.store.library import Contents, Entry, LocalLibrary, Origin
from planck.store.names import (
    check_name,
    name_in,
    new_names,
    refuse_foreign,
    refuse_taken,
    refuse_taken_id,
    refuse_unknown,
)
from planck.store.postgres import rows
from planck.store.postgres.blocking import BlockingDatabase
from planck.store.postgres.commit_queue import CommitQueue
from planck.store.postgres.connection import Database
from planck.store.postgres.heartbeat import Heartbeat
from planck.store.postgres.mirror import PAGE, Mirror, fetch_mirror, find_file, name_file, open_mirror
from planck.store.postgres.rows import LogRow, SessionPlace
from planck.store.postgres.store import PostgresStore
from planck.store.sqlite.database import Durability
from planck.store.sqlite.directory import move_log, remove_log
from planck.store.sqlite.store import SqliteStore
from planck.store.store import SessionError, Store, StoreError
from planck.store.threads import finish_blocking, hand_over, run_blocking

LEASE = 30.0
"""Seconds after which an owner that was not seen has lost what it had; `cluster.lease_s`."""


class PostgresLibrary:
    """The sessions of a database, seen from one workspace; its engine is of the loop that first opens one."""

    def __init__(
        self,
        url: str,
        folder: Path,
        workspace: Path | None,
        *,
        owner: str = "",
        lease: float = LEASE,
        engine: CommitQueue | None = None,
    ) -> None:
        """`folder` is for the copies. `owner` is the node that has joined; a process that is none is present
        under a name of its own while it has sessions open. Without a workspace, all sessions are its own.
        `engine`: somebody else's, which ends it."""
        self.folder = folder
        self._place = os.path.realpath(workspace) if workspace else None
        self._lease = lease
        self._lent = engine is not None
        self.engine: CommitQueue = engine or CommitQueue(url, patience=None if owner else lease * 2 / 3)
        self._database = BlockingDatabase(url)
        name = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"
        self._heartbeat = None if owner else Heartbeat(self.engine, name, lease / 6)
        self.owner: str = owner or name
        self._open: set[str] = set()

    @property
    def indexed(self) -> bool:
        return False

    def find(self, id_or_name: str) -> Entry:
        return self._database.run(partial(rows.find_row, project=self._place, what=id_or_name)).entry

    def choose_name(self, wanted: str, ids: Ids) -> str:
        return self._database.run(partial(self._choose_name, wanted=wanted, ids=ids))

    async def _choose_name(self, database: Database, wanted: str, ids: Ids) -> str:
        if wanted:
            check_name(wanted)
        for name in (wanted,) if wanted else new_names(ids):
            if not await rows.is_taken(database, self._place, name, self._lease):
                return name
        raise refuse_taken(wanted)

    async def create(
        self, id: str, wanted: str, ids: Ids, meta: Mapping[str, str], durability: Durability = "process"
    ) -> PostgresStore:
        return await self._create(id, wanted, ids, meta, "running")

    async def _create(
        self,
        id: str,
        wanted: str,
        ids: Ids,
        meta: Mapping[str, str],
        state: str,
        origin: Origin | None = None,
    ) -> PostgresStore:
        if wanted:
            check_name(wanted)
        await self._start()
        row = await rows.read_row(self.engine.queries, id)
        if row and row.owner == self.owner and row.head == 0 and row.pooled and id not in self._open:
            return await self._open_row(row, claimed=True)  # submitted, and claimed by this node
        if row and row.state == "making" and id not in self._open:
            await self._clear_unfinished(id)
        elif row:
            raise refuse_taken_id(id)
        place = await rows.read_place(self.engine.queries, origin) if origin else SessionPlace()
        if place.project:  # of a pool it may be the address of a repository
            meta = {**meta, "workspace": place.project}
        elif "workspace" in meta:
            meta = {**meta, "workspace": os.path.realpath(meta["workspace"])}
        for name in (wanted,) if wanted else new_names(ids):
            if await self._create_row(id, name, meta, state, place):
                return await self._open_new(id, {**meta, "id": id, "name": name})
        raise refuse_taken(wanted)

    async def _create_row(
        self, id: str, name: str, meta: Mapping[str, str], state: str, place: SessionPlace
    ) -> bool:
        queries = self.engine.queries
        try:
            return await rows.create_row(queries, id, name, meta, self.owner, self._lease, state, place)
        except asyncio.CancelledError:
            if id not in self._open:
                await rows.finish(rows.clear_row(queries, id, self.owner))
            raise

    async def _clear_unfinished(self, id: str) -> None:
        """Removes a copy whose process was killed before it was whole: its key asks for it again."""
        cleared = await rows.clear_unfinished(self.engine.queries, id, self.owner, self._lease)
        if cleared and (path := find_file(self.folder, id)):
            await finish_blocking(remove_log, path)

    async def _open_new(self, id: str, meta: Mapping[str, str]) -> PostgresStore:
        self._open.add(id)
        try:
            make = partial(SqliteStore.create, name_file(self.folder, meta), meta, durability="elsewhere")
            mirror = Mirror(await hand_over(make, _discard_file))
        except BaseException:
            self._open.discard(id)
            await rows.finish(rows.discard_row(self.engine.queries, id, 1))
            raise
        return PostgresStore(self.engine, id, 1, mirror)

    async def open(self, id_or_name: str, durability: Durability = "process") -> PostgresStore:
        await self._start()
        row = await rows.find_row(self.engine.queries, self._place, id_or_name)
        if row.id in self._open:
            raise rows.refuse_held(row._replace(owner=self.owner))
        try:
            taken = await rows.take_row(self.engine.queries, row.id, self.owner, self._lease)
            return await self._open_row(taken)
        except BaseException:
            # It may be this owner's by now, also where the answer was lost that would have said so.
            with suppress(StoreError):
                release = rows.release_row(self.engine.queries, row.id, row.epoch + 1, self.owner)
                await rows.finish(release)
            raise

    async def open_claimed(self, id: str, epoch: int) -> PostgresStore:
        """Opens what the roster claimed for this node; `writer_conflict` where that is over already."""
        await self._start()
        row = await rows.read_row(self.engine.queries, id)
        if row is None:
            raise refuse_unknown(id)
        if (row.owner, row.epoch) != (self.owner, epoch):
            raise rows.refuse_held(row)
        return await self._open_row(row, claimed=True)

    async def _open_row(self, row: LogRow, *, claimed: bool = False) -> PostgresStore:
        self._open.add(row.id)
        try:
            mirror, damage = await open_mirror(self.engine.queries, self.folder, row.meta, row.head, row.hash)
        except BaseException:
            self._open.discard(row.id)
            raise
        return PostgresStore(self.engine, row.id, row.epoch, mirror, claimed=claimed, damage=damage)

    @asynccontextmanager
    async def rename(self, store: Store, old: str, new: str) -> AsyncGenerator[None, None]:
        if not new:
            raise SessionError(
                ErrorKind.INVALID_ARGS, "The new session name is empty. Use letters and digits."
            )
        check_name(new)
        if not isinstance(store, PostgresStore):  # one without a log
            if await rows.is_taken(self.engine.queries, self._place, new, self._lease):
                raise refuse_taken(new)
            yield
            return
        await self._change_name(store, new)
        try:
            yield
        except BaseException:
            await self._change_name(store, old)
            raise
        store.change_meta({"name": new})

    async def _change_name(self, store: PostgresStore, name: str) -> None:
        sql = (
            "UPDATE sessions s SET name = $2 WHERE id = $1 AND epoch = $3 AND NOT EXISTS "
            "(SELECT FROM sessions o WHERE o.project = s.project AND o.name = $2 AND o.id <> $1) RETURNING id"
        )
        try:
            if not await self.engine.queries.read(sql, store.id, name, store.epoch):
                raise refuse_taken(name)
        except StoreError as failure:
            if failure.err.details.get("sqlstate") == "23505":  # taken since
                raise refuse_taken(name) from None
            raise

    async def close(self, store: Store, id: str, name: str) -> None:
        try:
            await store.aclose()
        finally:
            self._open.discard(id)
        if isinstance(store, PostgresStore) and name_in(store.path) != name:
            with suppress(StoreError):  # somebody reads it: `path_of` moves it the next time
                await finish_blocking(move_log, store.path, store.path.with_name(f"{id}_{name}.db"))

    async def discard(self, store: Store) -> None:
        if not isinstance(store, PostgresStore):
            return
        why = StoreError(ErrorKind.LOG_WRITE_FAILED, "The session was not started. Start it again.")
        self.engine.leave(store)
        store.abandon(why)

        async def discard_row() -> None:
            await rows.finish(rows.discard_row(self.engine.queries, store.id, store.epoch))

        forget, remove = (
            partial(self._open.discard, store.id),
            partial(finish_blocking, remove_log, store.path),
        )
        await close_all(store.aclose, discard_row, forget, remove)

    async def copy(
        self, id: str, wanted: str, ids: Ids, meta: Mapping[str, str], what: Contents
    ) -> PostgresStore:
        # Until it is closed the row says `making`: nobody opens a copy without what is recorded after this.
        store = await self._create(id, wanted, ids, meta, "making", what.origin)
        try:
            await self._fill(store, what)
        except BaseException:
            await self.discard(store)
            raise
        return store

    async def _fill(self, store: PostgresStore, what: Contents) -> None:
        blobs = iter(what.blobs)
        while (blob := await run_blocking(next, blobs, None)) is not None:  # they may come from the database
            await store.take_in((), {hashlib.sha256(blob).digest(): blob})
        source, seq, previous = iter(what.events), 0, GENESIS
        while page := list(islice(source, PAGE)):
            batch: list[Row] = []
            for data in page:
                seq += 1
                try:
                    decoded(seq, data)
                except BrokenChain as e:
                    raise StoreError(ErrorKind.CORRUPT_LOG_LINE, f"event {seq}: {e.why}", {"seq": seq}) from e
                previous = link(previous, data)
                batch.append((seq, data, previous))
            await store.take_in(batch, {})

    async def take_in(self, id: str, meta: Mapping[str, str], what: Contents) -> Path:
        store = await self.copy(id, meta["name"], _NoIds(), meta, what)
        await self.close(store, id, meta["name"])
        return store.path

    def path_of(self, id_or_name: str) -> Path:
        return self._database.run(partial(self._fetch, what=id_or_name))

    async def _fetch(self, database: Database, what: str) -> Path:
        return await self._fetch_row(database, await rows.find_row(database, self._place, what))

    async def _fetch_row(self, database: Database, row: LogRow) -> Path:
        if row.id in self._open and (path := find_file(self.folder, row.id)):
            return path
        return await fetch_mirror(database, self.folder, row.meta, row.head, row.hash)

    def fetch_own(self, id: str) -> Path:
        return self._database.run(partial(self._fetch_own, id=id))

    async def _fetch_own(self, database: Database, id: str) -> Path:
        row = await rows.read_row(database, id)
        begun = row is not None and row.head > 0 and row.state != "making"
        if row is None or not begun or self._place not in (None, row.project):
            raise refuse_foreign(id)
        return await self._fetch_row(database, row)

    def has_id(self, id: str) -> bool:
        return self._database.run(partial(rows.read_row, id=id)) is not None

    def fetch_all(self, *, everywhere: bool = False, limit: int | None = None) -> None:
        self._database.run(partial(self._fetch_all, project=None if everywhere else self._place, limit=limit))

    async def _fetch_all(self, database: Database, project: str | None, limit: int | None) -> None:
        for row in await rows.list_rows(database, project, limit):
            with suppress(StoreError):  # a damaged one is told when it is opened
                await self._fetch_row(database, row)
        there = {row["id"] for row in await database.read("SELECT id FROM sessions")}
        for path in self.folder.glob("*_*.db"):
            if path.name.partition("_")[0] not in there:  # removed elsewhere, or lost with a database
                with suppress(StoreError, OSError):
                    move_log(path, path.with_name(f"{path.name}.gone"))
        await self._remove_with_others(database)

    async def _remove_with_others(self, database: Database) -> None:
        """Removes what is here of sessions that somebody removed for good, on whichever machine."""
        here = {path.name.partition("_")[0] for path in self.folder.glob("*_*.db.gone")}
        here |= {path.name.removesuffix(".output") for path in self.folder.glob("*.output")}
        for id in await rows.find_removed(database, sorted(here)) if here else ():
            for path in self.folder.glob(f"{glob.escape(id)}_*.db.gone*"):
                path.unlink(missing_ok=True)
            shutil.rmtree(self.folder / f"{id}.output", ignore_errors=True)

    def list_detached(self, id: str, name: str = "") -> Iterator[bytes]:
        for digest in self._database.run(partial(rows.list_detached, id=id, name=name)):
            yield from self._database.run(partial(rows.read_blob, id=id, digest=digest))

    def find_owners(self, ids: Iterable[str]) -> dict[str, str]:
        wanted = list(ids)
        return self._database.run(partial(rows.find_owners, ids=wanted, lease=self._lease)) if wanted else {}

    def find_failures(self, ids: Iterable[str]) -> dict[str, str]:
        wanted = list(ids)
        return self._database.run(partial(rows.find_failures, ids=wanted)) if wanted else {}

    def check_free(self, id_or_name: str) -> None:
        row = self._database.run(partial(rows.find_row, project=self._place, what=id_or_name))
        if owner := self.find_owners([row.id]).get(row.id):
            raise rows.refuse_held(row._replace(owner=owner))

    def remove(self, id_or_name: str) -> None:
        row = self._database.run(partial(rows.find_row, project=self._place, what=id_or_name))
        if not self._database.run(partial(rows.remove_row, id=row.id, lease=self._lease)):
            raise rows.refuse_held(row)
        if path := find_file(self.folder, row.id):
            remove_log(path)

    async def aclose(self) -> None:
        await close_all(
            *([self._heartbeat.aclose] if self._heartbeat is not None else ()),
            *([self.engine.close] if not self._lent else ()),
            partial(finish_blocking, self._database.close),
        )

    async def _start(self) -> None:
        await self.engine.start()
        if self._heartbeat is not None:
            await self._heartbeat.begin()


def _discard_file(file: SqliteStore) -> None:
    file.close()
    remove_log(file.path)


class _NoIds:
    def new(self, cause: str = "") -> str:
        raise AssertionError("an imported session has a name")


if TYPE_CHECKING:
    _: type[LocalLibrary] = PostgresLibrary
