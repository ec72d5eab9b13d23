"""What a session has cost, wherever it is said: the table at any width, the board, the ledger."""

from pathlib import Path

import pytest

from planck.cli.tell.costs import tabulate_costs
from planck.headless import CostReport
from planck.records import codec
from planck.records.amounts import say_when
from planck.records.board import Board, apply
from planck.records.events import Event
from planck.records.ledger import Ledger
from planck.records.usage import Usage
from planck.records.visible import count_columns
from planck.session.costs import CostRow, report_costs

LOGS = Path(__file__).parents[2] / "logs"
NAMES = sorted(path.stem for path in LOGS.glob("*.ndjson"))

LEAD = CostRow(
    *("a", "lead", 0, "sonnet", 12, Usage(41_200, 3_100, 380_000, 12_000), 0.31),
    source="run",
    budget={"usd": 2.0},
    left={"usd": 0.77},
)
BUILDER = CostRow(
    *("b", "builder", 1, "haiku", 30, Usage(88_000, 9_400, 1_200_000, 30_000), 0.48),
    source="lent",
    budget={"usd": 0.6},
    left={"usd": 0.12},
    stops_in_s=240.0,
)
TEAM = CostReport((LEAD, BUILDER), 42, Usage(129_200, 12_500, 1_580_000, 42_000), 0.79)


def read(name: str) -> list[Event]:
    events = []
    for line in (LOGS / f"{name}.ndjson").read_bytes().splitlines():
        try:
            events.append(codec.decode_as(line, Event))
        except ValueError:
            continue  # a damaged line is nothing that anybody is handed
    return events


@pytest.mark.parametrize("name", NAMES)
def test_the_board_and_the_ledger_say_the_same(name: str) -> None:
    board, report = Board(), report_costs(Ledger(read(name)))
    for event in read(name):
        board = apply(board, event)
    assert board.usage == report.usage
    assert (board.unpriced > 0) == (report.cost_usd is None)
    if report.cost_usd is not None:
        assert board.cost_usd == pytest.approx(report.cost_usd)
    for row in board.agents:
        own = [one for one in report.rows if one.agent_id == row.id]
        assert sum((one.usage for one in own), Usage()) == row.usage


def test_the_whole_table_is_as_it_was_drawn() -> None:
    assert [" ".join(line.split()) for line in tabulate_costs(TEAM)] == [
        "agent model calls in out cache r/w $ budget left",
        "lead sonnet 12 41,200 3,100 380k/12k 0.31 run $2.00 $0.77",
        "└ builder haiku 30 88,000 9,400 1.2M/30k 0.48 lent $0.60 $0.12 stops in about 4 min",
        "total 42 129,200 12,500 1.6M/42k 0.79",
    ]


@pytest.mark.parametrize("width", [139, 79, 39, 19])
def test_a_narrow_table_keeps_who_and_how_much(width: int) -> None:
    head, lead, builder, total = tabulate_costs(TEAM, width)
    assert all(count_columns(line) <= width for line in (head, lead, builder, total))
    assert [line.split()[0] for line in (lead, total)] == ["lead", "total"]
    assert ["0.31" in lead, "0.48" in builder, "0.79" in total] == [True] * 3
    assert ("$0.77" in lead) == (width > 30)


def test_a_fraction_of_a_cent_is_not_nothing() -> None:
    report = CostReport((CostRow("a", "lead", 0, "m", 1, Usage(10, 1), 0.0012),), 1, Usage(10, 1), 0.0012)
    assert [line.split()[-1] for line in tabulate_costs(report)] == ["left", "0.0012", "0.0012"]


def test_an_unknown_price_is_no_sum() -> None:
    report = CostReport((CostRow("a", "lead", 0, "m", 1, Usage(10, 1), None),), 1, Usage(10, 1), None)
    assert [line.split()[-1] for line in tabulate_costs(report)] == ["left", "?", "?"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 s"), (59, "59 s"), (89.4, "89 s"), (240, "4 min"), (5_399, "90 min"), (5_400, "1.5 h")],
)
def test_a_forecast_is_said_as_roughly_as_it_is_known(seconds: float, words: str) -> None:
    assert say_when(seconds) == f"in about {words}"
