"""The terminal itself: what it can do, and the only way text reaches it."""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from planck.cli.screen.styled import style
from planck.cli.tell.blocks import Answer, Block, Said, Told
from planck.cli.tell.styled import INDENT, Line, cut, wrap_all
from planck.headless import read_environment
from planck.records.visible import fit_line, make_plain

if TYPE_CHECKING:
    from planck.cli.tell.code import CodeRenderer

ANNOUNCE_PASTES, KEEP_QUIET_ON_PASTES = "\x1b[?2004h", "\x1b[?2004l"


class Terminal:
    """Lines for a person: events on standard error, the answer on standard output.

    Every text is made plain here; the only control bytes that go out are our own colours, for the line
    that tells what goes on a carriage return, and what has pastes announced.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        variables = read_environment()
        dumb = variables.get("TERM", "") in ("", "dumb")
        self.live = self.err.isatty() and not dumb
        """Whether a line may be written over."""
        self.rich: bool = self.out.isatty() and not dumb
        """Whether the answer is rendered, and appears while it is written."""
        self.color: bool = not variables.get("NO_COLOR") and not dumb
        self._fits = self.live
        """Whether lines are fit to its width, also while none is written over."""
        self._status = ""
        self._answering = False
        self._code: CodeRenderer | None = None
        self._pushed: Callable[[int], None] = _ignore
        self._held: list[Block] | None = None
        """What came while a question was open; not bounded, because a person is waited for."""
        for stream in (self.out, self.err):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")

    @property
    def width(self) -> int:
        return max(20, shutil.get_terminal_size().columns)

    def line(self, text: str, look: str = "", *, wrap: bool = False, whole: bool = False) -> None:
        """One line on standard error, cut to the width where it is a terminal; `whole`: to the last blank."""
        text = make_plain(text)
        if self._fits and not whole:
            text = _wrap(text, self.width - 1) if wrap else _cut(text, self.width - 1)
        self._write_line(self.style_text(text, look))

    def parts(self, *parts: tuple[str, str]) -> None:
        """One line of differently styled parts, cut to the width."""
        left = self.width - 1 if self._fits else 10_000
        shown = ""
        for text, look in parts:
            text = make_plain(text).replace("\n", " ")
            if len(text) > left:
                text = text[: max(left - 1, 0)] + "…"
            left -= len(text)
            shown += self.style_text(text, look)
            if left <= 0:
                break
        self._write_line(shown)

    def show(self, block: Block) -> None:
        """A block of a conversation: an answer on standard output, anything else on standard error."""
        if self._held is not None:
            self._held.append(block)
            return
        if isinstance(block, Answer):
            self.answer(block)
            return
        if isinstance(block, Said):
            self._say(block)
            return
        for line in self.fit(block):
            self._write_line("".join(self.style_text(text, look) for text, look in line))

    def _say(self, block: Said) -> None:
        """Rendered where it is looked at, as it is where it is only kept."""
        if not self._fits:
            self.show(block.as_told())
            return
        from planck.cli.tell.markdown import render_said

        head = "".join(self.style_text(text, look) for text, look in block.prefix)
        for line in render_said(block, head, self.width - 1, color=self.color):
            self._write_line(line)

    def fit(self, block: Told) -> Iterable[Line]:
        """The lines of a block, cut to the width or wrapped to it, where it has one."""
        if not self._fits:
            return block.lines
        if block.wraps:
            return wrap_all(block.lines, self.width - 1, INDENT)
        return (cut(line, self.width - 1) for line in block.lines)

    def _write_line(self, text: str) -> None:
        self._answering = False
        self._erase()
        self.err.write(text + "\n")
        self._pushed(1)
        self._redraw()

    def answer(self, answer: Answer) -> None:
        """A whole piece of the answer on standard output, rendered if that is a terminal."""
        markdown = answer.markdown
        self._erase()
        if self._answering and not answer.follows:
            self.out.write("\n")
        self._answering = True
        if self.rich and answer.code is not None:
            rows = self._draw_code(answer)
            self.out.write("".join(f"{row}\n" for row in rows))
        elif self.rich:
            from planck.cli.tell.markdown import render_markdown

            self.out.write(render_markdown(markdown, self.width, color=self.color))
        else:
            self.out.write((make_plain(markdown) if self.out.isatty() else markdown) + "\n")
        self.out.flush()
        self._redraw()

    def _draw_code(self, lines: Answer) -> list[str]:
        from planck.cli.tell.code import CodeRenderer

        self._code = self._code or CodeRenderer()
        return self._code.draw(lines, self.width - 1, color=self.color)

    def status(self, text: str) -> None:
        """Replace the line that tells what goes on; an empty text takes it away."""
        if not self.live:
            return
        self._erase()
        self._status = fit_line(text, self.width - 1)
        self._redraw()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Within it nothing moves: no line is written over while somebody reads and types."""
        self._erase()
        live, self.live = self.live, False
        try:
            yield
        finally:
            self.live = live
            self._redraw()

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Within it blocks wait: between a question by lines and its answer stands nothing else."""
        held = self._held = []
        try:
            yield
        finally:
            self._held = None
            for block in held:
                self.show(block)

    @contextmanager
    def above(self, printed: TextIO, pushed: Callable[[int], None]) -> Iterator[None]:
        """Within it lines go to `printed`, above what is painted; `pushed` is told of each."""
        found = self.out, self.err, self._pushed
        self.err, self._pushed = printed, pushed
        self.out = printed if self.out.isatty() else self.out
        try:
            yield
        finally:
            self.out, self.err, self._pushed = found

    def announce_pastes(self, *, on: bool) -> None:
        """Has the terminal put brackets around what is pasted, so that it can be told from what is typed."""
        if self._fits:
            self.err.write(ANNOUNCE_PASTES if on else KEEP_QUIET_ON_PASTES)
            self.err.flush()

    def _erase(self) -> None:
        if self.live and self._status:
            self.err.write("\r" + " " * min(len(self._status) + 1, self.width - 1) + "\r")

    def _redraw(self) -> None:
        if self.live and self._status:
            self.err.write(self._status)
        self.err.flush()

    def style_text(self, text: str, name: str) -> str:
        return style(text, name) if self.color and self.err.isatty() else text


def _ignore(lines: int) -> None:
    """Nothing is painted that could be pushed away."""


def _cut(text: str, width: int) -> str:
    return "\n".join(line if len(line) <= width else line[: width - 1] + "…" for line in text.split("\n"))


def _wrap(text: str, width: int) -> str:
    """Between words; a path or an address that is too long stays whole."""
    import textwrap

    lines = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [""]
    return "\n".join(lines)
