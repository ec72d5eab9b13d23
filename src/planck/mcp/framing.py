"""A peer's bytes are cut into lines in linear time and bounded memory: they are foreign until parsed."""

MAX_LINE = 8 << 20


class LineTooLong(Exception):
    pass


class LineBuffer:
    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Returns the lines that are complete, without ends; past the limit it raises and keeps nothing."""
        buffer = self._buffer
        buffer += chunk
        lines = []
        # From where the last search ended: searching again from the start makes a long line quadratic.
        while (end := buffer.find(b"\n", self._searched)) >= 0:
            if end > self._limit:
                break
            lines.append(bytes(buffer[:end]).removesuffix(b"\r"))
            del buffer[: end + 1]
            self._searched = 0
        if len(buffer) > self._limit:
            buffer.clear()
            self._searched = 0
            raise LineTooLong(self._limit)
        self._searched = len(buffer)
        return lines
