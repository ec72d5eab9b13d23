"""The screen of a conversation: finished lines above, live rows and an input below that never jump."""

import asyncio
import base64
import sys
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TextIO

from planck.cli.screen.completion import Completer
from planck.cli.screen.console import Console
from planck.cli.screen.history import History
from planck.cli.screen.input_controller import TWICE, InputController
from planck.cli.screen.inputs import Closed, Input
from planck.cli.screen.key_map import DEFAULT, KeyMap
from planck.cli.screen.keyboard import Decoder, Paste, Stroke
from planck.cli.screen.overlay import Overlay
from planck.cli.screen.region import MAX_LIVE, Frame, Region
from planck.cli.screen.scrollback import Scrollback
from planck.cli.screen.styled import Line, keep_colours, paint
from planck.cli.screen.unsent import Unsent

_MAX_COPY = 100_000
_INPUT_ROWS = 8
_FRAME = 0.05
"""Seconds from one frame to the next, at least."""
_SETTLE = 0.15
"""Seconds after a change of size before anything is written: the terminal wraps its lines again meanwhile."""
_ESC = 0.05
"""Seconds after which what may have begun a sequence was a key by itself."""
_NOTE = 6.0
"""Seconds for which a note is shown to somebody who presses nothing."""
_KEEP = 0.3
"""Seconds after a key until what is typed is in its file."""
_LOST_END = 5.0
"""Seconds of silence in a paste after which its end is not waited for any more."""


class Rows(Protocol):
    """What is shown live; asked for each frame, so that it fits the width and the seconds of now."""

    def lines(self, width: int) -> Sequence[Line]:
        """Above the input, at most `MAX_LIVE`."""

    def footer(self, width: int, note: Line = ()) -> Line:
        """Below the input; a `note` that is given stands in it, and hides nothing that must be seen."""


class NoRows:
    def lines(self, width: int) -> Sequence[Line]:
        return ()

    def footer(self, width: int, note: Line = ()) -> Line:
        return (("  ", ""), *note) if note else ()


class Screen:
    """Owns the terminal from `open` to `close`; all of it is called within the loop.

    Whoever uses it prints finished blocks, sets the live rows, and awaits what the person does.
    """

    def __init__(
        self,
        history: History | None = None,
        key_map: KeyMap = DEFAULT,
        *,
        color: bool = True,
        terminal: tuple[int, int] = (0, 1),
        editor: Callable[[str], Awaitable[str | None]] | None = None,
    ) -> None:
        """`terminal`: the descriptors that are read, and painted on.

        `editor`: has the user edit a text elsewhere, while it has the terminal; None: it can't be started.
        """
        self.key_map: KeyMap = key_map
        self.color = color
        self.completers: list[Completer] = []
        self._console = Console(self, *terminal)
        self._region = Region(self._console.write)
        self._controller = InputController(self, self.key_map, history or History())
        self._unsent = Unsent()
        self._keeping: asyncio.TimerHandle | None = None
        self._withheld = False
        """Whether some of the input was typed at a question: it may be a secret, and is not kept."""
        self._decoder = Decoder()
        self._editor = editor or _find_none
        self._rows: Rows = NoRows()
        self._hint: tuple[str, float] = ("", -1.0)
        self._finished: list[str] = []
        self._inputs: asyncio.Queue[Input] = asyncio.Queue()  # what one person does: nobody types without end
        self._painting: asyncio.TimerHandle | None = None
        self._flushing: asyncio.TimerHandle | None = None
        self._painted = self._resized = -1.0
        self._size = (80, 24)
        self._tasks: set[asyncio.Task[None]] = set()
        self._completing: asyncio.Task[None] | None = None
        self._editing: asyncio.Task[None] | None = None
        self._completed = ""
        self._streams: tuple[TextIO, TextIO] | None = None
        self._overlays: list[Overlay] = []
        """The last one is in front. Two keys in one read may open two."""
        self._live = asyncio.Event()

    def open(self, *, early: bool = False) -> None:
        """Paints the input at once, with what was typed before; the full editor is loaded behind it.

        `early`: only once live rows are there, so that they wait for nothing that they do not need.
        """
        self._console.open()
        typed = self._console.drain().replace(b"\n", b"\r")  # until now, the terminal made that of Enter
        self._streams = (sys.stdout, sys.stderr)
        sys.stdout = sys.stderr = Scrollback(self.print)
        if typed:
            self._console.write("\r\x1b[2K")  # the terminal has shown it already
            self.read(typed)
        self._paint()
        self._begin(self._load_editor(early))

    async def close(self) -> None:
        """Everything printed is on the terminal, which is as it was found; the draft is in the history."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._leave_draft()
        self._controller.give_up()
        if self._streams:
            if isinstance(sys.stdout, Scrollback):
                sys.stdout.finish()
            sys.stdout, sys.stderr = self._streams
            self._streams = None
        for timer in (self._painting, self._flushing, self._keeping):
            if timer:
                timer.cancel()
        if self._console.here:
            self.leave_terminal()
        self._console.close()

    def print(self, block: str | Sequence[str]) -> None:
        """Puts finished lines into the scrollback, once, above the live rows; colours in them are kept."""
        lines = block.split("\n") if isinstance(block, str) else block
        self._finished.extend(piece.rstrip() for line in lines for piece in keep_colours(line).split("\n"))
        self.touch()

    def show(self, rows: Rows) -> None:
        """Sets what is live from now on."""
        self._rows = rows
        self.touch()

    def touch(self) -> None:
        """Something that is live has changed: it is painted with the next frame."""
        if self._painting is None:
            loop = asyncio.get_running_loop()
            due = max(self._painted + _FRAME, self._resized + _SETTLE)
            self._painting = loop.call_at(max(loop.time(), due), self._paint)

    async def shown(self) -> None:
        """Returns once rows of a conversation were painted: what they do not need begins behind it."""
        await self._live.wait()

    async def next(self) -> Input:
        """What the person does next; once the terminal is gone, that."""
        if self._console.gone and self._inputs.empty():
            return Closed()
        return await self._inputs.get()

    async def ask(self, keys: Collection[str]) -> str:
        """One of the keys, typed by hand once all that was printed before is on the screen.

        Enter alone, a paste, what was typed ahead and a key that is held down are no answer. Empty: the
        terminal is gone. One question at a time; while it is open, what is no answer goes to the input.
        """
        self.touch()
        return "" if self._console.gone else await self._controller.answer(keys)

    def use(self, key_map: KeyMap) -> None:
        """Other keys from now on."""
        self.key_map = key_map
        self._decoder.use(key_map.keys)
        self._controller.use(key_map)

    def overlay(self) -> Overlay:
        """A whole page in front of the conversation, while its `async with` lasts; prints wait behind it."""
        return Overlay(self, self._console)

    def edit(self, text: str) -> None:
        """Puts a text into the input, in the place of what is there."""
        self._controller.input.replace(text)
        self._note_draft()
        self.touch()

    def set_aside(self) -> None:
        """Empties the input for another text; `bring_back` shows again what stood in it."""
        self._controller.input.set_aside()
        self.touch()

    def bring_back(self) -> None:
        """Shows what was set aside, now or once what is in the input is sent or cleared."""
        if self._controller.input.bring_back():
            self.hint("Your draft returns after this")
        self.touch()

    def keep_draft(self, folder: Path, place: str, name: str, *, others: bool = False) -> bool:
        """Keeps what is typed in a file from now on; whether a text that was left there is back in the input.

        Arguments as of `Unsent.begin`.
        """
        left = self._unsent.begin(folder, place, name, others=others)
        if left:
            self._controller.input.put_before(left)
            self.touch()
        self._keep_draft()
        return bool(left)

    @property
    def private(self) -> bool:
        """Whether what is typed answers a question: it is then in no file, and not in the history."""
        return self._controller.private

    @private.setter
    def private(self, value: bool) -> None:
        self._controller.private = value

    def hint(self, text: str, *, again: bool = False) -> None:
        """Says something below the input until the next key, or for a moment.

        `again`: of a key that does more if it is pressed again; as long as that holds.
        """
        loop = asyncio.get_running_loop()
        seconds = TWICE if again else _NOTE
        self._hint = (text, loop.time() + seconds)
        self.touch()
        loop.call_later(seconds + _FRAME, self.touch)

    def notify(self, text: str) -> None:
        """Rings, and has terminals that can do it show a notice: it waits for the person, or is done."""
        if self.key_map.bell and self._console.here:
            plain = keep_colours(text).replace("\n", " ").replace("\x1b", "")[:200]
            self._console.write(f"\x1b]9;{plain}\x07\x07")

    def copy(self, text: str) -> bool:
        """Hands a text to the terminal's clipboard, also over ssh; one that does not know how ignores it."""
        if self._console.here:
            data = base64.b64encode(text[:_MAX_COPY].encode()).decode()
            self._console.write(f"\x1b]52;c;{data}\x07")
        return self._console.here

    @property
    def asking(self) -> bool:
        """Whether a key would answer a question now."""
        return self._controller.asking

    @property
    def height(self) -> int:
        return self._console.size()[1]

    @property
    def draft(self) -> str:
        return self._controller.input.text

    @property
    def busy(self) -> bool:
        """Whether a turn runs: it decides what Enter, Tab, Esc and Ctrl+C do."""
        return self._controller.busy

    @busy.setter
    def busy(self, value: bool) -> None:
        self._controller.busy = value
        self.touch()

    @property
    def queued(self) -> int:
        """Messages that wait for the end of the turn: Up takes the newest back."""
        return self._controller.queued

    @queued.setter
    def queued(self, value: int) -> None:
        self._controller.queued = value
        self.touch()

    @property
    def width(self) -> int:
        """Columns that a line may have."""
        return max(20, self._console.size()[0] - 1)

    # What the console tells.

    def read(self, data: bytes) -> None:
        self._take(self._decoder.feed(data))

    def resized(self) -> None:
        self._resized = asyncio.get_running_loop().time()
        if self._painting:
            self._painting.cancel()
            self._painting = None
        self.touch()

    def leave_terminal(self) -> None:
        if self._overlays:
            self._overlays[-1].hide()
        self._region.clear(self._console.size()[0])
        self._write_finished()

    def return_to_terminal(self) -> None:
        self._region.forget()
        if self._overlays:
            self._overlays[-1].unhide()
        self.touch()

    def interrupted(self) -> None:
        self._take([Stroke("c-c")])

    def lost(self) -> None:
        self._leave_draft()
        self._controller.give_up()
        for overlay in self._overlays:
            overlay.give_up()
        self.tell(Closed())

    # What keys do to it.

    def tell(self, happened: Input) -> None:
        self._inputs.put_nowait(happened)

    def redraw(self) -> None:
        self._region.clear(self._console.size()[0])

    def suspend(self) -> None:
        self._console.stop()

    def edit_outside(self) -> None:
        if self._editing is None or self._editing.done():  # two keys in one read open one editor
            self._editing = self._begin(self._edit_outside())

    # What an overlay does to it.

    def cover(self, overlay: Overlay) -> bool:
        self._overlays.append(overlay)
        self.touch()
        return len(self._overlays) == 1

    def uncover(self, overlay: Overlay) -> bool:
        self._overlays.remove(overlay)
        self.touch()
        return not self._overlays

    def take(self, items: Sequence[Stroke | Paste]) -> None:
        self._take(items)

    def _take(self, items: Sequence[Any]) -> None:
        for item in items:
            self._hint = ("", -1.0)
            if self._overlays:
                self._overlays[-1].take(item)
            else:
                self._controller.take(item)
        if self._flushing:
            self._flushing.cancel()
            self._flushing = None
        loop = asyncio.get_running_loop()
        if self._decoder.pending:
            self._flushing = loop.call_later(_ESC, self._flush)
        elif self._decoder.pasting:
            self._flushing = loop.call_later(_LOST_END, self._end_paste)
        self._complete()
        self._note_draft()
        self.touch()

    def _note_draft(self) -> None:
        """What is typed is kept in a moment; what was sent, or cleared, no longer from now on."""
        controller = self._controller
        self._withheld = bool(controller.input.text) and (
            self._withheld or controller.private or controller.questioned
        )
        if not controller.input.text:
            self._keep_draft()
        elif self._keeping is None:
            self._keeping = asyncio.get_running_loop().call_later(_KEEP, self._keep_draft)

    def _keep_draft(self) -> None:
        if self._keeping:
            self._keeping.cancel()
            self._keeping = None
        self._unsent.keep("" if self._withheld else self.draft)

    def _leave_draft(self) -> None:
        self._unsent.end("" if self._withheld else self.draft)

    def _flush(self) -> None:
        self._take(self._decoder.flush())

    def _end_paste(self) -> None:
        self._take(self._decoder.end_paste())

    def _paint(self) -> None:
        """Writes one frame, unless the terminal is not ours, has just changed its size, or takes nothing."""
        if self._painting:
            self._painting.cancel()
            self._painting = None
        if not self._console.here:
            return
        loop = asyncio.get_running_loop()
        size = self._console.size()
        if size != self._size:
            if self._painted >= 0 and loop.time() >= self._resized + _SETTLE:
                self._resized = loop.time()
            self._size = size
            self._region.resized()
        if loop.time() < self._resized + _SETTLE or not self._console.can_write():
            self._painted = loop.time()
            self.touch()
            return
        self._painted = loop.time()
        if self._overlays:
            self._overlays[-1].paint()
            return
        asking = self._controller.posed
        if asking:
            self.read(self._console.drain())  # typed before the question could be seen
        finished, self._finished = self._finished, []
        self._region.paint(self._frame(*size), size[0], finished)
        if not isinstance(self._rows, NoRows):
            self._live.set()
        if asking:
            self._controller.arm()
            self.touch()  # what is live may say that keys count now

    def _frame(self, columns: int, lines: int) -> Frame:
        width = max(4, columns - 1)
        controller = self._controller
        laid = controller.input.lay_out(width, max(1, min(_INPUT_ROWS, lines - 3)))
        live = controller.menu.lines(width) if controller.menu.open else self._rows.lines(width)
        room = max(0, min(MAX_LIVE, lines - len(laid.rows) - 2))
        above = [paint(line, width, color=self.color) for line in live[-room:]] if room else []
        below = [paint(self._footer(width), width, color=self.color)] if lines > 2 else []
        rows = [*above, *laid.rows, *below]
        return Frame(rows, (len(above) + laid.cursor[0], min(laid.cursor[1], columns - 1)))

    def _footer(self, width: int) -> Line:
        search = self._controller.input.search
        if search is not None:
            found = "" if search.found is not None or not search.words else "  no match"
            note: Line = (
                (f"search: {search.words}", "bold"),
                (f"{found}  Enter selects, Esc cancels", "dim"),
            )
            return self._rows.footer(width, note)
        text, until = self._hint
        shown = bool(text) and asyncio.get_running_loop().time() < until
        return self._rows.footer(width, ((text, "bold"),) if shown else ())

    def _write_finished(self) -> None:
        finished, self._finished = self._finished, []
        if finished:
            self._console.write("".join(f"{line}\n" for line in finished))

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _load_editor(self, early: bool) -> None:
        from importlib import import_module

        if early:
            await self.shown()
        # In a thread, so that strokes are taken and painted meanwhile.
        editing = await asyncio.to_thread(import_module, "planck.cli.screen.editing")
        self._controller.use_editor(editing.RichEditor(vi=self.key_map.vi))
        self.touch()

    def _complete(self) -> None:
        """Looks for completions of what stands before the cursor, if that is another text than before."""
        before = self._controller.input.shown
        if before == self._completed:
            if not self._completing:
                self._controller.settle_tab()
            return
        self._completed = before
        if self._completing:
            self._completing.cancel()
            self._completing = None
        if not self.completers or not before:
            self._controller.offer(())
            return
        self._completing = self._begin(self._find_choices(before))

    async def _find_choices(self, before: str) -> None:
        found = [choice for completer in self.completers for choice in await completer.complete(before)]
        self._completing = None
        self._controller.offer([choice for choice in found if before[choice.start :] != choice.text.rstrip()])
        self._complete()  # a Tab may have waited for it
        self.touch()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Gives the terminal away while its `with` lasts, as it was found."""
        self._console.lend()
        try:
            yield
        finally:
            self._console.take_back()

    async def _edit_outside(self) -> None:
        with self.lent():
            text = await self._editor(self._controller.input.text)
        if text is None:
            self.hint("No editor found: set $VISUAL or $EDITOR to an installed program")
        else:
            self.edit(text)


async def _find_none(text: str) -> None:
    """There is no editor."""
