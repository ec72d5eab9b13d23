"""The directory of the session files: private to its user, one set of files per session."""

import errno
import os
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from planck.records.outcome import ErrorKind
from planck.store.sqlite.database import Disk, as_store_error, companion, connect
from planck.store.sqlite.lock import WriterLock
from planck.store.sqlite.witness import read_witness, repeat_witness
from planck.store.store import StoreError


def make_private(directory: Path) -> None:
    """Makes the directory for this user alone; refuses one in which somebody else could plant a log."""
    try:
        found = directory.lstat()
    except FileNotFoundError:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.lstat()
    why = ""
    if not stat.S_ISDIR(found.st_mode):
        why = "is a link"
    elif found.st_uid != os.geteuid():
        why = f"belongs to user {found.st_uid}"
    elif found.st_mode & stat.S_IWOTH:
        why = "is writable by every user"
    if why:
        raise StoreError(
            ErrorKind.LOG_WRITE_FAILED,
            f"The sessions folder {str(directory)!r} {why}. "
            "Set `sessions_dir` to a folder that only you can access (mode 0700).",
        )


class LogFile(NamedTuple):
    path: Path
    written: int
    """When, in nanoseconds: the later of the file and of its WAL."""
    mark: tuple[int, ...]
    """Another one after every write that is not in the same moment; begins with the file's own number."""


def scan_logs(directory: Path) -> list[LogFile]:
    """Returns the logs, newest first by the time of the last write; none of them is opened."""
    logs: dict[str, os.stat_result] = {}
    wals: dict[str, os.stat_result] = {}
    with suppress(FileNotFoundError), os.scandir(directory) as entries:
        for entry in entries:
            home = logs if entry.name.endswith(".db") else wals if entry.name.endswith(".db-wal") else None
            if home is not None:
                with suppress(OSError):  # gone by now, or a link to nowhere
                    home[entry.name] = entry.stat()
    found = [
        _describe(directory / name, log, wals.get(f"{name}-wal"))
        for name, log in logs.items()
        if stat.S_ISREG(log.st_mode)
    ]
    return sorted(found, key=lambda file: (file.written, file.path), reverse=True)


def remove_log(path: Path) -> None:
    """Removes the log and everything beside it.

    The log goes first: without its WAL it would be opened as a shorter one. The lock file goes last, so that
    nobody else writes there meanwhile.
    """
    path.unlink(missing_ok=True)
    for file in sorted(path.parent.glob(f"{path.name}*"), key=lambda p: p.name.endswith(".lock")):
        file.unlink(missing_ok=True)


def move_log(path: Path, new: Path) -> None:
    """Gives a log that nobody has open another name; killed at any point, it is whole under one of them."""
    from glob import escape  # few commands rename a log

    lock = WriterLock(companion(path, "lock"))
    try:
        if os.path.lexists(new):  # a rename would take its place without a word
            raise FileExistsError(errno.EEXIST, f"{new.name!r} already exists")
        _empty_wal(path)
        _testify_again(path, new)
        path.rename(new)
        for beside in path.parent.glob(f"{escape(path.name)}*"):
            rest = beside.name.removeprefix(path.name)
            if rest.endswith(".bak"):
                beside.rename(f"{new}{rest}")
            else:
                beside.unlink(missing_ok=True)
    except OSError as e:
        text = f"Cannot rename {path.name!r}: {e}. Check its folder, then try again."
        raise StoreError(ErrorKind.LOG_WRITE_FAILED, text) from e
    finally:
        lock.release()


def _testify_again(path: Path, new: Path) -> None:
    """The same witness beside the new name, before the log has it."""
    seen = read_witness(path)
    lock = WriterLock(companion(new, "lock"))
    try:
        if seen:
            repeat_witness(lock.fd, seen)
    finally:
        lock.release()


def _empty_wal(path: Path) -> None:
    """Moves all of it into the file itself, which then is the whole log."""
    try:
        with closing(connect(Disk(), path, "rw")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.Error as e:
        raise as_store_error(path, e) from e
    wal = Path(f"{path}-wal")
    if wal.exists() and wal.stat().st_size:
        raise StoreError(
            ErrorKind.WRITER_CONFLICT, f"Another process is reading {path.name!r}. Try again in a moment."
        )


def _describe(path: Path, log: os.stat_result, wal: os.stat_result | None) -> LogFile:
    # A reader leaves an empty -wal behind: that is no write. A log that holds nothing was never written.
    kept = [log, wal] if wal and wal.st_size else [log]
    written = max((found.st_mtime_ns for found in kept if found.st_size), default=0)
    sizes = (part for found in kept for part in (found.st_size, found.st_mtime_ns))
    return LogFile(path, written, (log.st_ino, *sizes))
