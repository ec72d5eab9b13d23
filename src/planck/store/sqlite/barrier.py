"""What makes commits survive a power cut."""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from planck.store.sqlite.database import Disk
from planck.store.sqlite.lock import WriterLock
from planck.store.sqlite.witness import Witness, write_witness

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
        self._witness: Witness | None = None
        self.testify: Callable[[int, bytes], None] = self._testify_first
        """Says how far the log has come; after each commit, on the loop.

        It is not synced. If the process dies, all of it is there; after a power cut it may say too little,
        and more than the WAL holds only where the WAL lost it.
        """

    def sync(self) -> None:
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

    def _testify_first(self, head: int, digest: bytes) -> None:
        """From this commit on what an earlier writer testified is over, also where it had come further."""
        self.testify = _ignore
        try:
            write_witness(self._lock.fd, head, digest)
            self._witness = Witness(self._lock.fd, head, digest)
        except (OSError, ValueError) as e:
            self._warn(e)
        else:
            self.testify = self._witness.note

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
            try:
                write_witness(self._lock.fd, head, digest)
            except OSError as e:
                self._warn(e)
            if self._wal >= 0:
                os.close(self._wal)
            self._lock.release()


def _ignore(head: int, digest: bytes) -> None:
    pass
