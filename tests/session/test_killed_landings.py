"""A landing whose process is killed: the next one finishes it, and the undo is exact."""

from functools import partial
from pathlib import Path

import pytest

from tests.forks import make_folder, run_script

SCRIPT = Path(__file__).with_name("killed_landings.py")


def run(runs: int, every: int, folder: Path, seed: int) -> dict[str, int]:
    return partial(run_script, SCRIPT, str(runs))(every, folder, seed)


def test_killed_landings_are_finished_by_the_next_process_and_undone_exactly(seed: int) -> None:
    with make_folder() as folder:
        assert run(3, 97, folder, seed)["killed"] >= 10


@pytest.mark.soak
def test_sixty_landings_killed_at_every_step_are_finished_and_undone_exactly(seed: int) -> None:
    with make_folder() as folder:
        found = run(60, 5, folder, seed)
        assert found["landed"] >= 45
        assert found["killed"] >= 3_000
