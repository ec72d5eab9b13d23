"""Server-sent events with their names and ids, split from chunks of any size."""

from typing import NamedTuple


class Message(NamedTuple):
    event: str
    """`message` where the server names none."""
    id: str
    """Empty: it has none of its own."""
    data: bytes


class Messages:
    """Feed it chunks, get each message that a blank line ended; what only a cut ended is no message."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        """What came since the last blank line; joined when there is one: a large event costs its size."""

    def feed(self, chunk: bytes) -> list[Message]:
        tail = self._parts[-1][-1:] if self._parts else b""
        if b"\n\n" not in tail + chunk:
            if chunk:
                self._parts.append(chunk)
            return []
        *blocks, rest = b"".join([*self._parts, chunk]).split(b"\n\n")
        self._parts = [rest] if rest else []
        return [message for block in blocks if (message := _read(block))]


def _read(block: bytes) -> Message | None:
    event, id, data = "message", "", list[bytes]()
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            event = value.decode()
        elif field == b"id":
            id = value.decode()
        elif field == b"data":
            data.append(value)
    return Message(event, id, b"\n".join(data)) if data else None
