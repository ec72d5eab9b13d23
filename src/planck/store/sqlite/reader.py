"""A session's SQLite file as its readers see it, also while another process writes.

An event's bytes are the record; a hash chain over them shows any change.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from operator import index
from pathlib import Path
from typing import Any

from planck.records.events import Event
from planck.records.outcome import Err, ErrorKind
from planck.store.chain import GENESIS, BrokenChain, Row, link, parse_blob_name, verified
from planck.store.sqlite.database import Disk, as_store_error, check_exists, connect, load_meta
from planck.store.sqlite.witness import BOOT, Witnessed, has_stopped, read_witness
from planck.store.store import LOST, Gap, StoreError, find_last, read_gaps, report_damage

PAGE = 512
"""Events read at a time: no statement stays open across an await, nor the whole log in memory."""


class SqliteReader:
    _is_writer = False

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        disk: Disk,
        fresh: Mapping[str, str] | None = None,
        *,
        meta: Mapping[str, str] | None = None,
        stopped: bool | None = None,
    ) -> None:
        """`fresh` is all that is in a log which was made this moment; `meta`, what was read of it just now.
        `stopped`: the machine did, while somebody had it open."""
        self.path = path
        self._db = connection
        self._disk = disk
        self._closed = False
        known = meta if fresh is None else fresh
        self.meta: dict[str, str] = load_meta(connection) if known is None else dict(known)
        self._epoch_number = self.meta.pop("epoch", "")
        self._boot = self.meta.pop(BOOT, "")
        self.damage: Err | None = None
        self.gaps: tuple[Gap, ...] = read_gaps(self.meta) if LOST in self.meta else ()
        self.head: int
        self.head_hash: bytes
        if fresh is not None:
            self.head, self.head_hash = 0, GENESIS
            return
        # Before the tail: a writer that commits and testifies in between must not look like a loss.
        seen = read_witness(path)
        self.head, self.head_hash = self._read_tail()
        if stopped is None:
            stopped = has_stopped(path, self._boot)
        self._notice_lost_tail(seen, stopped=stopped)

    @classmethod
    def open(cls, path: Path, *, disk: Disk | None = None) -> "SqliteReader":
        check_exists(path)
        disk = disk or Disk()
        try:
            try:
                return cls._connect(path, disk, "ro")
            except sqlite3.OperationalError:
                wal = Path(f"{path}-wal")
                if wal.exists() and wal.stat().st_size:
                    raise
            # No room, or no right, for the -shm that readers and a writer share; there is no writer here.
            return cls._connect(path, disk, "ro&immutable=1")
        except sqlite3.Error as e:
            raise as_store_error(path, e) from e

    @classmethod
    def _connect(cls, path: Path, disk: Disk, mode: str) -> "SqliteReader":
        connection = connect(disk, path, mode)
        try:
            return cls(path, connection, disk)
        except BaseException:
            connection.close()
            raise

    def read(self, after: int = 0, *, agent_id: str | None = None) -> Iterator[Event]:
        after = max(0, index(after))
        try:  # not by `_verify`: a generator less is 0.1 us of 2.7 for each event that a resume reads
            for event, _ in verified(self._stored(after), after, self.hash_at(after)):
                if agent_id is None or event.agent_id == agent_id:
                    yield event
        except BrokenChain as e:
            raise self._note_damage(e.seq, e.why) from e

    def raw(self) -> Iterator[bytes]:
        """Yields the bytes that were stored, for a copy that is the same to the last one."""
        for _, data in self._verify(self._stored(0), 0):
            yield data

    def read_back(self, before: int | None = None, limit: int = PAGE) -> list[Event]:
        last = find_last(self.head, before)
        first = max(1, last - limit + 1)
        rows = self._rows(first, last - first + 1)
        return [event for event, _ in self._verify(rows, first - 1)]

    def blob(self, name: str) -> bytes:
        prefix = parse_blob_name(name)
        rows = (
            self._query(
                "SELECT bytes FROM blobs WHERE hash BETWEEN ? AND ?", prefix, prefix.ljust(32, b"\xff")
            )
            if prefix and self._has_blobs
            else []
        )
        if not rows:
            text = f"Blob {name!r} is not in {self.path.name!r}. Check its name."
            raise StoreError(ErrorKind.RESOURCE_MISSING, text)
        data = rows[0][0]
        if type(data) is not bytes or not hashlib.sha256(data).hexdigest().startswith(name):
            text = f"Blob {name!r} in {self.path.name!r} is damaged. Restore the file from a backup."
            raise StoreError(ErrorKind.RESOURCE_MISSING, text)
        return data

    def blobs(self) -> list[str]:
        """Returns the whole SHA-256 of each."""
        if not self._has_blobs:
            return []
        return [bytes(row[0]).hex() for row in self._query("SELECT hash FROM blobs ORDER BY hash")]

    def close(self) -> None:
        self._closed = True
        self._db.close()

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def _has_blobs(self) -> bool:
        """False for a log that is older than they are, and not open for writing."""
        return bool(self._query("PRAGMA user_version")[0][0] >= 2)

    def list_gaps(self) -> tuple[Gap, ...]:
        """Returns where the log lost events, also at its end, where nobody has opened it since."""
        lost = self.damage.details.get("lost", 0) if self.damage else 0
        known = bool(self.gaps) and self.gaps[-1].after == self.head
        return self.gaps if lost == 0 or known else (*self.gaps, Gap(self.head, lost))

    def _notice_lost_tail(self, seen: Witnessed | None, *, stopped: bool) -> None:
        """`stopped`: the machine did, while somebody had the log open: its end and the witness of it may be
        gone together."""
        if self.damage:
            return
        lost = max(0, seen.seq - self.head) if seen else 0
        if not lost and seen and seen.seq and self.hash_at(seen.seq).hex() != seen.hash:
            self._note_damage(seen.seq, "it differs from the event that was written")
        elif lost or stopped:
            self.damage = self._describe_lost(lost or None)
        elif self.gaps and self.gaps[-1].after == self.head:  # nobody wrote since, nor was told
            self.damage = self._describe_lost(self.gaps[-1].events)

    def _describe_lost(self, lost: int | None) -> Err:
        now = f"now ends with event {self.head}" if self.head else "is now empty"
        if lost is None:
            text = (
                f"{self.path.name!r} was open when the machine stopped, and {now}. "
                "Nothing is known of what happened after that. The events up to there are intact, so you can "
                "continue. Check the workspace yourself."
            )
        else:
            tail = "event was" if lost == 1 else f"{lost} events were"
            text = (
                f"{self.path.name!r} ended with event {self.head + lost} and {now}. "
                f"The last {tail} lost in a power failure, or the file was changed. The remaining events are "
                "intact, so you can continue."
            )
        return Err(ErrorKind.CORRUPT_LOG_LINE, text, {"sound": self.head, "lost": lost})

    def _read_tail(self) -> tuple[int, bytes]:
        rows = self._query("SELECT seq, bytes, hash FROM events ORDER BY seq DESC LIMIT 2")
        if not rows:
            return 0, GENESIS
        seq, data, digest = rows[0]
        previous = rows[1][2] if len(rows) > 1 else GENESIS
        if type(previous) is not bytes or type(data) is not bytes or link(previous, data) != digest:
            self._note_damage(seq, "its bytes do not match the hash chain")
        return seq, digest

    def _verify(self, rows: Iterable[Row], after: int) -> Iterator[tuple[Event, bytes]]:
        try:
            yield from verified(rows, after, self.hash_at(after))
        except BrokenChain as e:
            raise self._note_damage(e.seq, e.why) from e

    def _stored(self, after: int) -> Iterator[Row]:
        return chain.from_iterable(self._pages(after))

    def _pages(self, after: int) -> Iterator[list[Row]]:
        while rows := self._rows(after + 1):
            yield rows
            after = rows[-1][0]
            if self._is_writer and after == self.head:
                return  # one look less; others can't know whether there is more

    def _rows(self, first: int, limit: int = PAGE) -> list[Row]:
        rows: list[Row] = []
        try:
            with self._connected() as db:
                rows.extend(
                    db.execute(
                        "SELECT seq, bytes, hash FROM events WHERE seq >= ? ORDER BY seq LIMIT ?",
                        (first, limit),
                    )
                )
        except sqlite3.OperationalError as e:
            raise as_store_error(self.path, e) from e
        except sqlite3.DatabaseError as e:
            if not rows:  # else: what came before the damaged page is served first
                raise self._note_damage(first, str(e)) from e
        return rows

    def _query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            with self._connected() as db:
                return db.execute(sql, values).fetchall()
        except sqlite3.Error as e:
            raise as_store_error(self.path, e) from e

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Whoever watched a session may still read it to the end after it was closed."""
        if not self._closed:
            yield self._db
            return
        db = connect(self._disk, self.path, "ro")
        try:
            yield db
        finally:
            db.close()

    def hash_at(self, seq: int) -> bytes:
        """Returns what the chain came to with that event; empty where there is none."""
        if seq == 0:
            return GENESIS
        rows = self._query("SELECT hash FROM events WHERE seq = ?", seq)
        return rows[0][0] if rows and type(rows[0][0]) is bytes else b""

    def _note_damage(self, seq: int, why: str) -> StoreError:
        """Remembers the damage and returns the error that reports it."""
        error = report_damage(seq, repr(self.path.name), why)
        self.damage = error.err
        return error
