"""Editing by prompt_toolkit, which draws nothing here: it is told of strokes, and asked for the text."""

from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.application.current import set_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import vi_insert_mode, vi_replace_mode
from prompt_toolkit.input import DummyInput
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import BufferControl
from prompt_toolkit.output import DummyOutput

from planck.cli.screen.keyboard import Stroke

if TYPE_CHECKING:
    from planck.cli.screen.draft import Editor

_KEYS: dict[str, Keys] = {
    "esc": Keys.Escape,
    "enter": Keys.ControlM,
    "tab": Keys.ControlI,
    "s-tab": Keys.BackTab,
    "backspace": Keys.ControlH,
    **{key.value: key for key in Keys if not key.value.startswith("<")},
}


class RichEditor:
    """Emacs keys, or vi's; undo, kill ring, words, several lines."""

    def __init__(self, *, vi: bool = False) -> None:
        self._buffer = Buffer(multiline=True)
        mode = EditingMode.VI if vi else EditingMode.EMACS
        self._app: Application[None] = Application(
            Layout(Window(BufferControl(self._buffer))),
            editing_mode=mode,
            input=DummyInput(),
            output=DummyOutput(),
        )
        # Nothing waits for a second key: our decoder has told Esc from Alt already.
        self._app.timeoutlen = None  # type: ignore[assignment] # what it calls "never"

    @property
    def text(self) -> str:
        return self._buffer.text

    @property
    def cursor(self) -> int:
        return self._buffer.cursor_position

    @property
    def inserting(self) -> bool:
        if self._app.editing_mode is EditingMode.EMACS:
            return True
        with set_app(self._app):
            return vi_insert_mode() or vi_replace_mode()

    def press(self, stroke: Stroke) -> None:
        keys = self._app.key_processor
        if stroke.key.startswith("a-"):
            keys.feed(KeyPress(Keys.Escape, "\x1b"))
            stroke = Stroke(stroke.key[2:], stroke.key[2:] if len(stroke.key) == 3 else "")
        key = stroke.text or _KEYS.get(stroke.key)
        if key is None:
            keys.empty_queue()
            return
        keys.feed(KeyPress(key, stroke.text))
        with set_app(self._app):
            keys.process_keys()
            if stroke.key == "esc":
                keys.empty_queue()

    def insert(self, text: str) -> None:
        self._buffer.save_to_undo_stack()
        self._buffer.insert_text(text)

    def replace(self, text: str, cursor: int | None = None) -> None:
        self._buffer.save_to_undo_stack()
        self._buffer.set_document(
            Document(text, len(text) if cursor is None else cursor), bypass_readonly=True
        )

    def put_before(self, text: str) -> None:
        self.replace(text + self.text, len(text) + self.cursor)


if TYPE_CHECKING:
    _: type["Editor"] = RichEditor
