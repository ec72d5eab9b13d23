"""How far a log had come, kept outside the file: a chain alone can't show that its end was cut off."""

import mmap
import os
import struct
from pathlib import Path

import msgspec

from planck.records import codec
from planck.store.sqlite import lock_file
from planck.store.sqlite.database import companion

_RECORD = struct.Struct("<Q32sQ")
"""The number of an event, its hash, and the number again: half of one, left by a kill, does not count."""


class Witnessed(msgspec.Struct, frozen=True):
    seq: int
    hash: str


class Witness:
    """Says how far a log has come, in the file beside it that the writer has locked.

    It is written with each commit, so through a mapping: a system call would be a tenth of the commit. The
    kernel keeps it if the process dies. Two records take turns: one of them is always whole.
    """

    def __init__(self, fd: int, seq: int, digest: bytes) -> None:
        start, size = lock_file.RECORDS
        if os.fstat(fd).st_size < start + size:  # a write to a mapping beyond the end kills the process
            raise OSError("it could not be written when it was locked")
        self._file = mmap.mmap(fd, start + size)
        self._file[start : start + size] = bytes(size)
        self.note(seq, digest)

    def note(self, seq: int, digest: bytes) -> None:
        _RECORD.pack_into(self._file, lock_file.RECORDS[0] + (seq & 1) * _RECORD.size, seq, digest, seq)

    def close(self) -> None:
        self._file.close()


def write_witness(fd: int, seq: int, digest: bytes) -> None:
    """For earlier versions too, which know no records."""
    repeat_witness(fd, Witnessed(seq, digest.hex()))


def repeat_witness(fd: int, seen: Witnessed) -> None:
    lock_file.put(fd, lock_file.WITNESS, codec.encode(seen))


def read_witness(log: Path) -> Witnessed | None:
    """Returns the newest; None where there is none, or nothing that can be read."""
    seen = _read_records(log)
    for suffix, place in (("lock", lock_file.WITNESS), ("witness", (0, 4096))):  # the second: an older log's
        try:
            seen.append(codec.decode_as(lock_file.get(companion(log, suffix), place), Witnessed))
            break
        except (OSError, codec.DecodeError):
            pass
    return max(seen, key=lambda one: one.seq, default=None)


def _read_records(log: Path) -> list[Witnessed]:
    try:
        data = lock_file.get(companion(log, "lock"), lock_file.RECORDS, plain=False)
    except OSError:
        return []
    records = _RECORD.iter_unpack(data[: len(data) // _RECORD.size * _RECORD.size])
    return [Witnessed(seq, digest.hex()) for seq, digest, again in records if seq and seq == again]
