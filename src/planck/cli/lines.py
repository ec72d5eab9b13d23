"""Lines that a person types, while other things go on: with editing and history where there is a terminal."""

import asyncio
import select
import sys
import threading
from pathlib import Path
from typing import Any

from planck.cli.typed import Hand, Typed, forget_typed

PROMPT = "> "
_MARKS = ("\u2061", "\u2062")
"""Stand for the beginning and the end of a paste in a line that is edited; they take no room there."""


class Lines:
    """Reads in a thread of its own, a line when one is asked for; the thread ends with the process."""

    def __init__(self, history: Path) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[Typed | None] = asyncio.Queue(maxsize=1000)
        self._hand = Hand(*_MARKS)
        self._mark = 0
        self._begun = ""
        self._history = history
        self._typing = False
        self._wanted = threading.Event()
        self._saved: Any = None
        self.terminal = sys.stdin.isatty()
        if self.terminal:
            self._prepare()

    def start(self) -> None:
        threading.Thread(target=self._read, name="planck-lines", daemon=True).start()

    async def next(self) -> Typed | None:
        """The next line without its newline; None at the end of the input."""
        self._wanted.set()
        return await self._lines.get()

    def mark(self, quiet: bool) -> int:
        """Returns a number that only lines carry which are begun from now on; what is unread is forgotten."""
        if quiet:
            self._hand = Hand(*_MARKS)
        # A line that was entered, but did not get here yet, still stands in the buffer.
        self._begun = self.current().removeprefix(PROMPT).strip("".join(_MARKS))
        self._mark += 1
        if self.terminal:
            forget_typed()
        return self._mark

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
        # Readline would make one line of a paste; its brackets become marks instead, and each line can tell.
        readline.parse_and_bind("set enable-bracketed-paste off")
        for sequence, mark in zip(("200", "201"), _MARKS, strict=True):
            octal = "".join(f"\\{byte:03o}" for byte in mark.encode())
            readline.parse_and_bind(f'"\\e[{sequence}~": "{octal}"')
        try:
            readline.read_history_file(self._history)
        except OSError:
            pass  # there is none yet

    def _read(self) -> None:
        while True:
            self._wanted.wait()  # no prompt is shown before somebody listens
            self._wanted.clear()
            try:
                line = self._judge(self._line())
            except (EOFError, OSError, ValueError, UnicodeDecodeError):
                line = None
            try:
                asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()
            except RuntimeError:
                return  # the loop is closed: nobody listens any more
            if line is None:
                return

    def _judge(self, line: str | None) -> Typed | None:
        if line is None:
            return None
        more = self.terminal and bool(select.select([sys.stdin], [], [], 0)[0])
        begun, self._begun = self._begun, ""
        typed = self._hand.judge(line, more=more, mark=self._mark)
        return typed._replace(mark=-1) if begun and typed.text.startswith(begun) else typed

    def _line(self) -> str | None:
        if not self.terminal:
            line = sys.stdin.readline()
            return line.rstrip("\n") if line else None
        self._typing = True
        try:
            return input(PROMPT)
        finally:
            self._typing = False
