"""Lines of differently styled parts: made plain, cut to a width, and coloured where colours are wanted."""

import re
from collections.abc import Iterable

from planck.records.visible import count_columns, make_plain

Part = tuple[str, str]
"""A text and the name of its style: dim, bold, red, green, yellow, reverse, or a number of SGR."""
Line = tuple[Part, ...]

_STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "reverse": "7"}
_SGR = re.compile("(\x1b\\[[0-9;:]*m)")
_JOINERS = {0x200D: None, 0xFE0F: None, 0xFE0E: None}


def style(text: str, name: str) -> str:
    """Styles several, as `bold yellow`."""
    codes = ";".join(_STYLES.get(word, word) for word in name.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def paint(line: Iterable[Part], width: int, *, color: bool) -> str:
    """The line on one row of at most `width` columns; a cut is marked."""
    shown, left = "", width
    for text, name in line:
        text = make_visible(text).replace("\n", " ")
        if count_columns(text) > left:
            text, left = cut(text, left), 0
        else:
            left -= count_columns(text)
        shown += style(text, name) if color else text
        if left <= 0:
            break
    return shown


def cut(text: str, width: int) -> str:
    """At most `width` columns of plain text, the last one `…` where something is missing."""
    if count_columns(text) <= width:
        return text
    left, end = width - 1, 0
    while end < len(text) and (left := left - count_columns(text[end])) >= 0:
        end += 1
    return text[:end] + "…" if width > 0 else ""


def measure(text: str) -> int:
    """Columns of a painted row, colours aside."""
    return count_columns(_SGR.sub("", text)) if "\x1b" in text else count_columns(text)


def keep_colours(text: str) -> str:
    """The text with nothing that acts on a terminal but colours: what a renderer was handed may hold more."""
    if text.isascii() and text.isprintable():
        return text
    pieces = _SGR.split(text)
    pieces[::2] = [make_visible(piece) for piece in pieces[::2]]
    return "".join(pieces)


def make_visible(text: str) -> str:
    """Plain text whose width can be told: tabs are blanks, and joined emoji stand side by side."""
    if text.isascii() and text.isprintable():
        return text
    return make_plain(text.translate(_JOINERS)).replace("\t", "    ")


def wrap(text: str, width: int) -> list[str]:
    """Rows of at most `width` columns, cut wherever one is full; at least one."""
    rows, row, left = [], "", width
    for one in text:
        columns = count_columns(one)
        if columns > left:
            rows.append(row)
            row, left = "", width
        row, left = row + one, left - columns
    return [*rows, row]
