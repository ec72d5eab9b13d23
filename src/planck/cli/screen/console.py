"""The terminal as a device: mode, size, bytes, and what stops or ends it; it is given back as found."""

import asyncio
import os
import select
import signal
from collections.abc import Callable
from typing import Protocol

_ON = "\x1b[?2004h"
"""Pastes in brackets; the mouse is left to the terminal, whose own selecting and scrolling are better."""
_OFF = "\x1b[?2004l\x1b[?25h"

_PATIENCE = 2.0
"""Seconds that a terminal may take nothing before what is left for it is dropped."""
_LOOK = 0.3
"""Seconds after which a process in the background looks again whether the terminal is its own."""


class Owner(Protocol):
    """Who is told what happens to the terminal."""

    def read(self, data: bytes) -> None: ...

    def resized(self) -> None: ...

    def leave_terminal(self) -> None:
        """Take away what is painted: another program has the terminal next."""

    def return_to_terminal(self) -> None:
        """Paint again: nothing of ours stands there."""

    def interrupted(self) -> None: ...

    def lost(self) -> None:
        """The terminal is gone, or its input has ended."""


class Console:
    """Owns standard input and output while it is open; `tcsetattr` is never called from the background."""

    def __init__(self, owner: Owner, fd: int = 0, out: int = 1) -> None:
        self._owner = owner
        self._in = fd
        self._out = out
        self._pen = out
        """Where it is written: the terminal again, so that it can be told not to block, which would hold for
        everybody who has standard output too."""
        self._unsent = b""
        self._sending = False
        self._found: list[object] | None = None
        self._reading = False
        self._lent = False
        self.here: bool = False
        """Whether the terminal is ours now: not in the background, not lent, not gone."""
        self.gone: bool = False

    def open(self) -> None:
        import termios

        self._found = termios.tcgetattr(self._in)
        try:
            self._pen = os.open(os.ttyname(self._out), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError:
            pass  # its name is not here: it is written to as it is, and may block
        loop = asyncio.get_running_loop()
        handlers: tuple[tuple[signal.Signals, Callable[[], None]], ...] = (
            (signal.SIGWINCH, self._owner.resized),
            (signal.SIGTSTP, self.stop),
            (signal.SIGCONT, self._go_on),
            (signal.SIGINT, self._owner.interrupted),
        )
        for number, handler in handlers:
            loop.add_signal_handler(number, handler)
        self._go_on()

    def close(self) -> None:
        """What is typed and not read stays for whoever reads next."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT, signal.SIGINT):
            loop.remove_signal_handler(number)
        self._give()
        self._found = None
        if self._sending:
            loop.remove_writer(self._pen)
        if self._pen != self._out:
            os.close(self._pen)
            self._pen = self._out

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        try:
            size = os.get_terminal_size(self._out)
        except OSError:
            return 80, 24
        return (size.columns or 80, size.lines or 24)

    def write(self, text: str) -> None:
        """What the terminal does not take now is written when it does; nobody waits for that."""
        if not self.gone:
            self._unsent += text.encode("utf-8", "replace")
            self._send()

    def can_write(self) -> bool:
        """False while the terminal has not taken all: the next frame then waits, and the team does not."""
        return not self._unsent

    def _send(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._pen, self._unsent) :]
        except BlockingIOError:
            if not self._sending:
                asyncio.get_running_loop().add_writer(self._pen, self._send)
                self._sending = True
            return
        except OSError:
            self._unsent = b""
            self._lose()
        if self._sending:
            asyncio.get_running_loop().remove_writer(self._pen)
            self._sending = False

    def _finish(self) -> None:
        """Waits until all is written, but not for ever: another program is next, or the end."""
        while self._unsent and select.select([], [self._pen], [], _PATIENCE)[1]:
            self._send()

    def drain(self) -> bytes:
        """What waits to be read at this moment."""
        waiting = b""
        while not self.gone and self.here and select.select([self._in], [], [], 0)[0]:
            try:
                chunk = os.read(self._in, 65536)
            except OSError:
                break
            if not chunk:
                break
            waiting += chunk
        return waiting

    def stop(self) -> None:
        """Ctrl+Z: the shell gets its terminal back, and the process stops until it is told to go on."""
        self._step_aside()
        loop = asyncio.get_running_loop()
        loop.remove_signal_handler(signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        loop.add_signal_handler(signal.SIGTSTP, self.stop)
        self._go_on()  # also where nobody could stop us: there is no shell to come back to

    def lend(self) -> None:
        """Another program has the terminal until `take_back`, also when it is stopped and goes on."""
        self._lent = True
        self._step_aside()

    def take_back(self) -> None:
        self._lent = False
        self._go_on()

    def _step_aside(self) -> None:
        if self.here:
            self._owner.leave_terminal()
            self._give()

    def _go_on(self) -> None:
        """Takes the terminal if it is ours to take; from the background it is looked for again."""
        if self.here or self.gone or self._lent or self._found is None:
            return
        if self._in_front():
            self._take()
            self._owner.return_to_terminal()
        else:  # a shell that brings a running job to the front tells nobody
            asyncio.get_running_loop().call_later(_LOOK, self._go_on)

    def _in_front(self) -> bool:
        try:
            return os.tcgetpgrp(self._in) == os.getpgrp()
        except OSError:
            return True  # no job control here

    def _take(self) -> None:
        import termios

        try:
            mode = termios.tcgetattr(self._in)
        except termios.error:
            self._lose()
            return
        self._found = [*mode[:6], list(mode[6])]  # a shell may have changed it meanwhile
        mode[0] &= ~(termios.ICRNL | termios.INLCR | termios.IXON)
        mode[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
        # Ctrl+C and Ctrl+Z are keys of ours; Ctrl+\ still ends a process that does not listen.
        for key in (termios.VINTR, termios.VSUSP):
            mode[6][key] = b"\0"
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        try:
            termios.tcsetattr(self._in, termios.TCSANOW, mode)
        except termios.error:
            self._lose()
            return
        self.here = True
        self.write(_ON)
        asyncio.get_running_loop().add_reader(self._in, self._read)
        self._reading = True

    def _give(self) -> None:
        import termios

        if self._reading:
            asyncio.get_running_loop().remove_reader(self._in)
            self._reading = False
        if not self.here:
            return
        self.write(_OFF)
        self._finish()
        self.here = False
        try:
            termios.tcsetattr(self._in, termios.TCSANOW, self._found)  # type: ignore[arg-type] # as it was read
        except termios.error:
            pass  # it is gone

    def _read(self) -> None:
        if not select.select([self._in], [], [], 0)[0]:
            return  # `drain` was faster: the descriptor blocks, and with it everything
        try:
            data = os.read(self._in, 65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._owner.read(data)
        else:
            self._lose()

    def _lose(self) -> None:
        if self.gone:
            return
        self.gone, self.here = True, False
        if self._reading:
            asyncio.get_running_loop().remove_reader(self._in)
            self._reading = False
        self._owner.lost()
