"""A session as one SQLite file, committed on the event loop.

Every commit is in the WAL before `append` returns, which survives the death of the process; `barrier`
makes it survive a power cut. An event's bytes are the record; a hash chain over them shows any change.
"""

import asyncio
import hashlib
import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planck.records import codec
from planck.records.events import Draft, Event
from planck.records.outcome import Err, ErrorKind
from planck.store.barrier import Barrier
from planck.store.chain import GENESIS, BrokenChain, Row, decoded, link, verified
from planck.store.database import (
    Disk,
    Durability,
    as_store_error,
    beside,
    configure,
    connect,
    from_the_future,
    load_meta,
    must_exist,
    unwritable,
)
from planck.store.directory import private_directory
from planck.store.epoch import Office, take_office
from planck.store.lock import WriterLock
from planck.store.migrations import MIGRATIONS, migrate, version
from planck.store.store import Committed, Store, StoreError
from planck.store.witness import Witnessed, last_testimony

log = logging.getLogger(__name__)

_PAGE = 512
"""Events read at a time: no statement stays open across an await, nor the whole log in memory."""

_CHECKPOINT_BYTES = 4 << 20


class SqliteStore:
    """The writer of one log, or with `read_only` one of its readers."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, disk: Disk, lock: WriterLock | None
    ) -> None:
        self._path = path
        self._db = connection
        self._disk = disk
        self._lock = lock
        self._closed = False
        self._queue: list[_Batch] = []
        self._committed: Committed = _nobody
        self._meta = load_meta(connection)
        self._office = Office(connection, path.name, self._meta.pop("epoch", ""))
        self._damage: Err | None = None
        # Before the tail: a writer that commits and testifies in between must not look like a loss.
        seen = last_testimony(beside(path, "witness"))
        self._head, self._hash = self._tail()
        self._barrier = Barrier(path, disk) if lock else None
        self._wal_bytes = 0
        self._doubtful = False
        self._notice_lost_tail(seen)

    @classmethod
    def create(
        cls,
        path: Path,
        meta: Mapping[str, str],
        *,
        durability: Durability = "process",
        disk: Disk | None = None,
    ) -> "SqliteStore":
        """A new log at `path`, which must not exist; its directory is made, for this user only."""
        private_directory(path.parent)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        except OSError as e:
            raise StoreError(ErrorKind.LOG_WRITE_FAILED, f"can't create the log {str(path)!r}: {e}") from e
        return cls._writer(path, durability, disk or Disk(), meta)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        durability: Durability = "process",
        disk: Disk | None = None,
        takeover: bool = False,
    ) -> "SqliteStore":
        """The one writer; `writer_conflict` names the process that already is.

        `takeover` is for a holder that is alive but stopped: its next commit is refused. A log of a newer
        version opens for reading only, and `damage` says so.
        """
        must_exist(path)
        private_directory(path.parent)
        return cls._writer(path, durability, disk or Disk(), takeover=takeover)

    @classmethod
    def read_only(cls, path: Path, *, disk: Disk | None = None) -> "SqliteStore":
        """A reader, also while another process writes."""
        must_exist(path)
        disk = disk or Disk()
        try:
            return cls._reader(path, disk, "ro")
        except sqlite3.OperationalError as e:
            wal = Path(f"{path}-wal")
            if wal.exists() and wal.stat().st_size:
                raise as_store_error(path, e) from e
        except sqlite3.Error as e:
            raise as_store_error(path, e) from e
        # No room, or no right, for the -shm that readers and a writer share; there is no writer here.
        try:
            return cls._reader(path, disk, "ro&immutable=1")
        except sqlite3.Error as e:
            raise as_store_error(path, e) from e

    @classmethod
    def _reader(cls, path: Path, disk: Disk, mode: str) -> "SqliteStore":
        connection = connect(disk, path, mode)
        try:
            return cls(path, connection, disk, None)
        except BaseException:
            connection.close()
            raise

    @classmethod
    def _writer(
        cls,
        path: Path,
        durability: Durability,
        disk: Disk,
        meta: Mapping[str, str] | None = None,
        *,
        takeover: bool = False,
    ) -> "SqliteStore":
        lock = WriterLock(beside(path, "lock"), steal=takeover)
        connection = None
        try:
            connection = connect(disk, path, "rw")
            if (newer := version(connection)) > len(MIGRATIONS):
                store = cls(path, connection, disk, None)
                lock.release()
                store._damage = from_the_future(path, newer)
                return store
            configure(connection, durability)
            migrate(connection, path)
            take_office(connection, meta or {})
            return cls(path, connection, disk, lock)
        except BaseException as e:
            if connection:
                connection.close()
            lock.release()
            raise as_store_error(path, e) from e

    async def append(self, drafts: Sequence[Draft]) -> list[Event]:
        if self._lock is None or self._damage_inside():
            raise self._refusal()
        batch = _Batch(drafts)
        self._queue.append(batch)
        # One commit for all that is handed in during this iteration of the loop, by the first who did:
        # a callback and a future for it would be one more iteration, 3 us of 34.
        first = len(self._queue) == 1
        try:
            if first:
                await asyncio.sleep(0)
            else:
                batch.committed = asyncio.get_running_loop().create_future()
                await batch.committed
        except BaseException:  # a cancelled caller must know whether its facts are in the log
            self._flush()
            if batch.failure:
                raise batch.failure from None
            raise
        if first:
            self._flush()
        if batch.failure:
            raise batch.failure
        return batch.events

    async def barrier(self) -> None:
        if self._barrier is None:
            return
        try:
            if self._doubtful:
                self._move_wal()
            await asyncio.to_thread(self._barrier.sync, self._head, self._hash)
        except (OSError, sqlite3.Error) as e:
            # After a failed sync the kernel may call the lost pages clean, and a second sync would "succeed":
            # copying the WAL into the file writes them again.
            self._doubtful = True
            raise StoreError(
                ErrorKind.LOG_WRITE_FAILED, f"the disk did not confirm {self._path.name!r}: {e}; check it"
            ) from e

    def read(self, after: int = 0, *, agent_id: str | None = None) -> Iterator[Event]:
        try:
            for event, _ in verified(self._pages(after), after, self._hash_at(after)):
                if agent_id is None or event.agent_id == agent_id:
                    yield event
        except BrokenChain as e:
            raise self._found_damage(e.seq, e.why) from e

    def raw(self, after: int = 0) -> Iterator[bytes]:
        """The bytes that were stored, for a copy that is the same to the last one."""
        try:
            for _, data in verified(self._pages(after), after, self._hash_at(after)):
                yield data
        except BrokenChain as e:
            raise self._found_damage(e.seq, e.why) from e

    def adopt(self, events: Iterable[bytes]) -> None:
        """Take events as another log numbered them; those up to the first that does not follow are kept."""
        if self._lock is None or self._damage_inside():
            raise self._refusal()
        source = iter(events)
        while batch := list(islice(source, _PAGE)):
            seq, previous, rows = self._head, self._hash, list[Row]()
            for data in batch:
                seq += 1
                try:
                    decoded(seq, data)
                except BrokenChain as e:
                    raise StoreError(ErrorKind.CORRUPT_LOG_LINE, f"event {seq}: {e.why}", {"seq": seq}) from e
                previous = link(previous, data)
                rows.append((seq, data, previous))
            try:
                self._office.add_events(rows)
            except sqlite3.Error as e:
                raise unwritable(self._path, e) from e
            self._head, self._hash = seq, previous

    def read_back(self, before: int | None = None, limit: int = _PAGE) -> list[Event]:
        last = self._head if before is None else before - 1
        first = max(1, last - limit + 1)
        rows = self._rows(first, last - first + 1)
        try:
            return [event for event, _ in verified(rows, first - 1, self._hash_at(first - 1))]
        except BrokenChain as e:
            raise self._found_damage(e.seq, e.why) from e

    def watch(self, committed: Committed) -> None:
        self._committed = committed

    async def keep(self, blob: bytes) -> str:
        if self._lock is None or self._damage_inside():
            raise self._refusal()
        digest = hashlib.sha256(blob).digest()
        try:
            self._office.add("INSERT OR IGNORE INTO blobs VALUES (?, ?)", [(digest, blob)])
        except sqlite3.Error as e:
            raise unwritable(self._path, e) from e
        return digest.hex()

    def blob(self, name: str) -> bytes:
        row = self._query("SELECT bytes FROM blobs WHERE hash = ?", _digest_of(name))
        if not row:
            raise StoreError(ErrorKind.RESOURCE_MISSING, f"blob {name!r} is not in {self._path.name!r}")
        data = row[0][0]
        if type(data) is not bytes or hashlib.sha256(data).hexdigest() != name:
            raise StoreError(ErrorKind.RESOURCE_MISSING, f"blob {name!r} of {self._path.name!r} is damaged")
        return data

    def blobs(self) -> list[str]:
        if self._query("PRAGMA user_version")[0][0] < 2:
            return []
        return [bytes(row[0]).hex() for row in self._query("SELECT hash FROM blobs ORDER BY hash")]

    @property
    def path(self) -> Path:
        return self._path

    @property
    def head(self) -> int:
        return self._head

    @property
    def head_hash(self) -> bytes:
        return self._hash

    @property
    def meta(self) -> dict[str, str]:
        return dict(self._meta)

    @property
    def damage(self) -> Err | None:
        return self._damage

    def checkpoint(self) -> None:
        """Move a large WAL into the file; on this connection only, because SQLite 3.40 needs it so."""
        if self._lock is None or self._wal_bytes < _CHECKPOINT_BYTES:
            return
        try:
            self._move_wal()
        except sqlite3.Error as e:
            log.warning("checkpoint of %s failed: %s", self._path.name, e)

    def close(self) -> None:
        """Commit what is queued, then let go of the file."""
        self._flush()
        self._closed = True
        if self._barrier:
            self._barrier.stop()
        self._db.close()
        if self._barrier:
            self._barrier.close(self._head, self._hash)
            self._barrier = None
        if self._lock:
            self._lock.release()
            self._lock = None

    def _flush(self) -> None:
        queue, self._queue = self._queue, []
        if not queue:
            return
        failure: StoreError | None = None
        try:
            self._commit(queue)
        except sqlite3.Error as e:
            failure = unwritable(self._path, e)
        except StoreError as e:
            failure = e
        for batch in queue:
            batch.failure = failure
            if not failure:
                self._committed(batch.events)
            if batch.committed and not batch.committed.done():
                batch.committed.set_result(None)

    def _commit(self, queue: Sequence["_Batch"]) -> None:
        seq, previous, size = self._head, self._hash, 0
        rows: list[Row] = []
        for batch in queue:
            for draft in batch.drafts:
                seq += 1
                event = Event(seq, draft.ts, draft.agent_id, draft.turn, draft.type, draft.data)
                data = codec.encode(event)
                previous = link(previous, data)
                rows.append((seq, data, previous))
                batch.events.append(event)
                size += len(data)
        self._office.add_events(rows)
        self._head, self._hash = seq, previous
        # A commit rewrites two pages at least: the tail of the table, and the one before it now and then.
        self._wal_bytes += 2 * 4096 + size

    def _move_wal(self) -> None:
        # PASSIVE never waits for a reader, and SQLite syncs the WAL before and the file after.
        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._wal_bytes = 0
        self._doubtful = False

    def _notice_lost_tail(self, seen: Witnessed | None) -> None:
        if seen is None or self._damage:
            return
        if seen.seq > self._head:
            lost = seen.seq - self._head
            self._damage = Err(
                ErrorKind.CORRUPT_LOG_LINE,
                f"{self._path.name!r} had {seen.seq} events and has {self._head} now: the last {lost} are "
                "lost, by a power cut or because the file was changed. What is there is sound",
                {"sound": self._head, "lost": lost},
            )
        elif seen.seq and self._hash_at(seen.seq).hex() != seen.hash:
            self._found_damage(seen.seq, "it is not the event that was written")

    def _tail(self) -> tuple[int, bytes]:
        rows = self._query("SELECT seq, bytes, hash FROM events ORDER BY seq DESC LIMIT 2")
        if not rows:
            return 0, GENESIS
        seq, data, digest = rows[0]
        previous = rows[1][2] if len(rows) > 1 else GENESIS
        if type(previous) is not bytes or type(data) is not bytes or link(previous, data) != digest:
            self._found_damage(seq, "its bytes do not match the hash chain")
        return seq, digest

    def _pages(self, after: int) -> Iterator[Row]:
        while rows := self._rows(after + 1):
            yield from rows
            after = rows[-1][0]

    def _rows(self, first: int, limit: int = _PAGE) -> list[Row]:
        rows: list[Row] = []
        try:
            with self._reading() as db:
                rows.extend(
                    db.execute(
                        "SELECT seq, bytes, hash FROM events WHERE seq >= ? ORDER BY seq LIMIT ?",
                        (first, limit),
                    )
                )
        except sqlite3.OperationalError as e:
            raise as_store_error(self._path, e) from e
        except sqlite3.DatabaseError as e:
            if not rows:  # else: what came before the damaged page is served first
                raise self._found_damage(first, str(e)) from e
        return rows

    def _query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            with self._reading() as db:
                return db.execute(sql, values).fetchall()
        except sqlite3.Error as e:
            raise as_store_error(self._path, e) from e

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Whoever watched a session may still read it to the end after it was closed."""
        if not self._closed:
            yield self._db
            return
        db = connect(self._disk, self._path, "ro")
        try:
            yield db
        finally:
            db.close()

    def _hash_at(self, seq: int) -> bytes:
        if seq == 0:
            return GENESIS
        rows = self._query("SELECT hash FROM events WHERE seq = ?", seq)
        return rows[0][0] if rows and type(rows[0][0]) is bytes else b""

    def _found_damage(self, seq: int, why: str) -> StoreError:
        error = StoreError(
            ErrorKind.CORRUPT_LOG_LINE,
            f"event {seq} of {self._path.name!r} is damaged: {why}; the {seq - 1} events before "
            f"it are sound: fork the session at {seq - 1} to go on",
            {"seq": seq, "sound": seq - 1},
        )
        self._damage = error.err
        return error

    def _damage_inside(self) -> bool:
        return self._damage is not None and "seq" in self._damage.details

    def _refusal(self) -> StoreError:
        if self._damage:
            return StoreError(self._damage.kind, self._damage.message, self._damage.details)
        return StoreError(ErrorKind.LOG_WRITE_FAILED, f"{self._path.name!r} is not open for writing")


class _Batch:
    """What one caller handed in, and what became of it."""

    __slots__ = ("committed", "drafts", "events", "failure")

    def __init__(self, drafts: Sequence[Draft]) -> None:
        self.drafts = drafts
        self.events: list[Event] = []
        self.failure: StoreError | None = None
        self.committed: asyncio.Future[None] | None = None


def _digest_of(name: str) -> bytes:
    try:
        return bytes.fromhex(name)
    except ValueError:
        return b""


def _nobody(events: Sequence[Event]) -> None:
    pass


if TYPE_CHECKING:
    _: type[Store] = SqliteStore
