"""Glob patterns over relative paths, in time linear in the path whatever the pattern."""

import fnmatch
import re
from collections.abc import Callable

from planck.toolkit.tool import ArgumentError

_MAX_ALTERNATIVES = 64
_MAX_PATTERN = 1_000


def matcher(pattern: str, *, any_depth: bool = False) -> Callable[[str], bool]:
    """`*`, `?` and `[..]` stay within a name, `**` crosses folders, `{a,b}` is a choice.

    With `any_depth` a pattern without a slash is compared with the name alone, as in .gitignore.
    """
    if len(pattern) > _MAX_PATTERN:
        raise ArgumentError(
            f"the pattern has {len(pattern)} characters, and at most {_MAX_PATTERN} are accepted; shorten it"
        )
    rows = [_row(choice.removeprefix("./"), any_depth) for choice in _choices(pattern)]

    def matches(path: str) -> bool:
        names = path.split("/")
        return any(_row_matches(row, names) for row in rows)

    return matches


_Row = list["re.Pattern[str] | None"]
"""One regular expression per name; None is `**`."""


def _row(pattern: str, any_depth: bool) -> _Row:
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    if any_depth and "/" not in pattern.strip("/"):
        names = ["**", *names]
    row: _Row = []
    for name in names:
        if name != "**":
            row.append(re.compile(fnmatch.translate(name)))  # linear since 3.9: its stars never backtrack
        elif not row or row[-1] is not None:
            row.append(None)
    return row


def _row_matches(row: _Row, names: list[str]) -> bool:
    reached = {0}  # positions in the row that the names so far can have led to
    for name in names:
        reached = _skip_stars(row, reached)
        following = set()
        for at in reached:
            if at == len(row):
                continue
            step = row[at]
            if step is None:
                following.add(at)
            elif step.match(name):
                following.add(at + 1)
        reached = following
        if not reached:
            return False
    return len(row) in _skip_stars(row, reached)


def _skip_stars(row: _Row, reached: set[int]) -> set[int]:
    return reached | {at + 1 for at in reached if at < len(row) and row[at] is None}


def _choices(pattern: str) -> list[str]:
    done: list[str] = []
    open_ones = [pattern]
    while open_ones:
        text = open_ones.pop(0)
        brace = re.search(r"\{([^{}]*,[^{}]*)\}", text)
        if brace is None:
            done.append(text)
            continue
        open_ones += [text[: brace.start()] + choice + text[brace.end() :] for choice in brace[1].split(",")]
        if len(open_ones) + len(done) > _MAX_ALTERNATIVES:
            raise ArgumentError(f"{pattern!r} has more than {_MAX_ALTERNATIVES} alternatives; use fewer")
    return done
