"""Commands in views are recorded, each with what was in its own view, also when the session was killed."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planck import Member, Team
from planck.records.events import CommandRecorded, FileChanged
from planck.testing import ScriptedProvider
from tests.library.program import results
from tests.views.place import ASK_BEN, TOOLS, Place, facts, make_team, read_tree

WORKERS = 8


async def test_a_command_in_a_view_is_recorded_with_what_was_there(tmp_path: Path) -> None:
    place = Place(tmp_path)
    script = "echo changed > src/file0.txt; rm src/file1.txt; mkdir new; echo n > new/n; ln -s x link"
    ben = [[("bash", {"command": script})], [("bash", {"command": "echo more >> src/file0.txt"})], "done"]
    async with place.open([ASK_BEN, "over"], ben) as planck:
        session = await planck.start(make_team(), mode="workspace")
        await session.run("go")
        changes = [(fact.path, fact.before) for fact in facts(session, FileChanged)]
        assert changes == [
            ("link", None),
            ("new", None),
            ("new/n", None),
            ("src/file0.txt", b"old 0\n"),
            ("src/file1.txt", b"old 1\n"),
            ("src/file0.txt", b"changed\n"),
        ]
        ends = facts(session, CommandRecorded)
        assert [(end.changed, end.skipped, end.partial) for end in ends] == [(5, 0, False), (1, 0, False)]
        assert len({end.view for end in ends} | {fact.view for fact in facts(session, FileChanged)}) == 1


async def work_at_once(folder: Path) -> None:
    """Each worker changes the same file by commands, and is recorded with what it alone had written."""
    place = Place(folder)
    names = [f"w{number}" for number in range(WORKERS)]
    scripts: dict[str, Any] = {}

    def script(name: str) -> Any:
        for text in ("one", "two"):
            yield [
                ("bash", {"command": f"echo {name} {text} > src/file0.txt; echo {name} >> own-{name}.txt"})
            ]
        yield "done"

    def answer(request: Any) -> Any:
        if "spawn_agent" in {one.name for one in request.tools}:
            return next(lead)
        return next(scripts.setdefault(request.agent_id, script(by_id[request.agent_id])))

    tasks = [("delegate_task", {"identifier": n, "identifier_type": "name", "task": "go"}) for n in names]
    lead = iter([tasks, *["wait"] * (2 * WORKERS), "over"])
    members = [Member(type=name, name=name, workspace="own", tools=TOOLS) for name in names]
    async with place.open_with(ScriptedProvider(answer), limits={"live_agents": WORKERS + 1}) as planck:
        session = await planck.start(Team(members=[Member(type="orchestrator"), *members]), mode="workspace")
        by_id = {one.id: one.name for one in session.members}
        await session.run("go")
        seen: dict[str, list[bytes | None]] = {}
        views: dict[str, set[object]] = {}
        for event, fact in [(e, f) for e in session.recorded() for f in facts_of(e)]:
            name = by_id[event.agent_id or ""]
            views.setdefault(name, set()).add(fact.view)
            if fact.path == "src/file0.txt":
                seen.setdefault(name, []).append(fact.before)
        assert seen == {name: [b"old 0\n", f"{name} one\n".encode()] for name in names}
        assert len({view for found in views.values() for view in found}) == WORKERS
    assert (place.work / "src/file0.txt").read_text() == "old 0\n"


def facts_of(event: Any) -> list[FileChanged]:
    from planck.records.events import view

    fact = view(event)
    return [fact] if isinstance(fact, FileChanged) else []


async def test_eight_views_with_recorded_commands_at_once_have_each_their_own_images(tmp_path: Path) -> None:
    await work_at_once(tmp_path / "one")


@pytest.mark.soak
async def test_eight_views_at_once_forty_times(tmp_path: Path) -> None:
    for number in range(40):
        await work_at_once(tmp_path / str(number))


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from tests.views.place import *
make_template(Path(sys.argv[1]) / "template")

async def main(folder):
    place = Place(folder)
    command = "echo changed > src/file0.txt; echo new > new.txt; echo ready; sleep 1000"
    async with place.open([ASK_BEN], [[("bash", {"command": command})]]) as planck:
        session = await planck.start(make_team(), mode="full", id="killed")
        running = asyncio.ensure_future(session.run("go"))
        async for event in session.events():
            if event.type == "tool_progress" and "ready" in str(event.data):
                os.kill(os.getpid(), 9)

asyncio.run(main(Path(sys.argv[1])))
"""


async def test_a_command_in_a_view_that_was_killed_is_recorded_at_the_resume(tmp_path: Path) -> None:
    words = [sys.executable, "-c", _KILLED, str(tmp_path)]
    done = await asyncio.to_thread(subprocess.run, words, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == -9
    place = Place.__new__(Place)
    place.folder, place.home, place.work = tmp_path, tmp_path / "home", tmp_path / "work"
    before = read_tree(place.work)
    ben = [[("bash", {"command": "cat src/file0.txt new.txt"})], "done"]
    async with place.open([ASK_BEN, "over"], ben) as planck:
        session = await planck.resume("killed")
        recorded = {fact.path: fact.before for fact in facts(session, FileChanged)}
        assert recorded == {"new.txt": None, "src/file0.txt": b"old 0\n"}
        assert len({fact.view for fact in facts(session, FileChanged)}) == 1
        await session.run("again")
        assert results(session)[-2] == "changed\nnew\n"
    assert read_tree(place.work) == before
    assert os.listdir(place.views / "killed")
