"""The file of a new log: laid out in memory once a process, whole before it has a name.

Nothing of it is kept on disk, so there is no template that could be damaged or of another version.
"""

import os
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from planck.store.sqlite.database import Disk, companion
from planck.store.sqlite.migrations import MIGRATIONS, migrate

FIRST_EPOCH = "1"
"""Whoever creates a log has it first."""

_WRITE_FORMAT, _READ_FORMAT, _WAL = 18, 19, 2
"""Offsets in a database's header, and what both say of one with a WAL (sqlite.org/fileformat2.html)."""


@cache
def make_image() -> bytes:
    """Returns the bytes of a log that says nothing of itself yet, and had no writer."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as memory:
        migrate(memory, Path(), MIGRATIONS)
        image = bytearray(memory.serialize())
    image[_WRITE_FORMAT] = image[_READ_FORMAT] = _WAL
    return bytes(image)


def put_file(path: Path, image: bytes, disk: Disk) -> None:
    """Makes a file of these bytes at `path`, which must not exist; killed at any point, it is whole or not.

    It is on the disk before it has its name, which is there after the next sync of the folder.
    """
    try:
        _put_nameless(path, image, disk)
    except FileExistsError:
        raise
    except (OSError, AttributeError):  # not every file system, nor every system, knows files without a name
        _put_by_name(path, image, disk)


def _put_nameless(path: Path, image: bytes, disk: Disk) -> None:
    fd = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        disk.write_new(fd, image)
        # With a folder given, Python asks the kernel to follow the link: it leads to the file itself.
        os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd, follow_symlinks=True)
    finally:
        os.close(fd)


def _put_by_name(path: Path, image: bytes, disk: Disk) -> None:
    partial = companion(path, "part")
    fd = os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        disk.write_new(fd, image)
        os.link(partial, path)
    finally:
        os.close(fd)
        partial.unlink()
