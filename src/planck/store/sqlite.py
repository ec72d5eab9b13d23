"""A session as one SQLite file, committed on the event loop.

Every commit is in the WAL before `append` returns, which survives the death of the process; `barrier`
makes it survive a power cut. An event's bytes are the record; a hash chain over them shows any change.
"""

import asyncio
import hashlib
import logging
import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from planck.records import codec
from planck.records.events import Draft, Event
from planck.records.outcome import Err, ErrorKind
from planck.store.lock import WriterLock
from planck.store.store import Committed, Store, StoreError

log = logging.getLogger(__name__)

Durability = Literal["process", "power"]

GENESIS = bytes(32)
"""The hash before the first event."""

_PAGE = 512
"""Events read at a time: no statement stays open across an await, nor the whole log in memory."""

_CHECKPOINT_BYTES = 4 << 20

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (seq INTEGER PRIMARY KEY, bytes BLOB NOT NULL, hash BLOB NOT NULL);
INSERT INTO meta VALUES ('epoch', '0');
PRAGMA user_version = 1;
"""


class Disk:
    """The calls that can fail because of the disk; a test hands in one that fails on purpose."""

    def connect(self, uri: str) -> sqlite3.Connection:
        return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5.0)

    def sync(self, fd: int) -> None:
        os.fdatasync(fd)


class SqliteStore:
    """The writer of one log, or with `read_only` one of its readers."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, disk: Disk, lock: WriterLock | None
    ) -> None:
        self._path = path
        self._db = connection
        self._disk = disk
        self._lock = lock
        self._queue: list[tuple[Sequence[Draft], asyncio.Future[list[Event]]]] = []
        self._committed: Committed = _nobody
        self._meta = _load_meta(connection)
        self._epoch = self._meta.pop("epoch")
        self._head, self._hash = _tail(connection)
        self._wal = -1
        self._synced_directory = False

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
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_directory(path.parent)
        try:
            os.close(
                os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            )
        except OSError as e:
            raise StoreError(ErrorKind.LOG_WRITE_FAILED, f"can't create the log {str(path)!r}: {e}") from e
        return cls._writer(path, durability, disk or Disk(), meta=meta)

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

        `takeover` is for a holder that is alive but stopped: its next commit is refused.
        """
        _check_directory(path.parent)
        if not path.exists():
            raise StoreError(ErrorKind.NOT_FOUND, f"there is no session file {str(path)!r}")
        return cls._writer(path, durability, disk or Disk(), takeover=takeover)

    @classmethod
    def read_only(cls, path: Path, *, disk: Disk | None = None) -> "SqliteStore":
        """A reader, also while another process writes."""
        if not path.exists():
            raise StoreError(ErrorKind.NOT_FOUND, f"there is no session file {str(path)!r}")
        disk = disk or Disk()
        try:
            connection = disk.connect(f"{path.absolute().as_uri()}?mode=ro")
            return cls(path, connection, disk, None)
        except sqlite3.Error as e:
            raise _unreadable(path, e) from e

    @classmethod
    def _writer(
        cls,
        path: Path,
        durability: Durability,
        disk: Disk,
        *,
        meta: Mapping[str, str] | None = None,
        takeover: bool = False,
    ) -> "SqliteStore":
        lock = WriterLock(path.with_name(f"{path.name}.lock"), steal=takeover)
        connection = None
        try:
            connection = disk.connect(f"{path.absolute().as_uri()}?mode=rw")
            _prepare(connection, durability)
            if meta is not None:
                _create_tables(connection, meta)
            connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'epoch'")
            return cls(path, connection, disk, lock)
        except BaseException as e:
            if connection:
                connection.close()
            lock.release()
            if isinstance(e, sqlite3.Error):
                raise _unreadable(path, e) from e
            raise

    async def append(self, drafts: Sequence[Draft]) -> list[Event]:
        loop = asyncio.get_running_loop()
        if self._lock is None:
            raise StoreError(ErrorKind.LOG_WRITE_FAILED, f"{self._path.name!r} is open for reading only")
        if not self._queue:
            # One commit for everything that is handed in during this iteration of the loop.
            loop.call_soon(self._flush)
        future: asyncio.Future[list[Event]] = loop.create_future()
        self._queue.append((drafts, future))
        return await future

    async def barrier(self) -> None:
        if self._lock is None:
            return
        try:
            await asyncio.to_thread(self._sync)
        except OSError as e:
            raise StoreError(
                ErrorKind.LOG_WRITE_FAILED, f"the disk did not confirm {self._path.name!r}: {e}"
            ) from e

    def read(self, after: int = 0, *, agent_id: str | None = None) -> Iterator[Event]:
        previous = self._hash_at(after)
        while rows := self._rows(after):
            for seq, data, digest in rows:
                previous = hashlib.sha256(previous + data).digest()
                if seq != after + 1 or digest != previous:
                    raise self._corrupt(after + 1, "its bytes do not match the hash chain")
                after = seq
                event = codec.decode_as(data, Event)
                if agent_id is None or event.agent_id == agent_id:
                    yield event

    def watch(self, committed: Committed) -> None:
        self._committed = committed

    @property
    def head(self) -> int:
        return self._head

    @property
    def meta(self) -> dict[str, str]:
        return dict(self._meta)

    @property
    def damage(self) -> Err | None:
        return None

    def checkpoint(self) -> None:
        if self._lock is None or os.stat(f"{self._path}-wal").st_size < _CHECKPOINT_BYTES:
            return
        try:
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error as e:
            log.warning("checkpoint of %s failed: %s", self._path.name, e)

    def close(self) -> None:
        """Commit what is queued, then let go of the file."""
        if self._lock is None:
            self._db.close()
            return
        self._flush()
        self._db.close()
        if self._wal >= 0:
            os.close(self._wal)
            self._wal = -1
        self._lock.release()
        self._lock = None

    def _flush(self) -> None:
        queue, self._queue = self._queue, []
        if not queue:
            return
        try:
            batches = self._commit([drafts for drafts, _ in queue])
        except sqlite3.Error as e:
            self._refuse(queue, _unwritable(self._path, e))
            return
        except StoreError as e:
            self._refuse(queue, e)
            return
        for (_, future), events in zip(queue, batches, strict=True):
            self._committed(events)
            if not future.done():
                future.set_result(events)

    def _commit(self, batches: Sequence[Sequence[Draft]]) -> list[list[Event]]:
        seq, previous = self._head, self._hash
        rows: list[tuple[int, bytes, bytes]] = []
        numbered: list[list[Event]] = []
        for drafts in batches:
            events = []
            for draft in drafts:
                seq += 1
                event = Event(seq, draft.ts, draft.agent_id, draft.turn, draft.type, draft.data)
                data = codec.encode(event)
                previous = hashlib.sha256(previous + data).digest()
                rows.append((seq, data, previous))
                events.append(event)
            numbered.append(events)
        self._write(rows)
        self._head, self._hash = seq, previous
        return numbered

    def _write(self, rows: Sequence[tuple[int, bytes, bytes]]) -> None:
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            (epoch,) = db.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchone()
            if epoch != self._epoch:
                raise StoreError(
                    ErrorKind.WRITER_CONFLICT,
                    f"another process took over {self._path.name!r}; this one may only read it now",
                )
            db.executemany("INSERT INTO events VALUES (?, ?, ?)", rows)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _refuse(
        self, queue: Sequence[tuple[Sequence[Draft], asyncio.Future[list[Event]]]], why: StoreError
    ) -> None:
        for _, future in queue:
            if not future.done():
                future.set_exception(why)

    def _sync(self) -> None:
        # SQLite's locks are on the .db and the -shm: closing another descriptor of those would drop them,
        # one of the -wal does not. It lives as long as our connection, so one descriptor serves for life.
        if self._wal < 0:
            self._wal = os.open(f"{self._path}-wal", os.O_RDONLY | os.O_CLOEXEC)
        self._disk.sync(self._wal)
        if not self._synced_directory:
            directory = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                self._disk.sync(directory)
            finally:
                os.close(directory)
            self._synced_directory = True

    def _rows(self, after: int) -> list[tuple[int, bytes, bytes]]:
        try:
            return self._db.execute(
                "SELECT seq, bytes, hash FROM events WHERE seq > ? ORDER BY seq LIMIT ?", (after, _PAGE)
            ).fetchall()
        except sqlite3.DatabaseError as e:
            if isinstance(e, sqlite3.OperationalError):
                raise _unreadable(self._path, e) from e
            raise self._corrupt(after + 1, str(e)) from e

    def _hash_at(self, seq: int) -> bytes:
        if seq == 0:
            return GENESIS
        row = self._db.execute("SELECT hash FROM events WHERE seq = ?", (seq,)).fetchone()
        return bytes(row[0]) if row else b""

    def _corrupt(self, seq: int, why: str) -> StoreError:
        return StoreError(
            ErrorKind.CORRUPT_LOG_LINE,
            f"event {seq} of {self._path.name!r} is damaged: {why}; the {seq - 1} events before "
            f"it are sound: fork the session at {seq - 1} to go on",
            {"seq": seq, "sound": seq - 1},
        )


def _prepare(connection: sqlite3.Connection, durability: Durability) -> None:
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
    connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()


def _create_tables(connection: sqlite3.Connection, meta: Mapping[str, str]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA.strip().split(";")[:-1]:
        connection.execute(statement)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    connection.execute("COMMIT")


def _load_meta(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT key, value FROM meta").fetchall())


def _tail(connection: sqlite3.Connection) -> tuple[int, bytes]:
    row = connection.execute("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").fetchone()
    return (row[0], bytes(row[1])) if row else (0, GENESIS)


def _check_directory(directory: Path) -> None:
    try:
        found = directory.lstat()
    except FileNotFoundError:
        return
    why = ""
    if not stat.S_ISDIR(found.st_mode):
        why = "is a link or no directory"
    elif found.st_uid != os.geteuid():
        why = f"belongs to user {found.st_uid}"
    elif found.st_mode & stat.S_IWOTH:
        why = "can be written by everybody"
    if why:
        raise StoreError(
            ErrorKind.LOG_WRITE_FAILED,
            f"the sessions directory {str(directory)!r} {why}; set `sessions_dir` to your own, mode 0700",
        )


def _unreadable(path: Path, e: sqlite3.Error) -> StoreError:
    return StoreError(
        ErrorKind.LOG_READ_FAILED, f"can't read {path.name!r}: {e}; check the disk and the file"
    )


def _unwritable(path: Path, e: sqlite3.Error) -> StoreError:
    return StoreError(
        ErrorKind.LOG_WRITE_FAILED,
        f"can't append to {path.name!r}: {e}; the session is read-only until it can: free some space",
    )


def _nobody(events: Sequence[Event]) -> None:
    pass


if TYPE_CHECKING:
    _: type[Store] = SqliteStore
