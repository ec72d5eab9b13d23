"""`planck stats`: what all stored sessions have used, by day and by model."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from planck import headless
from planck.cli.parser import JSON, add_shared, positive
from planck.cli.place import find_place
from planck.cli.tell.session_rows import shorten, tabulate
from planck.records import codec
from planck.records.amounts import say
from planck.records.usage import Figures
from planck.records.visible import fit_line

EXAMPLE = "planck stats --days 7"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--days", type=positive, default=None, metavar="N", help="Last N days only, including today (UTC)"
    )
    add_shared(parser, json=JSON)


def run(options: argparse.Namespace) -> int:
    stats = headless.Planck(workspace=find_place(options)).archive.stats(options.days)
    for line in [codec.encode_str(_describe(stats))] if options.json else _tell(stats):
        print(line)
    return 0


def _describe(stats: headless.Stats) -> dict[str, Any]:
    """Returns it as JSON has it: where nothing is known of a cost, that is null, and not zero."""
    whole: dict[str, Any] = msgspec.to_builtins(stats)
    proven = (row["used"] for row in whole["proven"])
    for one in (whole["all"], *whole["by_day"].values(), *whole["by_model"].values(), *proven):
        if one["calls"] and one["calls"] == one["unpriced"]:
            one["cost_usd"] = None
    return whole


def _tell(stats: headless.Stats) -> Iterator[str]:
    when = f"since {stats.since} (UTC)" if stats.since else "all time"
    sessions = f"{stats.sessions} session{'s' * (stats.sessions != 1)}"
    yield f"{sessions}, {stats.turns} turn{'s' * (stats.turns != 1)}, {when}"
    if stats.all.calls:
        yield ""
        yield from tabulate(("day", *_HEAD), _make_rows(sorted(stats.by_day.items())))
        yield ""
        dearest = sorted(stats.by_model.items(), key=lambda one: -one[1].cost_usd)
        yield from tabulate(("model", *_HEAD), [*_make_rows(dearest), *_make_rows([("all", stats.all)])])
    if stats.proven:
        yield ""
        yield from tabulate(("checked work: team", "model", *_PROVEN), _make_proven(stats), left=2)
    if stats.all.unpriced:
        calls = "1 call has" if stats.all.unpriced == 1 else f"{stats.all.unpriced:,} calls have"
        yield f"{calls} no known price and {'is' if stats.all.unpriced == 1 else 'are'} not included."
    if stats.all.estimated:
        calls = "1 call is" if stats.all.estimated == 1 else f"{stats.all.estimated:,} calls are"
        yield f"{calls} estimated (≈), because the provider did not count all tokens."
    for name in stats.unreadable:
        yield f"! {fit_line(name, 60)} is damaged. Only its intact part is counted."


_HEAD = ("calls", "in", "out", "cache r/w", "USD")


def _make_rows(named: Iterable[tuple[str, Figures]]) -> list[tuple[str, ...]]:
    return [
        (
            fit_line(name, 40),
            f"{one.calls:,}",
            f"{one.usage.input_tokens:,}",
            f"{one.usage.output_tokens:,}",
            f"{shorten(one.usage.cache_read_tokens)}/{shorten(one.usage.cache_write_tokens)}",
            "?" if one.calls == one.unpriced else f"{'≈' if one.estimated else ''}{one.cost_usd:.2f}",
        )
        for name, one in named
    ]


_PROVEN = ("proven", "time", "USD", "USD per proven")


def _make_proven(stats: headless.Stats) -> list[tuple[str, ...]]:
    return [
        (
            fit_line(row.team.rstrip("/").rpartition("/")[2] or "-", 20),
            fit_line(row.model, 24),
            f"{row.proven:,} of {row.tasks:,}",
            say("ms", row.seconds * 1000),
            "?" if row.used.known_cost is None else f"{row.used.cost_usd:.2f}",
            "?" if row.usd_per_proven is None else f"{row.usd_per_proven:.2f}",
        )
        for row in stats.proven
    ]
