"""Lines of code as they are written, in colours: what was drawn is never drawn again."""

from functools import cache
from typing import TYPE_CHECKING, Any

from planck.cli.screen.styled import style
from planck.cli.tell.blocks import Answer
from planck.cli.tell.styled import Span, wrap
from planck.records.visible import make_plain

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped] # `rich` brings it

_PAD = " "
_CONTEXT = 8_000
"""Characters before a line that are read again with it: of a text or a comment that goes over many lines."""


class CodeRenderer:
    """Draws the pieces of one code block after the other."""

    def __init__(self) -> None:
        self._lexer: Lexer | None = None
        self._before = ""
        """The lines that the next one can't be read without."""

    def draw(self, piece: Answer, width: int, *, color: bool) -> list[str]:
        """Rows within the width, one for each line at least."""
        if not piece.follows:
            self._lexer, self._before = _find_lexer(piece.code or "") if color else None, ""
        text = make_plain(piece.markdown).expandtabs(4)
        lines = self._colour(text) if self._lexer else [((line, ""),) for line in text.split("\n")]
        return [
            "".join(style(part, look) if color else part for part, look in ((_PAD, ""), *row))
            for line in lines
            for row in wrap(line, max(width - len(_PAD), 1))
        ]

    def _colour(self, text: str) -> list[tuple[Span, ...]]:
        from pygments.token import Comment, String  # type: ignore[import-untyped]

        assert self._lexer is not None
        whole = f"{self._before}{text}\n"
        # A comment that has no end yet is one all the same.
        ending = "*/" if whole.count("/*") > whole.count("*/") else ""
        lines: list[list[Span]] = [[]]
        at = safe = 0
        for kind, value in self._lexer.get_tokens(whole + ending):
            first, *others = value.split("\n")
            lines[-1].append((first, _find_look(kind)))
            lines += [[(part, _find_look(kind))] for part in others]
            at += len(value)
            begins = at - len(others[-1]) if others else 0
            if 0 < begins <= len(whole) and kind not in String and kind not in Comment:
                safe = begins
        start = self._before.count("\n")
        kept = whole[safe:]
        self._before = kept if len(kept) <= _CONTEXT else ""
        return [tuple(line) for line in lines[start : start + text.count("\n") + 1]]


def list_colours() -> dict[Any, str]:
    """Colours of code, by the kind of token, that can be read on a light terminal and on a dark one."""
    from pygments import token as kinds  # type: ignore[import-untyped] # `rich` brings it, without types

    return {
        kinds.Token: "",
        kinds.Comment: "dim",
        kinds.Generic.Heading: "bold",
        kinds.Keyword: "magenta",
        kinds.Operator.Word: "magenta",
        kinds.String: "green",
        kinds.Number: "cyan",
        kinds.Name.Decorator: "cyan",
        kinds.Name.Tag: "magenta",
        kinds.Generic.Deleted: "red",
        kinds.Generic.Inserted: "green",
    }


_SGR = {"magenta": "35", "cyan": "36"}


@cache
def _find_look(kind: Any) -> str:
    colours = list_colours()
    while kind not in colours:
        kind = kind.parent
    return _SGR.get(colours[kind], colours[kind])


@cache
def _find_lexer(language: str) -> "Lexer | None":
    """None for a language that nobody knows: its lines are shown as they are."""
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(language, stripnl=False) if language else None
    except ClassNotFound:
        return None
