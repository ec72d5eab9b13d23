"""Changes of files as coloured lines: of an edit that was made, or that is asked about."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from planck.cli.tell.styled import INDENT, Line
from planck.records.diffs import diff_texts
from planck.records.visible import make_plain

FOLDED = 12
"""Lines of a diff that are shown without being asked for."""
_MAX_TEXT = 400_000
"""Characters of a file, each before and after, that are compared while somebody waits."""


def draw_diff(text: str, most: int = FOLDED, indent: str = INDENT) -> list[Line]:
    """A unified diff with the number of each line, as the file has it, folded to so many lines.

    Without the names of the files; a removed line has its old number. Between two hunks stands a line.
    """
    rows = _drop_names(make_plain(text).split("\n"))
    while rows and not rows[-1]:
        rows.pop()
    numbered = [*_number(rows)]
    # One more line than fits is shown rather than a line that says there is one.
    shown = numbered if len(numbered) <= most + 1 else numbered[:most]
    wide = max((len(number) for number, _ in shown), default=0)
    lines: list[Line] = [
        ((f"{indent}{number:>{wide}} ", "dim"), (row.expandtabs(4), _choose_style(row)))
        if number
        else ((f"{indent}{' ' * wide} {row}", _choose_style(row)),)
        for number, row in shown
    ]
    if left := sum(bool(number) for number, _ in numbered[len(shown) :]):
        lines.append(((f"{indent}… {left:,} more {'line' if left == 1 else 'lines'}", "dim"),))
    return lines


def _number(rows: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields each line of the hunks with its number; a line that is in neither file has none."""
    old = new = 0
    begun = False
    for row in rows:
        if found := _HUNK.match(row):
            if begun:
                yield "", "⋮"
            old, new, begun = int(found[1]), int(found[3]), True
        elif not begun or row[:1] not in ("+", "-", " ", ""):
            yield "", row  # such as "no newline at the end", or a part that is left out
            begun = begun and row.startswith("\\")
        else:
            yield str(old if row[:1] == "-" else new), row
            old += row[:1] != "+"
            new += row[:1] != "-"


_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def count_changes(text: str) -> str:
    """`+3 -1`, of a unified diff."""
    rows = _drop_names(text.split("\n"))
    added = sum(row.startswith("+") for row in rows)
    removed = sum(row.startswith("-") for row in rows)
    return f"+{added} -{removed}"


def find_diff(text: str) -> str:
    """The unified diff of one file in what a dry run says; empty: there is none."""
    at = 0 if text.startswith("--- ") else text.find("\n--- ") + 1
    rows = text[at:].split("\n", 2) if at or text.startswith("--- ") else []
    return text[at:] if len(rows) == 3 and rows[1].startswith("+++ ") else ""


def compare(before: str | None, after: str, path: str) -> str:
    """A unified diff; empty where the two are the same, or too long to be compared now."""
    old = before or ""
    if old == after or max(len(old), len(after)) > _MAX_TEXT:
        return ""
    return "\n".join(diff_texts(before, after, path))


def find_after(args: Any, before: str | None) -> str | None:
    """What a call of `edit` or `write` makes of a file; None where its arguments do not tell."""
    if not isinstance(args, dict):
        return None
    text = before or ""
    if isinstance(content := args.get("content"), str):
        return _with_line_ends_of(text, content)
    old, new = args.get("old_string"), args.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    if not old:
        return new if not text else None
    if old not in text and "\r\n" in text:
        old, new = (one.replace("\r\n", "\n").replace("\n", "\r\n") for one in (old, new))
    new = _with_line_ends_of(text, new)
    return text.replace(old, new) if args.get("replace_all") else text.replace(old, new, 1)


def _with_line_ends_of(before: str, text: str) -> str:
    """The tools keep CR LF in a file whose every line has it, unless the new text has its own."""
    if "\r" in text or not 0 < before.count("\n") == before.count("\r\n"):
        return text
    return text.replace("\n", "\r\n")


def _drop_names(rows: list[str]) -> list[str]:
    """Leaves out the names of files, which stand outside of the hunks.

    Within one, `--- x` is a line `-- x` that is removed, and `+++ x` one that is added: who is asked sees it.
    """
    kept: list[str] = []
    old = new = 0
    for row in rows:
        if old <= 0 and new <= 0 and row.startswith(("--- ", "+++ ")):
            continue
        kept.append(row)
        if row.startswith("@@ -"):
            old, new = _count_rows(row)
        else:
            old -= row[:1] in ("-", " ")
            new -= row[:1] in ("+", " ")
    return kept


def _count_rows(head: str) -> tuple[int, int]:
    """`@@ -1,3 +1,4 @@` announces 3 rows of the old file and 4 of the new; without a number, one."""
    found = _HUNK.match(head)
    return (int(found[2] or 1), int(found[4] or 1)) if found else (0, 0)


def _choose_style(row: str) -> str:
    return {"+": "green", "-": "red"}.get(row[:1], "dim")
