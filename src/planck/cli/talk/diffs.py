"""Changes of files as coloured lines: of an edit that was made, or that is asked about."""

from typing import Any

from planck.cli.talk.styled import INDENT, Line
from planck.records.visible import make_plain

FOLDED = 12
"""Lines of a diff that are shown without being asked for."""
_MAX_TEXT = 400_000
"""Characters of a file, each before and after, that are compared while somebody waits."""
_CONTEXT = 2


def draw_diff(text: str, most: int = FOLDED, indent: str = INDENT) -> list[Line]:
    """A unified diff without its two file names, folded to so many lines."""
    rows = _drop_names(make_plain(text).split("\n"))
    while rows and not rows[-1]:
        rows.pop()
    # One more line than fits is shown rather than a line that says there is one.
    shown = rows if len(rows) <= most + 1 else rows[:most]
    lines: list[Line] = [((indent + row.expandtabs(4), _choose_style(row)),) for row in shown]
    if len(rows) > len(shown):
        lines.append(((f"{indent}… {len(rows) - len(shown)} more lines", "dim"),))
    return lines


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
    import difflib  # few sessions show one before an answer is there

    one, other = old.splitlines(), after.splitlines()
    # What is the same at both ends is most of a file, and nothing that has to be searched.
    head = _count_same(one, other)
    tail = _count_same(one[head:][::-1], other[head:][::-1])
    start = max(head - _CONTEXT, 0)
    ends = [len(rows) - max(tail - _CONTEXT, 0) for rows in (one, other)]
    name = f"a/{path}" if before is not None else "/dev/null"
    rows = list(
        difflib.unified_diff(
            one[start : ends[0]], other[start : ends[1]], name, f"b/{path}", lineterm="", n=_CONTEXT
        )
    )
    return "\n".join(_shift(row, start) for row in rows)


def find_after(args: Any, before: str | None) -> str | None:
    """What a call of `edit` or `write` makes of a file; None where its arguments do not tell."""
    if not isinstance(args, dict):
        return None
    if isinstance(content := args.get("content"), str):
        return content
    old, new = args.get("old_string"), args.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    text = (before or "").replace("\r\n", "\n")
    if not old:
        return new if not text else None
    return text.replace(old, new) if args.get("replace_all") else text.replace(old, new, 1)


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
    import re

    found = re.match(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", head)
    return (int(found[1] or 1), int(found[2] or 1)) if found else (0, 0)


def _choose_style(row: str) -> str:
    return {"+": "green", "-": "red"}.get(row[:1], "dim")


def _count_same(one: list[str], other: list[str]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _shift(row: str, by: int) -> str:
    """Line numbers of the whole file instead of the part that was compared."""
    if not by or not row.startswith("@@ "):
        return row
    import re

    def add(found: "re.Match[str]") -> str:
        return f"{found[1]}{int(found[2]) + by}"

    return re.sub(r"([-+])(\d+)", add, row)
