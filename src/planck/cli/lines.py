"""Lines that a person types, while other things go on: with editing and history where there is a terminal."""

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

PROMPT = "> "


class Lines:
    """Reads in a thread of its own, a line when one is asked for; the thread ends with the process."""

    def __init__(self, history: Path) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue(maxsize=1000)
        self._history = history
        self._typing = False
        self._wanted = threading.Event()
        self._saved: Any = None
        self.terminal = sys.stdin.isatty()
        if self.terminal:
            self._prepare()

    def start(self) -> None:
        threading.Thread(target=self._read, name="planck-lines", daemon=True).start()

    async def next(self) -> str | None:
        """The next line without its newline; None at the end of the input."""
        self._wanted.set()
        return await self._lines.get()

    def current(self) -> str:
        """Returns what stands in the line that is being typed, prompt included."""
        if not self._typing:
            return ""
        import readline

        return PROMPT + readline.get_line_buffer()

    def close(self) -> None:
        """Keep the history, and give the terminal back as it was found."""
        if not self.terminal:
            return
        import readline
        import termios

        try:
            self._history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._history.touch(mode=0o600)
            readline.set_history_length(1000)
            readline.write_history_file(self._history)
        except OSError:
            pass  # a history that can't be kept is no reason to fail
        if self._saved is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._saved)

    def _prepare(self) -> None:
        import readline
        import termios

        self._saved = termios.tcgetattr(sys.stdin)
        readline.parse_and_bind("set enable-bracketed-paste off")
        try:
            readline.read_history_file(self._history)
        except OSError:
            pass  # there is none yet

    def _read(self) -> None:
        while True:
            self._wanted.wait()  # no prompt is shown before somebody listens
            self._wanted.clear()
            try:
                line = self._line()
            except (EOFError, OSError, ValueError, UnicodeDecodeError):
                line = None
            try:
                asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()
            except RuntimeError:
                return  # the loop is closed: nobody listens any more
            if line is None:
                return

    def _line(self) -> str | None:
        if not self.terminal:
            line = sys.stdin.readline()
            return line.rstrip("\n") if line else None
        self._typing = True
        try:
            return input(PROMPT)
        finally:
            self._typing = False
