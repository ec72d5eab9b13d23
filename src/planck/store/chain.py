"""The hash chain over an event log: `h(n) = sha256(h(n-1) + bytes(n))`, with the seq inside the bytes.

Blobs, which events refer to, are named by their own hash.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256

from planck.records.events import Event, decode_event

GENESIS = bytes(32)
"""The hash before the first event."""

Row = tuple[int, bytes, bytes]
"""seq, the event's bytes, the hash up to and with it."""


class BrokenChain(Exception):
    """Event `seq` is not what was written, or not there."""

    def __init__(self, seq: int, why: str) -> None:
        super().__init__(why)
        self.seq = seq
        self.why = why


def link(previous: bytes, data: bytes) -> bytes:
    return sha256(previous + data).digest()


def verified(rows: Iterable[Row], seq: int, previous: bytes) -> Iterator[tuple[Event, bytes]]:
    """Each event with its bytes, up to the first that is not what was written."""
    for found, data, digest in rows:
        seq += 1
        if found != seq:
            raise BrokenChain(seq, f"event {found} was found instead")
        # A damaged file can hand out any SQL type. Not by `link`: a resume does this for each event.
        if type(data) is not bytes or (previous := sha256(previous + data).digest()) != digest:
            raise BrokenChain(seq, "its bytes do not match the hash chain")
        try:
            event = decode_event(data)
        except (ValueError, RecursionError):
            event = decoded(seq, data)  # which says what is wrong
        if event.seq != seq:
            raise BrokenChain(seq, f"its content says it is event {event.seq}")
        yield event, data


def decoded(seq: int, data: bytes) -> Event:
    try:
        event = decode_event(data)
    except (ValueError, RecursionError) as e:  # no UTF-8 and too deep included
        raise BrokenChain(seq, f"it is not a valid event ({e})") from e
    if event.seq != seq:
        raise BrokenChain(seq, f"its content says it is event {event.seq}")
    return event


_NAME_DIGITS = 32
"""Half of a SHA-256, 128 bits: two names stand in each turn's first event."""


def find_digest(blob: bytes) -> bytes:
    """Returns its SHA-256; what sessions of a process have in common, a list of tools, is read once."""
    return _find_digest(blob) if len(blob) <= _MOST_COMMON else sha256(blob).digest()


@lru_cache(16)
def _find_digest(blob: bytes) -> bytes:
    return sha256(blob).digest()


_MOST_COMMON = 64 << 10


def name_blob(digest: bytes) -> str:
    """Returns the name of the bytes that have this SHA-256; a longer beginning of it names them too."""
    return digest.hex()[:_NAME_DIGITS]


def parse_blob_name(name: str) -> bytes | None:
    """Returns the beginning of the digest that the name stands for; None where it can't be one."""
    if not _NAME_DIGITS <= len(name) <= 64 or not set(name) <= set("0123456789abcdef") or len(name) % 2:
        return None
    return bytes.fromhex(name)
