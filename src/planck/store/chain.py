"""The hash chain over an event log: `h(n) = sha256(h(n-1) + bytes(n))`, with the seq inside the bytes."""

import hashlib
from collections.abc import Iterable, Iterator

from planck.records import codec
from planck.records.events import Event

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
    return hashlib.sha256(previous + data).digest()


def verified(rows: Iterable[Row], seq: int, previous: bytes) -> Iterator[tuple[Event, bytes]]:
    """Each event with its bytes, up to the first that is not what was written."""
    for found, data, digest in rows:
        seq += 1
        if found != seq:
            raise BrokenChain(seq, f"number {found} is in its place")
        # A damaged file can hand out any SQL type.
        if type(data) is not bytes or (previous := link(previous, data)) != digest:
            raise BrokenChain(seq, "its bytes do not match the hash chain")
        yield decoded(seq, data), data


def decoded(seq: int, data: bytes) -> Event:
    try:
        event = codec.decode_as(data, Event)
    except codec.DecodeError as e:
        raise BrokenChain(seq, f"it is no event: {e}") from e
    if event.seq != seq:
        raise BrokenChain(seq, f"its bytes say {event.seq}")
    return event
