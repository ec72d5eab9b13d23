"""Real commands through the bash tool: recorded, undone exactly, and recovered after a kill."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.headless import Selection
from planck.records.events import CommandRecorded, TurnEnd, view
from planck.testing import ScriptedProvider
from tests.forks import make_folder, run_script
from tests.session.trees import make_tree, read_tree

CHANGES = Path(__file__).with_name("random_changes.py")
KILLED = Path(__file__).with_name("killed_commands.py")
kills, undos = partial(run_script, KILLED, "kills"), partial(run_script, KILLED, "undos")


def open_planck(folder: Path, *steps: Any) -> Planck:
    folder.joinpath("work").mkdir(exist_ok=True)
    double = ScriptedProvider([*steps])
    return Planck(
        folder / "home", folder / "work", environ={"PATH": "/usr/bin:/bin"}, providers={"double": double}
    )


def bash(command: str, **more: Any) -> list[Any]:
    return [("bash", {"command": command, **more})]


async def undo_random_commands(folder: Path, seed: int, mode: str) -> None:
    work = folder / "work"
    work.mkdir()
    make_tree(work)
    numbers = (seed * 3, seed * 3 + 1, seed * 3 + 2)
    steps = [step for n in numbers for step in (bash(f"/usr/bin/python3 -I {CHANGES} {n} 40"), "done")]
    (work / ".planck").mkdir()  # else the sandbox makes an empty one, so that no command can
    (work / ".agents").mkdir()
    trees = [read_tree(work)]
    async with open_planck(folder, *steps) as planck:
        session = await planck.start(model="double/m", mode=mode)
        for _ in numbers:
            assert (await session.run("go")).text == "done"
            trees.append(read_tree(work))
        for wanted in reversed(trees[:-1]):
            if read_tree(work) != wanted:
                plan = session.undo_plan(Selection())
                assert ([step for step in plan.steps if step.conflict], plan.commands) == ([], ())
                await session.undo(plan)
            assert read_tree(work) == wanted
        await session.aclose()


@pytest.mark.parametrize("mode", ["full", "workspace"])
@pytest.mark.parametrize("number", range(2))
async def test_random_commands_are_undone_exactly(tmp_path: Path, seed: int, number: int, mode: str) -> None:
    await undo_random_commands(tmp_path, seed + number, mode)


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["full", "workspace"])
@pytest.mark.parametrize("number", range(100))
async def test_many_random_commands_are_undone_exactly(
    tmp_path: Path, seed: int, number: int, mode: str
) -> None:
    await undo_random_commands(tmp_path, seed + number, mode)


def test_what_a_command_did_before_its_runtime_was_killed_is_undone_exactly(seed: int) -> None:
    with make_folder() as folder:
        assert kills(10, folder, seed)["killed"] == 10


@pytest.mark.soak
def test_a_hundred_killed_runtimes_leave_nothing_that_is_not_undone(seed: int) -> None:
    with make_folder() as folder:
        assert kills(100, folder, seed)["killed"] == 100


def test_a_killed_undo_of_a_command_is_finished_by_the_next_one(seed: int) -> None:
    with make_folder() as folder:
        assert undos(23, folder, seed)["killed"] >= 5


@pytest.mark.soak
def test_an_undo_of_a_command_killed_before_each_call_is_finished_by_the_next_one(seed: int) -> None:
    with make_folder() as folder:
        assert undos(1, folder, seed)["killed"] >= 100


async def test_a_file_tool_refuses_a_file_that_a_command_changed_after_it_was_read(tmp_path: Path) -> None:
    steps = [
        [("read", {"path": "a.txt"})],
        bash("echo two > a.txt"),
        [("write", {"path": "a.txt", "content": "mine\n"})],
        "done",
    ]
    async with open_planck(tmp_path, *steps) as planck:
        (tmp_path / "work" / "a.txt").write_text("one\n")
        session = await planck.start(model="double/m", mode="full")
        result = await session.run("go")
        ends = [json.loads(bytes(event.data)) for event in session.recorded() if event.type == "tool_end"]
        assert [(end.get("error") or {}).get("kind") for end in ends] == [None, None, "edit_conflict"]
        (change,) = result.changes
        assert (change.path, change.by, change.added, change.removed) == ("a.txt", "command", 1, 1)
        await session.undo(session.undo_plan(Selection()))
        assert (tmp_path / "work" / "a.txt").read_text() == "one\n"
        await session.aclose()


async def test_a_recorded_command_makes_tests_stale_only_if_it_changed_something(tmp_path: Path) -> None:
    steps = [
        bash("echo x > a.txt"),
        bash("mkdir -p tests; touch tests/made; true; ./test.sh"),
        bash("python3 -c 'pass'"),
        "done",
        bash('python3 -c \'open("a.txt", "w")\''),
        "done",
    ]
    async with open_planck(tmp_path, *steps) as planck:
        script = tmp_path / "work" / "test.sh"
        script.write_text("#!/bin/sh\necho ran > log.txt\n")
        script.chmod(0o755)
        session = await planck.start(model="double/m", mode="full")
        await session.run("go")
        found = session.evidence(0)
        assert found
        assert (found.fresh, found.followed, found.edited, found.exit_code) == (True, False, True, 0)
        await session.run("go")
        found = session.evidence(0)
        assert found
        assert (found.fresh, found.followed) == (False, False)
        await session.aclose()


async def test_a_background_command_is_recorded_when_the_run_ends_and_when_the_session_closes(
    tmp_path: Path,
) -> None:
    server = "echo 1 > made; mkfifo go; cat go > heard; echo 2 > later; mkfifo end; cat end"
    steps = [
        [("bash", {"command": server, "background": True})],
        bash("until test -p go; do :; done"),
        "started",
        bash("echo > go; until test -p end; do :; done"),
        "done",
    ]
    async with open_planck(tmp_path, *steps) as planck:
        work = tmp_path / "work"
        session = await planck.start(model="double/m", mode="full", name="s")
        first = await session.run("go")
        assert {one.path for one in first.changes} >= {"made"}
        second = await session.run("go")
        assert {one.path for one in second.changes} >= {"later"}
        await session.aclose()
        async with planck.hold("s") as held:
            await held.undo(held.undo_plan(Selection(all=True)))
        assert read_tree(work) == {}


async def test_a_background_command_is_recorded_before_a_turn_ends(tmp_path: Path) -> None:
    steps = [
        [("bash", {"command": "echo 1 > made; mkfifo go; cat go", "background": True})],
        bash("until test -p go; do :; done"),
        "started",
    ]
    async with open_planck(tmp_path, *steps) as planck:
        session = await planck.start(model="double/m", mode="full")
        await session.run("go")
        facts = [view(event) for event in session.recorded()]
        running = [n for n, fact in enumerate(facts) if isinstance(fact, CommandRecorded) and fact.running]
        ended = [n for n, fact in enumerate(facts) if isinstance(fact, TurnEnd)]
        assert [len(running), len(ended)] == [1, 1]
        assert running < ended
        await session.aclose()


async def test_a_folder_that_a_command_moves_into_the_workspace_is_recorded_whole(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)
    (outside / "inner" / "a.txt").write_text("a\n")
    ignored = tmp_path / "work" / "node_modules" / "b"
    ignored.mkdir(parents=True)
    (ignored / "b.txt").write_text("b\n")
    move = "python3 -c \"import os; os.rename('../outside', 'in'); os.rename('node_modules/b', 'b')\""
    async with open_planck(tmp_path, bash(move), "done") as planck:
        session = await planck.start(model="double/m", mode="full")
        result = await session.run("go")
        assert {one.path for one in result.changes} == {"in/inner/a.txt", "b/b.txt"}
        plan = session.undo_plan(Selection())
        assert [step.path for step in plan.steps if step.conflict] == []
        await session.undo(plan)
        assert [*read_tree(tmp_path / "work")] == ["node_modules"]
        await session.aclose()


async def test_an_undo_restores_a_key_in_a_file_and_leaves_a_link_to_one_alone(tmp_path: Path) -> None:
    key = "sk-canary-0123456789abcdefABCDEF"
    work = tmp_path / "work"
    work.mkdir()
    (work / "conf").write_text(f"a\nkey={key}\n")
    (work / "link").symlink_to(key)
    double = ScriptedProvider([bash(f"rm conf link; ln -s {key[:10]}''{key[10:]} other"), "done"])
    environ = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": key}
    async with Planck(tmp_path / "home", work, environ=environ, providers={"double": double}) as planck:
        session = await planck.start(model="double/m", mode="full")
        await session.run("go")
        plan = session.undo_plan(Selection())
        refused = [step.path for step in plan.steps if "contains an API key" in step.conflict]
        assert refused == ["other", "link"]
        await session.undo(plan)
        assert (work / "conf").read_text() == f"a\nkey={key}\n"
        assert not (work / "link").is_symlink()
        assert (work / "other").is_symlink()
        files = [file for file in (tmp_path / "home").rglob("*") if file.is_file()]
        assert not [file for file in files if key.encode() in file.read_bytes()]
        await session.aclose()


async def test_an_undo_names_only_commands_that_are_not_recorded(tmp_path: Path) -> None:
    steps = [bash("echo x > a.txt"), bash("echo y > b.txt"), "done"]
    async with open_planck(tmp_path, *steps) as planck:
        session = await planck.start(model="double/m", mode="full")
        await session.run("go")
        plan = session.undo_plan(Selection())
        assert ({step.path for step in plan.steps}, plan.commands) == ({"a.txt", "b.txt"}, ())
        await session.aclose()
