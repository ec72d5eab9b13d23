"""A team whose workers have views, killed at random points and resumed: the same files in the end."""

from functools import partial
from pathlib import Path

import pytest

from tests.forks import make_folder, run_script

run = partial(run_script, Path(__file__).with_name("killed_work.py"), "land")


def test_a_killed_team_comes_to_the_same_files(seed: int) -> None:
    with make_folder() as folder:
        assert run(5, folder, seed)["killed"] >= 4


@pytest.mark.soak
def test_a_team_that_is_killed_at_fifty_points_comes_to_the_same_files(seed: int) -> None:
    with make_folder() as folder:
        assert run(50, folder, seed)["killed"] >= 45
