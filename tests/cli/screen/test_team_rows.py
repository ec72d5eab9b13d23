"""What the live rows say, from the logs of tests/logs."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from planck.cli.screen.styled import Line
from planck.cli.screen.team_rows import TeamRows
from planck.headless import SessionEvent
from planck.records import codec
from planck.records.events import Event
from planck.records.visible import count_columns

LOGS = Path(__file__).parents[2] / "logs"

NOW = {
    "two-asks-one-answered": ["◌ lead  waits for bob  0 s  $0.0001", "● bob   thinking  0 s"],
    "open-question": ["▲ asks you: write  0 s"],
    "open-task": ["● lead  thinking  0 s  $0.0001", "● bob   list_dir  0 s  $0.0001"],
    "stopping": ["● lead  stops  0 s  $0.0001", "● bob   stops  0 s"],
    "solo": [],
    "resumed": [],
}


def follow(name: str) -> TeamRows:
    session: Any = SimpleNamespace(members=())
    rows = TeamRows(session)
    for event in (LOGS / f"{name}.ndjson").read_bytes().splitlines():
        rows.follow(SessionEvent(codec.decode_as(event, Event), "s"))
    return rows


def text(line: Line) -> str:
    return "".join(part for part, _ in line)


@pytest.mark.parametrize("name", NOW)
async def test_each_agent_at_work_has_a_line(name: str) -> None:
    rows = follow(name)
    assert [text(line) for line in rows.lines(79)] == NOW[name]
    assert rows.working is bool(NOW[name])


@pytest.mark.parametrize("width", [139, 79, 39, 20])
@pytest.mark.parametrize("name", sorted(path.stem for path in LOGS.glob("*.ndjson")))
async def test_every_line_fits_at_every_moment(name: str, width: int) -> None:
    session: Any = SimpleNamespace(members=())
    rows = TeamRows(session)
    for event in (LOGS / f"{name}.ndjson").read_bytes().splitlines():
        try:
            rows.follow(SessionEvent(codec.decode_as(event, Event), "s"))
        except ValueError:
            continue  # a damaged line of a log is nothing that anybody is handed
        for line in (*rows.lines(width), rows.footer(width)):
            assert count_columns(text(line)) <= width, text(line)


async def test_the_footer_says_the_most_telling_first() -> None:
    rows = follow("open-question")
    rows.queued = 2
    whole = text(rows.footer(139))
    assert "[1/1] asks you · 2 queued · $" in whole
    assert whole.startswith(f"  {rows.board.mode} · ")
    assert text(rows.footer(39)) == whole[: len(text(rows.footer(39)))]


@pytest.mark.parametrize(
    ("name", "said"), [("open-question", "Esc: no"), ("open-task", "Esc interrupts"), ("solo", "? keys")]
)
async def test_the_footer_says_what_esc_does_right_now(name: str, said: str) -> None:
    assert text(follow(name).footer(139)).endswith(f" · {said}")


async def test_a_call_that_is_being_written_is_seen_in_its_agents_row() -> None:
    rows = follow("two-asks-one-answered")
    data = msgspec.Raw(codec.encode({"component": "model", "state": "working", "detail": "still writing"}))
    bob = next(row.id for row in rows.board.agents if row.name == "bob")
    rows.follow(SessionEvent(Event(None, "2026-11-16T10:00:00.000Z", bob, 1, "status", data), "s"))
    assert text(rows.lines(79)[1]).startswith("● bob   writing")
