"""The recorder is killed at any moment: what it wrote is enough to take back all that happened."""

import os
import random
import shutil
import signal
import sys

import pytest

from planck.workspace.process.process import Command, begin
from planck.workspace.recording.recording import Record
from tests.tools.room import until
from tests.workspace.recording.conftest import ENVIRONMENT, Place
from tests.workspace.recording.oracle import OPERATIONS, compare, exact, make_tree, restore

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="seccomp is Linux's")


async def kill_at_a_moment(place: Place, seed: int) -> int:
    """Returns how many changes there were to take back."""
    folder, spool = place.base / f"tree{seed}", place.spool.with_name(f"kill{seed}")
    make_tree(folder)
    before = exact(folder)
    argv = ["/usr/bin/python3", "-S", str(OPERATIONS), str(seed), "400"]
    shutil.copy(OPERATIONS, place.base / "operations.py")
    argv[2] = str(place.base / "operations.py")
    record = Record(place.recording, spool, (str(folder),))
    job = await begin(Command(argv, folder, ENVIRONMENT, record=record))
    size = random.Random(seed).randrange(60_000)
    await until(lambda: not job.running or spool.stat().st_size > size)
    recorder = place.recording._process
    assert recorder is not None
    os.kill(recorder.pid, signal.SIGKILL)
    await job.wait()
    await job.kill()
    changes = compare(folder, spool)
    now = exact(folder)
    truth = {path for path in {*before, *now} if before.get(path) != now.get(path)}
    assert {os.path.relpath(one.place, folder) for one in changes} == truth, f"seed {seed}"
    restore(folder, changes)
    assert exact(folder) == before, f"seed {seed}"
    shutil.rmtree(folder)
    return len(changes)


async def test_what_a_killed_recorder_wrote_undoes_all(place: Place, seed: int) -> None:
    assert sum([await kill_at_a_moment(place, seed % 1000 + number) for number in range(5)]) > 0


@pytest.mark.soak
async def test_a_hundred_killed_recorders(place: Place) -> None:
    found = [await kill_at_a_moment(place, number) for number in range(100)]
    assert sum(found) > 1000
    print(f"changes taken back: {sum(found)}")
