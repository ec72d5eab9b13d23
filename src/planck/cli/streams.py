"""The standard streams, also where they are closed, full or a broken pipe: told apart from errors of ours."""

import codecs
import io
import os
import sys
from errno import EPIPE

TYPE_CHECKING = False  # `typing` itself costs start-up
if TYPE_CHECKING:
    from typing import Any


class OutputLost(OSError):
    """Standard output can't be written."""


class OutputClosed(OutputLost):
    """Standard output was closed before the command began, so nothing was run."""


def guard() -> None:
    """Makes what can't be written to stdout an `OutputLost`, and what can't be written to stderr nobody's.

    A stream that was closed gets a place holder, so that no file of ours is given its number; a closed
    stdout is refused at once, before anything is done whose outcome nobody could read.
    """
    closed = [fd for fd, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)) if stream is None]
    for fd in closed:
        _reserve(fd)
    if 0 in closed:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 # it is at its end, as /dev/null is
    codecs.register_error(_ESCAPED, _escape)
    if not (sys.stderr and sys.stderr.isatty()):
        sys.stderr = _wrap(_Forgiving(2, "w", closefd=False), sys.stderr, line_buffering=True)
    if 1 in closed:
        sys.stdout = _wrap(_Output(1, "w", closefd=False), None)
        raise OutputClosed("it is closed")
    if not sys.stdout.isatty():
        sys.stdout = _wrap(_Output(1, "w", closefd=False), sys.stdout)
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_ESCAPED)


def decode_input(raw: bytes, what: str = "Standard input") -> str:
    """Returns input as text; bytes that are no UTF-8 are repaired, which is said on stderr."""
    try:
        return raw.decode()
    except UnicodeDecodeError as problem:
        spot = f"at byte {problem.start + 1}"
        text = f"planck: {what} is not valid UTF-8 {spot}. Invalid bytes are replaced with �."
        print(text, file=sys.stderr)
        return raw.decode(errors="replace")


def flush() -> None:
    """Writes what was printed: Python itself would do it too late to be told of a failure."""
    sys.stdout.flush()


def drop_output() -> None:
    """What is still unwritten goes nowhere: Python tries again when it ends, and would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


class _Output(io.FileIO):
    def write(self, data: "Any") -> int:
        try:
            return super().write(data) or 0
        except OSError as failure:
            if failure.errno == EPIPE:
                raise  # whoever read it has seen enough
            raise OutputLost(failure.strerror or str(failure)) from None


class _Forgiving(io.FileIO):
    def write(self, data: "Any") -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def _reserve(fd: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != fd:
        os.dup2(nowhere, fd)
        os.close(nowhere)


def _wrap(raw: io.FileIO, like: "Any", *, line_buffering: bool = False) -> io.TextIOWrapper:
    encoding, errors = (like.encoding, like.errors) if like else ("utf-8", "backslashreplace")
    errors = _ESCAPED if errors == "strict" else errors
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors=errors,
        line_buffering=line_buffering or bool(like and like.write_through),  # PYTHONUNBUFFERED, python -u
    )


_ESCAPED = "planck.escaped"


def _escape(failure: UnicodeError) -> tuple[str, int]:
    """What an output's encoding lacks (`PYTHONIOENCODING=ascii`), as JSON and most readers spell it."""
    if not isinstance(failure, UnicodeEncodeError):
        raise failure
    units = failure.object[failure.start : failure.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)), failure.end


def complain(line: str) -> None:
    """Prints a notice on standard error."""
    _print_line(f"planck: {line}")


def report_error(kind: str, message: str) -> None:
    """Prints an error on standard error, in the one form that every command uses."""
    _print_line(format_error(kind, message))


def format_error(kind: str, message: str) -> str:
    """Returns `error: <sentence>. <what to do next>. [<kind>]` on one line, harmless to a terminal."""
    return f"error: {format_sentence(message)} [{kind}]"


def format_sentence(message: str) -> str:
    """Returns the message on one line, with a capital if it starts with a plain word, and a final stop."""
    from planck.records.visible import fit_line

    text = fit_line(message) or "Unknown error"
    first = text.partition(" ")[0].rstrip(",;")
    if first.isascii() and first.isalpha() and first.islower():
        text = text[0].upper() + text[1:]
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


def fit_rows(text: str, indent: str = "    ", stream: "Any" = None) -> str:
    """Returns the text, on a terminal broken between words: commands in it can be copied.

    `indent` stands before what continues a line.
    """
    stream = stream or sys.stdout
    if stream is None or not stream.isatty():
        return text
    from shutil import get_terminal_size
    from textwrap import fill

    width = max(20, get_terminal_size().columns - 1)
    return "\n".join(
        fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        if len(line) > width
        else line
        for line in text.split("\n")
    )


def _print_line(text: str) -> None:
    print(fit_rows(text, "", sys.stderr), file=sys.stderr)
