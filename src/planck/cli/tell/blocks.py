"""What happened in a session, as blocks for a person: a call, a message, a thought, each in a few lines."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from planck.cli.tell.diffs import compare, count_changes, draw_diff, find_after
from planck.cli.tell.figures import format_time
from planck.cli.tell.styled import INDENT, Line, Span, as_text, make_line, make_lines
from planck.records.tools import find_row, find_subject
from planck.records.visible import fit_line

FOLDED = 3
"""Lines of an output, the last ones, that are shown without being asked for."""
SPOKEN = 6
"""Lines of what somebody says to somebody else, the first ones."""


class Told(msgspec.Struct, frozen=True):
    """Finished lines, and what was left out of them."""

    lines: tuple[Line, ...]
    title: str = ""
    rest: str = ""
    """The whole text behind a folded block; empty: nothing was folded."""
    wraps: bool = False
    """Whether a line that is too wide goes on below; else it is cut."""
    prefix: Line = ()
    """What stands before a text that somebody said."""


class Answer(msgspec.Struct, frozen=True):
    """A whole piece of what the orchestrator says to the user, in Markdown."""

    markdown: str


class Said(msgspec.Struct, frozen=True):
    """What a member says, or one agent says to another, in Markdown: its first lines, behind the name."""

    prefix: Line
    markdown: str

    @property
    def rest(self) -> str:
        """The whole text, where not all of it is shown."""
        return self.as_told().rest

    def cut(self) -> tuple[str, int]:
        """Returns as much of it as is shown, and how many lines that leaves out."""
        rows = self.markdown.replace("\r\n", "\n").split("\n")
        full = [at for at, row in enumerate(rows) if row.strip()]
        if len(full) <= SPOKEN + 1:
            return "\n".join(map(_shorten, rows)), 0
        return "\n".join(map(_shorten, rows[: full[SPOKEN - 1] + 1])), len(full) - SPOKEN

    def as_told(self) -> Told:
        """As it is, for where nothing is rendered."""
        return draw_said(self.prefix, self.markdown)

    @property
    def title(self) -> str:
        return as_text(self.prefix).strip()


Block = Told | Answer | Said


class Shows(Protocol):
    def show(self, block: Block) -> None: ...


def say(view: Shows, text: str, style: str = "") -> None:
    """Some lines of our own, wrapped to the width."""
    view.show(Told(tuple(make_lines(text, style)), wraps=True))


def say_rows(view: Shows, rows: Sequence[str], style: str = "") -> None:
    """Rows of a table: each is cut rather than wrapped."""
    view.show(Told(tuple(make_line(row, style) for row in rows)))


def draw_call(
    prefix: Sequence[Span], started: Any, ended: dict[str, Any], before: bytes | None = None
) -> Told:
    """A call that ended: its mark, what it was about, how long it took, and the end of its output.

    `started` are its arguments; `before` is what the file was that it changed.
    """
    name, output = ended["name"], ended["output"]
    label = describe_call(name, started)
    mark, style = ("✓ ", "green") if ended["ok"] else ("✗ ", "red")
    diff = _compare_files(name, started, before) if ended["ok"] else ""
    notes = [count_changes(diff)] if diff else []
    if ended["ok"] and find_row(name).shown == "count":
        notes.append(_count_lines(output))
    if ended["duration_ms"] >= 100:
        notes.append(format_time(ended["duration_ms"] / 1000))
    tail = f"  {' · '.join(notes)}" if notes else ""
    head: Line = (*prefix, (mark, style), (label, ""), (tail, "dim"))
    if diff:
        return Told((head, *draw_diff(diff)), label, diff)
    # Why a call was denied is told by the decision; the rest is what the model reads.
    error = ended.get("error") or {}
    most = 0 if error.get("kind") == "permission_denied" else _count_shown(name, ended["ok"])
    shown = _drop_details(output) if error else output
    lines, folded = fold(shown, most, ended.get("lines", 0), first=bool(error))
    return Told((head, *lines), label, output if folded else "", wraps=bool(error))


def _drop_details(output: str) -> str:
    """An error without what only a program reads, on its last line."""
    text, _, last = output.rstrip("\n").rpartition("\n")
    return text if text and last.startswith("{") and last.endswith("}") else output


def describe_call(name: str, args: Any) -> str:
    return fit_line(f"{name} {find_subject(name, args)}")


def fold(text: str, most: int | None, count: int = 0, *, first: bool = False) -> tuple[list[Line], bool]:
    """The last lines of an output, dim, with a line that says how many are above; None: all of them.

    `count`: of the whole output's lines, where the text is not all of it. `first`: of an error its first
    line is one of those that are shown: it says what is wrong.
    """
    rows = [row for row in _list_rows(text) if not row.startswith(_SPILLED)]
    if most is None or (len(rows) <= most + 1 and not count):
        shown = rows if most != 0 else []
        return _dim(shown), len(shown) < len(rows)
    if not most:
        return [], bool(rows)
    head, shown = (rows[:1], rows[1 - most :]) if first else ([], rows[-most:])
    left = max(count, len(rows)) - sum(not row.startswith(_OURS) for row in (*head, *shown))
    above: Line = ((f"{INDENT}… {left:,} more lines", "dim"),)
    return [*_dim(head), above, *_dim(shown)], True


def _dim(rows: Sequence[str]) -> list[Line]:
    return [line for row in rows for line in make_lines(row, "dim", INDENT)]


_SPILLED = ("[full output (", "[the whole output: read path output:")
"""Told to the model, now and by earlier versions: a person looks by Ctrl+O."""
_OURS = ("[exit code ", "[sandbox: ")
"""Lines below an output that are none of it."""


def draw_said(
    prefix: Sequence[Span], text: str, style: str = "", most: int = SPOKEN, *, ends: int = 0
) -> Told:
    """What somebody said to somebody: its first lines behind the name, the others below it.

    `ends`: so many of them are its last lines, where not all are shown.
    """
    rows = _list_rows(text) or [""]
    left = len(rows) - most if len(rows) > most + 1 else 0
    head, tail = (rows[: most - ends], rows[len(rows) - ends :]) if left else (rows, [])
    first, *others = (line for row in head for line in make_lines(_shorten(row), style))
    lines: list[Line] = [(*prefix, *first), *(((INDENT, ""), *line) for line in others)]
    if left:
        lines.append(((f"{INDENT}… {left:,} more lines", "dim"),))
    lines += (((INDENT, ""), *line) for row in tail for line in make_lines(_shorten(row), style))
    folded = left > 0 or any(len(row) > _ROW for row in (*head, *tail))
    return Told(tuple(lines), "", text if folded else "", wraps=True, prefix=tuple(prefix))


_ROW = 500
"""Characters of one line of what is said: it goes on below itself."""


def _shorten(row: str) -> str:
    return row if len(row) <= _ROW else f"{row[:_ROW]}…"


def _list_rows(text: str) -> list[str]:
    return [row for row in text.replace("\r\n", "\n").split("\n") if row.strip()]


def _count_shown(name: str, ok: bool) -> int | None:
    shown = find_row(name).shown
    if shown == "whole":
        return None
    return 0 if ok and shown != "end" else FOLDED


_NOTES = ("[no ", "[the file is empty", "[the folder is empty", "[image/")
"""How outputs begin that say what there is instead of showing it."""


def _count_lines(output: str) -> str:
    """How much was found or read, of how much."""
    rows = _list_rows(output)
    last = rows[-1] if rows else ""
    if len(rows) == 1 and last.startswith(_NOTES):
        return last.strip("[]")
    if last.startswith("[lines ") and "; continue with offset " in last:
        return last[1:].partition(";")[0]
    count = len(rows)
    return "1 line" if count == 1 else f"{count:,} lines"


def _compare_files(name: str, args: Any, before: bytes | None) -> str:
    if find_row(name).shown != "diff" or not isinstance(args, dict):
        return ""
    old = before.decode(errors="surrogateescape") if before is not None else None
    after = find_after(args, old)
    return compare(old, after, str(args.get("path", ""))) if after is not None else ""
