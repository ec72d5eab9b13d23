"""What the live rows say, from the logs of tests/logs."""

from pathlib import Path

import msgspec
import pytest

from planck.cli.screen.styled import Line
from planck.cli.tell.live_board import LiveBoard
from planck.cli.tell.team_rows import TeamRows
from planck.headless import SessionEvent
from planck.records import codec
from planck.records.board import Board
from planck.records.events import Event
from planck.records.rows import Spending
from planck.records.visible import count_columns

LOGS = Path(__file__).parents[2] / "logs"

NOW = {
    "two-asks-one-answered": ["◌ lead  waiting for bob  0 s  $0.0001", "● bob   thinking  0 s"],
    "open-question": ["▲ asks you: write  0 s"],
    "open-task": ["● lead  thinking  0 s  $0.0001", "● bob   list_dir  0 s  $0.0001"],
    "stopping": ["● lead  stopping  0 s  $0.0001", "● bob   stopping  0 s"],
    "solo": [],
    "resumed": [],
}


def follow(name: str) -> TeamRows:
    return TeamRows(read(name))


def read(name: str) -> LiveBoard:
    live_board = LiveBoard(Board())
    for event in (LOGS / f"{name}.ndjson").read_bytes().splitlines():
        live_board.follow(SessionEvent(codec.decode_as(event, Event), "s"))
    return live_board


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
    live_board = LiveBoard(Board())
    rows = TeamRows(live_board)
    for event in (LOGS / f"{name}.ndjson").read_bytes().splitlines():
        try:
            live_board.follow(SessionEvent(codec.decode_as(event, Event), "s"))
        except ValueError:
            continue  # a damaged line of a log is nothing that anybody is handed
        for line in (*rows.lines(width), rows.footer(width)):
            assert count_columns(text(line)) <= width, text(line)


async def test_the_footer_says_the_most_telling_first() -> None:
    rows = follow("open-question")
    rows.queued = 2
    whole = text(rows.footer(139))
    assert "1 approval · 2 queued · $" in whole
    assert whole.startswith(f"  {rows.board.mode} · ")
    assert text(rows.footer(59)).endswith(" · 1 approval · 2 queued · Ctrl+C stops · Esc denies")
    assert text(rows.footer(39)) == f"  {rows.board.mode} · 1 approval · Esc denies"


@pytest.mark.parametrize(
    ("name", "said"), [("open-question", "Esc denies"), ("open-task", "Esc interrupts"), ("solo", "? keys")]
)
async def test_the_footer_says_what_esc_does_right_now(name: str, said: str) -> None:
    """Also where not everything fits, while there is something to stop."""
    rows = follow(name)
    assert text(rows.footer(139)).endswith(f" · {said}")
    assert not rows.working or text(rows.footer(39)).endswith(f" · {said}")


async def test_the_footer_says_how_a_command_of_the_user_s_own_is_stopped() -> None:
    rows = follow("solo")
    rows.busy = True
    assert text(rows.footer(39)).endswith(" · Esc interrupts")


async def test_the_footer_names_the_user_s_own_keys() -> None:
    rows = TeamRows(read("open-task"), "Ctrl+X", "")
    assert text(rows.footer(139)).endswith(" · Ctrl+X interrupts")


async def test_a_call_that_is_being_written_is_seen_in_its_agents_row() -> None:
    live_board = read("two-asks-one-answered")
    rows = TeamRows(live_board)
    data = msgspec.Raw(codec.encode({"component": "model", "state": "working", "detail": "still writing"}))
    bob = next(row.id for row in rows.board.agents if row.name == "bob")
    live_board.follow(SessionEvent(Event(None, "2026-11-16T10:00:00.000Z", bob, 1, "status", data), "s"))
    assert text(rows.lines(79)[1]).startswith("● bob   writing")


async def test_the_footer_says_how_many_messages_wait_for_the_end_of_the_turn() -> None:
    rows = follow("open-task")
    rows.queued = 2
    assert " · 2 queued · " in text(rows.footer(139))


async def test_of_a_run_with_a_limit_its_own_spending_is_shown_not_what_was_spent_before_it() -> None:
    rows = TeamRows(LiveBoard(Board(cost_usd=5.0, budget=Spending(1.0, 0.25))))
    assert "$0.25 of $1.00" in text(rows.footer(139))


@pytest.mark.parametrize(
    ("known", "unpriced", "told"), [(0.0, 0, "$0.00"), (0.0, 2, "cost unknown"), (0.5, 2, "$0.50+")]
)
async def test_a_cost_of_which_nothing_is_known_is_not_shown_as_zero(
    known: float, unpriced: int, told: str
) -> None:
    rows = TeamRows(LiveBoard(Board(cost_usd=known, unpriced=unpriced)))
    assert f" {told} " in f" {text(rows.footer(139))} "
