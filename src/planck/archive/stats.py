"""What all stored sessions have used: by day and by model, over the logs themselves."""

from collections.abc import Iterable
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import msgspec

from planck.archive.listing import SessionInfo
from planck.archive.proven import ProvenFold, ProvenRow
from planck.records.events import Checked, TurnEnd, TurnStart, UsageSpent, view
from planck.records.usage import Figures, count_call
from planck.store.sqlite.reader import SqliteReader
from planck.store.store import StoreError


class Stats(msgspec.Struct):
    since: str = ""
    """The first day that counts, in UTC; empty: all there are."""
    sessions: int = 0
    """Those that used something, or ended a turn, in that time."""
    turns: int = 0
    all: Figures = Figures()
    by_day: dict[str, Figures] = msgspec.field(default_factory=dict)
    by_model: dict[str, Figures] = msgspec.field(default_factory=dict)
    proven: list[ProvenRow] = msgspec.field(default_factory=list)
    """The work that had checks, by team and model."""
    unreadable: list[str] = msgspec.field(default_factory=list)
    """Sessions whose logs are damaged: only what is sound of them is counted."""


def count_sessions(sessions: Iterable[tuple[Path, SessionInfo]], today: str, days: int | None) -> Stats:
    """Folds the logs; of a fork only what it did itself, unless what it was forked from is gone."""
    listed = list(sessions)
    known = {info.id for _, info in listed}
    first = date.fromisoformat(today) - timedelta(days=min(days, _MOST_DAYS) - 1) if days else None
    stats = Stats(since=first.isoformat() if first else "")
    rows: dict[tuple[str, str], ProvenRow] = {}
    for path, info in listed:
        if stats.since and info.updated and info.updated[:10] < stats.since:
            continue
        own = info.forked_at if info.parent in known else 0
        proof = ProvenFold()
        try:
            if _count_log(stats, proof, path, own):
                stats.sessions += 1
        except StoreError:
            stats.unreadable.append(info.name)
        proof.count(rows, info.team, stats.since)
    stats.proven.extend(rows[key] for key in sorted(rows))
    return stats


_MOST_DAYS = 36_500


def _count_log(stats: Stats, proof: ProvenFold, path: Path, after: int) -> bool:
    counted = False
    with closing(SqliteReader.open(path)) as store:
        for event in store.read(after):
            if event.type in _OF_PROOF:
                proof.add(event)
            if event.ts[:10] < stats.since or event.type not in (UsageSpent.type, TurnEnd.type):
                continue
            match view(event):
                case UsageSpent() as used:
                    call, day = count_call(used.usage, used.cost_usd, used.estimated), event.ts[:10]
                    stats.all += call
                    stats.by_day[day] = stats.by_day.get(day, Figures()) + call
                    stats.by_model[used.model] = stats.by_model.get(used.model, Figures()) + call
                case TurnEnd():
                    stats.turns += 1
                case _:
                    continue
            counted = True
    return counted


_OF_PROOF = frozenset({Checked.type, TurnStart.type, UsageSpent.type})
