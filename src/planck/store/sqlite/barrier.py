"""What makes commits survive a power cut."""

import logging
import mmap
import os
import threading
from collections.abc import Callable
from pathlib import Path

from planck.store.sqlite import lock_file
from planck.store.sqlite.database import Disk
from planck.store.sqlite.lock import WriterLock
from planck.store.sqlite.witness import RECORD, write_witness

log = logging.getLogger(__name__)


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
        self._witness: _Witness | None = None
        self.testify: Callable[[int, bytes], None] = self._testify_first
        """Says how far the log has come; after each commit, on the loop.

        It is not synced. If the process dies, all of it is there; after a power cut it may say too little,
        and more than the WAL holds only where the WAL lost it.
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

    def _testify_first(self, head: int, digest: bytes) -> None:
        """From this commit on what an earlier writer testified is over, also where it had come further."""
        self.testify = _ignore
        try:
            self._witness = _Witness(self._lock.fd, head, digest)
        except (OSError, ValueError) as e:
            self._warn(e)
        else:
            self.testify = self._witness.note

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
            if self._witness:
                self._witness.close()
            self.confirm(head, digest)
            if self._wal >= 0:
                os.close(self._wal)
            self._lock.release()


class _Witness:
    """Says how far a log has come, in the file beside it that the writer has locked.

    It is written with each commit, so through a mapping: a system call would be a tenth of the commit. The
    kernel keeps it if the process dies. Even and odd numbers have a record each: if a kill leaves half of
    one, the other is of an earlier commit, and nothing is said that was not so.
    """

    def __init__(self, fd: int, seq: int, digest: bytes) -> None:
        start, size = lock_file.RECORDS
        if os.fstat(fd).st_size < start + size:  # a write to a mapping beyond the end kills the process
            raise OSError("it could not be written when it was locked")
        self._file = mmap.mmap(fd, start + size)
        self._file[start : start + size] = bytes(size)
        self._places = (start, start + RECORD.size)
        self._pack = RECORD.pack_into
        self.note(seq, digest)

    def note(self, seq: int, digest: bytes) -> None:
        self._pack(self._file, self._places[seq & 1], seq, digest, seq)

    def close(self) -> None:
        self._file.close()


def _ignore(head: int, digest: bytes) -> None:
    pass
