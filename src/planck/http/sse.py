"""Server-sent events and JSON lines, split from chunks of any size, within a bound."""

from typing import Any

from planck.http.errors import ProviderError
from planck.records.outcome import ErrorKind

MAX_EVENT = 10_000_000
_LF, _CR = b"\n\r"
"""As numbers: of bytes, `in` first finds that they are none, by an exception of 2,000 instructions."""


class Sse:
    """Feed it chunks, get the `data` of each event that a blank line ended; `rest` is what came after."""

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._scanned = 0
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> list[bytes]:
        if self._after_cr or _CR in chunk:
            chunk = self._newlines(chunk)
        buffer = self._buffer
        buffer += chunk
        if self._first and not self._skip_bom():
            return []
        events: list[bytes] = []
        if buffer.find(b"\n\n", self._scanned) >= 0:
            *blocks, rest = bytes(buffer).split(b"\n\n")
            buffer[:] = rest
            # Most are one line each, and there may be thousands: those cost no call.
            found: list[Any] = [
                block[6:] if block[:6] == b"data: " and _LF not in block else _data(block) for block in blocks
            ]
            events = [data for data in found if data is not None] if None in found else found
        self._scanned = 0
        if buffer:
            self._scanned = len(buffer) - 1  # the line end at its end may be the first of two
            if len(buffer) > self._limit:
                raise _too_large(self._limit)
        return events

    def rest(self) -> bytes | None:
        """The `data` of an event that only the end of the stream ended: whole, or half of one."""
        return _data(bytes(self._buffer).rstrip(b"\n"))

    def _newlines(self, chunk: bytes) -> bytes:
        """CR, LF and CRLF all end a line; a CRLF may be cut in two by the chunks."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _skip_bom(self) -> bool:
        """False while the buffer could still become a byte order mark."""
        head = bytes(self._buffer[:3])
        if len(head) < 3 and b"\xef\xbb\xbf".startswith(head):
            return False
        if head == b"\xef\xbb\xbf":
            del self._buffer[:3]
        self._first = False
        return True


class JsonLines:
    """Feed it chunks of newline-delimited JSON, get each whole line; `rest` is what came after."""

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        if _LF not in chunk:
            self._buffer += chunk
            self._check()
            return []
        *lines, rest = (bytes(self._buffer) + chunk).split(b"\n")
        self._buffer = bytearray(rest)
        self._check()
        return [line for line in lines if line.strip()]

    def rest(self) -> bytes | None:
        return bytes(self._buffer) if self._buffer.strip() else None

    def _check(self) -> None:
        if len(self._buffer) > self._limit:
            raise _too_large(self._limit)


def _data(block: bytes) -> bytes | None:
    if block.startswith(b"data: ") and b"\n" not in block:
        return block[6:]
    if b"data" not in block:  # comments and other fields
        return None
    name, named, data = block.partition(b"\ndata: ")
    if named and name.startswith(b"event:") and b"\n" not in name and b"\n" not in data:
        return data
    # One line at a time: all of them at once would be twenty times the bytes of an event made of line ends.
    found, at = bytearray(), 0
    while at < len(block):
        end = block.find(b"\n", at)
        end = len(block) if end < 0 else end
        if block.startswith(b"data:", at, end):
            start = at + 5
            found += block[start + (block[start : start + 1] == b" ") : end] + b"\n"
        elif block[at:end] == b"data":
            found += b"\n"
        at = end + 1
    return bytes(found[:-1]) if found else None


def check_density(data: bytes) -> None:
    """Refuses an event that would become far more than it is: an object takes 2 bytes here, and 100 there."""
    if data.count(b"{") > _MOST_OBJECTS:
        raise ProviderError(
            ErrorKind.LIMIT_EXCEEDED,
            f"The server sent an event with more than {_MOST_OBJECTS} objects. Use another server.",
            {"limit": _MOST_OBJECTS},
        )


_MOST_OBJECTS = 200_000
SPARSE = 2 * _MOST_OBJECTS
"""Bytes that can't hold as many: what is no longer need not be checked."""


def _too_large(limit: int) -> ProviderError:
    return ProviderError(
        ErrorKind.LIMIT_EXCEEDED,
        f"The server sent an event of more than {limit} bytes. Request less at a time, "
        "or use another server.",
        {"limit": limit},
    )
