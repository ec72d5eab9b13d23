"""A page of lines that is scrolled and searched, and a list of which one is chosen: keys in, lines out."""

from collections.abc import Callable, Mapping, Sequence

from planck.cli.tell.styled import Line, as_text, cut
from planck.records.visible import count_columns

_LEAVE = frozenset({"esc", "q", "c-c", "c-d", ""})
_LEAST = 20
"""Columns of a path, however narrow the terminal."""
_STEPS = {"up": -1, "k": -1, "down": 1, "j": 1, "c-p": -1, "c-n": 1}


class Page:
    """Lines, of which so many are seen as there is room; `/` searches, Esc leaves.

    `commands`: it lists what begins with `/`, so that this key leaves it, to be typed.
    """

    def __init__(self, title: str, lines: Sequence[Line], *, commands: bool = False) -> None:
        self.title = title
        self.lines: Sequence[Line] = lines
        self.left: bool = False
        self.typed: str = ""
        """What left it, and belongs to the input."""
        self._commands = commands
        self._at = 0
        self._words = ""
        self._typing = False

    def press(self, key: str, room: int) -> None:
        if self._typing:
            self._type(key)
            return
        last = max(len(self.lines) - room, 0)
        self._at = min(self._at, last)
        if key in _LEAVE:
            self.left = True
        elif key in _STEPS:
            self._at += _STEPS[key]
        elif key in ("pagedown", " ", "c-f"):
            self._at += room - 1
        elif key in ("pageup", "b", "c-b"):
            self._at -= room - 1
        elif key in ("home", "g"):
            self._at = 0
        elif key in ("end", "G"):
            self._at = last
        elif key == "/" and self._commands:
            self.typed, self.left = key, True
        elif key == "/":
            self._typing, self._words = True, ""
        elif key in ("n", "N"):
            self._find(1 if key == "n" else -1)
        self._at = max(0, min(self._at, last))

    def replace(self, lines: Sequence[Line], room: int) -> None:
        """Replaces the lines. A view that shows the end goes on showing the end."""
        at_end = bool(self.lines) and self._at >= len(self.lines) - room
        self.lines = lines
        if at_end:
            self._at = max(len(lines) - room, 0)

    def view(self, width: int, rows: int) -> list[Line]:
        """The title, the lines, and what can be pressed, on exactly so many rows."""
        room = max(rows - 2, 1)
        self._at = max(0, min(self._at, len(self.lines) - room))
        shown = [self._mark(cut(line, width)) for line in self.lines[self._at : self._at + room]]
        shown += [()] * (room - len(shown))
        return [cut(((self.title, "bold"),), width), *shown, cut(self._footer(room, width), width)]

    def _footer(self, room: int, width: int) -> Line:
        if self._typing:
            return ((f"/{self._words}", "bold"), ("  Enter searches", "dim"))
        where = f" · {self._at + 1}-{min(self._at + room, len(self.lines))} of {len(self.lines)}"
        more = where if len(self.lines) > room else ""
        following = " · n next" if self._words else ""
        slash = "/ types a command" if self._commands else "/ search"
        keys = f"Esc close · ↑↓ scroll · {slash}{following}"
        if count_columns(keys + more) > width:  # where it is matters more than keys that everybody knows
            keys = f"Esc close · {slash}{following}"
        return ((keys + more, "dim"),)

    def _type(self, key: str) -> None:
        if key == "enter":
            self._typing = False
            self._find(1, here=True)
        elif key in ("esc", "c-c", ""):
            self._typing, self._words = False, ""
            self.left = not key
        elif key == "backspace":
            self._words = self._words[:-1]
        elif len(key) == 1:
            self._words += key

    def _find(self, step: int, *, here: bool = False) -> None:
        words, count = self._words.lower(), len(self.lines)
        if not words or not count:
            return
        start = self._at + (0 if here else step)
        for number in range(count):
            at = (start + number * step) % count
            if words in as_text(self.lines[at]).lower():
                self._at = at
                return

    def _mark(self, line: Line) -> Line:
        if not self._words or self._typing or self._words.lower() not in as_text(line).lower():
            return line
        return tuple((text, f"{style} reverse".strip()) for text, style in line)


class ChangeList:
    """Rows of which one is marked, and below them what there is to say of it; some keys act on that one."""

    def __init__(
        self,
        title: str,
        rows: Sequence[tuple[str, str]],
        keys: Mapping[str, str],
        about: Callable[[int], Sequence[Line]],
        at: int = 0,
        note: str = "",
    ) -> None:
        """`rows`: a path, which may lose its beginning, and what is said of it.

        `keys`: what each of them does, in a word or two; it is left by them, and by Esc.

        `about` returns what stands below the rows of a given change.
        """
        self.title = title
        self.note = note
        self.left: bool = False
        self.key: str = ""
        """The one that was pressed; empty: none."""
        self.at: int = max(0, min(at, len(rows) - 1))
        self._rows = rows
        self._keys = keys
        self._about = about
        self._down = 0

    def press(self, key: str, room: int) -> None:
        if key in self._keys and self._rows:
            self.key, self.left = key, True
        elif key in _LEAVE:
            self.left = True
        elif key in _STEPS:
            self.at = max(0, min(self.at + _STEPS[key], len(self._rows) - 1))
            self._down = 0
        elif key in ("pagedown", " ", "pageup", "b"):
            self._down = max(0, self._down + (room // 2 if key in ("pagedown", " ") else -room // 2))

    def view(self, width: int, rows: int) -> list[Line]:
        """The title, the rows around the marked one, what there is to say of that, and the keys."""
        about = self._about(self.at)
        most = max(min(len(self._rows), (rows - 3) // 3), 1)
        first = max(0, min(self.at - most // 2, len(self._rows) - most))
        listed: list[Line] = [
            (
                (
                    ("→ " if number == self.at else "  ") + _fit(row, width - 2),
                    "bold" if number == self.at else "",
                ),
            )
            for number, row in enumerate(self._rows[first : first + most], first)
        ]
        room = max(rows - 3 - len(listed), 1)
        self._down = max(0, min(self._down, len(about) - room))
        below = [*about[self._down : self._down + room]]
        below += [()] * (room - len(below))
        more = " · Space scroll" if len(about) > room else ""
        acts = "".join(f" · {key} {words}" for key, words in self._keys.items())
        footer: Line = ((f"Esc close{acts} · ↑↓ select{more}", "dim"),)
        shown = [((self.title, "bold"),), *listed, ((self.note, "yellow"),), *below, footer]
        return [cut(line, width) for line in shown]


def _fit(row: tuple[str, str], width: int) -> str:
    """A row whose counts are seen however long its path is."""
    path, about = row
    room = max(width - count_columns(about), _LEAST)
    if count_columns(path) <= room:
        return path + about
    while count_columns(path) >= room:
        path = path[1:]
    return f"…{path}{about}"


class Picker:
    """One of several rows; what is typed narrows them, Enter takes the one that is marked."""

    def __init__(self, title: str, rows: Sequence[str]) -> None:
        self.title = title
        self.left: bool = False
        self.chosen: int | None = None
        self._rows = rows
        self._words = ""
        self._at = 0

    def press(self, key: str, room: int) -> None:
        found = self._matching()
        if key in ("esc", "c-c", "c-d", ""):
            self.left = True
        elif key == "enter" and found:
            self.chosen, self.left = found[min(self._at, len(found) - 1)], True
        elif key in ("up", "c-p"):
            self._at -= 1
        elif key in ("down", "c-n"):
            self._at += 1
        elif key in ("pageup", "pagedown"):
            self._at += room - 1 if key == "pagedown" else 1 - room
        elif key == "backspace":
            self._words = self._words[:-1]
        elif len(key) == 1:
            self._words, self._at = self._words + key, 0
        self._at = max(0, min(self._at, len(self._matching()) - 1))

    def view(self, width: int, rows: int) -> list[Line]:
        room = max(rows - 3, 1)
        found = self._matching()
        first = max(0, min(self._at - room // 2, len(found) - room))
        shown: list[Line] = []
        for number, at in enumerate(found[first : first + room], first):
            marked = number == self._at
            shown.append(
                cut(((("→ " if marked else "  ") + self._rows[at], "bold" if marked else ""),), width)
            )
        shown = shown or [(("  No matches", "dim"),)]
        shown += [()] * (room - len(shown))
        footer: Line = (("Esc cancel · Enter select · ↑↓ move · type to filter", "dim"),)
        search: Line = ((f"> {self._words}", ""),)
        return [cut(((self.title, "bold"),), width), *shown, cut(search, width), cut(footer, width)]

    def _matching(self) -> list[int]:
        words = self._words.lower().split()
        return [at for at, row in enumerate(self._rows) if all(word in row.lower() for word in words)]
