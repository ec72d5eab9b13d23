"""What makes commits survive a power cut."""

import logging
import os
import threading
from pathlib import Path

from planck.store.sqlite.database import Disk
from planck.store.sqlite.lock import WriterLock
from planck.store.sqlite.witness import write_witness

log = logging.getLogger(__name__)


class Barrier:
    """Syncs the WAL of one log; the witness says how far that went."""

    def __init__(self, path: Path, disk: Disk, lock: WriterLock) -> None:
        self._path = path
        self._disk = disk
        self._lock = lock
        self._busy = threading.Lock()
        self._stopped = False
        self._wal = -1
        self._directory_synced = False
        self._closed = False

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
            self._write_witness(head, digest)

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
            self._write_witness(head, digest)
            if self._wal >= 0:
                os.close(self._wal)
            self._lock.release()

    def _write_witness(self, head: int, digest: bytes) -> None:
        try:
            write_witness(self._lock.fd, head, digest)
        except OSError as e:
            log.warning("Cannot record the last event of %s in its lock file: %s", self._path.name, e)
