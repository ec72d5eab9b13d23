"""Markdown on a terminal: single newlines stay, links are written out, and nothing in it acts.

Paragraphs and flat lists, most of what is said, are laid out here: `rich` needs milliseconds for each, and is
loaded for all else.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from planck.cli.screen.styled import style
from planck.cli.tell.blocks import Said
from planck.cli.tell.styled import INDENT, Line, Span, as_text, wrap
from planck.records.visible import count_columns, make_plain

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Markdown
    from rich.syntax import SyntaxTheme

_LOOKS = {"strong": "bold", "em": "3", "s": "9"}
_CODE = "36"
"""Code within a line has no background: a black one stands out on a light terminal, a white one on a dark."""


_THEME = {"markdown.code": "cyan", "markdown.link": "none", "markdown.block_quote": "dim"} | {
    f"markdown.h{level}": "bold" for level in range(2, 7)
}
"""Where `rich` is louder than a calm terminal, or has colours that only dark ones show."""


def render_markdown(text: str, width: int, *, color: bool) -> str:
    """Lines within the width, each with its newline, with our own colours alone."""
    return "\n".join(_render(_make_parser().parse(make_plain(text)), width, color=color)) + "\n"


def _render(tokens: "Sequence[Token]", width: int, *, color: bool, first: int | None = None) -> list[str]:
    laid = _lay_out(tokens, width, first)
    if laid is None:
        rows = _render_by_rich(tokens, width, color=color)
    else:
        rows = ["".join(style(part, look) if color else part for part, look in line) for line in laid]
    return [row.rstrip() for row in rows]


def render_said(said: Said, head: str, width: int, *, color: bool) -> list[str]:
    """What an agent said behind `head`, which is its prefix as this terminal shows it; folded as ever."""
    text, left = said.cut()
    beside = width - count_columns(as_text(said.prefix))
    tokens = _make_parser().parse(make_plain(text))
    # A paragraph begins behind the name; what has columns of its own, or no room there, stands below it.
    begins = bool(tokens) and tokens[0].type == "paragraph_open" and beside >= width // 3
    rendered = _render(tokens, width - len(INDENT), color=color, first=beside if begins else None)
    rows = [row for row in rendered if _COLOUR.sub("", row).strip()]
    if not rows or ((begins or len(rows) == 1) and count_columns(_COLOUR.sub("", rows[0])) <= beside):
        rows[:1] = [head + "".join(rows[:1])]
    else:
        rows[:0] = [head]
    lines = [*rows[:1], *(INDENT + row for row in rows[1:])]
    return [*lines, f"{INDENT}… {left:,} more lines"] if left else lines


_COLOUR = re.compile("\x1b\\[[0-9;]*m")


@cache
def _make_parser() -> "MarkdownIt":
    """HTML is text to it: the tags that a model speaks of are for the user to see."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])


def _lay_out(tokens: "Sequence[Token]", width: int, first: int | None = None) -> list[Line] | None:
    """The rows of paragraphs and flat lists, the first of them of another width; None for anything else."""
    rows: list[Line] = []
    marks: Iterator[Span] = iter(())
    mark: Span = ("", "")
    for token in tokens:
        if token.type == "inline":
            lines = _list_lines(token)
            if lines is None:
                return None
            indent = " " * len(mark[0])
            for line in lines:
                room = max(width - len(indent), 1)
                for row in wrap(line, room, whole_words=True, first=first if not rows else None):
                    rows.append((mark, *row))
                    mark = (indent, "")
        elif token.level == 0 and token.type in _BLOCKS:
            if token.nesting == 1 and rows:
                rows.append(())
            mark = ("", "")
            if token.tag in ("ul", "ol"):
                marks = _list_marks(token, tokens)
        elif token.type == "list_item_open" and token.level == 1:
            mark = next(marks)
        elif token.type not in _INNER or token.level > 2:
            return None
    return rows


_BLOCKS = frozenset(
    f"{block}_{end}" for block in ("paragraph", "bullet_list", "ordered_list") for end in ("open", "close")
)
_INNER = frozenset({"list_item_close", "paragraph_open", "paragraph_close"})


def _list_marks(opened: "Token", tokens: "Sequence[Token]") -> Iterator[Span]:
    """What stands before each item of a list, all of them of one width; as `rich` does it."""
    if opened.tag == "ul":
        while True:
            yield " • ", "bold"
    first = int(opened.attrs.get("start", 1))
    own = takewhile(lambda token: token.type != "ordered_list_close", tokens[tokens.index(opened) :])
    last = first + sum(token.type == "list_item_open" for token in own)
    for number in range(first, last):
        yield f"{number:>{len(str(last)) + 1}} ", _CODE


def _list_lines(inline: "Token") -> list[Line] | None:
    """The styled lines of a text, which ends them where it means it; None where more than that is in it."""
    lines: list[list[Span]] = [[]]
    looks: list[str] = []
    for token in inline.children or ():
        if token.type == "text":
            lines[-1].append((token.content.replace("\t", INDENT), " ".join(looks)))
        elif token.type == "code_inline":
            lines[-1].append((token.content.replace("\t", INDENT), " ".join((*looks, _CODE))))
        elif token.type in ("softbreak", "hardbreak"):
            lines.append([])
        elif token.tag not in _LOOKS:
            return None
        elif token.nesting == 1:
            looks.append(_LOOKS[token.tag])
        else:
            looks.pop()
    return [tuple(line) for line in lines]


def _render_by_rich(tokens: "Sequence[Token]", width: int, *, color: bool) -> list[str]:
    # Links are written out, not hidden behind their text: what a model links to is for the user to see.
    document = _make_class()("", hyperlinks=False)
    document.code_theme = _make_theme()  # type: ignore[assignment] # it takes a theme where it takes a name
    document.parsed = list(tokens)
    for token in tokens:
        for child in token.children or ():
            if child.type == "softbreak":  # models end lines where they mean it
                child.type = "hardbreak"
    console = _make_console(color)
    with console.capture() as captured:
        console.print(document, width=width)
    lines = captured.get().split("\n")
    while lines and not _COLOUR.sub("", lines[-1]).strip():
        lines.pop()
    while lines and not _COLOUR.sub("", lines[0]).strip():
        del lines[0]
    return lines


@cache
def _make_console(color: bool) -> "Console":
    from rich.console import Console
    from rich.theme import Theme

    return Console(
        color_system="standard" if color else None,
        force_terminal=color,
        highlight=False,
        legacy_windows=False,
        theme=Theme(_THEME),
    )


@cache
def _make_theme() -> "SyntaxTheme":
    """Colours of code that can be read on a light terminal and on a dark one."""
    from rich.style import Style
    from rich.syntax import ANSISyntaxTheme

    from planck.cli.tell.code import list_colours

    return ANSISyntaxTheme({token: Style.parse(colour) for token, colour in list_colours().items()})


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
