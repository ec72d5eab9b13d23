"""An undo takes back what commands did: bytes, permissions, links, empty folders, and the undo too."""

import os
import random
from pathlib import Path
from typing import Any

import pytest

from planck import Ok, Planck, Tool
from planck.headless import OpenSession, Selection
from planck.testing import ScriptedProvider
from planck.tools.recorded import SpoolRecord
from planck.workspace.paths.paths import Root
from planck.workspace.recording.spool import describe_state, pack
from planck.workspace.recording.states import NOTHING, State, read_state
from tests.session import random_changes
from tests.session.trees import Tree, read_tree


class Commands:
    """A tool that changes files as a command does, with a spool of what was there before."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self._folder = folder
        self._changes: list[Any] = []

    def tool(self) -> Tool:
        async def execute(args: dict[str, Any], ctx: Any) -> Ok:
            spool = self._folder / "spool"
            before = self._states()
            self._changes[args["number"]]()
            images = [(path, before.get(path, NOTHING)) for path in {**before, **self._states()}]
            local = args.get("local", [])
            with spool.open("wb") as file:
                for path, state in images:
                    header = {"path": f"{self.work}/{path}", "local": path in local, **describe_state(state)}
                    file.write(pack(header, state.content or b""))
                file.write(pack({"ended": True}))
            note = await SpoolRecord(spool, Root(self.work), ctx.call_id, self._folder / "images").commit(
                ctx.record
            )
            assert not spool.exists()
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
        return Opened(planck, session)


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


def make_tree(root: Path) -> None:
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "src" / "deep" / "b.bin").write_bytes(bytes(range(256)) * 40)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "to-src").symlink_to("src")
    (root / "dangling").symlink_to("nowhere")
    (root / "empty").mkdir(mode=0o700)
    (root / os.fsdecode(b"odd\xff")).write_text("odd\n")
    (root / "~tilde").write_text("tilde\n")
    (root / "\\x41").write_text("not an A\n")


@pytest.mark.parametrize("number", range(200))
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
