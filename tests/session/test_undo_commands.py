"""An undo takes back what commands did: bytes, permissions, links, empty folders, and the undo too."""

import base64
import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from planck import Ok, Planck, Tool
from planck.archive.reading import ArchiveReader
from planck.headless import OpenSession, RunResult, Selection, UndoError
from planck.testing import ScriptedProvider
from planck.tools.recorded import SpoolRecord
from planck.workspace.paths.paths import Root
from planck.workspace.recording.spool import describe_state, pack
from planck.workspace.recording.states import MAX_IMAGE, NOTHING, State, read_state
from tests.session import random_changes
from tests.session.trees import Tree, make_tree, read_tree


class Commands:
    """A tool that changes files as a command does, with a spool of what was there before."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self._folder = folder
        self._changes: list[Any] = []

    def tool(self) -> Tool:
        async def execute(args: dict[str, Any], ctx: Any) -> Ok[Any]:
            spool = self._folder / "spool"
            before = self._states()
            self._changes[args["number"]]()
            found = [(path, before.get(path, NOTHING)) for path in {**before, **self._states()}]
            local = args.get("local", [])
            with spool.open("wb") as file:
                for path, state in found:
                    header = {"path": f"{self.work}/{path}", "local": path in local, **describe_state(state)}
                    file.write(pack(header, state.content or b""))
                file.write(pack({"ended": True}))
            images = self._folder / "home" / "sessions" / f"{ctx.session_id}.output" / "images"
            record = SpoolRecord(spool, Root(self.work), ctx.call_id, images)
            note = await record.commit(ctx.record)
            return Ok({"output": note or "ok"})

        schema = {"number": {"type": "integer"}, "local": {"type": "array"}}
        return Tool("change", "", {"type": "object", "properties": schema}, execute)

    def _states(self) -> dict[str, State]:
        fd = os.open(self.work, os.O_RDONLY)
        try:
            return {path: read_state(fd, path) for path in read_tree(self.work)}
        finally:
            os.close(fd)

    async def run(self, *changes: Any, calls: int = 1, local: tuple[str, ...] = ()) -> "Opened":
        """Opens a session in which each turn makes that many of the calls."""
        self._changes = list(changes)
        script: list[Any] = []
        for start in range(0, len(changes), calls):
            numbers = range(start, min(start + calls, len(changes)))
            script += [[("change", {"number": number, "local": list(local)})] for number in numbers]
            script.append("done")
        planck = Planck(
            self._folder / "home", self.work, environ={}, providers={"double": ScriptedProvider(script)}
        )
        session = await planck.start(model="double/m", name="s", mode="full", tools=[self.tool()])
        for _ in range(0, len(changes), calls):
            assert (await session.run("go")).text == "done"
            assert not (self._folder / "spool").exists()
        return Opened(planck, session)

    def read_result(self) -> RunResult:
        """As it is told of a session that nobody has open, by its log alone."""
        sessions = self._folder / "home" / "sessions"
        reader = ArchiveReader(sessions, self.work)
        (info,) = reader.sessions()
        result = reader.result(info.id)
        assert result
        return result


class Opened:
    def __init__(self, planck: Planck, session: OpenSession) -> None:
        self.planck = planck
        self.session = session

    async def __aenter__(self) -> OpenSession:
        await self.planck.__aenter__()
        return self.session

    async def __aexit__(self, *problem: Any) -> None:
        await self.session.aclose()
        await self.planck.__aexit__(*problem)


@pytest.mark.parametrize("number", range(10))
async def test_random_changes_by_commands_are_undone_exactly_and_redone_exactly(
    tmp_path: Path, seed: int, number: int
) -> None:
    commands = Commands(tmp_path)
    make_tree(commands.work)
    trees: list[Tree] = [read_tree(commands.work)]

    def work(count: int) -> None:
        here = os.getcwd()
        os.chdir(commands.work)
        try:
            random_changes.main(seed * 1000 + number * 10 + count, 25)
        finally:
            os.chdir(here)
        trees.append(read_tree(commands.work))

    async with await commands.run(lambda: work(0), lambda: work(1), lambda: work(2)) as session:
        done: list[str] = []
        for wanted in reversed(trees[:-1]):
            if wanted != read_tree(commands.work):
                plan = session.undo_plan(Selection())
                assert [step for step in plan.steps if step.conflict] == []
                done.append(await session.undo(plan))
            assert read_tree(commands.work) == wanted
        for call in random.Random(seed).sample(done[-1:], len(done[-1:])):
            plan = session.undo_plan(Selection(call=call))
            await session.undo(plan)
        if done:
            assert read_tree(commands.work) in trees[1:]


async def test_a_folder_that_a_command_made_stays_with_what_the_user_put_into_it(tmp_path: Path) -> None:
    commands = Commands(tmp_path)

    def work() -> None:
        (commands.work / "made" / "inner").mkdir(parents=True)
        (commands.work / "made" / "a.txt").write_text("a\n")

    async with await commands.run(work) as session:
        (commands.work / "made" / "mine.txt").write_text("mine\n")
        plan = session.undo_plan(Selection())
        await session.undo(plan)
        assert {step.path: step.conflict for step in plan.steps} == {
            "made": "the folder still contains 'mine.txt'",
            "made/inner": "",
            "made/a.txt": "",
        }
        assert [*read_tree(commands.work)] == ["made", "made/mine.txt"]


async def test_lines_that_the_user_added_after_a_command_stay(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    file = commands.work / "a.txt"
    file.write_text("one\ntwo\nthree\n")

    def first() -> None:
        file.write_text("one\nTWO\nthree\n")
        file.chmod(0o755)

    async with await commands.run(first, lambda: file.write_text("one\nTWO\nTHREE\n")) as session:
        file.write_text("one\nTWO\nTHREE\nmine\n")
        await session.undo(session.undo_plan(Selection(turn=1)))
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("one\ntwo\nTHREE\nmine\n", 0o644)
        with pytest.raises(UndoError, match="Nothing to undo in turn 1"):
            session.undo_plan(Selection(turn=1))


async def test_permissions_that_the_user_changed_since_stay(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    script, data = commands.work / "run.sh", commands.work / "data"
    script.write_text("#!/bin/sh\n")
    data.mkdir(mode=0o755)

    def work() -> None:
        script.chmod(0o755)
        data.chmod(0o700)

    async with await commands.run(work) as session:
        script.chmod(0o600)
        data.chmod(0o711)
        await session.undo(session.undo_plan(Selection()))
        assert (script.stat().st_mode & 0o777, data.stat().st_mode & 0o777) == (0o600, 0o711)


async def test_the_whole_session_is_undone_at_once(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    make_tree(commands.work)
    before = read_tree(commands.work)

    def first() -> None:
        (commands.work / "src" / "a.txt").write_text("changed\n")
        (commands.work / "new").mkdir()

    def second() -> None:
        shutil.rmtree(commands.work / "src")
        (commands.work / "new").rmdir()
        (commands.work / "new").symlink_to("run.sh")

    async with await commands.run(first, second) as session:
        after = read_tree(commands.work)
        call = await session.undo(session.undo_plan(Selection(all=True)))
        assert read_tree(commands.work) == before
        await session.undo(session.undo_plan(Selection(call=call)))
        assert read_tree(commands.work) == after


SECRET = "a secret that no key ring knows"


async def test_the_old_content_of_an_ignored_file_stays_beside_the_log(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    env = commands.work / ".env"
    env.write_text(f"TOKEN={SECRET}\n")
    later = f"TOKEN={SECRET[::-1]}\n"

    async with await commands.run(lambda: env.write_text(later), local=(".env",)) as session:
        (change,) = session.changes()
        assert (change.path, SECRET in change.diff) == (".env", False)
        call = await session.undo(session.undo_plan(Selection()))
        assert env.read_text() == f"TOKEN={SECRET}\n"
        await session.undo(session.undo_plan(Selection(call=call)))
        assert env.read_text() == later
        assert session.result(0).changes == ()
    images = [*(tmp_path / "home" / "sessions").glob("*.output/images/*")]
    assert {file.stat().st_mode & 0o777 for file in images} == {0o600}
    assert len(images) == 2
    secrets = [
        form for text in (SECRET, SECRET[::-1]) for form in (text.encode(), base64.b64encode(text.encode()))
    ]
    for file in (tmp_path / "home").rglob("*"):
        if file.is_file() and file not in images:
            content = file.read_bytes()
            assert not any(secret in content for secret in secrets), file


async def test_a_fork_has_no_old_content_of_ignored_files_and_says_so(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    env = commands.work / ".env"
    env.write_text("OLD=1\n")
    opened = await commands.run(lambda: env.write_text("NEW=1\n"), local=(".env",))
    async with opened as session:
        await session.aclose()
        copy = opened.planck.archive.fork("s", name="copy")
        async with opened.planck.hold((await copy).id) as held:
            (step,) = held.undo_plan(Selection()).steps
            assert step.conflict.startswith("git ignores the file, so its old content stayed")
    assert env.read_text() == "NEW=1\n"


async def test_a_large_old_content_is_a_blob_that_an_export_carries(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    file = commands.work / "large.bin"
    old = random.Random(1).randbytes(3 << 20)
    file.write_bytes(old)
    opened = await commands.run(lambda: file.write_bytes(b"small"))
    async with opened as session:
        (fact,) = [event for event in session.recorded() if event.type == "file_changed"]
        assert len(fact.data) < 1000
        await session.undo(session.undo_plan(Selection()))
        assert file.read_bytes() == old
        exported = b"".join(opened.planck.archive.events(session.id))
        assert base64.b64encode(old[:300]) in exported


async def test_what_is_too_large_to_keep_is_named_and_left_alone(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    file, other = commands.work / "huge.bin", commands.work / "a.txt"

    def work() -> None:
        with file.open("wb") as new:
            new.truncate(MAX_IMAGE + 1)
        other.write_text("a\n")

    async with await commands.run(work) as session:
        (end,) = [event.data for event in session.recorded() if event.type == "tool_end"]
        assert b"[undo: 1 file of this command was not recorded: more than 64 MiB]" in bytes(end)
        plan = session.undo_plan(Selection())
        assert plan.commands == ("change  (orchestrator, turn 1; partly recorded)",)
        await session.undo(plan)
        assert (file.exists(), other.exists()) == (True, False)
        assert [(one.path, one.added, one.removed) for one in session.result(0).changes] == [
            ("huge.bin", None, None)
        ]


async def test_a_result_lists_what_differs_after_the_run(tmp_path: Path) -> None:
    commands = Commands(tmp_path)
    for name, content in {
        "same": b"same\n",
        "edited": b"1\n2\n3\n",
        "gone": b"1\n2\n",
        "binary": b"\0",
    }.items():
        (commands.work / name).write_bytes(content)

    def first() -> None:
        (commands.work / "same").write_text("other\n")
        (commands.work / "edited").write_text("1\nTWO\n3\n4\n")
        (commands.work / "gone").unlink()
        (commands.work / "binary").write_bytes(b"\0\1")
        (commands.work / "link").symlink_to("same")
        (commands.work / "folder").mkdir()
        (commands.work / "new\n").write_text("1\n")

    async with await commands.run(
        first, lambda: (commands.work / "same").write_text("same\n"), calls=2
    ) as session:
        found = session.result(0).changes
        assert {one.path: (one.added, one.removed) for one in found} == {
            "edited": (2, 1),
            "gone": (0, 2),
            "binary": (None, None),
            "link": (1, 0),
            "new\\x0a": (1, 0),
        }
        assert {(one.agent, one.by, one.landed) for one in found} == {("orchestrator", "command", True)}
        stored = commands.read_result()
        assert {one.path for one in stored.changes} == {one.path for one in found}


@pytest.mark.parametrize("committed", [False, True])
async def test_a_spool_that_is_left_is_recorded_once(tmp_path: Path, committed: bool) -> None:
    """`committed`: the runtime was killed between the commit and the removal of the spool."""
    commands = Commands(tmp_path)
    file = commands.work / "a.txt"
    file.write_text("old\n")
    opened = await commands.run(lambda: file.write_text("new\n"))
    async with opened as session:
        (call,) = [event for event in session.recorded() if event.type == "command_recorded"]
        call_id = json.loads(bytes(call.data))["call_id"]
        await session.aclose()
        (home,) = (tmp_path / "home" / "sessions").glob("*.db")
        folder = home.with_name(f"{session.id}.output") / "recording"
        folder.mkdir(parents=True)
        header = {"path": f"{file}", "kind": "file", "mode": 0o644}
        (folder / (call_id if committed else "never-began")).write_bytes(pack(header, b"old\n"))
        again = await opened.planck.resume("s")
        facts = [event for event in again.recorded() if event.type == "file_changed"]
        assert (len(facts), [*folder.iterdir()]) == (1, [])
        await again.undo(again.undo_plan(Selection()))
        assert file.read_text() == "old\n"
        await again.aclose()
