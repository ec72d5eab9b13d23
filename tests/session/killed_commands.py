"""Runtimes that die while a command changes files: `python killed_commands.py kills COUNT SEED DIR`.

`undos COUNT SEED DIR`: those that die in the undo of such a command, at every COUNT-th call to the files.

A process of its own, so that it may fork. What is left is recorded when the session is opened again, by a
resume or by an undo alone; the undo then gives exactly the tree from before.
"""

import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

from planck import Planck
from planck.headless import Selection, UndoError
from planck.testing import ScriptedProvider
from tests.forks import die_at, fork, reap
from tests.session.trees import Tree, make_tree, read_tree

CHANGES = Path(__file__).with_name("random_changes.py")
STEPS = 60
_SUBREAPER = 36


def open_planck(folder: Path, command: str = "true") -> Planck:
    double = ScriptedProvider([[("bash", {"command": command})], "done"])
    return Planck(folder / "home", folder / "work", environ=dict(os.environ), providers={"double": double})


async def work(folder: Path, seed: int) -> None:
    command = f"{sys.executable} -I {CHANGES} {seed} {STEPS} {folder}/progress"
    async with open_planck(folder, command) as planck:
        session = await planck.start(model="double/m", name="s", mode="full")
        await session.run("go")
        await session.aclose()


async def check(folder: Path, before: Tree, *, resume: bool) -> None:
    async with open_planck(folder) as planck:
        if resume:
            await (await planck.resume("s")).aclose()
        async with planck.hold("s") as held:
            try:
                plan = held.undo_plan(Selection())
            except UndoError:
                plan = None
            if plan is not None:
                assert [step for step in plan.steps if step.conflict] == []
                await held.undo(plan)
            found = read_tree(folder / "work")
            assert found == before, {
                path: (before.get(path), found.get(path))
                for path in {**before, **found}
                if before.get(path) != found.get(path)
            }
    (home,) = folder.glob("home/sessions/*.output")
    assert [*home.glob("recording/*")] == []


def kill_one(folder: Path, seed: int, choose: random.Random) -> int:
    """Returns how many operations the command had said that it did."""
    (folder / "work").mkdir(parents=True)
    make_tree(folder / "work")
    before = read_tree(folder / "work")
    os.mkfifo(folder / "progress")
    runtime = fork(work(folder, seed))
    wanted = choose.randrange(1, STEPS)
    with open(folder / "progress", "rb", buffering=0) as progress:
        done = 0
        while done < wanted and (some := progress.read(wanted - done)):
            done += len(some)
        os.kill(runtime, signal.SIGKILL)
    with suppress(ChildProcessError):  # the recorder and the command, which end with it
        while True:
            os.wait()
    reap(fork(check(folder, before, resume=choose.random() < 0.5)))
    return done


async def undo_and_die(folder: Path, at: int) -> None:
    async with open_planck(folder) as planck, planck.hold("s") as held:
        plan = held.undo_plan(Selection())
        die_at(at)
        await held.undo(plan)
        os._exit(3)


def undos(every: int, seed: int, folder: Path) -> Counter[str]:
    """The next undo finishes what is left, exactly."""
    totals = Counter[str]()
    made, place = folder / "made", folder / "place"
    (place / "work").mkdir(parents=True)
    make_tree(place / "work")
    before = read_tree(place / "work")
    os.mkfifo(place / "progress")
    runtime = fork(work(place, seed))
    (place / "progress").read_bytes()
    reap(runtime)
    os.rename(place, made)
    for at in range(1, 10_000, every):
        subprocess.run(["cp", "-a", made, place], check=True)
        print(f"killed before call {at}", file=sys.stderr)
        code = reap(fork(undo_and_die(place, at)), 3, -signal.SIGKILL)
        reap(fork(check(place, before, resume=bool(at % 2))))
        shutil.rmtree(place)
        totals["killed"] += code != 3
        if code == 3:
            break
    return totals


def kills(count: int, seed: int, folder: Path) -> Counter[str]:
    assert ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0) == 0
    choose, totals = random.Random(seed), Counter[str]()
    for number in range(count):
        place = folder / f"{number}"
        print(f"kill {number}", file=sys.stderr)
        totals["operations"] += kill_one(place, seed + number, choose)
        totals["killed"] += 1
        shutil.rmtree(place)
    return totals


if __name__ == "__main__":
    _, what, count, seed, folder = sys.argv
    print(json.dumps({"kills": kills, "undos": undos}[what](int(count), int(seed), Path(folder))))
