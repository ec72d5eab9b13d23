"""A page in front of the conversation, on the terminal's other screen: what was there comes back."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from planck.cli.screen.console import Console
from planck.cli.screen.keyboard import Paste, Stroke
from planck.cli.screen.styled import Line, paint

_RESIZED, _GONE = Stroke("resize"), Stroke("")
_IN, _OUT = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


class Behind(Protocol):
    """The screen that it covers."""

    color: bool

    def cover(self, overlay: "Overlay") -> bool:
        """Puts it in front of everything; returns whether it is the only one."""

    def uncover(self, overlay: "Overlay") -> bool:
        """Takes it away, in front or not; returns whether none is left."""

    def take(self, items: "Sequence[Stroke | Paste]") -> None:
        """Returns what was typed behind the key that left it."""

    def touch(self) -> None: ...


class Overlay:
    """Shows lines and gives strokes; `resize` is one of them. Whoever opened it decides what leaves it."""

    def __init__(self, behind: Behind, console: Console) -> None:
        self._behind = behind
        self._console = console
        self._lines: Sequence[Line] = ()
        self._strokes: asyncio.Queue[Stroke | Paste] = asyncio.Queue()  # what one person presses
        self._size = console.size()
        self._returned: list[Stroke] = []

    async def __aenter__(self) -> "Overlay":
        if self._behind.cover(self) and self._console.here:  # else it is painted on the way back
            self._console.write(_IN)
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._behind.uncover(self) and self._console.here:
            self._console.write(_OUT)
        rest: list[Stroke | Paste] = [*self._returned]
        rest += [self._strokes.get_nowait() for _ in range(self._strokes.qsize())]
        self._behind.take([item for item in rest if isinstance(item, Paste) or item not in (_RESIZED, _GONE)])

    @property
    def size(self) -> tuple[int, int]:
        """Columns that a line may have, and rows."""
        columns, rows = self._console.size()
        return columns - 1, rows

    def show(self, lines: Sequence[Line]) -> None:
        """From the first row on; what does not fit is not seen."""
        self._lines = lines
        self._behind.touch()

    async def key(self) -> str:
        """The next key by its name; empty once the terminal is gone."""
        while not self._console.gone:
            item = await self._strokes.get()
            if isinstance(item, Stroke):  # what is pasted into a page is nothing that it asked for
                return item.key
        return ""

    def give_back(self, text: str) -> None:
        """Types a character that has left it, before what was pressed since."""
        self._returned.append(Stroke(text, text))

    def take(self, item: Stroke | Paste) -> None:
        self._strokes.put_nowait(item)

    def paint(self) -> None:
        columns, rows = size = self._console.size()
        if size != self._size:
            self._size = size
            self._strokes.put_nowait(_RESIZED)
        text = "".join(
            f"\x1b[{row};1H\x1b[2K"
            + (
                paint(self._lines[row - 1], columns - 1, color=self._behind.color)
                if row <= len(self._lines)
                else ""
            )
            for row in range(1, rows + 1)
        )
        self._console.write(f"\x1b[?2026h{text}\x1b[?2026l")

    def hide(self) -> None:
        self._console.write(_OUT)

    def unhide(self) -> None:
        self._console.write(_IN)

    def give_up(self) -> None:
        """Nobody is there any more."""
        self._strokes.put_nowait(_GONE)
