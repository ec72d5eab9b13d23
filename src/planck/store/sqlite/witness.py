"""How far a log had come, kept outside the file: a chain alone can't show that its end was cut off.

And in which boot it was open: a power failure takes what was not synced from both.
"""

import os
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec

from planck.records import codec
from planck.store.sqlite import lock_file
from planck.store.sqlite.database import FileDurability, companion

RECORD = struct.Struct("<Q32sQ")
"""The number of an event, its hash, and the number again: half of one, left by a kill, does not count."""
make_record: Callable[..., bytes] = RECORD.pack
RECORD_PLACES = (lock_file.RECORDS[0], lock_file.RECORDS[0] + RECORD.size)
"""Of even and of odd numbers: if a kill leaves half of one, the other is of an earlier commit."""
BOOT = "boot"
"""In a log's metadata: the boot in which its writer opened it. Empty where a power failure takes nothing from
the log; absent in older ones."""


class Witnessed(msgspec.Struct, frozen=True):
    seq: int
    hash: str


def write_witness(fd: int, seq: int, digest: bytes) -> None:
    """Says how far a log is synced: all that earlier versions know, and less than the records say."""
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
    records = RECORD.iter_unpack(data[: len(data) // RECORD.size * RECORD.size])
    return [Witnessed(seq, digest.hex()) for seq, digest, again in records if seq and seq == again]


@cache
def read_boot() -> str:
    """Returns a name that no other start of any machine has; empty where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def find_boot(durability: FileDurability) -> str:
    """Returns what a writer says of itself in its log; nothing where no power failure can take an event."""
    return read_boot() if durability == "process" else ""


def has_stopped(log: Path, boot: str) -> bool:
    """Whether the machine stopped while somebody had a log open; `boot` is the one that the log names.

    Who closes a log leaves no WAL, or an empty one that a reader made.
    """
    if boot in ("", read_boot()):
        return False
    try:
        return os.stat(f"{log}-wal").st_size > 0
    except OSError:
        return False
