"""Markdown on a terminal: single newlines stay, links are written out, and nothing in it acts."""

import re
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Any

from planck.cli.talk.blocks import Said
from planck.cli.talk.styled import INDENT, as_text
from planck.records.visible import count_columns, make_plain

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Markdown


def render_markdown(text: str, width: int, *, color: bool) -> str:
    """Lines within the width, each with its newline, with our own colours alone."""
    from rich.console import Console

    out = StringIO()
    # Links are written out, not hidden behind their text: what a model links to is for the user to see.
    document = _make_class()(make_plain(text), hyperlinks=False, code_theme="ansi_dark")
    for token in document.parsed:
        for child in token.children or ():
            if child.type == "softbreak":  # models end lines where they mean it
                child.type = "hardbreak"
    console = Console(
        file=out,
        width=width,
        color_system="standard" if color else None,
        force_terminal=color,
        highlight=False,
        legacy_windows=False,
    )
    console.print(document)
    lines = [line.rstrip() for line in out.getvalue().split("\n")]
    while lines and not _COLOUR.sub("", lines[-1]).strip():
        lines.pop()
    while lines and not _COLOUR.sub("", lines[0]).strip():
        del lines[0]
    return "\n".join(lines) + "\n"


def render_said(said: Said, head: str, width: int, *, color: bool) -> list[str]:
    """What an agent said behind `head`, which is its prefix as this terminal shows it; folded as ever."""
    text, left = said.cut()
    room = max(width - count_columns(as_text(said.prefix)), 20)
    rows = [
        row for row in render_markdown(text, room, color=color).split("\n") if _COLOUR.sub("", row).strip()
    ]
    first, *others = rows or [""]
    lines = [head + first, *(INDENT + row for row in others)]
    return [*lines, f"{INDENT}… {left:,} more lines"] if left else lines


_COLOUR = re.compile("\x1b\\[[0-9;]*m")


@cache
def _make_class() -> "type[Markdown]":
    """rich's renderer, but for headings, which it puts in the middle, in a box."""
    from rich.markdown import Heading, Markdown

    class PlainHeading(Heading):
        def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
            self.text.justify = "left"
            self.text.stylize("bold" if self.tag != "h1" else "bold underline")
            yield self.text

    elements: dict[str, Any] = {**Markdown.elements, "heading_open": PlainHeading}
    return type("PlainMarkdown", (Markdown,), {"elements": elements})
