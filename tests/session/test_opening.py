"""The board of a session that was just opened, against the fold over its whole log."""

from pathlib import Path

import pytest

from planck import Planck
from planck.records.board import Board, apply
from planck.records.events import FileChanged, SessionResumed
from planck.records.outcome import Err, ErrorKind
from planck.records.rows import AgentRow
from planck.records.usage import Usage
from planck.testing.scripted import Say, ScriptedProvider

PRICED = {"id": "dear", "model": "m", "provider": "double", "context_window": 20_000}
PRICED["price"] = {"input": 1000.0, "output": 2000.0}
PROVIDERS = {"double": {"type": "openai", "base_url": "http://127.0.0.1:9"}}


ANSWER = Say(text="ok", usage=Usage(input_tokens=1000, output_tokens=100, cache_read_tokens=10))


def open_planck(folder: Path, answer: Say | Err = ANSWER) -> Planck:
    double = ScriptedProvider(lambda request: answer)
    return Planck(
        folder / "home",
        folder,
        environ={},
        flags={"providers": PROVIDERS, "models": [PRICED], "default_model": "dear"},
        providers={"double": double},
    )


def read_figures(board: Board) -> tuple[object, ...]:
    def read_row(row: AgentRow) -> tuple[object, ...]:
        share = 100 * row.context // row.window if row.window else 0
        return row.id, row.name, row.model, row.turn, row.usage, round(row.cost_usd, 6), row.window, share

    agents = tuple(read_row(row) for row in board.agents)
    return board.mode, board.usage, round(board.cost_usd, 6), board.unpriced, agents


async def test_what_a_resumed_session_has_used_is_on_its_board_before_anything_happens(
    tmp_path: Path,
) -> None:
    async with open_planck(tmp_path) as planck:
        session = await planck.start(name="one")
        await session.run("a")
        await session.run("b")
        await session.aclose()
        again = await planck.resume("one")
        board, whole = again.opening_board(), Board()
        async for event in again.events():
            if event.seq is not None and event.seq <= again.opened_at:
                whole = apply(whole, event.recorded)
            if event.seq == again.head:
                break
        assert read_figures(board) == read_figures(whole)
        assert board.cost_usd == pytest.approx(2.4, abs=0.1)
        assert board.agents[0].context > 0


async def test_a_run_that_may_cost_so_much_says_so_before_it_costs_anything(tmp_path: Path) -> None:
    async with open_planck(tmp_path) as planck:
        session = await planck.start(name="one")
        await session.run("a")
        await session.aclose()
        board = (await planck.resume("one", max_budget_usd=5.0)).opening_board()
        assert board.budget is not None
        assert (board.budget.limit_usd, board.budget.spent_usd) == (5.0, 0.0)
        assert board.cost_usd > 1  # what was spent before is not the run's


async def test_a_new_session_has_spent_nothing(tmp_path: Path) -> None:
    async with open_planck(tmp_path) as planck:
        board = (await planck.start()).opening_board()
        assert (board.cost_usd, board.usage, [row.turn for row in board.agents]) == (0.0, Usage(), [0])


async def test_how_full_a_window_is_that_no_model_has_counted_is_not_known(tmp_path: Path) -> None:
    """The messages alone are a small part of it: it would jump with the next answer."""
    async with open_planck(tmp_path, Err(ErrorKind.NOT_AUTHENTICATED, "no key")) as planck:
        session = await planck.start(name="one")
        await session.run("a " * 5_000)
        await session.aclose()
        board = (await planck.resume("one")).opening_board()
        assert [row.context for row in board.agents] == [0]


@pytest.mark.parametrize("resumes", [0, 1, 2])
async def test_whoever_holds_a_session_tells_of_an_undo_once_and_of_no_old_one(
    tmp_path: Path, resumes: int
) -> None:
    """Earlier versions recorded no word to the agents: the resume after such an undo has seen to it."""
    double = ScriptedProvider(lambda request: "ok")
    async with Planck(tmp_path / "home", tmp_path, environ={}, providers={"double": double}) as app:
        session = await app.start(model="double/m", name="mine")
        await session.run("hi")
        undone = FileChanged(
            call_id="undo-1", path="a.txt", before=b"x", mode=0o644, after_sha256="", undoes=("c1",)
        )
        await session.record(undone, *[SessionResumed(version="0.1")] * resumes)
        await session.aclose()
        for _ in range(2):
            async with app.hold("mine"):
                pass
        news = [event for event in app.archive.recorded("mine") if b"The user undid" in bytes(event.data)]
        assert len(news) == (0 if resumes else 1)
