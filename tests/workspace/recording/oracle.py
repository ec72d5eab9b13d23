"""`oracle.py FOLDER FIRST SEEDS COUNT full|workspace`: recorded commands beside unrecorded ones.

For each seed the same random operations run in two equal trees, one recorded. Prints JSON: the operations
that occurred, how many changes were recorded, and what was wrong.
"""

import asyncio
import json
import os
import shutil
import stat
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from planck.records.authority import Confinement, Mode
from planck.workspace.process.process import Command, run
from planck.workspace.recording.client import SeccompRecording
from planck.workspace.recording.recording import Record
from planck.workspace.recording.spool import Difference, differences, read_spool
from planck.workspace.recording.states import State, put_state, read_state

OPERATIONS = Path(__file__).with_name("operations.py")


def make_tree(folder: Path) -> None:
    for name in ("a", "b", "src", "src/deep", "src/deep/er", "other"):
        (folder / name).mkdir(parents=True)
    for number, place in enumerate(("a/one", "a/two", "src/x.py", "src/deep/y", "src/deep/er/z", "top")):
        (folder / place).write_bytes(f"content {number}\n".encode() * (number * 7 + 1))
    os.link(folder / "a/one", folder / "b/one-too")
    os.link(folder / "src/x.py", folder / "other/x-too.py")
    os.symlink("../a/one", folder / "b/link")
    os.symlink("nowhere", folder / "dangling")
    (folder / "src/deep/empty").mkdir()
    os.chmod(folder / "src/deep/empty", 0o711)
    os.chmod(folder / "top", 0o755)


def exact(folder: Path) -> dict[str, State]:
    root = os.open(folder, os.O_RDONLY)
    try:
        return {
            place: read_state(root, place)
            for above, inner, names in os.walk(folder)
            for name in (*inner, *names)
            for place in [os.path.relpath(os.path.join(above, name), folder)]
        }
    finally:
        os.close(root)


@contextmanager
def opened(folder: Path) -> Any:
    root = os.open(folder, os.O_RDONLY)
    try:
        yield root
    finally:
        os.close(root)


def compare(folder: Path, spool: Path) -> list[Difference]:
    with opened(folder) as root:
        return differences(read_spool(spool), {str(folder): root})


def restore(folder: Path, changes: list[Difference]) -> None:
    """As an undo does it: away with what is there, deepest first; folders, then all else; modes last."""
    with opened(folder) as root:
        places = [(os.path.relpath(change.place, folder), change) for change in changes]
        for place, change in reversed(places):
            if change.after.kind != "nothing" and change.before.kind != change.after.kind:
                put_state(root, place, State())
        for place, change in places:
            if change.before.kind == "folder":
                put_state(root, place, State("folder", mode=0o700))
        for place, change in places:
            if change.before.kind in ("file", "link") or stat.S_ISFIFO(change.before.mode):
                put_state(root, place, change.before)
        for place, change in reversed(places):
            if change.before.kind == "folder":
                put_state(root, place, change.before)


def without_database(states: dict[str, State]) -> dict[str, State]:
    """Its pages hold counters and times. Absolute links name the other tree."""
    return {
        place: replace(state, target=state.target.replace("/plain/", "/recorded/"))
        for place, state in states.items()
        if "data.db" not in place
    }


async def try_seed(
    recording: SeccompRecording, base: Path, seed: int, count: int, mode: str
) -> tuple[set[str], int, list[str]]:
    shutil.rmtree(base, ignore_errors=True)
    recorded, plain = base / "recorded", base / "plain"
    make_tree(recorded)
    make_tree(plain)
    before = exact(recorded)
    argv = ["/usr/bin/python3", "-S", str(base.parent / "operations.py"), str(seed), str(count)]
    done = []
    spool = base / "spool"
    for folder in (recorded, plain):
        root = str(folder)
        rights = Confinement(Mode.WORKSPACE, (root,), (root,)) if mode == "workspace" else None
        if rights:
            rights = Confinement(
                Mode.WORKSPACE, (root,), (root,), shown=(str(base.parent / "operations.py"),)
            )
        record = Record(recording, spool, (root,)) if folder == recorded else None
        command = Command(argv, folder, {"PATH": "/usr/bin:/bin"}, rights, record=record)
        done.append(await run(command, 60))
    wrong: list[str] = []
    if done[0].exit_code or done[0].output != done[1].output:
        wrong.append(f"seed {seed}: {done[0].output[-300:]!r} {done[1].output[-300:]!r}")
    after = exact(recorded)
    if without_database(after) != without_database(exact(plain)):
        wrong.append(f"seed {seed}: the tree differs")
    changes = compare(recorded, spool)
    said = {os.path.relpath(change.place, recorded) for change in changes}
    truth = {place for place in {*before, *after} if before.get(place) != after.get(place)}
    if said != truth:
        wrong.append(f"seed {seed}: the list differs: {sorted(said ^ truth)[:5]}")
    if read_spool(spool).skipped:
        wrong.append(f"seed {seed}: skipped {read_spool(spool).skipped}")
    try:
        restore(recorded, changes)
    except OSError as problem:
        wrong.append(f"seed {seed}: undo: {problem!r}")
    back = exact(recorded)
    if back != before:
        lost = {place for place in {*before, *back} if before.get(place) != back.get(place)}
        wrong.append(f"seed {seed}: undo differs: {sorted(lost)[:5]}")
    return set(done[0].output.split()), len(changes), wrong


async def main(folder: str, first: str, seeds: str, count: str, mode: str) -> None:
    os.umask(0o022)
    base = Path(folder)
    shutil.copy(OPERATIONS, base / "operations.py")
    recording = SeccompRecording()
    if problem := await recording.prepare():
        raise SystemExit(problem)
    occurred, changed, wrong = set[str](), 0, list[str]()
    try:
        for seed in range(int(first), int(first) + int(seeds)):
            names, changes, problems = await try_seed(recording, base / "try", seed, int(count), mode)
            occurred |= names
            changed += changes
            wrong += problems
    finally:
        await recording.aclose()
    print(json.dumps({"occurred": sorted(occurred), "changed": changed, "wrong": wrong}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
