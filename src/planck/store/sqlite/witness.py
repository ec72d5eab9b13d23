"""How far a log had come, kept outside the file: a chain alone can't show that its end was cut off."""

from pathlib import Path

import msgspec

from planck.records import codec
from planck.store.sqlite import lock_file
from planck.store.sqlite.database import companion


class Witnessed(msgspec.Struct, frozen=True):
    seq: int
    hash: str


def write_witness(fd: int, seq: int, digest: bytes) -> None:
    """Into the file beside the log, which the writer has locked."""
    repeat_witness(fd, Witnessed(seq, digest.hex()))


def repeat_witness(fd: int, seen: Witnessed) -> None:
    lock_file.put(fd, lock_file.WITNESS, codec.encode(seen))


def read_witness(log: Path) -> Witnessed | None:
    """Returns None where there is none, or nothing that can be read."""
    for suffix, place in (("lock", lock_file.WITNESS), ("witness", (0, 4096))):  # the second: an older log's
        try:
            return codec.decode_as(lock_file.get(companion(log, suffix), place), Witnessed)
        except (OSError, codec.DecodeError):
            pass
    return None
