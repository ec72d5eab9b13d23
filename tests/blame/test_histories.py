"""Blame against an independent record of who wrote which text.

The promise: a line is given to a change that wrote its text; where only one ever did, that is exact. Where a
log does not have what a change left, and somebody edited after it, the answer may be that this is not known.
"""

from pathlib import Path

import pytest

from planck.headless import Planck
from planck.records.events import Event, FileChanged
from planck.store.sqlite.reader import SqliteReader
from tests.blame.histories import History


def check(history: History, folder: Path) -> int:
    """Compares every line; returns how many had one writer only."""
    home, work = folder / "home", folder / "work"
    work.mkdir(parents=True)
    history.store(home / "sessions", work)
    planck = Planck(home=home, workspace=work)
    blame = planck.blame(work / history.path)
    exact = 0
    for line, text in zip(blame.lines, history.content.splitlines(keepends=True), strict=True):
        writers = history.writers[text]
        call = None if line.change is None else blame.changes[line.change].call
        if line.by == "unknown":
            assert call in history.doubtful, (line, writers)
            continue
        assert call in writers, (line, call, writers)
        exact += len(writers) == 1
    return exact


@pytest.mark.parametrize("seed", range(30))
def test_every_line_is_given_to_a_change_that_wrote_its_text(seed: int, tmp_path: Path) -> None:
    assert check(History(seed, 4 + seed), tmp_path) >= 0


@pytest.mark.soak
def test_every_line_of_a_thousand_histories_is_given_to_a_change_that_wrote_it(tmp_path: Path) -> None:
    exact = sum(check(History(seed, seed % 60), tmp_path / str(seed)) for seed in range(1_000))
    assert exact > 5_000


def test_no_version_of_the_file_is_read_again_for_each_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that part, because an undo brought some of them back, are followed together when they meet."""
    history, counted, read_back = History(7, 300, 200), [], SqliteReader.read_back

    def count(self: SqliteReader, before: int | None = None, limit: int = 512) -> list[Event]:
        counted.append(before)
        return read_back(self, before, limit)

    monkeypatch.setattr(SqliteReader, "read_back", count)
    check(history, tmp_path)
    changes = sum(isinstance(fact, FileChanged) for log in history.logs for _, fact in log)
    assert changes > 200
    assert len(counted) < 5 * changes
