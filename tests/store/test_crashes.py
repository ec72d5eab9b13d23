"""Death of the process: nothing acknowledged is lost, nothing is there twice, the chain is whole."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.forks import make_folder, run_script

SCRIPT = Path(__file__).with_name("crashes.py")


@pytest.fixture
def folder() -> Iterator[Path]:
    with make_folder() as made:
        yield made


crash = partial(run_script, SCRIPT)


@pytest.mark.parametrize("kills", [60, pytest.param(500, marks=pytest.mark.soak)])
def test_killed_writers_lose_nothing_that_they_acknowledged(folder: Path, seed: int, kills: int) -> None:
    result = crash("kills", kills, folder, seed)
    assert result["runs"] == kills
    assert result["acknowledged"] > kills
    assert result["blobs"] > kills


def test_eight_processes_race_for_one_log_and_one_gets_it(folder: Path, seed: int) -> None:
    assert crash("races", 30, folder, seed) == {"races": 30, "winners": 30, "refused": 210}


def test_a_migration_killed_midway_leaves_the_old_version_or_the_new(folder: Path, seed: int) -> None:
    result = crash("migrations", 40, folder, seed)
    assert result["old"] > 0
    assert result["new"] > 0


@pytest.mark.soak
def test_10000_killed_writers(folder: Path, seed: int) -> None:
    assert crash("kills", 10_000, folder, seed)["runs"] == 10_000


@pytest.mark.soak
def test_1000_races_and_500_killed_migrations(folder: Path, seed: int) -> None:
    (folder / "races").mkdir(mode=0o700)
    (folder / "migrations").mkdir(mode=0o700)
    assert crash("races", 1000, folder / "races", seed)["winners"] == 1000
    assert crash("migrations", 500, folder / "migrations", seed)["runs"] == 500
