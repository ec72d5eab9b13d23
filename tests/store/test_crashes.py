"""Death of the process: nothing acknowledged is lost, nothing is there twice, the chain is whole."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("crashes.py")


@pytest.fixture
def folder() -> Iterator[Path]:
    # Memory if there is any: the disk is not what these tests are about, and it would be 20 times slower.
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made)


def crash(what: str, count: int, folder: Path, seed: int) -> dict[str, int]:
    print("seed", seed)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), what, str(count), str(seed), str(folder)],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, int] = json.loads(done.stdout)
    print(result)
    return result


def test_500_killed_writers_lose_nothing_that_they_acknowledged(folder: Path, seed: int) -> None:
    result = crash("kills", 500, folder, seed)
    assert result["runs"] == 500
    assert result["acknowledged"] > 500
    assert result["blobs"] > 500


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
