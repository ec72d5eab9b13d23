"""What makes commits survive a power cut."""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from planck.store.sqlite import lock_file
from planck.store.sqlite.database import Disk
from planck.store.sqlite.lock import WriterLock
from planck.store.sqlite.witness import RECORD_PLACES, make_record, write_witness

log: logging.Logger = logging.getLogger(__name__)


class Barrier:
    """Syncs the WAL of one log, and keeps the witness of how far the log has come."""

    def __init__(self, path: Path, disk: Disk, lock: WriterLock) -> None:
        self._path = path
        self._disk = disk
        self._lock = lock
        self._busy = threading.Lock()
        self._stopped = False
        self._wal = -1
        self._directory_synced = False
        self._closed = False
        self.fd: int = lock.fd
        self.put: Callable[[int, bytes, int], int] = self._put_first
        """Writes a record of how far the log has come, at its place in the lock file: after each commit.

        It is `os.pwrite` itself, so that a commit calls nothing else for it; the caller reports its failure
        to `doubt`. Not a mapping: one ends the process where the file was cut, or a disk that copies on
        write is full. It is not synced: if the process dies, all of it is there; after a power cut it may
        say too little, and more than the WAL holds only where the WAL lost it.
        """

    def sync(self, head: int, digest: bytes) -> None:
        """Returns once the WAL is on the disk; blocks, so it belongs into a thread."""
        with self._busy:
            if self._stopped:
                return
            # SQLite's locks are on the .db and the -shm: closing another descriptor of those would drop them,
            # one of the -wal does not. It lives as long as our connection, so one descriptor serves for life.
            if self._wal < 0:
                self._wal = os.open(f"{self._path}-wal", os.O_RDONLY | os.O_CLOEXEC)
            self._disk.sync(self._wal)
            if not self._directory_synced:
                directory = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    self._disk.sync(directory)
                finally:
                    os.close(directory)
                self._directory_synced = True
            self.confirm(head, digest)

    def testify(self, head: int, digest: bytes) -> None:
        """Says how far the log has come, for those who do not commit often."""
        try:
            self.put(self.fd, make_record(head, digest, head), RECORD_PLACES[head & 1])
        except OSError as e:
            self.doubt(e)

    def _put_first(self, fd: int, record: bytes, place: int) -> int:
        """From this commit on what an earlier writer testified is over, also where it had come further."""
        start, size = lock_file.RECORDS
        if os.fstat(fd).st_size < start + size:
            raise OSError("it could not be written when it was locked")
        os.pwrite(fd, bytes(size), start)
        self.put = os.pwrite
        return os.pwrite(fd, record, place)

    def doubt(self, e: OSError) -> None:
        """No more is said: what is there is of an earlier commit, and still so."""
        self.put = _ignore
        self._warn(e)

    def confirm(self, head: int, digest: bytes) -> None:
        """Says how far the log is synced, or that it has come no further."""
        try:
            write_witness(self._lock.fd, head, digest)
        except OSError as e:
            self._warn(e)

    def _warn(self, e: Exception) -> None:
        log.warning("Cannot record the last event of %s in its lock file: %s", self._path.name, e)

    def stop(self) -> None:
        """From here on `sync` does nothing: the connection, and with it the WAL, is about to go."""
        self._stopped = True

    def close(self, head: int, digest: bytes) -> None:
        """Lets go of the WAL and of the lock; a second call does nothing."""
        # A sync whose caller was cancelled may still be at work: its descriptors stay until it is done.
        with self._busy:
            if self._closed:
                return
            self._closed = True
            try:
                self.confirm(head, digest)
                if self._wal >= 0:
                    os.close(self._wal)
            finally:
                self._lock.release()


def _ignore(fd: int, record: bytes, place: int) -> int:
    return 0
