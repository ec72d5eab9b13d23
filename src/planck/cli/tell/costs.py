"""What a session has cost as a table, the same for `/cost` and for `sessions show --cost`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from planck.cli.tell.session_rows import shorten, tabulate
from planck.records.amounts import say, say_when
from planck.records.usage import Usage
from planck.records.visible import count_columns, fit_line

if TYPE_CHECKING:
    from planck.headless import CostReport

_HEAD = ("agent", "model", "calls", "in", "out", "cache r/w", "$", "budget", "left", "")
_SPARED = (5, 2, 1, 9, 3, 7, 4, 8)
"""Columns that a narrow terminal is not shown, the first first: who, and how much, always are."""


def tabulate_costs(report: "CostReport", width: int | None = None) -> Iterator[str]:
    """Yields a row for each agent and model, and one for all; within `width`, of some columns only."""
    rows = [
        (
            f"{'  ' * min(row.depth - 1, 8) + '└ ' if row.depth else ''}{fit_line(row.agent, 20)}",
            fit_line(row.model, 30),
            *_count(row.calls, row.usage, row.cost_usd, row.estimated),
            f"{row.source} {_say_budget(row.budget)}".strip(),
            _say_budget(row.left),
            f"stops {say_when(row.stops_in_s)}" if row.stops_in_s is not None else "",
        )
        for row in report.rows
    ]
    total = ("total", "", *_count(report.calls, report.usage, report.cost_usd, report.estimated), "", "", "")
    columns = _choose([_HEAD, *rows, total], width)
    head, *picked = [[row[at] for at in columns] for row in (_HEAD, *rows, total)]
    return tabulate(head, picked, left=2 if 1 in columns else 1)


def _choose(table: Sequence[Sequence[str]], width: int | None) -> list[int]:
    wide = [max(count_columns(row[at]) for row in table) for at in range(len(_HEAD))]
    columns = [*range(len(_HEAD))]
    for spared in _SPARED:
        if width is None or sum(wide[at] + 2 for at in columns if wide[at]) - 2 <= width:
            break
        columns.remove(spared)
    return columns


def _count(calls: int, usage: Usage, cost: float | None, estimated: int) -> tuple[str, ...]:
    about = "≈" if estimated else ""
    return (
        f"{calls:,}",
        f"{usage.input_tokens:,}",
        f"{usage.output_tokens:,}",
        f"{shorten(usage.cache_read_tokens)}/{shorten(usage.cache_write_tokens)}",
        "?" if cost is None else about + say("usd", cost).removeprefix("$"),
    )


def _say_budget(amounts: dict[str, float]) -> str:
    return ", ".join(say(unit, value) for unit, value in amounts.items())
