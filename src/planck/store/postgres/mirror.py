"""The copy of a session on this machine: what synchronous readers read, while PostgreSQL has the truth.

Only the missing tail is pulled. A copy that is not a beginning of the log is put aside and made anew.
"""

import asyncio
import glob
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from planck.records.events import Event
from planck.records.outcome import Err, ErrorKind
from planck.store.chain import BrokenChain, Row, decoded, link
from planck.store.names import id_in
from planck.store.postgres.connection import Database
from planck.store.sqlite import lock_file
from planck.store.sqlite.database import companion
from planck.store.sqlite.directory import make_private, move_log, remove_log
from planck.store.sqlite.lock import WriterLock
from planck.store.sqlite.reader import SqliteReader
from planck.store.sqlite.store import SqliteStore
from planck.store.store import StoreError, find_last, report_damage
from planck.store.threads import finish_blocking, hand_over, run_blocking

log: logging.Logger = logging.getLogger(__name__)

PAGE = 1000
"""Events at a time; they are a few hundred bytes each."""
_PAGE_BYTES = 32 << 20

_PATIENCE = 10.0
"""Seconds for a copy that somebody else fills, to read it, and we are to write."""
_GLANCE = 2.0
"""The same where we are to read: an older copy is better than none."""
_PAUSE = 0.02

_READ_PAGE = """
SELECT seq, bytes, hash FROM (
    SELECT seq, bytes, hash, sum(octet_length(bytes)) OVER (ORDER BY seq) AS total, min(seq) OVER () AS first
    FROM (SELECT * FROM events WHERE session = $1 AND seq > $2 ORDER BY seq LIMIT $3) AS page
) AS counted WHERE total <= $4 OR seq = first ORDER BY seq
"""


async def read_page(database: Database, id: str, after: int, limit: int = PAGE) -> list[Row]:
    """Returns the next events, fewer where they are large; none: that is the end."""
    rows = await database.read(_READ_PAGE, id, after, limit, _PAGE_BYTES)
    return [(row["seq"], row["bytes"], row["hash"]) for row in rows]


class Mirror:
    """A writer's copy. What could not be written here is kept in memory, and tried again with the next."""

    def __init__(self, file: SqliteStore) -> None:
        self.file = file
        self._late: list[Row] = []
        self._late_blobs: dict[bytes, bytes] = {}

    @property
    def head(self) -> int:
        return self._late[-1][0] if self._late else self.file.head

    @property
    def head_hash(self) -> bytes:
        return self._late[-1][2] if self._late else self.file.head_hash

    def add(self, rows: Sequence[Row], blobs: Mapping[bytes, bytes]) -> None:
        """Never fails: it is in the log, whatever this disk says."""
        self._late += rows
        self._late_blobs.update(blobs)
        try:
            self.file.take_rows(self._late, self._late_blobs)
        except StoreError as failure:
            log.warning("Cannot write the local copy of %s yet: %s", self.file.path.name, failure)
        else:
            self._late.clear()
            self._late_blobs.clear()

    def read(self, after: int = 0, *, agent_id: str | None = None) -> Iterator[Event]:
        after = max(0, after)
        while after < self.head:
            before = after
            for event in self.file.read(after, agent_id=None):
                after = event.seq or after
                if agent_id is None or event.agent_id == agent_id:
                    yield event
            for seq, data, _ in [row for row in self._late if row[0] > after]:
                after = seq
                event = decoded(seq, data)
                if agent_id is None or event.agent_id == agent_id:
                    yield event
            if after == before:
                return

    def read_back(self, before: int | None = None, limit: int = 512) -> list[Event]:
        if not self._late:
            return self.file.read_back(before, limit)
        last = find_last(self.head, before)
        first = max(1, last - limit + 1)
        return [event for event in self.read(first - 1) if first <= (event.seq or 0) <= last]

    def find_late_blob(self, prefix: bytes) -> bytes | None:
        return next((blob for digest, blob in self._late_blobs.items() if digest.startswith(prefix)), None)


async def open_mirror(
    database: Database,
    folder: Path,
    meta: Mapping[str, str],
    head: int,
    hash: bytes,
    *,
    patience: float = _PATIENCE,
) -> tuple[Mirror, Err | None]:
    """Returns a writer's copy with all that is committed up to `head`, and what was lost of the log."""
    file, damage = await _open_patiently(folder, meta, head, patience)
    try:
        if file.head and await _hash_at(database, meta["id"], file.head) != file.head_hash:
            lost = file.head
            await finish_blocking(_put_aside, file)
            file, _ = await hand_over(partial(_open_file, folder, meta, head), _close)
            damage = damage or describe_loss(meta["id"], lost, head)
        await pull(database, file, meta["id"], head, hash)
        file.change_meta({"name": meta["name"]})
    except BaseException:
        file.close()
        raise
    return Mirror(file), damage


async def _open_patiently(
    folder: Path, meta: Mapping[str, str], head: int, patience: float
) -> tuple[SqliteStore, Err | None]:
    """Waits for whoever only fetches a copy to read: by the database the log is ours."""
    give_up = asyncio.get_running_loop().time() + patience
    while True:
        try:
            return await hand_over(partial(_open_file, folder, meta, head), _close)
        except StoreError as failure:
            late = asyncio.get_running_loop().time() > give_up
            if late or failure.err.kind is not ErrorKind.WRITER_CONFLICT:
                raise
        await asyncio.sleep(_PAUSE)


async def fetch_mirror(
    database: Database, folder: Path, meta: Mapping[str, str], head: int, hash: bytes
) -> Path:
    """Returns a copy to read, with all that is committed; one that somebody else has open is soon as new."""
    give_up = asyncio.get_running_loop().time() + _GLANCE
    while True:
        known = find_file(folder, meta["id"])
        if known is not None and await run_blocking(_is_new, known, meta, head, hash):
            return known
        try:
            mirror, _ = await open_mirror(database, folder, meta, head, hash, patience=0)
        except StoreError as failure:
            if failure.err.kind is not ErrorKind.WRITER_CONFLICT:
                raise
            if asyncio.get_running_loop().time() > give_up:
                if known is not None:
                    return known
                raise
            await asyncio.sleep(_PAUSE)
        else:
            await mirror.file.aclose()
            return mirror.file.path


def _is_new(path: Path, meta: Mapping[str, str], head: int, hash: bytes) -> bool:
    try:
        with closing(SqliteReader.open(path)) as reader:
            if reader.head > head:  # its writer went on since
                return reader.hash_at(head) == hash
            return (reader.head, reader.head_hash) == (head, hash) and path.name == name_file(
                path.parent, meta
            ).name
    except StoreError as failure:
        if failure.err.kind is ErrorKind.NOT_FOUND:  # made, and not filled yet; or moved
            return False
        raise


async def pull(database: Database, file: SqliteStore, id: str, head: int, hash: bytes) -> None:
    """Takes what is missing, checked by the chain; `corrupt_log_line` where the database's is broken."""
    await _pull_blobs(database, file, id)
    while file.head < head:
        rows = await read_page(database, id, file.head, min(PAGE, head - file.head))
        try:
            _check(rows, file.head, file.head_hash)
        except BrokenChain as e:
            raise report_damage(e.seq, f"session {id!r} in the database", e.why) from e
        await finish_blocking(file.take_rows, rows, {})  # a caller that is cancelled closes the file
    if file.head == head and file.head_hash != hash:
        raise StoreError(
            ErrorKind.CORRUPT_LOG_LINE,
            f"The events of session {id!r} in the database do not match its recorded hash. "
            "Restore the session from a backup.",
        )


async def _pull_blobs(database: Database, file: SqliteStore, id: str) -> None:
    here = await run_blocking(file.blobs)
    missing = await database.read(
        "SELECT hash FROM blobs WHERE session = $1 AND NOT aside AND encode(hash, 'hex') <> ALL($2::text[])",
        id,
        here,
    )
    for row in missing:
        found = await database.read(
            "SELECT bytes FROM blobs WHERE session = $1 AND hash = $2", id, row["hash"]
        )
        for blob in found:
            await finish_blocking(file.take_rows, (), {row["hash"]: blob["bytes"]})


def _check(rows: Sequence[Row], seq: int, previous: bytes) -> None:
    if not rows:
        raise BrokenChain(seq + 1, "it is missing")
    for found, data, digest in rows:
        seq += 1
        if found != seq:
            raise BrokenChain(seq, f"event {found} was found instead")
        if (previous := link(previous, data)) != digest:
            raise BrokenChain(seq, "its bytes do not match the hash chain")


async def _hash_at(database: Database, id: str, seq: int) -> bytes:
    rows = await database.read("SELECT hash FROM events WHERE session = $1 AND seq = $2", id, seq)
    return rows[0]["hash"] if rows else b""


def name_file(folder: Path, meta: Mapping[str, str]) -> Path:
    """Raises where the log's words are not one name in that folder: another machine may have written them."""
    name = f"{meta['id']}_{meta['name']}.db"
    if "/" in name or "\0" in name:
        raise StoreError(
            ErrorKind.INVALID_ARGS,
            f"The name {meta['name']!r} of session {meta['id']!r} is not a valid file name. "
            "Delete the session by its id.",
        )
    return folder / name


def find_file(folder: Path, id: str) -> Path | None:
    found = (path for path in folder.glob(f"{glob.escape(id)}_*.db") if id_in(path) == id)
    return next(found, None)


def _open_file(folder: Path, meta: Mapping[str, str], head: int) -> tuple[SqliteStore, Err | None]:
    """Makes the copy or opens it; one that has more than the log had its events lost there."""
    make_private(folder)
    known, path = find_file(folder, meta["id"]), name_file(folder, meta)
    if known is not None and known != path:
        move_log(known, path)
    if known is not None:
        try:
            file = SqliteStore.open(path, durability="elsewhere")
        except StoreError as failure:
            if failure.err.kind is not ErrorKind.CORRUPT_LOG_LINE:
                raise
            remove_log(path)
        else:
            if not isinstance(file, SqliteStore):
                file.close()
                raise StoreError(file.damage.kind, file.damage.message)  # type: ignore[union-attr]  # it has one
            if file.head <= head and not (file.damage and "seq" in file.damage.details):
                file.damage = None  # what this disk lost is pulled again
                return file, None
            lost = describe_loss(meta["id"], file.head, head) if file.head > head else None
            _put_aside(file)
            return SqliteStore.create(path, dict(meta), durability="elsewhere"), lost
    return SqliteStore.create(path, dict(meta), durability="elsewhere"), None


def _close(opened: tuple[SqliteStore, Err | None]) -> None:
    opened[0].close()


def _put_aside(file: SqliteStore) -> None:
    """Keeps what only this machine has: nothing is deleted that nobody else may have."""
    path = file.path
    file.close()
    lock = WriterLock(companion(path, "lock"))
    try:
        number = len([*path.parent.glob(f"{glob.escape(path.name)}.lost*")]) + 1
        for suffix in ("-wal", "-shm", ".witness"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        # Both are of a log that is no longer here.
        lock_file.put(lock.fd, lock_file.WITNESS)
        os.pwrite(lock.fd, bytes(lock_file.RECORDS[1]), lock_file.RECORDS[0])
        path.rename(f"{path}.lost{number}")
    finally:
        lock.release()


def describe_loss(id: str, had: int, has: int) -> Err:
    return Err(
        ErrorKind.CORRUPT_LOG_LINE,
        f"This machine has a copy of session {id!r} up to event {had}. The database has the session up to "
        f"event {has}, and its events differ from the copy. A standby that was behind was promoted, or an "
        "old backup was restored. The events in the database are intact, so you can continue the session. "
        "This machine keeps its own events in a separate file.",
        {"sound": has, "lost": max(0, had - has)},
    )
