"""The board of each log under tests/logs; the page's JavaScript runs the same files."""

import json
from pathlib import Path
from typing import Any

import pytest

from planck.records import codec
from planck.records.board import FILES, Board, apply, fold_events
from planck.records.events import Event
from planck.records.rows import AgentRow

LOGS = Path(__file__).parents[1] / "logs"
NAMES = sorted(log.stem for log in LOGS.glob("*.ndjson"))


def read(name: str) -> list[Event]:
    return [codec.decode_as(line, Event) for line in (LOGS / f"{name}.ndjson").read_bytes().splitlines()]


def fold(name: str) -> Board:
    return fold_events(read(name))


def row(board: Board, name: str) -> AgentRow:
    return next(row for row in board.agents if row.name == name)


def waited_for(board: Board, name: str) -> list[str]:
    names = {row.id: row.name for row in board.agents}
    return [names[wait.on] for wait in row(board, name).waits]


@pytest.mark.parametrize("name", NAMES)
def test_a_log_gives_its_board(name: str) -> None:
    """`python scripts/make_logs.py` writes the boards again; look at what changed before you keep it."""
    assert codec.decode(codec.encode(fold(name))) == json.loads((LOGS / f"{name}.json").read_text())


@pytest.mark.parametrize("name", NAMES)
def test_event_by_event_is_the_same_and_every_board_survives_json(name: str) -> None:
    events, board = read(name), Board()
    for number, event in enumerate(events, 1):
        before = codec.encode(board)
        later = apply(board, event)
        assert codec.encode(board) == before, "apply changed the board that it was given"
        board = later
        assert board == fold_events(events[:number])
        # From JSON, as a page that joins in the middle goes on.
        assert codec.decode_as(codec.encode(board), Board) == board
        board = codec.decode_as(codec.encode(board), Board)


def test_there_is_a_board_for_each_log_and_a_log_for_each_board() -> None:
    assert sorted(board.stem for board in LOGS.glob("*.json")) == NAMES
    assert len(NAMES) >= 12


@pytest.mark.parametrize("name", ["two-asks-one-answered", "two-asks-without-causes"])
def test_who_asked_two_and_heard_one_waits_for_the_other(name: str) -> None:
    """The case that was wrong; also in a log whose waits do not name their call."""
    board = fold(name)
    assert waited_for(board, "lead") == ["bob"]
    assert [call.subject for call in row(board, "lead").calls] == ["bob", "tess"]  # ends come in call order
    assert row(board, "tess").status == "idle"
    assert [letter.kind for letter in board.owed] == ["ask"]


STATES = {
    "solo": "done",
    "open-task": "running",
    "open-question": "waiting",
    "stopping": "running",
    "interrupted": "interrupted",
    "halted-with-mail": "interrupted",
    "model-errors": "failed",
    "budget": "failed",
    "killed": "running",
    "resumed": "done",
}


@pytest.mark.parametrize("name", STATES)
def test_how_a_session_stands(name: str) -> None:
    assert fold(name).state == STATES[name]


def test_what_is_told_to_stop_waits_for_nobody() -> None:
    board = fold("stopping")
    assert [(row.name, row.stopping) for row in board.agents] == [("lead", True), ("bob", True)]
    assert not board.owed
    assert waited_for(board, "lead") == []


def test_a_destroyed_agent_has_nothing_open() -> None:
    eve = row(fold("spawned-and-destroyed"), "eve")
    assert (eve.status, eve.ended, eve.calls, eve.unread, eve.opened_by) == ("ended", "destroyed", (), (), "")


def test_a_plan_that_was_refused_leaves_the_one_before() -> None:
    assert [step.status for step in row(fold("plan"), "lead").plan] == ["completed", "in_progress", "pending"]


def test_what_a_kill_left_open_is_over_after_a_resume() -> None:
    killed, resumed = fold("killed"), fold("resumed")
    assert waited_for(killed, "lead") == ["bob"]
    assert [row.name for row in killed.agents if row.status != "idle"] == ["lead", "bob", "eve"]
    assert not resumed.owed
    assert not any(row.waits or row.calls or row.unread for row in resumed.agents)


@pytest.mark.parametrize("name", ["ask-timed-out-without-causes", "just-resumed"])
def test_nobody_waits_for_what_is_over(name: str) -> None:
    """The only ask of a step has ended; and a new process begins where nobody of the old one waits."""
    board = fold(name)
    assert waited_for(board, "lead") == []
    assert not [letter for letter in board.owed if letter.kind == "ask"]


def test_costs_and_the_window_are_those_of_the_events() -> None:
    spent = fold("budget")
    assert spent.budget
    assert spent.cost_usd == spent.budget.spent_usd
    assert sum(row.cost_usd for row in spent.agents) == spent.cost_usd
    lead = row(fold("compacted-now"), "lead")
    (compacted,) = [event for event in read("compacted-now") if event.type == "compacted"]
    assert lead.context == codec.decode(bytes(compacted.data))["tokens_after"] < lead.window


def test_what_is_over_leaves_only_counts() -> None:
    """A thousand turns take no more room than a few: nothing that ended is listed."""
    begun, turn = _split(read("delegation"))
    board = fold_events(begun)
    sizes = []
    for _ in range(1_000):
        for event in turn:
            board = apply(board, event)
        sizes.append(len(codec.encode(board)))
    assert sizes[-1] <= sizes[0] + 60, "but for longer numbers"


def test_what_the_user_changed_and_what_was_lent_is_seen() -> None:
    board = fold("changed-by-the-user")
    assert (board.name, board.mode, board.owed) == ("calm-fox", "full", ())
    assert board.budget
    assert board.budget.limit_usd == 5.0
    whys = [codec.decode(bytes(event.data)).get("why") for event in read("changed-by-the-user")]
    assert [why for why in whys if why in ("lent", "returned")] == ["lent", "returned"]


def test_the_newest_files_are_kept() -> None:
    board = fold("file-changes")
    (changed, *_) = [event for event in read("file-changes") if event.type == "file_changed"]
    data = codec.decode(bytes(changed.data))
    for number in range(3 * FILES):
        board = apply(board, _with(changed, {**data, "path": f"{number}.txt"}))
    assert [file.path for file in board.files] == [f"{n}.txt" for n in range(2 * FILES, 3 * FILES)]
    assert board.counts.file_changes == 5 + 3 * FILES


def _split(events: list[Event]) -> tuple[list[Event], list[Event]]:
    """Returns how the team began, and the work after it, which begins and ends with everybody idle."""
    first = next(number for number, event in enumerate(events) if event.type == "message")
    return events[:first], events[first:]


def _with(event: Event, data: dict[str, Any]) -> Event:
    return codec.decode_as(
        codec.encode(
            {
                "seq": event.seq,
                "ts": event.ts,
                "agent_id": event.agent_id,
                "turn": event.turn,
                "type": event.type,
                "data": data,
            }
        ),
        Event,
    )
