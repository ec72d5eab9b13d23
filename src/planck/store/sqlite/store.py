"""A session as one SQLite file, committed on the event loop by its one writer.

Every commit is in the WAL before `append` returns, which survives the death of the process; `barrier`
makes it survive a power cut.
"""

import logging
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import coroutine
from typing import TYPE_CHECKING

from planck.records import codec
from planck.records.events import Draft, Event
from planck.records.outcome import ErrorKind
from planck.store.chain import BrokenChain, Row, decoded, find_digest, link, name_blob, parse_blob_name
from planck.store.sqlite.barrier import Barrier
from planck.store.sqlite.database import (
    Disk,
    FileDurability,
    as_store_error,
    check_exists,
    companion,
    configure,
    connect,
    describe_newer,
    load_meta,
    put_meta,
    write_failure,
)
from planck.store.sqlite.directory import make_private
from planck.store.sqlite.epoch import Bound, Epoch, begin_epoch
from planck.store.sqlite.lock import WriterLock
from planck.store.sqlite.migrations import MIGRATIONS, migrate, read_version
from planck.store.sqlite.reader import SqliteReader
from planck.store.sqlite.template import FIRST_EPOCH, make_image, put_file
from planck.store.sqlite.witness import BOOT, RECORD_PLACES, find_boot, has_stopped, make_record
from planck.store.store import LOST, CommitListener, Store, StoreError
from planck.store.threads import finish_blocking, run_blocking

log: logging.Logger = logging.getLogger(__name__)

_CHECKPOINT_BYTES = 4 << 20
_EMPTY_HASH = sha256()
"""A copy of it takes 0.3 us of 1 less than a new one, and a log has one for each event: see `link`."""


class SqliteStore(SqliteReader):
    """The one writer of a log: it holds the lock until it is closed."""

    moves = False
    _is_writer = True

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        disk: Disk,
        lock: WriterLock,
        fresh: Mapping[str, str] | None = None,
        *,
        meta: Mapping[str, str] | None = None,
        boot: str = "",
        stopped: bool = False,
    ) -> None:
        super().__init__(path, connection, disk, fresh, meta=meta, stopped=stopped)
        self._wanted_boot = boot
        self._queue: list[_Batch] = []
        self._held: dict[bytes, bytes] = {}
        """Blobs by their digests that go into the next commit."""
        self._kept: set[bytes] = set()
        """Digests of those that this writer committed."""
        self._listener: CommitListener | None = None
        self._epoch = Epoch(connection, path.name, self._epoch_number)
        self._barrier = Barrier(path, disk, lock)
        self._wal_bytes = 0
        self._doubtful = False

    @classmethod
    def create(
        cls,
        path: Path,
        meta: Mapping[str, str],
        *,
        durability: FileDurability = "process",
        disk: Disk | None = None,
        lock: WriterLock | None = None,
    ) -> "SqliteStore":
        """Makes a new log at `path`, which must not exist, and its directory, for this user only.

        `lock`, if the caller has it already, is the store's from here on. It waits for the disk, so it
        belongs into a thread where a loop runs, and so does `open`.
        """
        disk = disk or Disk()
        if lock is None:
            make_private(path.parent)
            # Before the file has its name: nobody else can have the log first.
            lock = WriterLock(companion(path, "lock"))
        try:
            try:
                put_file(path, make_image(), disk)
            except OSError as e:
                raise StoreError(
                    ErrorKind.LOG_WRITE_FAILED,
                    f"Cannot create the log {path.name!r}: {e.strerror or e}. Free some space in "
                    f"{str(path.parent)!r}, or make it writable.",
                ) from e
            return _open_new(path, durability, disk, lock, meta)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        disk: Disk | None = None,
        durability: FileDurability = "process",
        takeover: bool = False,
    ) -> "SqliteStore | NewerLog":
        """Becomes the one writer; `writer_conflict` names the process that already is.

        `takeover` is for a holder that is alive but stopped: its next commit is refused.
        """
        check_exists(path)
        make_private(path.parent)
        return _open_writer(path, durability, disk or Disk(), takeover=takeover)

    async def append(self, drafts: Sequence[Draft], then: CommitListener | None = None) -> list[Event]:
        if self._closed or self.damage:
            self._check_writable()
        batch = _Batch(drafts, then)
        self._queue.append(batch)
        # One commit for all that is handed in until the first who did goes on. The others go on after it, in
        # the order of the loop: a future for each would be 2 us more, and one iteration.
        try:
            await _wait_one_iteration()
        except BaseException:  # a cancelled caller must know whether its facts are in the log
            self._flush()
            if batch.failure:
                raise batch.failure from None
            raise
        if not batch.is_done:
            self._flush()
        if batch.failure:
            raise batch.failure
        return batch.events

    async def barrier(self) -> None:
        if self._closed:
            return
        try:
            if self._doubtful:
                self._move_wal()
            await run_blocking(self._barrier.sync, self.head, self.head_hash)
        except (OSError, sqlite3.Error) as e:
            # After a failed sync the kernel may call the lost pages clean, and a second sync would "succeed":
            # copying the WAL into the file writes them again.
            self._doubtful = True
            raise StoreError(
                ErrorKind.LOG_WRITE_FAILED,
                f"The disk did not confirm the write to {self.path.name!r}: {e}. Check the disk.",
            ) from e

    def adopt(self, events: Iterable[bytes], blobs: Iterable[bytes] = ()) -> None:
        """Takes events as another log numbered them, and blobs, in one commit: all of them, or none.

        Killed before it, a copy is a log that never began, and not half of a session.
        """
        self._check_writable()
        seq, previous = self.head, self.head_hash

        def number() -> Iterator[Row]:
            nonlocal seq, previous
            for data in events:
                seq += 1
                try:
                    decoded(seq, data)
                except BrokenChain as e:
                    why = f"Event {seq} is damaged: {e.why}. Export the session again."
                    raise StoreError(ErrorKind.CORRUPT_LOG_LINE, why, {"seq": seq}) from e
                previous = link(previous, data)
                yield seq, data, previous

        try:
            self._epoch.adopt(number(), ((sha256(blob).digest(), blob) for blob in blobs))
        except sqlite3.Error as e:
            raise write_failure(self.path, e) from e
        self.head, self.head_hash = seq, previous
        self._barrier.testify(seq, previous)

    def take_rows(self, rows: Sequence[Row], blobs: Mapping[bytes, bytes]) -> None:
        """Takes what another log committed as it is, blobs by their digests: the caller checked the chain."""
        self._check_writable()
        try:
            self._epoch.add_events(rows, blobs)
        except sqlite3.Error as e:
            raise write_failure(self.path, e) from e
        if rows:
            self.head, self.head_hash = rows[-1][0], rows[-1][2]
            self._barrier.testify(self.head, self.head_hash)

    def change_meta(self, changes: Mapping[str, str]) -> None:
        """Changes what the log says of itself beside its events, and nothing in them."""
        self._write_meta(changes)
        self.meta.update(changes)

    def remember_loss(self) -> None:
        """Keeps in the log what it lost: the next commit is its witness, and its writer is of this boot."""
        if self._boot == self._wanted_boot and self.list_gaps() == self.gaps:
            return
        self.gaps = self.list_gaps()
        changes = {LOST: codec.encode_str(self.gaps)} if self.gaps else {}
        self._write_meta({**changes, BOOT: self._wanted_boot})
        self.meta.update(changes)
        self._barrier.confirm(self.head, self.head_hash)

    def _write_meta(self, changes: Mapping[str, str]) -> None:
        self._check_writable()
        try:
            self._epoch.change_meta(changes)
        except sqlite3.Error as e:
            raise write_failure(self.path, e) from e

    def keep(self, blob: bytes, *, detached: bool = False) -> str:
        digest = find_digest(blob)
        if digest not in self._kept:
            self._held[digest] = blob
        return name_blob(digest)

    def blob(self, name: str) -> bytes:
        prefix = parse_blob_name(name)
        for digest, blob in self._held.items():
            if prefix and digest.startswith(prefix):
                return blob
        return super().blob(name)

    def watch(self, listener: CommitListener) -> None:
        self._listener = listener

    def checkpoint(self) -> None:
        """Moves a large WAL into the file; on this connection only, because SQLite 3.40 needs it so."""
        if self._closed or self._wal_bytes < _CHECKPOINT_BYTES:
            return
        try:
            self._move_wal()
        except sqlite3.Error as e:
            log.warning("Checkpoint of %s failed: %s", self.path.name, e)

    def close(self) -> None:
        """Commits what is queued, then lets go of the file."""
        try:
            self._end()
        finally:
            self._let_go()

    async def aclose(self) -> None:
        try:
            self._end()
        finally:
            await finish_blocking(self._let_go)

    def _end(self) -> None:
        try:
            self._flush()
        finally:
            self._closed = True
            self._barrier.stop()

    def _let_go(self) -> None:
        """Moves the WAL into the file, which waits for the disk; a second call does nothing."""
        try:
            self._db.close()
        finally:  # whatever the disk says: who can't close a log holds it for nobody
            self._barrier.close(self.head, self.head_hash)

    def _check_writable(self) -> None:
        damage = self.damage
        if damage and (self._closed or "seq" in damage.details):  # a lost tail does not stop a writer
            raise StoreError(damage.kind, damage.message, damage.details)
        if self._closed:
            raise StoreError(
                ErrorKind.LOG_WRITE_FAILED,
                f"{self.path.name!r} is not open for writing. Open the session again to continue.",
            )

    def _flush(self) -> None:
        queue, self._queue = self._queue, []
        if not queue and not self._held:
            return
        failure: StoreError | None = None
        try:
            self._commit(queue)
        except sqlite3.Error as e:
            failure = write_failure(self.path, e)
        except StoreError as e:
            failure = e
        for batch in queue:
            batch.failure = failure
            batch.is_done = True
            if batch.then and not failure:
                batch.then.on_commit(batch.events)
            if self._listener and not failure:
                self._listener.on_commit(batch.events)

    def _commit(self, queue: Sequence["_Batch"]) -> None:
        seq, previous, size = self.head, self.head_hash, 0
        rows: list[Bound] = []
        encode, new_hash = codec.encode, _EMPTY_HASH.copy
        for batch in queue:
            events = batch.events
            for draft in batch.drafts:
                seq += 1
                event = Event(seq, draft.ts, draft.agent_id, draft.turn, draft.type, draft.data)
                data = encode(event)
                chained = new_hash()
                chained.update(previous + data)
                previous = chained.digest()
                rows.append((seq, bytearray(data), bytearray(previous)))
                events.append(event)
                size += len(data)
        self._epoch.add_events(rows, self._held)
        self.head, self.head_hash = seq, previous
        barrier = self._barrier  # as `testify`, without its frame: this is each commit's
        try:
            barrier.put(barrier.fd, make_record(seq, previous, seq), RECORD_PLACES[seq & 1])
        except OSError as e:
            barrier.doubt(e)
        if self._held:
            size += sum(map(len, self._held.values()))
            self._kept.update(self._held)
            self._held.clear()
        # A commit rewrites two pages at least: the tail of the table, and the one before it now and then.
        self._wal_bytes += 2 * 4096 + size

    def _move_wal(self) -> None:
        # PASSIVE never waits for a reader, and SQLite syncs the WAL before and the file after.
        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._wal_bytes = 0
        self._doubtful = False


class NewerLog(SqliteReader):
    """A log that a newer planck wrote: a store that can be read and refuses to be written."""

    moves = False

    def __init__(self, path: Path, connection: sqlite3.Connection, disk: Disk) -> None:
        super().__init__(path, connection, disk)
        self.damage = self._newer = describe_newer(path, read_version(connection))

    async def append(self, drafts: Sequence[Draft], then: CommitListener | None = None) -> list[Event]:
        raise StoreError(self._newer.kind, self._newer.message, self._newer.details)

    def keep(self, blob: bytes, *, detached: bool = False) -> str:
        raise StoreError(self._newer.kind, self._newer.message, self._newer.details)

    async def barrier(self) -> None:
        pass

    def watch(self, listener: CommitListener) -> None:
        pass

    def checkpoint(self) -> None:
        pass

    async def aclose(self) -> None:
        self.close()


@coroutine
def _wait_one_iteration() -> Generator[None, None, None]:
    """As `asyncio.sleep(0)`, without the coroutine around it that looks at the time."""
    yield


class _Batch:
    """What one caller handed in, and what became of it."""

    __slots__ = ("drafts", "events", "failure", "is_done", "then")

    def __init__(self, drafts: Sequence[Draft], then: CommitListener | None) -> None:
        self.drafts = drafts
        self.then = then
        self.events: list[Event] = []
        self.failure: StoreError | None = None
        self.is_done = False


def _open_new(
    path: Path, durability: FileDurability, disk: Disk, lock: WriterLock, meta: Mapping[str, str]
) -> SqliteStore:
    connection = None
    try:
        connection = connect(disk, path, "rw")
        # The first commit makes the WAL and the -shm, and would sync the head of the WAL: here, not on the
        # loop, and without that. It keeps a new head from old frames, of which a new file has none.
        connection.execute("PRAGMA synchronous = OFF")
        boot = find_boot(durability)
        lines = {**meta, "epoch": FIRST_EPOCH, BOOT: boot}
        put_meta(connection, lines)  # before it there is no session
        configure(connection, durability)
        return SqliteStore(path, connection, disk, lock, lines, boot=boot)
    except BaseException as e:
        if connection:
            connection.close()
        path.unlink(missing_ok=True)  # the name is free again: what could not be opened holds nothing
        raise as_store_error(path, e) from e


def _open_writer(
    path: Path, durability: FileDurability, disk: Disk, *, takeover: bool = False
) -> SqliteStore | NewerLog:
    lock = WriterLock(companion(path, "lock"), steal=takeover)
    connection = None
    try:
        connection = connect(disk, path, "rw")
        if read_version(connection) > len(MIGRATIONS):
            newer = NewerLog(path, connection, disk)
            lock.release()
            return newer
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        configure(connection, durability)
        meta = load_meta(connection)
        before, boot = meta.get(BOOT, ""), find_boot(durability)
        stopped = has_stopped(path, before)  # before anything is written
        migrate(connection, path)
        # In one commit, so that no reader sees a WAL of an earlier boot. Of one that stopped `remember_loss`
        # says the boot, together with the loss.
        meta = begin_epoch(connection, meta, {} if stopped or before == boot else {BOOT: boot})
        return SqliteStore(path, connection, disk, lock, meta=meta, boot=boot, stopped=stopped)
    except BaseException as e:
        if connection:
            connection.close()
        lock.release()
        raise as_store_error(path, e) from e


if TYPE_CHECKING:
    _: type[Store] = SqliteStore
    __: type[Store] = NewerLog
