"""Bytes into lines, in linear time and bounded memory: what a peer writes is foreign until it is parsed."""

MAX_LINE = 8 << 20


class LineTooLong(Exception):
    pass


class Lines:
    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that are complete now, without their ends; `LineTooLong` past the limit, nothing kept."""
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
