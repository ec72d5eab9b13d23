"""A peer's bytes are cut into lines in linear time and bounded memory: they are foreign until parsed."""

MAX_LINE = 8 << 20


class LineTooLong(Exception):
    pass


class LineBuffer:
    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._skips = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Returns the lines that are complete, without ends; past the limit it raises and keeps nothing."""
        lines = self.take(chunk)
        whole = [line for line in lines if line is not None]
        if len(whole) < len(lines):
            self._buffer.clear()
            self._searched, self._skips = 0, False
            raise LineTooLong(self._limit)
        return whole

    def take(self, chunk: bytes) -> list[bytes | None]:
        """As `feed`, but goes on: a line past the limit is None, at once, and the rest of it is skipped."""
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
