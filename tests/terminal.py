"""The command line on a real terminal: a pseudo-terminal of a given width, and what appears on it."""

import asyncio
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
from tests.command import PLAIN, WAIT


class TerminalRun:
    """A running command with both its outputs, and its input, on one terminal."""

    def __init__(self, process: asyncio.subprocess.Process, master: int, columns: int = 80) -> None:
        self.process = process
        self.columns = columns
        self.text = ""
        self._master = master
        self._grown = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    async def until(self, text: str, start: int = 0) -> int:
        """Wait until a text has appeared; gives the place behind it."""
        try:
            async with asyncio.timeout(WAIT):
                while text not in self.text[start:]:
                    self._grown.clear()
                    await self._grown.wait()
        except TimeoutError:
            self.process.kill()
            raise AssertionError(f"{text!r} did not appear in {self.text[start:]!r}") from None
        return self.text.index(text, start) + len(text)

    @property
    def seen(self) -> list[str]:
        """What stands on it now, with all that was scrolled away."""
        return picture(self.text, self.columns)

    async def until_seen(self, expected: Callable[[list[str]], object]) -> list[str]:
        """Wait until what stands there is as expected; gives it."""
        try:
            async with asyncio.timeout(WAIT):
                while not expected(self.seen):
                    self._grown.clear()
                    await self._grown.wait()
        except TimeoutError:
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
                self.text += chunk.decode("utf-8", "replace")
                self._grown.set()
        except BlockingIOError:
            pass
        except OSError:  # Linux says EIO once the other side is closed
            asyncio.get_running_loop().remove_reader(self._master)


def picture(text: str, columns: int = 80) -> list[str]:
    """What stands on a terminal of endless height after that text: each row as it is seen, without colours.

    Knows what a screen of ours may write, and nothing else: anything else fails.
    """
    rows, row, column = [""], 0, 0
    for piece in re.findall(r"\x1b\][^\x07]*\x07|\x1b\[[0-9;?]*[A-Za-z]|\r|\n|\x07|[^\r\n\x07\x1b]+", text):
        if piece.startswith("\x1b["):
            number, final = piece[2:-1], piece[-1]
            if final == "A":
                row -= int(number)
            elif final == "B":
                row += int(number)
            elif final == "C":
                column += int(number)
            elif piece == "\x1b[2K":
                rows[row] = ""
            else:
                assert final == "m" or piece[2:-1] in ("?2004", "?2026", "?25"), repr(piece)
            assert row >= 0, "above what is ours"
        elif piece == "\r":
            column = 0
        elif piece == "\n":
            row, column = row + 1, 0
            rows += [""] * (row + 1 - len(rows))
        elif piece[0] not in "\x07\x1b":
            row, column = _put(rows, row, column, piece, columns)
    return [line.rstrip() for line in rows]


def _put(rows: list[str], row: int, column: int, text: str, columns: int) -> tuple[int, int]:
    for one in text:
        wide = count_columns(one)
        if column + wide > columns:
            row, column = row + 1, 0
            rows += [""] * (row + 1 - len(rows))
        line = rows[row].ljust(column) if count_columns(rows[row]) < column else rows[row]
        at = next((n for n in range(len(line) + 1) if count_columns(line[:n]) >= column), len(line))
        rows[row] = line[:at] + one + line[at + wide :]
        column += wide
    return row, column


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
        preexec_fn=_own_terminal,
    )
    os.close(slave)
    return TerminalRun(process, master, columns)


def _own_terminal() -> None:
    """Makes standard input the terminal of the new session, as a terminal emulator does: jobs need it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
