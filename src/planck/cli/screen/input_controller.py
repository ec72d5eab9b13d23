"""What keys do: in the input, in the list of completions, at a question, and to the conversation."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Protocol

from planck.cli.screen.completion import Choice, Menu
from planck.cli.screen.draft import Editor
from planck.cli.screen.history import History
from planck.cli.screen.input_line import InputLine
from planck.cli.screen.inputs import Input, Pressed, Submitted
from planck.cli.screen.key_guard import REPEAT, TYPING, KeyGuard, Verdict
from planck.cli.screen.key_map import KeyMap, spell_key
from planck.cli.screen.keyboard import Paste, Stroke

_WHOLE = frozenset({"submit", "queue", "older", "newer", "search", "editor"})
"""What these do goes by the whole text, and not by what of it the first frame's editor could write."""
TWICE = 2.0
"""Seconds within which a key again means more."""


class ScreenPort(Protocol):
    """What the controller needs of the screen."""

    def tell(self, happened: Input) -> None: ...

    def hint(self, text: str, *, again: bool = False) -> None: ...

    def print(self, block: str | Sequence[str]) -> None: ...

    def redraw(self) -> None: ...

    def suspend(self) -> None: ...

    def edit_outside(self) -> None: ...


class InputController:
    """Takes what the decoder found, one by one; owns the input, the list above it and the open question."""

    def __init__(self, screen: ScreenPort, key_map: KeyMap, history: History) -> None:
        self.input: InputLine = InputLine(history)
        self.menu: Menu = Menu()
        self.busy = False
        self.queued = 0
        self.private = False
        """Whether what is typed answers a question, and is in no history."""
        self._held: list[Stroke | Paste] = []
        """What was pressed before the full editor was there, and waits for it."""
        self._tab = False
        """Whether Tab was pressed before it was known what completes the word."""
        self._screen = screen
        self._key_map = key_map
        self._history = history
        self._posed: Collection[str] | None = None
        self._guard: KeyGuard | None = None
        self._answer: asyncio.Future[str] | None = None
        self._deciding: asyncio.TimerHandle | None = None
        self._last: tuple[str, float] = ("", -1.0)
        self._wrote = -1.0
        """When the input last took a stroke of text."""
        self._pressed: tuple[str, float] = ("", -1.0)

    def take(self, item: Stroke | Paste) -> None:
        if self._held or (self.input.behind and self._key_map.keys.get(_key_of(item)) in _WHOLE):
            self._held.append(item)
            return
        now = asyncio.get_running_loop().time()
        self.settle_tab()
        if isinstance(item, Paste):
            self._paste(item)
            return
        if not (self._guard and self._for_question(item, now)):
            self._press(item, now)
            if item.text:
                self._wrote = now
        self._last = (item.key, now)

    def use_editor(self, editor: Editor) -> None:
        """Goes on with the full editor, and does what waited for it."""
        self.input.use(editor)
        held, self._held = self._held, []
        for item in held:
            self.take(item)

    async def answer(self, keys: Collection[str]) -> str:
        """The key that answers a question, once `arm` was called; empty: `give_up` was."""
        assert self._posed is None, "one question at a time"
        self._posed = keys
        self._answer = asyncio.get_running_loop().create_future()
        try:
            return await self._answer
        finally:
            if self._deciding:
                self._deciding.cancel()
            self._guard = self._answer = self._deciding = self._posed = None

    @property
    def questioned(self) -> bool:
        """Whether keys are asked for, seen or not."""
        return self._posed is not None

    @property
    def posed(self) -> bool:
        """Whether there is a question that was not seen yet."""
        return self._posed is not None and self._guard is None

    def arm(self) -> None:
        """The question has been written to the terminal: what is read from now on may answer it."""
        assert self._posed is not None
        self._guard = KeyGuard(self._posed, *self._last)

    @property
    def asking(self) -> bool:
        return self._guard is not None

    def give_up(self) -> None:
        """There is nobody any more; what was being written is kept in the history."""
        if self._answer and not self._answer.done():
            self._answer.set_result("")
        self._remember(self.input.take().strip())
        self.input.bring_back()
        self._history.add(self.input.take().strip())

    def use(self, key_map: KeyMap) -> None:
        self._key_map = key_map

    def offer(self, choices: Sequence[Choice]) -> None:
        self.menu.offer(choices)
        if self._tab and len({choice.text for choice in choices}) == 1:
            self._complete()
        elif not choices:
            self.settle_tab()
        self._tab = False

    def settle_tab(self) -> None:
        """Nothing completes the word: while agents work, Tab queues the message."""
        if self._tab:
            self._tab = False
            if self.busy:
                self._send(queue=True)

    def _complete(self) -> None:
        choice = self.menu.first
        self.input.complete(choice.start, choice.text)
        self.menu.close()

    def _remember(self, text: str) -> None:
        if not self.private:
            self._history.add(text)

    def _paste(self, paste: Paste) -> None:
        self.input.search = None
        self._withdraw()
        self.input.insert(paste.text)
        if paste.cut:
            self._screen.print(
                "The pasted text is too long, so its end was cut off. "
                "Put the text in a file and attach it with @FILE."
            )
        if self._guard:
            self._screen.hint("Pasted text does not count as an answer: press a key")

    def _for_question(self, stroke: Stroke, now: float) -> bool:
        """Whether the stroke was the question's."""
        guard, answer = self._guard, self._answer
        assert guard is not None
        if answer is None or answer.done():
            return False
        if stroke.key in ("c-c", "c-d") and self.input.text:
            return False  # they are the input's, as long as there is something in it
        if self.input.search is not None or (self.menu.open and stroke.key in ("esc", "tab")):
            return False  # what is typed looks for something, and Esc leaves that
        writing = bool(self.input.text) and now - self._wrote < TYPING
        match guard.judge(stroke, now, writing=writing):
            case Verdict.NOW:
                self._decide()
            case Verdict.ANSWER:
                self._deciding = asyncio.get_running_loop().call_later(REPEAT, self._decide)
            case Verdict.NOTHING:
                self._withdraw(keep=False)
                self._screen.hint("A key held down does not count as an answer: press it once")
            case Verdict.INPUT:
                self._withdraw()
                if stroke.key == "enter" and not self.input.text:
                    letters = sorted(key for key in guard.keys if len(key) == 1)
                    press = f"press one of: {' '.join(letters)}" if letters else "write one, or press Esc"
                    self._screen.hint(f"Enter alone is not an answer; {press}")
                return False
        return True

    def _decide(self) -> None:
        if self._deciding:
            self._deciding.cancel()
            self._deciding = None
        if self._guard and self._answer and not self._answer.done():
            self._answer.set_result(self._guard.candidate)

    def _withdraw(self, *, keep: bool = True) -> None:
        """What looked like an answer was none."""
        if self._deciding:
            self._deciding.cancel()
            self._deciding = None
        if self._guard and (key := self._guard.withdraw()) and keep and len(key) == 1:
            self.input.press(Stroke(key, key))
            self._wrote = asyncio.get_running_loop().time()

    def _press(self, stroke: Stroke, now: float) -> None:
        if self.input.search is not None:
            if self._key_map.keys.get(stroke.key) == "search":
                self.input.begin_search()
                return
            if self.input.press_in_search(stroke):
                return
        action = self._key_map.keys.get(stroke.key, "")
        if action and stroke.text and self.input.text:
            action = ""  # a letter acts in an empty input only
        if not action or not self._act(action, stroke, now):
            self._pressed = ("", -1.0)
            self.input.press(stroke)

    def _act(self, action: str, stroke: Stroke, now: float) -> bool:
        """Whether that was all; otherwise the stroke is the editor's."""
        twice = self._pressed[0] == action and now - self._pressed[1] < TWICE
        self._pressed = (action, now)
        match action:
            case "submit":
                self._submit()
            case "newline":
                self.input.insert("\n")
            case "queue":
                self._queue()
            case "interrupt":
                return self._interrupt(stroke, twice)
            case "clear":
                self._clear(stroke, twice)
            case "exit":
                if self.input.text:
                    return False
                self._screen.tell(Pressed("leave" if twice else "exit"))
            case "search":
                self.input.begin_search()
            case "older" | "newer":
                return self._move(action)
            case "editor":
                self._screen.edit_outside()
            case "redraw":
                self._screen.redraw()
            case "suspend":
                self._screen.suspend()
            case _:
                self._screen.tell(Pressed(action))
        return True

    def _submit(self) -> None:
        if chosen := self.menu.chosen:
            self.input.complete(chosen.start, chosen.text)
            self.menu.close()
            return
        if self.input.shown.endswith("\\"):
            self.input.complete(len(self.input.shown) - 1, "\n")
            return
        self._send(queue=False)

    def _queue(self) -> None:
        if self.menu.open:
            self._complete()
        else:
            self._tab = True  # what completes the word may be looked for still

    def _send(self, *, queue: bool) -> None:
        text = self.input.take().rstrip().lstrip("\n")  # a blank before it means: say it as it is
        self.menu.close()
        if text:
            self._remember(text)
            self._screen.tell(Submitted(text, queue))

    def _interrupt(self, stroke: Stroke, twice: bool) -> bool:
        if self.menu.open:
            self.menu.close()
        elif self._key_map.vi and self.input.inserting and self.input.text and stroke.key == "esc":
            return False
        elif self.busy:
            self._screen.tell(Pressed("interrupt"))
            self._pressed = ("", -1.0)
        elif twice:
            self._screen.tell(Pressed("rewind"))
            self._pressed = ("", -1.0)
        else:
            self._screen.hint(f"Press {spell_key(stroke.key)} again to rewind to a message", again=True)
        return True

    def _clear(self, stroke: Stroke, twice: bool) -> None:
        if self.input.text:
            self._remember(self.input.take().strip())
            self._screen.tell(Pressed("cleared"))
            self._pressed = ("", -1.0)
        elif self.busy:
            self._screen.tell(Pressed("stop"))
            self._pressed = ("", -1.0)
        elif twice:
            self._screen.tell(Pressed("quit"))
        else:
            self._screen.hint(f"Press {spell_key(stroke.key)} again to exit", again=True)

    def _move(self, action: str) -> bool:
        if self.menu.open:
            self.menu.move(-1 if action == "older" else 1)
            return True
        if action == "older" and self.queued and not self.input.text:
            self._screen.tell(Pressed("queued"))
            return True
        return self.input.older() if action == "older" else self.input.newer()


def _key_of(item: Stroke | Paste) -> str:
    return item.key if isinstance(item, Stroke) else ""
