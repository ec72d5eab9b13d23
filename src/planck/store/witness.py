"""How far a log had come, kept outside the file: a chain alone can't show that its end was cut off."""

import os
from pathlib import Path

import msgspec

from planck.records import codec

_SIZE = 128
"""Always written whole, at one place within one sector: there is no half of it."""


class Witnessed(msgspec.Struct, frozen=True):
    seq: int
    hash: str


def write_witness(fd: int, seq: int, digest: bytes) -> None:
    os.pwrite(fd, codec.encode(Witnessed(seq, digest.hex())).ljust(_SIZE), 0)


def read_witness(path: Path) -> Witnessed | None:
    """Returns None where there is none, or nothing that can be read."""
    try:
        return codec.decode_as(path.read_bytes(), Witnessed)
    except (OSError, codec.DecodeError):
        return None
