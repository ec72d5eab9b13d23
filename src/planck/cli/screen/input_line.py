"""The input: what is typed, pasted and fetched back from the history, and how it looks."""

from typing import NamedTuple

from planck.cli.screen.draft import Draft, Editor
from planck.cli.screen.history import History
from planck.cli.screen.keyboard import Stroke
from planck.cli.screen.styled import make_visible
from planck.records.visible import count_columns

_FOLD = 0x10F000
"""The first character that stands for a folded paste: one of the private ones, which no text has."""
_MAX_LINES, _MAX_LENGTH = 8, 1000
"""A paste beyond either is folded."""
_MAX_FIRST = 300
_MAX_FOLDS = 0xF00
PROMPT = "> "


class Laid(NamedTuple):
    rows: list[str]
    cursor: tuple[int, int]


class _Cell(NamedTuple):
    number: int
    """Of the character in the text."""
    shown: str
    columns: int


class Search(NamedTuple):
    words: str
    found: int | None
    before: str
    """What stood in the input when the search began."""


class InputLine:
    """One message before it is sent. Folded pastes are one character in the editor and whole in `text`."""

    def __init__(self, history: History) -> None:
        self._editor: Editor = Draft()
        self._history = history
        self._folds: list[str] = []
        self._at: int | None = None
        """The entry of the history that is shown; None: what is being typed."""
        self._kept = ""
        self.search: Search | None = None
        self._aside = ""
        self._due = False
        """Whether what was set aside comes back as soon as the input is empty."""

    @property
    def text(self) -> str:
        return self._expand(self._editor.text)

    @property
    def shown(self) -> str:
        """As the editor has it, up to the cursor: what a completion goes by."""
        return self._editor.text[: self._editor.cursor]

    @property
    def inserting(self) -> bool:
        return self._editor.inserting

    @property
    def behind(self) -> bool:
        """Whether some of what was typed waits for the full editor."""
        return isinstance(self._editor, Draft) and self._editor.behind

    def use(self, editor: Editor) -> None:
        """Go on with the full editor; what the draft could not do yet is done now."""
        if isinstance(self._editor, Draft):
            self._editor.hand_over(editor)
        self._editor = editor

    def press(self, stroke: Stroke) -> None:
        if stroke.text and ord(stroke.text[0]) >= _FOLD:
            stroke = stroke._replace(text="\ufffd")
        self._editor.press(stroke)
        self._return_aside()

    def insert(self, text: str) -> None:
        """A paste; a long one is folded, and sent whole all the same."""
        text = "".join("\ufffd" if ord(one) >= _FOLD else one for one in text) if not text.isascii() else text
        if text.lstrip().startswith("!") and not self.shown.strip() and not _is_one_line(text):
            text = f" {text}"  # said as it is: nobody saw all of it, and a shell would run every line
        self._editor.insert(self._fold(text))

    def replace(self, text: str) -> None:
        """Takes a message back into the input; of a long one the first line is shown, to tell which it is."""
        first, newline, rest = text.partition("\n")
        if newline and first and len(first) <= _MAX_FIRST:
            self._editor.replace(first + self._fold(newline + rest))
        else:
            self._editor.replace(self._fold(text))

    def put_before(self, text: str) -> None:
        """Lines above what is being typed, which goes on where it is."""
        self._editor.put_before(self._fold(text) + ("\n" if self._editor.text else ""))

    def complete(self, start: int, text: str) -> None:
        before, behind = self.shown, self._editor.text[self._editor.cursor :]
        self._editor.replace(before[:start] + text + behind, start + len(text))

    def take(self) -> str:
        """The message; the input is empty afterwards."""
        text = self.text
        self._empty()
        self._return_aside()
        return text

    def _empty(self) -> None:
        self._editor.replace("")
        self._at, self._kept, self.search = None, "", None

    def set_aside(self) -> None:
        """Empties the input for another text; what stands in it waits for `bring_back`."""
        self._aside = "\n".join(filter(None, (self._aside, self._editor.text)))
        self._due = False
        self._empty()

    def bring_back(self) -> bool:
        """Brings back what was set aside once the input is empty; returns whether it still waits."""
        self._due = bool(self._aside)
        self._return_aside()
        return self._due

    def _return_aside(self) -> None:
        if self._due and not self._editor.text:
            self._editor.replace(self._aside)
            self._aside, self._due = "", False

    def older(self) -> bool:
        """One entry back, if the cursor stands in the first line; False: there is none, or it does not."""
        if "\n" in self.shown:
            return False
        entries = self._history.entries
        at = len(entries) if self._at is None else self._at
        if self._at is None:
            self._kept = self.text
        return at > 0 and self._recall(at - 1)

    def newer(self) -> bool:
        if self._at is None or "\n" in self._editor.text[self._editor.cursor :]:
            return False
        return self._recall(self._at + 1)

    def _recall(self, at: int) -> bool:
        entries = self._history.entries
        self._at = at if at < len(entries) else None
        self.replace(self._kept if self._at is None else entries[at])
        return True

    def begin_search(self) -> None:
        """Search backwards; again: the one before."""
        if self.search is None:
            self.search = Search("", None, self.text)
        else:
            self._look(self.search.words, self.search.found)

    def press_in_search(self, stroke: Stroke) -> bool:
        """Whether the stroke was the search's own; otherwise the search has ended with what it found."""
        assert self.search is not None
        if stroke.text:
            self._look(self.search.words + stroke.text, None)
        elif stroke.key == "backspace":
            self._look(self.search.words[:-1], None)
        elif stroke.key in ("esc", "c-c", "c-g"):
            self.replace(self.search.before)
            self.search = None
        else:
            self.search = None
            return stroke.key == "enter"
        return True

    def _look(self, words: str, before: int | None) -> None:
        assert self.search is not None
        found = self._history.find(words, before) if words else None
        if found is None and before is not None:
            found = before  # there is none before it: the last one stays
        self.search = self.search._replace(words=words, found=found)
        self.replace(self.search.before if found is None else self._history.entries[found])

    def lay_out(self, width: int, most: int) -> Laid:
        """The rows around the cursor, at most so many, each within `width` columns."""
        room = max(4, width - len(PROMPT))
        rows: list[str] = []
        row: list[_Cell] = []
        used, cursor, place = 0, (0, 0), self._editor.cursor
        for number, one in enumerate(self._editor.text + "\n"):
            shown = "" if one == "\n" else self._label(one)
            columns = count_columns(shown)
            if columns > room:  # a label on a terminal narrower than it
                shown, columns = shown[: room - 1] + "…", room
            while row and used + columns > room:
                kept, row = _break_row(row, blank=one == " ")
                rows.append("".join(cell.shown for cell in kept))
                used = sum(cell.columns for cell in row)
                if any(cell.number == place for cell in row):
                    cursor = (len(rows), sum(cell.columns for cell in row if cell.number < place))
            if number == place:
                cursor = (len(rows), used)
            row.append(_Cell(number, shown, columns))
            used += columns
            if one == "\n":
                rows.append("".join(cell.shown for cell in row))
                row, used = [], 0
        first = min(max(0, cursor[0] - most + 1), max(0, len(rows) - most))
        shown_rows = rows[first : first + most]
        lead = [PROMPT if first + n == 0 else " " * len(PROMPT) for n in range(len(shown_rows))]
        painted = [head + text for head, text in zip(lead, shown_rows, strict=True)]
        return Laid(painted, (cursor[0] - first, cursor[1] + len(PROMPT)))

    def _label(self, one: str) -> str:
        if ord(one) < _FOLD:
            return one if " " <= one < "\x7f" else make_visible(one)
        text = self._folds[ord(one) - _FOLD] if ord(one) - _FOLD < len(self._folds) else ""
        lines = text.strip("\n").count("\n") + 1
        return f"[pasted {lines:,} lines]" if lines > 1 else f"[pasted {len(text):,} characters]"

    def _fold(self, text: str) -> str:
        if text.count("\n") < _MAX_LINES and len(text) <= _MAX_LENGTH:
            return text
        if len(self._folds) == _MAX_FOLDS:  # they are kept, because an undo may bring one back
            return text
        self._folds.append(text)
        return chr(_FOLD + len(self._folds) - 1)

    def _expand(self, text: str) -> str:
        """Whole; what is typed behind lines that were pasted stands on a line of its own, as it is meant."""
        if not self._folds:
            return text
        whole, pasted = "", False
        for one in text:
            folded = self._folds[ord(one) - _FOLD] if 0 <= ord(one) - _FOLD < len(self._folds) else ""
            if pasted and not folded:
                if one == " ":
                    continue
                whole += "" if one == "\n" or whole.endswith("\n") else "\n"
            whole += folded or one
            pasted = "\n" in folded
        return whole


def _break_row(row: list[_Cell], *, blank: bool) -> tuple[list[_Cell], list[_Cell]]:
    """A full row up to its last blank, and what begins the next; `blank`: so does what comes now."""
    at = next((at for at in range(len(row) - 1, -1, -1) if row[at].shown == " "), -1)
    return (row, []) if blank or at < 0 else (row[: at + 1], row[at + 1 :])


def _is_one_line(text: str) -> bool:
    return "\n" not in text.strip() and len(text) <= _MAX_LENGTH
