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


class Witness:
    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def write(self, seq: int, digest: bytes) -> None:
        os.pwrite(self._fd, codec.encode(Witnessed(seq, digest.hex())).ljust(_SIZE), 0)

    def close(self) -> None:
        os.close(self._fd)


def read_witness(path: Path) -> Witnessed | None:
    """Returns None where there is none, or nothing that can be read."""
    try:
        return codec.decode_as(path.read_bytes(), Witnessed)
    except (OSError, codec.DecodeError):
        return None
