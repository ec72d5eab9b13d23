"""Lines of standard input, while other things go on: for scripts, and for terminals that can't be painted."""

import asyncio
import select
import sys
import threading

from planck.cli.ask.typed_line import PasteDetector, TypedLine, forget_typed
from planck.cli.streams import decode_input


class Lines:
    """Reads in a thread of its own, a line when one is asked for; the thread ends with the process."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[TypedLine | None] = asyncio.Queue(maxsize=1000)
        self._pastes = PasteDetector()
        self._mark = 0
        self._wanted = threading.Event()
        self.terminal: bool = sys.stdin.isatty()

    def start(self) -> None:
        threading.Thread(target=self._read, name="planck-lines", daemon=True).start()

    async def next(self) -> TypedLine | None:
        """The next line without its newline; None at the end of the input."""
        self._wanted.set()
        return await self._lines.get()

    def mark(self, quiet: bool) -> int:
        """Returns a number that only lines carry which are read from now on; what is unread is forgotten."""
        if quiet:
            self._pastes = PasteDetector()
        self._mark += 1
        if self.terminal:
            forget_typed()
        return self._mark

    def _read(self) -> None:
        while True:
            self._wanted.wait()  # nothing is taken before somebody listens
            self._wanted.clear()
            try:
                line = self._judge(decode_input(sys.stdin.buffer.readline()))
            except (EOFError, OSError, ValueError):
                line = None
            try:
                asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()
            except RuntimeError:
                return  # the loop is closed: nobody listens any more
            if line is None:
                return

    def _judge(self, line: str) -> TypedLine | None:
        if not line:
            return None
        more = self.terminal and bool(select.select([sys.stdin], [], [], 0)[0])
        return self._pastes.judge(line.rstrip("\r\n"), more=more, mark=self._mark)
