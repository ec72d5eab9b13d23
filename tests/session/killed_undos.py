"""Processes that die in the middle of an undo: `python killed_undos.py kills EVERY SEED DIR`.

A process of its own, so that it may fork. A child is killed before its n-th call to the file system, for
every n (or every EVERY-th) until an undo survives; then another child looks at what is left.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from planck import Planck
from planck.headless import Selection, UndoError
from planck.session.held import HeldSession
from planck.store.sqlite.reader import SqliteReader
from planck.testing import ScriptedProvider
from tests.forks import die_at, fork, reap

FILES = ("kept.txt", "new/made.txt", "new/other.txt")
OLD = {"kept.txt": "one\ntwo\nthree\n", "new/made.txt": None, "new/other.txt": None}
NEW = {"kept.txt": "one\nTWO\nthree\n", "new/made.txt": "made\n", "new/other.txt": "other\n"}
STRANGER = ".planck-tmp-1-1"
"""Looks like one of ours, and is the user's."""


def open_planck(folder: Path) -> Planck:
    double = ScriptedProvider(
        [
            [("edit", {"path": "kept.txt", "old_string": "two\n", "new_string": "TWO\n"})],
            *([("write", {"path": path, "content": NEW[path]})] for path in FILES[1:]),
            "done",
        ]
    )
    return Planck(folder / "home", folder / "work", environ={}, providers={"double": double})


async def work(folder: Path, *, undo: bool) -> None:
    (folder / "work").mkdir(parents=True)
    (folder / "work" / "kept.txt").write_text(OLD["kept.txt"] or "")
    (folder / "work" / STRANGER).write_text("mine\n")
    async with open_planck(folder) as planck:
        session = await planck.start(model="double/m", name="s", mode="full")
        assert (await session.run("go")).text == "done"
        await session.aclose()
        if undo:
            async with planck.hold("s") as held:
                await held.undo(held.undo_plan(Selection()))
    assert look(folder) == (OLD if undo else NEW)


async def undo_and_die(folder: Path, at: int, *, redo: bool) -> None:
    async with open_planck(folder) as planck, planck.hold("s") as held:
        plan = held.undo_plan(Selection(call=find_undo(planck)) if redo else Selection())
        die_at(at)
        await held.undo(plan)
        os._exit(3)


def find_undo(planck: Planck) -> str:
    return next(change.call_id for change in planck.changes("s", Selection()) if change.undoes)


def look(folder: Path) -> dict[str, str | None]:
    paths = {name: folder / "work" / name for name in FILES}
    return {name: path.read_text() if path.exists() else None for name, path in paths.items()}


async def check(folder: Path, *, redo: bool, resume: bool) -> None:
    was, wanted = (OLD, NEW) if redo else (NEW, OLD)
    found = look(folder)
    assert all(found[name] in (was[name], wanted[name]) for name in FILES), f"half of a file: {found}"
    left = {name for name in FILES if found[name] == was[name]}
    async with open_planck(folder) as planck:
        if resume:
            session = await planck.resume("s")
            told = [event.data for event in session.recorded() if event.type == "error"]
            named = {path for data in told for path in json.loads(bytes(data))["details"]["paths"]}
            begun = sum(event.type == "file_changed" for event in session.recorded()) > 3 + 3 * redo
            assert named == (left if begun else set()), f"{left} are not done, and the resume says {named}"
            await session.aclose()
        async with planck.hold("s") as held:
            assert sweep(folder) == [STRANGER]
            await finish(held, planck, left, redo=redo)
        assert look(folder) == wanted, f"{left} were not done, and an undo of the rest left {look(folder)}"
        assert sweep(folder) == [STRANGER]
        own = [change for change in planck.changes("s", Selection()) if not change.undoes]
        assert {change.path: change.undone for change in own} == dict.fromkeys(FILES, not redo)
        if not redo:
            told = [event.data for event in read(planck) if event.type == "message"]
            for name in FILES:
                assert sum(f"'{name}'" in bytes(data).decode() for data in told) == 1, f"{name}: told once"


async def finish(held: HeldSession, planck: Planck, left: set[str], *, redo: bool) -> None:
    """What is left is offered, and nothing else is."""
    try:
        plan = held.undo_plan(Selection(call=find_undo(planck)) if redo else Selection())
    except UndoError:
        assert not left, f"{left} were not done, and there is nothing to undo"
        return
    offered = {step.path for step in plan.steps if step.now != step.then}
    assert offered == left, f"{left} were not done, and {offered} are offered"
    await held.undo(plan)


def read(planck: Planck) -> Any:
    (file,) = planck.home.glob("sessions/*.db")
    reader = SqliteReader.open(file)
    try:
        return list(reader.read())
    finally:
        reader.close()


def sweep(folder: Path) -> list[str]:
    return [path.name for path in (folder / "work").rglob(".planck-tmp*")]


def kills(every: int, folder: Path) -> Counter[str]:
    """Takes turns with what is undone, and with who looks first; of all of it with `every` 1."""
    totals = Counter[str]()
    made, place = folder / "made", folder / "place"
    for redo in (False, True):
        reap(fork(work(place, undo=redo)))
        os.rename(place, made)
        for at in range(1, 10_000, every):
            ended = True
            for resume in (False, True) if every == 1 else (bool(at % 2),):
                subprocess.run(["cp", "-a", made, place], check=True)
                code = reap(fork(undo_and_die(place, at, redo=redo)), 3, -signal.SIGKILL)
                print(f"killed before call {at}, redo {redo}, resume {resume}", file=sys.stderr)
                reap(fork(check(place, redo=redo, resume=resume)))
                shutil.rmtree(place)
                totals["killed"] += code != 3
                ended = code == 3
            if ended:
                break
        shutil.rmtree(made)
    return totals


if __name__ == "__main__":
    _, _, every, _, folder = sys.argv
    print(json.dumps(kills(int(every), Path(folder))))
