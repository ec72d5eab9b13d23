"""A peer's bytes are cut into lines in linear time and bounded memory: they are foreign until parsed."""

MAX_LINE = 8 << 20


class LineBuffer:
    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._skips = False

    def take(self, chunk: bytes) -> list[bytes | None]:
        """Returns the lines that are complete, without their ends.

        One past the limit is None, at once, and the rest of it is skipped: nothing of it is kept.
        """
        if self._skips:
            _, end_of_it, chunk = chunk.partition(b"\n")
            if not end_of_it:
                return []
            self._skips = False
        buffer = self._buffer
        buffer += chunk
        lines: list[bytes | None] = []
        # From where the last search ended: searching again from the start makes a long line quadratic.
        while (end := buffer.find(b"\n", self._searched)) >= 0:
            lines.append(bytes(buffer[:end]).removesuffix(b"\r") if end <= self._limit else None)
            del buffer[: end + 1]
            self._searched = 0
        if len(buffer) > self._limit:
            buffer.clear()
            self._skips = True
            lines.append(None)
        self._searched = len(buffer)
        return lines
