"""Lines for a person, before they are on any terminal: pieces of text, each with a style, nothing hidden."""

import re
from collections.abc import Iterable, Iterator

from planck.cli.screen.styled import Line as Line
from planck.cli.screen.styled import Part
from planck.records.visible import count_columns, make_plain

Span = Part
INDENT = "    "


def make_line(text: str, style: str = "") -> Line:
    """One line of one style; what would act on a terminal is spelled out."""
    return ((make_plain(text).replace("\n", " ").expandtabs(4), style),)


def make_lines(text: str, style: str = "", indent: str = "") -> list[Line]:
    return [((indent + line.expandtabs(4), style),) for line in make_plain(text).split("\n")]


def as_text(line: Line) -> str:
    return "".join(text for text, _ in line)


def cut(line: Line, width: int) -> Line:
    """The line within so many columns; what is left out shows as `…`.

    A note at its end, two blanks apart, such as how long something took, is not what is left out.
    """
    if len(_take(as_text(line), width)) == sum(len(text) for text, _ in line):
        return line
    note = line[-1:] if line[-1][0].startswith("  ") else ()
    if note and count_columns(note[0][0]) <= width // 2:
        return (*cut(line[:-1], width - count_columns(note[0][0])), *note)
    kept: list[Span] = []
    left = width - 1
    for text, style in line:
        head = _take(text, left)
        kept.append((head, style))
        left -= count_columns(head)
        if len(head) < len(text):
            kept[-1] = (head + "…", style)
            break
    return tuple(kept)


def wrap(
    line: Line, width: int, indent: str = "", *, whole_words: bool = False, first: int | None = None
) -> Iterator[Line]:
    """The whole line as several, broken between words where that is possible; later ones are indented.

    `whole_words`: also a long one is broken only where no row holds it. `first`: columns of the first row.
    """
    chunks = _chop(line, max(_CHUNK, 4 * width))
    lead: Line = ()
    room = width if first is None else first
    rest = _fill((), chunks, max(width, room))
    while True:
        head, rest = _break(rest, room, whole_words)
        yield (*lead, *head)
        rest = _fill(rest, chunks, width)
        if not rest:
            return
        room, lead = max(width - count_columns(indent), 8), ((indent, ""),) if indent else ()


def wrap_all(lines: Iterable[Line], width: int, indent: str = "") -> Iterator[Line]:
    for line in lines:
        yield from wrap(line, width, indent)


def wrap_columns(lines: Iterable[Line], width: int) -> Iterator[Line]:
    """Lines of a word and what it means, two blanks apart: what does not fit goes on below its column.

    Where that would leave less than half of the width, the meaning stands below its word.
    """
    for line in lines:
        ((text, style),) = line if len(line) == 1 else ((as_text(line), ""),)
        found = re.match(r" *\S.*?( {2,})(?=\S)", text)
        if count_columns(text) <= width or not found:
            yield from wrap(line, width, INDENT)
            continue
        at = found.end()
        hanging = count_columns(text[:at]) <= width // 2
        indent = " " * count_columns(text[:at]) if hanging else INDENT
        head: Line = ((text[:at], style),)
        if not hanging:
            yield ((text[: found.start(1)], style),)
            head = ((indent, ""),)
        for row in wrap(((text[at:], style),), max(width - len(indent), 8), whole_words=True):
            yield (*head, *row)
            head = ((indent, ""),)


_CHUNK = 4096
"""Characters that are looked at together: a line of megabytes would be copied for each row of it."""


def _chop(line: Line, size: int) -> Iterator[Line]:
    for text, style in line:
        for at in range(0, len(text), size):
            yield ((text[at : at + size], style),)


def _fill(line: Line, chunks: Iterator[Line], width: int) -> Line:
    """More than one row of it, while there is more."""
    while sum(len(text) for text, _ in line) <= width and (more := next(chunks, ())):
        line = (*line, *more)
    return line


def _break(line: Line, width: int, whole_words: bool) -> tuple[Line, Line]:
    text = as_text(line)
    end = len(_take(text, width)) or 1
    if end >= len(text):
        return line, ()
    blank = text.rfind(" ", 1, end + 1)
    # A word that is longer than a third of the line is broken itself: a path, or a made-up one, would
    # otherwise leave most of a narrow line empty.
    if blank > (0 if whole_words else end * 2 // 3):
        head, rest = _split(line, blank)
        return head, _drop_blank(rest)
    return _split(line, end)


def _split(line: Line, at: int) -> tuple[Line, Line]:
    head: list[Span] = []
    rest: list[Span] = []
    for text, style in line:
        if text[:at]:
            head.append((text[:at], style))
        if text[at:]:
            rest.append((text[at:], style))
        at = max(at - len(text), 0)
    return tuple(head), tuple(rest)


def _drop_blank(line: Line) -> Line:
    if not line:
        return ()
    (text, style), *others = line
    text = text.removeprefix(" ")
    return ((text, style), *others) if text else tuple(others)


def _take(text: str, columns: int) -> str:
    """The longest beginning that takes no more columns; what belongs to its last letter stays with it."""
    if text.isascii():
        return text[: max(columns, 0)]
    left = columns
    for at, letter in enumerate(text):
        left -= count_columns(letter)
        if left < 0:
            return text[:at]
    return text
