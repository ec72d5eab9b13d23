"""One writer process per log: `flock` on the file beside it, held until the process ends."""

import fcntl
import os
import socket
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from planck.records import codec
from planck.records.outcome import ErrorKind
from planck.store.names import id_in
from planck.store.sqlite import lock_file
from planck.store.store import StoreError


class Holder(msgspec.Struct, frozen=True):
    pid: int
    host: str


class _Held(Holder, frozen=True):
    since: str = ""


class WriterLock:
    """The kernel frees it when the process dies, whatever way; the file itself stays."""

    def __init__(self, path: Path, *, steal: bool = False) -> None:
        """`steal` takes it from a process that is stopped but alive; the epoch in the log fences that one."""
        try:
            if steal:
                _replace(path)
            self.fd: int = _acquire(path)
        except OSError as e:
            raise StoreError(
                ErrorKind.LOG_WRITE_FAILED, f"Cannot lock {path.stem!r}: {e}. Check the folder and the disk."
            ) from e
        # On a full disk the lock holds all the same; only who holds it can't be told.
        with suppress(OSError):
            held = _Held(os.getpid(), socket.gethostname(), _format())
            lock_file.label(self.fd, codec.encode(held), path.stem)

    def release(self) -> None:
        if self.fd >= 0:
            with suppress(OSError):
                lock_file.put(self.fd, lock_file.HOLDER)
            os.close(self.fd)
            self.fd = -1


def is_locked(path: Path) -> bool:
    """Tells whether somebody has the lock, by trying: only for a log that nobody would open now."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def find_holder(path: Path) -> Holder | None:
    """Returns who has the lock, as far as can be told without touching it: nobody is kept from taking it."""
    try:
        holder = codec.decode_as(lock_file.get(path, lock_file.HOLDER), Holder)
    except (OSError, codec.DecodeError):  # never locked, or released
        return None
    if holder.host == socket.gethostname():
        try:
            os.kill(holder.pid, 0)
        except ProcessLookupError:  # it died with the lock, which died with it
            return None
        except OSError:
            pass
    return holder


def _acquire(path: Path) -> int:
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_current(path, fd):
                return fd
        except BlockingIOError:
            raise _describe_holder(path, fd) from None
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _replace(path: Path) -> None:
    """Makes another file of it, which says the same of the log: a lock on the old one guards nothing."""
    try:
        said = path.read_bytes()
    except FileNotFoundError:
        return
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, said)
        lock_file.put(fd, lock_file.HOLDER)
    finally:
        os.close(fd)
    new.replace(path)


def _is_current(path: Path, fd: int) -> bool:
    # Whoever steals the lock replaces its file, and whoever deletes a log removes it.
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except FileNotFoundError:
        return False


def _describe_holder(path: Path, fd: int) -> StoreError:
    with os.fdopen(fd, "rb") as file:
        text = file.read(lock_file.HOLDER[1]).rstrip()
        since = _format(os.fstat(fd).st_mtime)  # of an older file, which was written once
    copy = f'run "planck sessions fork {id_in(path)}" to continue in a copy'
    try:
        holder = codec.decode_as(text, _Held)
        since = holder.since or since
    except codec.DecodeError:
        return StoreError(
            ErrorKind.WRITER_CONFLICT,
            f"Another process is opening {path.stem!r}. Try again, or {copy}.",
            {"since": since},
        )
    return StoreError(
        ErrorKind.WRITER_CONFLICT,
        f"Process {holder.pid} on {holder.host} has had this session open since {since}. "
        f"Close it there, or {copy}.",
        {"pid": holder.pid, "host": holder.host, "since": since},
    )


def _format(at: float | None = None) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
