"""The text that is being typed: a plain one until the editor is loaded, which then gets all of it."""

from typing import Protocol

from planck.cli.screen.keyboard import Stroke


class Editor(Protocol):
    """A text and a place in it. What a stroke does there is the editor's own; it paints nothing."""

    @property
    def text(self) -> str: ...

    @property
    def cursor(self) -> int: ...

    def press(self, stroke: Stroke) -> None: ...

    def insert(self, text: str) -> None: ...

    def replace(self, text: str, cursor: int | None = None) -> None:
        """Another text; the cursor behind it unless it is said."""

    def put_before(self, text: str) -> None:
        """Text before what there is; the cursor stays where it is in that."""

    @property
    def inserting(self) -> bool:
        """False where a letter is a command: in the navigation of vi."""


class Draft:
    """Writes at the end and rubs out; what else is pressed waits, with all behind it, for `hand_over`."""

    def __init__(self) -> None:
        self._text = ""
        self._late: list[Stroke | str] = []

    @property
    def text(self) -> str:
        return self._text

    @property
    def cursor(self) -> int:
        return len(self._text)

    @property
    def inserting(self) -> bool:
        return True

    def press(self, stroke: Stroke) -> None:
        if self._late:
            self._late.append(stroke)
        elif stroke.text:
            self._text += stroke.text
        elif stroke.key == "backspace":
            self._text = self._text[:-1]
        else:
            self._late.append(stroke)

    def insert(self, text: str) -> None:
        if self._late:
            self._late.append(text)
        else:
            self._text += text

    def replace(self, text: str, cursor: int | None = None) -> None:
        self._text = text
        self._late.clear()

    def put_before(self, text: str) -> None:
        self._text = text + self._text

    @property
    def behind(self) -> bool:
        """Whether strokes wait, so that the text is not yet what was typed."""
        return bool(self._late)

    def hand_over(self, editor: Editor) -> None:
        editor.replace(self._text)
        for late in self._late:
            if isinstance(late, str):
                editor.insert(late)
            else:
                editor.press(late)
