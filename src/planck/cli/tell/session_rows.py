"""A list of sessions for a person: its rows at any width."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import repeat
from typing import TYPE_CHECKING

from planck.cli.streams import fit_rows
from planck.records.visible import count_columns, fit_line, make_plain

if TYPE_CHECKING:
    from planck.headless import SessionInfo

STATES = {
    "running": "running",
    "waiting": "needs you",
    "done": "done",
    "failed": "failed",
    "interrupted": "interrupted",
    "": "unreadable",
}
_NARROW, _WIDE = 60, 120
_WHOLE = 1_000
"""Characters of a first prompt that are looked at where they need not fit."""


def is_looked_at() -> bool:
    """Whether rows must fit: through a pipe they are searched, and whole unless a width is asked for."""
    return shutil.get_terminal_size((0, 0)).columns > 0


def is_read() -> bool:
    """Whether a person looks at what is printed: a list has its head then, and a pipe its rows alone."""
    return sys.stdout is not None and sys.stdout.isatty()


def make_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> Iterator[str]:
    """Yields the rows, for a person in columns below their head. `notes`: a line below each row."""
    if is_read() and rows:
        first, *lines = tabulate(head, rows, left=len(head))
        yield fit_rows(first)
    else:
        lines = ["  ".join(filter(None, row)) for row in rows]
    for line, note in zip(lines, notes or repeat(""), strict=False):
        yield fit_rows(line)
        if note:
            yield f"    {note}"


def make_rows(
    sessions: "Sequence[SessionInfo]",
    now: str,
    width: int | None = None,
    *,
    whole: bool = False,
    indents: Sequence[str] = (),
    notes: Sequence[str] = (),
    head: bool = False,
) -> Iterator[str]:
    """Yields a line for each, within the width; two where that is narrow. `whole`: as long as it gets.

    `indents` stand before the names, and `notes` before what was said: one for each session, or none.
    `head`: a line above that names the columns.
    """
    width = (width or shutil.get_terminal_size().columns) - 1  # the last column makes some terminals wrap
    rows = [
        (info, indent[: width // 4], note)
        for info, indent, note in zip(sessions, indents or repeat(""), notes or repeat(""), strict=False)
    ]
    names = max((len(indent) + count_columns(fit_line(info.name, 24)) for info, indent, _ in rows), default=0)
    teams = max((count_columns(fit_line(_name_team(info), 14)) for info in sessions), default=0)
    if head:
        names, teams = max(names, len("NAME")), teams and max(teams, len("TEAM"))
    if head and sessions:
        yield _name_columns(width, names, teams)
    for info, indent, note in rows:
        said = f"{note} {info.problem or info.first_prompt}".lstrip()
        state, age = f"{STATES[info.state]:<13}", f"{format_age(info.updated, now):>6}"
        if width < _NARROW:
            room = width - len(indent) - len(state) - len(age) - 2
            yield f"{indent}{_pad(info.name, room)} {state} {age}"
            yield f"{indent}  {fit_line(said, width - len(indent) - 2)}".rstrip()
            continue
        team = f"{_pad(_name_team(info), teams)} " if teams else ""
        id = f"{fit_line(info.id, 16):<16}  " if width >= _WIDE else ""
        name = indent + _pad(info.name, names - len(indent))
        row = f"{name} {state} {team}{format_cost(info):>8} {age}  {id}"
        room = _WHOLE if whole else max(width - count_columns(row), 1)
        yield f"{row}{fit_line(said, room)}".rstrip()


def _name_columns(width: int, names: int, teams: int) -> str:
    state, age = f"{'STATE':<13}", f"{'AGE':>6}"
    if width < _NARROW:
        return f"{_pad('NAME', width - len(state) - len(age) - 2)} {state} {age}"
    team = f"{_pad('TEAM', teams)} " if teams else ""
    id = f"{'ID':<16}  " if width >= _WIDE else ""
    row = f"{_pad('NAME', names)} {state} {team}{'COST':>8} {age}  {id}"
    return f"{row}{fit_line('FIRST MESSAGE', width - len(row))}"


def make_choices(sessions: "Sequence[SessionInfo]", now: str, width: int) -> list[str]:
    """Returns one line for each, also where it is narrow: what it was about rather than how it stands.

    What does not fit is in it, too: whoever looks for a word finds it there.
    """
    if width > _NARROW:
        return [*make_rows(sessions, now, width, whole=True)]
    return [
        f"{info.name} {format_age(info.updated, now)} · {fit_line(info.first_prompt)}" for info in sessions
    ]


def tabulate(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Iterator[str]:
    """Yields a table; the first `left` columns stand to the left, numbers to the right."""
    table = [head, *rows]
    widths = [max(map(count_columns, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (
            text + " " * (width - count_columns(text)) if at < left else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def shorten(tokens: int) -> str:
    """Returns a large count in few characters: 380k, 1.2M."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if tokens >= size:
            value = tokens / (1_000 if unit == "k" else size)
            return f"{value:.0f}{unit}" if value >= 10 else f"{value:.1f}{unit}"
    return f"{tokens:,}"


def format_age(then: str, now: str) -> str:
    try:
        seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds()
    except (ValueError, TypeError):  # whatever a foreign log has for a time
        return "?"
    for size, unit in ((365 * 86400, "y"), (86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(int(seconds), 0)} s"


def format_cost(info: "SessionInfo") -> str:
    cost, about = info.cost_usd, "≈" if info.estimated else ""
    if cost is None:
        return "?"
    return f"{about}${cost:.2f}" if cost >= 0.005 or not cost else f"{about}<$0.01"


def _name_team(info: "SessionInfo") -> str:
    """A team that was given by its folder has the name of that: a list has no room for a path."""
    return info.team.rstrip("/").rpartition("/")[2]


def _pad(text: str, width: int) -> str:
    text = fit_line(make_plain(text), width)
    return text + " " * (width - count_columns(text))
