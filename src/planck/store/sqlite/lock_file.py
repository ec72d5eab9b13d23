"""The file beside a log, `<log>.lock`: who has the log, how far it had come, and what its file is called.

One file for three things, and the index has links to it: on a busy disk a new file costs a session as much as
all of its commits. Each thing has its place, written whole, within one sector: there is no half of it.
"""

import os
from pathlib import Path

HOLDER, WITNESS, NAME, RECORDS = (0, 384), (384, 128), (512, 128), (640, 96)
"""Where each begins, and its size. An older file has the holder alone, and its log a `.witness`; one that is
less old has no records, which are a witness with each commit."""


def put(fd: int, place: tuple[int, int], data: bytes = b"") -> None:
    start, size = place
    os.pwrite(fd, data[:size].ljust(size), start)


def label(fd: int, holder: bytes, name: str) -> None:
    """Says who has it, and of a file that is new or older all the rest."""
    size = os.fstat(fd).st_size
    rest = b"" if size >= sum(NAME) else b"".ljust(WITNESS[1]) + os.fsencode(name).ljust(NAME[1])
    os.pwrite(fd, holder.ljust(HOLDER[1]) + rest, 0)
    if size < sum(RECORDS):
        os.pwrite(fd, bytes(RECORDS[1]), RECORDS[0])


def get(path: Path | str, place: tuple[int, int], *, plain: bool = True) -> bytes:
    """Returns what is there, or nothing; `OSError` where there is no file, or a link. `plain`: it is text."""
    start, size = place
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.pread(fd, size, start)
        return found.strip(b" \0") if plain else found
    finally:
        os.close(fd)
