"""What happened in a session, as blocks for a person: a call, a message, a thought, each in a few lines."""

import re
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from planck.cli.streams import format_error
from planck.cli.tell.diffs import compare, count_changes, draw_diff, find_after
from planck.cli.tell.figures import format_count, format_time
from planck.cli.tell.styled import INDENT, Line, Span, as_text, make_line, make_lines
from planck.records.outcome import Err
from planck.records.tools import COMMAND_TOOLS, find_row, find_subject
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
    call: str = ""
    """The call whose whole output is kept beside the log; empty: `rest` is all of it."""


class Answer(msgspec.Struct, frozen=True):
    """A whole piece of what the orchestrator says to the user, in Markdown, or lines of its code."""

    markdown: str
    code: str | None = None
    """The language of these lines, or ""; None: they are Markdown."""
    follows: bool = False
    """Whether lines of the same code block are shown above it."""


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
        rows = _split_rows(self.markdown)
        full = [at for at, row in enumerate(rows) if row.strip()]
        if len(full) <= SPOKEN + 1:
            return "\n".join(map(_shorten, rows)), 0
        shown = full[SPOKEN - 1] + 1
        return "\n".join(map(_shorten, rows[:shown])), len(rows) - shown

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


def say_error(view: Shows, err: Err, style: str = "red") -> None:
    """An error as every command prints it."""
    say(view, format_error(err.kind, err.full_message), style)


def say_rows(view: Shows, rows: Sequence[str], style: str = "") -> None:
    """Rows of a table: each is cut rather than wrapped."""
    view.show(Told(tuple(make_line(row, style) for row in rows)))


def draw_call(
    prefix: Sequence[Span],
    started: Any,
    ended: dict[str, Any],
    before: bytes | None = None,
    *,
    refused: str = "",
    seen: bool = False,
    changed: int = 0,
) -> Told:
    """A call that ended: its mark, what it was about, how long it took, and the end of its output.

    `started` are its arguments; `before` is what the file was that it changed. `refused`: the user's no to
    it, in words. `seen`: its diff is on the screen already. `changed`: how many files it changed.
    """
    name, output = ended["name"], ended["output"]
    label = describe_call(name, started)
    mark, style = ("✓ ", "green") if ended["ok"] else ("✗ ", "red")
    diff = _compare_files(name, started, before) if ended["ok"] else ""
    notes = [count_changes(diff)] if diff else []
    if before is not None and ended["ok"] and not diff and _is_same(name, started, before):
        notes.append("unchanged")
    if ended["ok"] and find_row(name).shown == "count":
        notes.append(ended.get("summary") or _count_lines(output))
    background = (
        ended["ok"] and name in COMMAND_TOOLS and isinstance(started, dict) and started.get("background")
    )
    if background:
        notes.append("in the background")
    if changed and name in COMMAND_TOOLS:
        notes.append("1 file changed" if changed == 1 else f"{changed:,} files changed")
    if refused:
        notes.append(refused)
    elif ended["duration_ms"] >= 100:
        notes.append(format_time(ended["duration_ms"] / 1000))
    tail = f"  {' · '.join(notes)}" if notes else ""
    head: Line = (*prefix, (mark, style), (label, ""), (tail, "dim"))
    if diff:
        whole = "\n".join(as_text(line) for line in draw_diff(diff, len(diff), ""))
        return Told((head, *(() if seen else draw_diff(diff))), label, whole)
    # Why a call was denied is told by the decision; how a command in the background is read and stopped is
    # for the model.
    error = ended.get("error") or {}
    untold = background or error.get("kind") == "permission_denied"
    most = 0 if untold else _count_shown(name, ended["ok"])
    shown = _drop_details(output) if error else output
    lines, folded = fold(
        shown, most, ended.get("lines", 0), first=bool(error), failed=not ended["ok"], call=ended["id"]
    )
    kept = ended["id"] if folded and ended.get("spilled") else ""
    return Told((head, *lines), label, output if folded else "", wraps=bool(error), call=kept)


def _drop_details(output: str) -> str:
    """An error without what only a program reads, on its last line."""
    text, _, last = output.rstrip("\n").rpartition("\n")
    return text if text and last.startswith("{") and last.endswith("}") else output


def describe_call(name: str, args: Any) -> str:
    return fit_line(f"{name} {find_subject(name, args)}")


def describe_writing(working: dict[str, Any]) -> str:
    """`writing src/x.py · 2.3k`, of a call that the model writes; empty where the sign of life names none."""
    name = working.get("name", "")
    if not name:
        return ""
    subject = working.get("subject", "") if find_row(name).changes == "files" else ""
    what = f"writing {subject}" if subject else f"preparing {name}"
    return fit_line(f"{what} · {format_count(working.get('size', 0))}")


def fold(
    text: str, most: int | None, count: int = 0, *, first: bool = False, failed: bool = False, call: str = ""
) -> tuple[list[Line], bool]:
    """The last lines of an output, dim, with a line that says how many are above; None: all of them.

    `count`: of the whole output's lines, where the text is not all of it. `first`: of an error its first
    line is one of those that are shown: it says what is wrong. `failed`: of a command, whose first lines
    that name an error are shown too. `call`: its id, by which the model is told to
    read the whole output; a person looks by Ctrl+O.
    """
    every = [row for row in _split_rows(text) if not call or not row.endswith(f" output:{call}]")]
    rows = [row for row in every if row.strip()]
    if most is None or (len(rows) <= most + 1 and not count):
        shown = rows if most != 0 else []
        return _dim(shown), len(shown) < len(rows)
    if not most:
        return [], bool(rows)
    head, shown = (rows[:1], rows[1 - most :]) if first else ([], rows[-most:])
    if failed and not first:
        above = rows[:-most]
        at = next((at for at, row in enumerate(above) if _ERROR.search(row)), len(above))
        head = above[at : at + _CAUSE]
    # As many as the output has, blank ones too: a person compares the number with what Ctrl+O shows.
    left = max(count, _count_theirs(every)) - _count_theirs((*head, *shown))
    return [*_dim(head), _say_more(left), *_dim(shown)], True


def _say_more(lines: int) -> Line:
    return ((f"{INDENT}… {lines:,} more {'line' if lines == 1 else 'lines'}", "dim"),)


_CAUSE = 2
"""Lines that are shown of a failed command from the first one on that names an error: what follows from it
comes later, and fills the end."""
_ERROR = re.compile(
    r"(?<!\b0 )\b(?:errors?|fatal|panic|panicked|undefined|not found|no such|cannot|denied|failed)\b"
    r"|(?-i:\b\w+(?:Error|Exception)\b)",
    re.IGNORECASE,
)
"""What compilers, linkers, shells and test runners write; not `Traceback`, whose last line says it."""


def _dim(rows: Sequence[str]) -> list[Line]:
    return [line for row in rows for line in make_lines(row, "dim", INDENT)]


_OURS = ("[exit code ", "[sandbox: ")
"""Lines below an output that are none of it."""


def _count_theirs(rows: Sequence[str]) -> int:
    return sum(not row.startswith(_OURS) for row in rows)


def draw_said(
    prefix: Sequence[Span], text: str, style: str = "", most: int = SPOKEN, *, ends: int = 0
) -> Told:
    """What somebody said to somebody: its first lines behind the name, the others below it.

    `ends`: so many of them are its last lines, where not all are shown.
    """
    rows = _list_rows(text) or [""]
    left = len(_split_rows(text)) - most if len(rows) > most + 1 else 0
    head, tail = (rows[: most - ends], rows[len(rows) - ends :]) if left else (rows, [])
    first, *others = (line for row in head for line in make_lines(_shorten(row), style))
    lines: list[Line] = [(*prefix, *first), *(((INDENT, ""), *line) for line in others)]
    if left:
        lines.append(_say_more(left))
    lines += (((INDENT, ""), *line) for row in tail for line in make_lines(_shorten(row), style))
    folded = left > 0 or any(len(row) > _ROW for row in (*head, *tail))
    return Told(tuple(lines), "", text if folded else "", wraps=True, prefix=tuple(prefix))


_ROW = 500
"""Characters of one line of what is said: it goes on below itself."""


def _shorten(row: str) -> str:
    return row if len(row) <= _ROW else f"{row[:_ROW]}…"


def _list_rows(text: str) -> list[str]:
    return [row for row in _split_rows(text) if row.strip()]


def _split_rows(text: str) -> list[str]:
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def _count_shown(name: str, ok: bool) -> int | None:
    shown = find_row(name).shown
    if shown == "whole":
        return None
    return 0 if ok and shown != "end" else FOLDED


_EARLIER = re.compile(
    r"\[(no (?:lines|files) match|the (?:file|folder) is empty|image/[^]]*)\]"
    r"|(?s:.*\n)\[(lines [^;]*); continue with offset \d+\]"
)
"""How older logs, without `tool_end.summary`, say what was read or found. These texts never change."""


def _count_lines(output: str) -> str:
    if earlier := _EARLIER.fullmatch(output.strip("\n")):
        return earlier[1] or earlier[2]
    count = len(_split_rows(output))
    return "1 line" if count == 1 else f"{count:,} lines"


def _is_same(name: str, args: Any, before: bytes) -> bool:
    """Whether a call wrote what the file had."""
    text = before.decode(errors="surrogateescape")
    return find_row(name).shown == "diff" and find_after(args, text) == text


def _compare_files(name: str, args: Any, before: bytes | None) -> str:
    if find_row(name).shown != "diff" or not isinstance(args, dict):
        return ""
    old = before.decode(errors="surrogateescape") if before is not None else None
    after = find_after(args, old)
    return compare(old, after, str(args.get("path", ""))) if after is not None else ""
