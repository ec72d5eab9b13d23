"""How a log's file is opened and set up, and what its errors mean."""

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from planck.records.outcome import Err, ErrorKind
from planck.store.sqlite.migrations import MIGRATIONS
from planck.store.store import StoreError

Durability = Literal["process", "power"]

FileDurability = Durability | Literal["elsewhere"]
"""`elsewhere`: a copy of what a database keeps; what the file loses is fetched again."""


class Disk:
    """The calls that can fail because of the disk; a test hands in one that fails on purpose."""

    def connect(self, uri: str) -> sqlite3.Connection:
        # Opened and closed in a thread, used on the loop in between: never by two at a time.
        return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5.0, check_same_thread=False)

    def sync(self, fd: int) -> None:
        os.fdatasync(fd)

    def write_new(self, fd: int, data: bytes) -> None:
        """Writes all of a new file, and returns once it is on the disk."""
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fdatasync(fd)


def companion(path: Path, suffix: str) -> Path:
    """Names a file that belongs to the log at `path`, and goes with it."""
    return path.with_name(f"{path.name}.{suffix}")


def check_exists(path: Path) -> None:
    if not path.is_file():
        raise StoreError(
            ErrorKind.NOT_FOUND, f'Session file not found: {str(path)!r}. Run "planck sessions list --all".'
        )


def connect(disk: Disk, path: Path, mode: str) -> sqlite3.Connection:
    connection = disk.connect(f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode={mode}")
    connection.text_factory = bytes  # a damaged file can hold text that is no UTF-8
    return connection


CACHED_PAGES = 5
"""A log is appended to and read from front to back: what it needs again is the way to its last page. Without
a bound SQLite takes room for twenty at once, a third of what an open session weighs."""


def configure(connection: sqlite3.Connection, durability: FileDurability) -> None:
    """Of a log that has a WAL already, as each has from its first moment."""
    connection.execute(f"PRAGMA cache_size = {CACHED_PAGES}")
    connection.execute("PRAGMA shrink_memory")  # of what was taken before it was bounded
    connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
    connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()


def load_meta(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT key, CAST(value AS TEXT) FROM meta").fetchall()
    texts = [row for row in rows if None not in row]  # a damaged line has no key
    return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in texts}


def put_meta(connection: sqlite3.Connection, lines: Mapping[str, str]) -> None:
    """Says all of it in one commit."""
    rows = ", ".join(["(?, ?)"] * len(lines))
    values = [value for line in lines.items() for value in line]
    connection.execute(f"INSERT OR REPLACE INTO meta VALUES {rows}", values)


def describe_newer(path: Path, found: int) -> Err:
    return Err(
        ErrorKind.LOG_WRITE_FAILED,
        f"{path.name!r} was written by a newer version of Planck (schema {found}; this version "
        f"supports schema {len(MIGRATIONS)}) and is open for reading only. "
        "Upgrade Planck to continue the session.",
        {"schema": found, "known": len(MIGRATIONS)},
    )


_UNWRITABLE = ("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_TRUNCATE")


def as_store_error(path: Path, e: BaseException) -> BaseException:
    """Returns what SQLite or the system says as a `StoreError`, and every other exception as it is."""
    # Errors that the module itself raises have no name.
    if isinstance(e, sqlite3.OperationalError) and getattr(e, "sqlite_errorname", "").startswith(_UNWRITABLE):
        return write_failure(path, e)
    if isinstance(e, sqlite3.OperationalError | OSError):
        return StoreError(
            ErrorKind.LOG_READ_FAILED, f"Cannot open {path.name!r}: {e}. Check the disk and the file."
        )
    if isinstance(e, sqlite3.DatabaseError):
        id = path.name.partition("_")[0]
        return StoreError(
            ErrorKind.CORRUPT_LOG_LINE,
            f'{path.name!r} is damaged: {e}. Run "planck sessions export {id}" to save what can be read.',
        )
    return e


def write_failure(path: Path, e: sqlite3.Error) -> StoreError:
    return StoreError(
        ErrorKind.LOG_WRITE_FAILED,
        f"Cannot write to {path.name!r}: {e}. The session is read-only until writing works again. "
        "Check the free disk space and the permissions of the file.",
    )
