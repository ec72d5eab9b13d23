"""The rows below the scrollback that are painted over: live rows, input, footer. Nothing else moves."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from planck.cli.screen.styled import measure

MAX_LIVE = 8
"""Live rows above the input."""
_BEGIN, _END = "\x1b[?2026h\x1b[?25l", "\x1b[?25h\x1b[?2026l"
"""Terminals that know synchronized updates show a frame whole; others ignore it."""


class Frame(NamedTuple):
    rows: Sequence[str]
    """Each at most as wide as the terminal less one column."""
    cursor: tuple[int, int]
    """Row and column, from 0, where the real cursor is left: input methods open their window there."""


class Region:
    """Knows what stands on the terminal below the scrollback, also after the terminal has re-wrapped it.

    Rows are deleted from the first one down (`CSI M`): erasing the display from here would push rows into the
    history of some terminals, and a scroll region would keep finished lines out of it. A terminal that has
    become lower has cut rows below the cursor, so nothing is counted from the last row.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._rows: list[str] = []
        self._cursor = (0, 0)
        self._columns = 0
        self._resized = False

    def resized(self) -> None:
        """The terminal may have wrapped rows again and cut some: the next frame is painted whole."""
        self._resized = True

    def paint(self, frame: Frame, columns: int, finished: Sequence[str] = ()) -> None:
        """Prints finished lines into the scrollback and the frame below them.

        A frame with fewer rows than stood there is filled up at the top, so that the input stays where it
        is; finished lines take the place of that filling.
        """
        rows = list(frame.rows)
        fill = max(0, len(self._rows) - len(finished) - len(rows)) if columns == self._columns else 0
        rows[:0] = [""] * fill
        cursor = (frame.cursor[0] + fill, frame.cursor[1])
        if finished or len(rows) != len(self._rows) or columns != self._columns or self._resized:
            text = self._erase(columns) + "".join(f"{line}\n" for line in finished)
            text += "\n".join(rows) + _move(cursor[0] - len(rows) + 1) + f"\r{_right(cursor[1])}"
        elif rows == self._rows and cursor == self._cursor:
            return
        else:
            text = self._repaint(rows, cursor)
        self._write(_BEGIN + text + _END)
        self._rows, self._cursor, self._columns = rows, cursor, columns
        self._resized = False

    def clear(self, columns: int) -> None:
        """Takes the rows away; the cursor stands where the first of them stood."""
        if self._rows:
            self._write(self._erase(columns))
        self.forget()

    def forget(self) -> None:
        """What stands on the terminal is not ours any more: the next frame begins at the cursor."""
        self._rows, self._cursor, self._columns = [], (0, 0), 0

    def _repaint(self, rows: list[str], cursor: tuple[int, int]) -> str:
        text, at = "", self._cursor[0]
        for number, (old, new) in enumerate(zip(self._rows, rows, strict=True)):
            if old != new:
                text += f"{_move(number - at)}\r\x1b[2K{new}"
                at = number
        return text + f"{_move(cursor[0] - at)}\r{_right(cursor[1])}"

    def _erase(self, columns: int) -> str:
        """Ends with the cursor at the beginning of the first row."""
        if not self._rows:
            return ""
        above, height = self._cursor[0], len(self._rows)
        if columns < self._columns:  # the terminal wrapped again what does not fit any more
            heights = [_wrapped(row, columns) for row in self._rows]
            above = sum(heights[: self._cursor[0]]) + self._cursor[1] // columns
            height = sum(heights)
        return f"{_move(-above)}\r\x1b[{height}M"


def _wrapped(row: str, columns: int) -> int:
    return max(1, -(-measure(row) // columns))


def _move(rows: int) -> str:
    return f"\x1b[{rows}B" if rows > 0 else f"\x1b[{-rows}A" if rows < 0 else ""


def _right(columns: int) -> str:
    return f"\x1b[{columns}C" if columns else ""
