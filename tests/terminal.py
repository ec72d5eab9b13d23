"""The command line on a real terminal: a pseudo-terminal of a given width, and what appears on it."""

import asyncio
import codecs
import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import Callable
from pathlib import Path

from planck.records.visible import count_columns
from tests.command import PLAIN, WAIT, Bench
from tests.fork_server import own_terminal


class TerminalRun:
    """A running command with both its outputs, and its input, on one terminal."""

    def __init__(self, process: asyncio.subprocess.Process, master: int, columns: int = 80) -> None:
        self.process = process
        self.columns = columns
        self.text = ""
        self._picture, self._drawn = Picture(columns), 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._master = master
        self._grown = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    async def until(self, text: str, start: int = 0) -> int:
        """Wait until a text has appeared; gives the place behind it."""
        await self.until_text(lambda all: text in all[start:], repr(text), start)
        return self.text.index(text, start) + len(text)

    async def until_text(self, expected: Callable[[str], object], wanted: str, start: int = 0) -> None:
        """Wait until all that was written is as expected; `wanted`: what that is, for the error."""
        try:
            async with asyncio.timeout(WAIT):
                while not expected(self.text):
                    self._grown.clear()
                    await self._grown.wait()
        except TimeoutError:
            if self.process.returncode is None:
                self.process.kill()
            raise AssertionError(f"{wanted} did not appear in {self.text[start:]!r}") from None

    @property
    def seen(self) -> list[str]:
        """What stands on it now, with all that was scrolled away."""
        text, drawn = self.text, self._drawn
        self._drawn = len(text)
        self._picture.write(text[drawn:])
        return self._picture.rows

    async def until_seen(self, expected: Callable[[list[str]], object]) -> list[str]:
        """Wait until what stands there is as expected; gives it."""
        try:
            async with asyncio.timeout(WAIT):
                while not expected(self.seen):
                    self._grown.clear()
                    await self._grown.wait()
        except TimeoutError:
            if self.process.returncode is None:
                self.process.kill()
            raise AssertionError("\n".join(self.seen)) from None
        return self.seen

    def pause(self) -> None:
        """Nothing is read from it any more, as where a connection hangs; `go_on` reads again."""
        asyncio.get_running_loop().remove_reader(self._master)

    def go_on(self) -> None:
        asyncio.get_running_loop().add_reader(self._master, self._read)

    def hang_up(self) -> None:
        """The terminal goes away, as when its window is closed."""
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)

    async def end(self) -> int:
        async with asyncio.timeout(WAIT):
            code = await self.process.wait()
        self._read()
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)
        return code

    def _read(self) -> None:
        try:
            while chunk := os.read(self._master, 65536):
                self.text += self._decoder.decode(chunk)
                self._grown.set()
        except BlockingIOError:
            pass
        except OSError:  # Linux says EIO once the other side is closed
            asyncio.get_running_loop().remove_reader(self._master)


_PIECE = re.compile(r"\x1b\][^\x07]*\x07|\x1b\[[0-9;?]*[A-Za-z]|\r|\n|\x07|[^\r\n\x07\x1b]+")


class Picture:
    """What stands on a terminal of endless height: each row as it is seen, without colours.

    Knows what a screen of ours may write, and nothing else: anything else fails.
    """

    def __init__(self, columns: int = 80) -> None:
        self._columns = columns
        self._rows: list[list[str]] = [[]]
        """What stands in each column; behind a wide letter comes an empty one."""
        self._row = self._column = 0
        self._pending = ""

    def write(self, text: str) -> None:
        """Takes what is written; a sequence that is not whole yet waits for its rest."""
        text, self._pending = self._pending + text, ""
        last = text.rfind("\x1b")
        if last >= 0 and not _PIECE.match(text, last):
            text, self._pending = text[:last], text[last:]
        for piece in _PIECE.findall(text):
            self._take(piece)

    @property
    def rows(self) -> list[str]:
        return ["".join(row).rstrip() for row in self._rows]

    def _take(self, piece: str) -> None:
        if piece.startswith("\x1b["):
            number, final = piece[2:-1], piece[-1]
            if final == "A":
                self._row -= int(number)
            elif final == "B":
                self._row += int(number)
            elif final == "C":
                self._column += int(number)
            elif piece == "\x1b[2K":
                self._rows[self._row] = []
            elif final == "M":
                del self._rows[self._row : self._row + int(number)]
                self._rows += [[] for _ in range(self._row + 1 - len(self._rows))]
            else:
                assert final == "m" or number in ("?2004", "?2026", "?25"), repr(piece)
            assert self._row >= 0, "above what is ours"
        elif piece == "\r":
            self._column = 0
        elif piece == "\n":
            self._begin_row()
        elif piece[0] not in "\x07\x1b":
            self._put(piece)

    def _begin_row(self) -> None:
        self._row, self._column = self._row + 1, 0
        self._rows += [[] for _ in range(self._row + 1 - len(self._rows))]

    def _put(self, text: str) -> None:
        for one in text:
            wide = 1 if one.isascii() else count_columns(one)
            if self._column + wide > self._columns:
                self._begin_row()
            line = self._rows[self._row]
            line += [" "] * (self._column - len(line))
            if not wide and line:
                line[self._column - 1] += one  # an accent belongs to the letter before it
                continue
            end = self._column + wide
            if self._column < len(line) and not line[self._column]:
                line[self._column - 1] = " "  # of a wide letter no half stays
            if end < len(line) and not line[end]:
                line[end] = " "
            line[self._column : end] = [one, *[""] * (wide - 1)]
            self._column = end


def picture(text: str, columns: int = 80) -> list[str]:
    """Returns what stands on a terminal after that text."""
    seen = Picture(columns)
    seen.write(text)
    return seen.rows


async def on_terminal(
    *args: str,
    home: Path,
    work: Path,
    columns: int = 80,
    env: dict[str, str] | None = None,
    typed: str = "",
    program: tuple[str, ...] = (sys.executable, "-m", "planck"),
) -> TerminalRun:
    """`typed`: what waits in the terminal when the program starts."""
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    os.write(master, typed.encode())
    variables = {
        **PLAIN,
        "TERM": "xterm-256color",
        "PLANCK_HOME": str(home),
        "HOME": str(home),
    }
    process = await asyncio.create_subprocess_exec(
        *program,
        *args,
        cwd=work,
        env={**variables, "PYTHONUTF8": "1", **(env or {})},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=own_terminal,
    )
    os.close(slave)
    return TerminalRun(process, master, columns)


async def talk(bench: Bench, *args: str, columns: int = 80, ready: str = "? keys") -> TerminalRun:
    """Begins a conversation; returns once it has said that, and can be typed to."""
    run = await on_terminal(*args, home=bench.home, work=bench.work, columns=columns)
    await run.until(ready)
    return run


async def leave(run: TerminalRun) -> None:
    """Ends a conversation as people do, by Ctrl+D; twice, for the case that its turn has not quite ended."""
    run.type("\x04\x04")
    assert await run.end() == 0


async def enter_exit(run: TerminalRun, at: int) -> None:
    """Ends a conversation by its command, which says how to resume it; `at`: behind what was waited for."""
    run.type("/exit\r")
    await run.until("Resume with: planck -r", at)
    assert await run.end() == 0
