"""A team with views that dies and goes on: `python killed_work.py land COUNT SEED DIR`.

Each child is killed before a random call to the file system; the next one resumes the session, has the same
work done again, and must come to the same files, and to the same ones without one worker's part.
"""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from planck.headless import Selection
from planck.records.events import LandingFinished, LandingStarted, view
from tests.forks import die_at, fork, reap
from tests.views.place import make_template
from tests.views.test_landing import LINES, Workers, delegate, edit, make_team

WANTED = "".join([*LINES[:3], "ada's\n", *LINES[4:20], "ben's\n", *LINES[21:]])


def scripts() -> dict[str, list[Any]]:
    """An edit that was made before fails when it is done again, and the work goes on. No command here leaves
    a temporary file of its own when it is killed."""
    ada = [edit("line 3\n", "ada's\n"), [("bash", {"command": "cat .env"})], "ada reports"]
    more = [("bash", {"command": "echo b > by-ben; rm -f src/file2.txt"})]
    ben = [edit("line 20\n", "ben's\n"), more, "ben reports"]
    lead = [delegate("ada", "ben"), "wait", "wait", "over", "over", "over"]
    return {"lead": lead, "ada": [*ada, *ada], "ben": [*ben, *ben]}


async def begin(folder: Path, at: int) -> None:
    place = Workers(folder, made=True)
    async with place.open(**scripts()) as planck:
        session = await planck.start(make_team("ada", "ben"), mode="full", name="s")
        seen = die_at(at) if at else lambda: 0
        await session.run("go")
        (folder / "calls").write_text(str(seen()))
    os._exit(3)


async def go_on(folder: Path) -> None:
    """Resumes what was killed, has the same work done again, and undoes one worker's part."""
    place = Workers(folder, made=True)
    async with place.open(**scripts()) as planck:
        session = await planck.resume("s")
        await session.run("go on")
        facts = [view(event) for event in session.recorded()]
        started = {fact.landing for fact in facts if isinstance(fact, LandingStarted)}
        assert started == {fact.landing for fact in facts if isinstance(fact, LandingFinished)}
        await session.aclose()
        check(place)
        async with planck.hold("s") as held:
            await held.undo(held.undo_plan(Selection(agent="ben")))
        text = (place.work / "shared.txt").read_text()
        assert text == "".join([*LINES[:3], "ada's\n", *LINES[4:]]), text
        assert place.changed() == {"shared.txt"}
    os._exit(0)


def check(place: Workers) -> None:
    assert (place.work / "shared.txt").read_text() == WANTED, (place.work / "shared.txt").read_text()
    assert place.changed() == {"shared.txt", "by-ben", "src/file2.txt"}, place.changed()
    assert not [*place.work.rglob(".planck-tmp*")]


def kills(count: int, seed: int, folder: Path) -> Counter[str]:
    totals = Counter[str]()
    made = folder / "made"
    make_template(folder / "template")
    made.mkdir()
    Workers(made)
    shutil.copytree(made, folder / "whole", symlinks=True)
    reap(fork(begin(folder / "whole", 1_000_000)), 3)
    check(Workers(folder / "whole", made=True))
    calls = int((folder / "whole/calls").read_text())
    for at in random.Random(seed).sample(range(1, calls), count):
        place = folder / "place"
        shutil.copytree(made, place, symlinks=True)
        code = reap(fork(begin(place, at)), 3, -signal.SIGKILL)
        print(f"killed before call {at} of {calls}: {code}", file=sys.stderr)
        totals["killed"] += code != 3
        reap(fork(go_on(place)))
        shutil.rmtree(place)
    return totals


if __name__ == "__main__":
    _, _, count, seed, folder = sys.argv
    # What a killed process leaves there goes with the folder.
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    print(json.dumps(kills(int(count), int(seed), Path(folder))))
