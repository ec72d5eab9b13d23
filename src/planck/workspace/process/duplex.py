"""Lines to and from a peer over two descriptors: bounded both ways, and never blocked by who reads slowly."""

import asyncio
import os
from collections import deque
from contextlib import suppress

from planck.records.outcome import ErrorKind
from planck.workspace.process.framing import MAX_LINE, LineBuffer

_CHUNK = 1 << 16
_WRITE_AHEAD = 1 << 18
"""Bytes that may wait for a peer that does not read, before those who send more wait too."""
_READ_AHEAD = 1 << 20
"""Bytes of lines taken from the pipe before they are wanted; then the pipe itself holds the peer back."""


class Duplex:
    """Owns both descriptors; a line without its end is the peer's last words, and no line."""

    def __init__(
        self,
        read_end: int,
        write_end: int,
        *,
        held: int | None = None,
        limit: int = MAX_LINE,
        files: bool = True,
    ) -> None:
        """`held` keeps the peer's named pipe open; it is closed when the first bytes come, or none will.

        Without `files` one raises `PermissionError`: nobody there reads an answer.
        """
        self.ended: asyncio.Event = asyncio.Event()
        self.why: tuple[ErrorKind, str] = (ErrorKind.PEER_FAILED, "")
        """Once it ended: as the end of a sentence."""
        self._loop = asyncio.get_running_loop()
        self._read_end: int | None = read_end
        self._write_end: int | None = write_end
        self._held = held
        self._lines = LineBuffer(limit)
        self._queue: deque[bytes | None] = deque()
        self._queued = 0
        self._paused = False
        self._arrived = asyncio.Event()
        self._out = bytearray()
        self._drained = asyncio.Event()
        self._drained.set()
        self._flushing = False
        self._files = files
        self._file = False
        """No selector takes a file, since that is always ready; it is read as it is wanted."""
        for descriptor in (read_end, write_end):
            os.set_blocking(descriptor, False)
        self._listen()

    def end(self, reason: str, kind: ErrorKind = ErrorKind.PEER_FAILED) -> None:
        """Stops reading; of several reasons the first stays. Lines that came before can still be taken."""
        if not self.ended.is_set():
            self.why = (kind, reason)
            self.ended.set()
        if self._read_end is not None:
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = None
        self.release()
        self._arrived.set()

    def close_output(self) -> None:
        """Shows the peer the end of its input, after what was said before."""
        if self._write_end is not None and self._out:
            with suppress(OSError):
                os.write(self._write_end, self._out)
        if self._write_end is not None:
            self._loop.remove_writer(self._write_end)
            os.close(self._write_end)
            self._write_end = None
        self._drained.set()

    def release(self) -> None:
        """Closes what was held open for the peer; from now on its own end decides."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    async def next(self) -> bytes | None:
        """Returns the next line, None in the place of one that was too long; raises `EOFError` at the end."""
        while not self._queue:
            if self.ended.is_set():
                raise EOFError
            self._arrived.clear()
            await self._arrived.wait()
        line = self._queue.popleft()
        self._queued -= len(line or b"")
        if self._paused and self._read_end is not None and self._queued <= _READ_AHEAD // 2:
            self._paused = False
            self._listen()
        return line

    async def send(self, line: bytes, *, gather: float = 0) -> bool:
        """Returns when the line is ours to deliver, False where nobody reads any more.

        It waits only while too much before it is stuck. `gather`: seconds that it may take until it leaves,
        for more to leave with it.
        """
        while len(self._out) > _WRITE_AHEAD and self._write_end is not None:
            self._drained.clear()
            await self._drained.wait()
        return self.push(line, gather=gather)

    def push(self, line: bytes, *, gather: float = 0) -> bool:
        """As `send`, but waits for nobody: for the last word of who is cancelled."""
        if self._write_end is None:
            return False
        self._out += line
        self._out += b"\n"
        if not self._flushing:
            # With what is said meanwhile: each write wakes the peer, which costs more than the bytes.
            self._flushing = True
            self._loop.call_later(gather, self._flush)
        return True

    async def drain(self, patience: float) -> None:
        """Waits until everything has left, for so long and no longer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while self._out and self._write_end is not None:
                    self._drained.clear()
                    await self._drained.wait()

    def _listen(self) -> None:
        if self._read_end is None:
            return
        try:
            if not self._file:
                self._loop.add_reader(self._read_end, self._readable)
        except PermissionError:  # epoll's word for a file
            if not self._files:
                raise
            self._file = True
        if self._file:
            self._loop.call_soon(self._readable)

    def _readable(self) -> None:
        if self._read_end is None:
            return
        try:
            chunk = os.read(self._read_end, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self._take(chunk)
        if self._read_end is None:
            return
        if self._queued > _READ_AHEAD:
            self._paused = True
            self._loop.remove_reader(self._read_end)
        elif self._file:
            self._listen()

    def _take(self, chunk: bytes) -> None:
        if not chunk:
            self.end("the process closed its output")
            return
        self.release()
        lines = self._lines.take(chunk)
        self._queue.extend(lines)
        self._queued += sum(len(line or b"") for line in lines)
        self._arrived.set()

    def _flush(self) -> None:
        self._flushing = False
        if self._write_end is None:
            return
        try:
            sent = os.write(self._write_end, self._out)
        except BlockingIOError:
            sent = 0
        except OSError:  # nobody reads any more: what the peer still says decides
            self.close_output()
            return
        del self._out[:sent]
        if self._out:
            self._flushing = True
            self._loop.add_writer(self._write_end, self._flush)
        else:
            self._loop.remove_writer(self._write_end)
        if len(self._out) <= _WRITE_AHEAD:
            self._drained.set()
