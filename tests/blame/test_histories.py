"""Blame against an independent record of who wrote which text.

The promise: a line is given to a change that wrote its text; where only one ever did, that is exact. Where a
log does not have what a change left, and somebody edited after it, the answer may be that this is not known.
"""

from pathlib import Path

import pytest

from planck.archive.blame import trace
from planck.archive.blame.lines import Blocks, Lines, match_lines
from planck.headless import Planck
from planck.records.events import FileChanged
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
    assert exact > 10_000


def test_lines_that_part_are_followed_together_when_they_meet_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An undo brings some lines back; each group alone would be compared with each change."""
    history, counted = History(7, 300, 200), []

    def count(new: Lines, old: Lines) -> Blocks:
        counted.append(len(new))
        return match_lines(new, old)

    monkeypatch.setattr(trace, "match_lines", count)
    check(history, tmp_path)
    changes = sum(isinstance(fact, FileChanged) for log in history.logs for _, fact in log)
    assert changes > 200
    assert changes / 2 < len(counted) < 1.3 * changes
