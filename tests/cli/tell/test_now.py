"""What the terminal's one line says, from the logs of tests/logs."""

from pathlib import Path

import pytest

from planck.cli.tell.live_board import LiveBoard
from planck.cli.tell.now import Now
from planck.headless import SessionEvent
from planck.records import codec
from planck.records.board import Board
from planck.records.events import Event

LOGS = Path(__file__).parents[2] / "logs"

NOW = {
    "two-asks-one-answered": "lead: waiting for bob 0 s · bob: thinking 0 s",
    "open-question": "asks you about write 0 s",
    "open-task": "lead: thinking 0 s · bob: list_dir 0 s",
    "stopping": "lead: stopping · bob: stopping",
    "solo": "",
    "resumed": "",
}


def follow(name: str) -> LiveBoard:
    live_board = LiveBoard(Board())
    for event in (LOGS / f"{name}.ndjson").read_bytes().splitlines():
        live_board.follow(SessionEvent(codec.decode_as(event, Event), "s"))
    return live_board


@pytest.mark.parametrize("name", NOW)
async def test_the_line_says_what_each_agent_does_now(name: str) -> None:
    assert Now(follow(name)).tick()[2:] == NOW[name]


async def test_a_delta_tells_until_the_next_fact() -> None:
    live_board, (first, *_) = follow("open-task"), (LOGS / "open-task.ndjson").read_bytes().splitlines()
    lead = codec.decode((LOGS / "open-task.json").read_bytes())["agents"][0]["id"]
    fact = {**codec.decode(first), "agent_id": lead}
    delta = {**fact, "seq": None, "type": "text_delta", "data": {"text": "w"}}
    live_board.follow(SessionEvent(codec.decode_as(codec.encode(delta), Event), "s"))
    assert "lead: writing" in Now(live_board).tick()
    again = {**delta, "type": "status", "data": {"component": "model", "state": "retrying"}}
    live_board.follow(SessionEvent(codec.decode_as(codec.encode(again), Event), "s"))
    assert "lead: waiting to retry" in Now(live_board).tick()
    live_board.stand_still()  # what goes on could not be recorded
    assert "lead: stopped: send a message" in Now(live_board).tick()
    live_board.follow(SessionEvent(codec.decode_as(codec.encode({**fact, "type": "later"}), Event), "s"))
    assert "lead: thinking" in Now(live_board).tick()
