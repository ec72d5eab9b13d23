"""Tells a line that somebody typed from one of a paste, and from one that came in a burst with others."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from planck.cli.errors import UsageError
from planck.cli.tell.terminal import ANNOUNCE_PASTES, KEEP_QUIET_ON_PASTES
from planck.records.outcome import ErrorKind

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_LOOK_AGAIN = 0.5
"""Seconds."""


class TypedLine(NamedTuple):
    text: str
    by_hand: bool
    """Neither pasted, nor together with other lines: only such a line answers a question."""
    mark: int = 0
    """The newest question that was on the screen when it was begun."""


class PasteDetector:
    """Follows the lines of one terminal; brackets around a paste may open in one and close in another."""

    def __init__(self) -> None:
        self._pasting = False
        self._more = False

    def judge(self, line: str, *, more: bool, mark: int = 0) -> TypedLine:
        """`more`: something waited behind the line already when it was read."""
        burst, self._more = self._more or more, more
        pasted = self._pasting or PASTE_BEGINS in line
        self._pasting = pasted and line.rfind(PASTE_ENDS) <= line.rfind(PASTE_BEGINS)
        text = line.replace(PASTE_BEGINS, "").replace(PASTE_ENDS, "")
        return TypedLine(text, not pasted and not burst, mark)


def ask(prompt: str, *, without_terminal: str) -> str:
    """Returns what somebody types by hand after the prompt is shown; empty if it was pasted or typed ahead.

    Where nobody can see the prompt and answer it, raises `without_terminal`, which says what to do instead.
    """
    check_terminal(without_terminal)
    forget_typed()
    print(prompt + ANNOUNCE_PASTES, end="", flush=True)
    try:
        with _heeding_signals():
            line = sys.stdin.readline()
        typed = PasteDetector().judge(line.rstrip("\n"), more=has_unread())
    finally:
        print(KEEP_QUIET_ON_PASTES, end="", flush=True)
    return typed.text.strip() if typed.by_hand else ""


def read_line(prompt: str, *, hidden: bool = False) -> str:
    """Returns what is typed after the prompt, without blanks around it; nothing where the input ends.

    asyncio takes the first Ctrl+C for the event loop, which does not run while we wait here: it must end us.
    """
    import signal
    from getpass import getpass

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with _heeding_signals():
            return (getpass(prompt) if hidden else input(prompt)).strip()
    except EOFError:
        return ""
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _heeding_signals() -> Iterator[None]:
    """Ends a blocking read for a moment twice a second, so that Python sees each signal.

    A Ctrl+C that comes after Python's last look, and before the kernel's wait begins, would otherwise be seen
    with the next key.
    """
    import signal

    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_AGAIN, _LOOK_AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def read_secret(prompt: str) -> str:
    """Returns what is typed and not shown; empty where it was left out, also by Ctrl+C."""
    try:
        return read_line(prompt, hidden=True)
    except KeyboardInterrupt:
        print()
        return ""


def check_terminal(otherwise: str) -> None:
    """Refuses with `otherwise` where nobody can be asked: a pipe that says yes is not a person."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise UsageError(ErrorKind.INVALID_ARGS, otherwise)


def forget_typed() -> None:
    """Drops what was typed and is not read yet."""
    import termios

    try:
        termios.tcflush(0, termios.TCIFLUSH)
    except termios.error:
        pass  # no terminal any more; the end of the input says so


def has_unread() -> bool:
    """Also the beginning of a line: the terminal keeps that to itself as long as lines are edited there."""
    import fcntl
    import termios

    try:
        edited = termios.tcgetattr(0)
        keys = [*edited]
        keys[3] &= ~termios.ICANON
        termios.tcsetattr(0, termios.TCSANOW, keys)
        unread = fcntl.ioctl(0, termios.FIONREAD, b"\0" * 4)
        termios.tcsetattr(0, termios.TCSANOW, edited)
    except (termios.error, OSError):
        return False  # no terminal any more; the end of the input says so
    return any(unread)
