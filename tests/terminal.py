"""The command line on a real terminal: a pseudo-terminal of a given width, and what appears on it."""

import asyncio
import fcntl
import os
import pty
import struct
import sys
import termios
from pathlib import Path

from tests.command import PLAIN, WAIT


class TerminalRun:
    """A running command with both its outputs, and its input, on one terminal."""

    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        self.process = process
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


async def on_terminal(
    *args: str, home: Path, work: Path, columns: int = 80, env: dict[str, str] | None = None
) -> TerminalRun:
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    variables = {
        **PLAIN,
        "TERM": "xterm-256color",
        "PLANCK_HOME": str(home),
        "HOME": str(home),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "planck",
        *args,
        cwd=work,
        env={**variables, "PYTHONUTF8": "1", **(env or {})},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    return TerminalRun(process, master)
