"""The view of one agent: what it saw, which is nobody else's and ends with it; and where it starts."""

import asyncio
import gc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import planck
from planck import Planck
from planck.headless import OpenSession
from planck.llm.provider import Request
from planck.records.approval import Answer, Question
from planck.records.events import TurnStatus
from planck.records.messages import AssistantMessage
from planck.testing import Say, ScriptedProvider
from planck.tools.builtin.files import AgentView
from tests.teams import ask, facts, spawned, target

Calls = list[tuple[str, dict[str, Any]]]
OK: Calls = []
FILE_TOOLS = ["read", "write", "edit", "glob", "grep", "list_dir", "bash"]


class Stage:
    """A Planck whose model is a script: one list of steps for each agent; an empty step ends the turn."""

    def __init__(
        self,
        folder: Path,
        steps: Mapping[str, Sequence[Calls]],
        approver: Any = None,
        beside: Sequence[Path] = (),
        **flags: Any,
    ) -> None:
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        self.provider = ScriptedProvider(self._answer)
        self.planck = Planck(
            folder / "home",
            self.work,
            environ={"PATH": "/usr/bin:/bin"},
            flags={"default_model": "local/m", "permissions": {"mode": "full"}, **flags},
            providers={"local": self.provider},
            approver=approver,
            add_dirs=beside,
        )
        self._steps = steps

    def _answer(self, request: Request) -> Say | str:
        said = sum(isinstance(message, AssistantMessage) for message in request.history.messages)
        who = next((name for name in self._steps if f"be {name}" in request.system), "lead")
        mine = self._steps.get(who, ())
        return Say(calls=mine[said]) if said < len(mine) and mine[said] else "ok"


async def start(stage: Stage, app: Planck, cwd: str = "") -> OpenSession:
    """A session whose workers start in `cwd`."""
    session = await app.start()
    if cwd:
        lead = [session.orchestrator.model]
        held = session._team.orchestrator.actor.agent.tools
        tools = [one for one in held if one.name in FILE_TOOLS]
        made = planck.orchestrator_tools(session.id, session.id, lead, grantable_tools=tools, cwd=cwd)
        await session.remove_tool("spawn_agent")
        await session.add_tool(next(one for one in made if one.name == "spawn_agent"))
    return session


async def results(session: OpenSession, *names: str) -> list[str]:
    """What each call of these tools came to: its output, or the kind of its error."""
    ends = [data for type, data in await facts(session) if type == "tool_end" and data["name"] in names]
    return [data["output"] if data["ok"] else data["error"]["kind"] for data in ends]


def read(path: str = "f") -> tuple[str, dict[str, Any]]:
    return ("read", {"path": path})


def edit(old: str, new: str, path: str = "f") -> tuple[str, dict[str, Any]]:
    return ("edit", {"path": path, "old_string": old, "new_string": new})


def worker(name: str) -> tuple[str, dict[str, Any]]:
    return spawned(name, tools=FILE_TOOLS)


def count_views(work: Path) -> int:
    """Those of a workspace that are anywhere in the process."""
    gc.collect()
    return sum(isinstance(one, AgentView) and one.root.path == work for one in gc.get_objects())


async def test_who_edits_a_file_goes_on_and_who_had_read_it_before_is_told(tmp_path: Path) -> None:
    lead = [[worker("amy"), worker("bob")], [ask("amy")], [ask("bob")], [ask("amy")], [ask("bob")]]
    amy = [[read()], OK, [edit("one", "two")], [edit("two", "three")], OK]
    bob = [[read()], OK, [edit("three", "four")], [read()], [edit("three", "four")], OK]
    stage = Stage(tmp_path, {"amy": amy, "bob": bob, "lead": lead})
    (stage.work / "f").write_text("one\n")
    async with stage.planck as app, asyncio.timeout(240):
        session = await start(stage, app)
        await session.run("go")
        edited = "Edited f (1 replacement)."
        assert await results(session, "edit") == [edited, edited, "edit_conflict", edited]
    assert (stage.work / "f").read_text() == "four\n"


def lay_out(work: Path) -> None:
    (work / "part" / "deep").mkdir(parents=True)
    (work / "f").write_text("of the whole\n")
    (work / "part" / "f").write_text("of the part\n")
    (work / "part" / "deep" / "g.py").write_text("deep = 1\n")


@pytest.mark.parametrize("mode", ["workspace", "full"])
async def test_a_worker_starts_its_commands_in_its_folder_and_its_paths_are_the_workspaces(
    tmp_path: Path, mode: str
) -> None:
    whole = tmp_path / "work"
    (tmp_path / "out").write_text("of the machine\n")
    calls = [
        (read(), "of the whole\n"),
        (read("part/f"), "of the part\n"),
        (read(f"{whole}/part/f"), "of the part\n"),
        (read("../out"), "of the machine\n" if mode == "full" else "outside_workspace"),
        (("list_dir", {}), "f (13 bytes)\npart/"),
        (("list_dir", {"path": "part"}), "deep/\nf (12 bytes)"),
        (("glob", {"pattern": "**/*"}), "f\npart/deep/g.py\npart/f"),
        (("glob", {"pattern": f"{whole}/part/deep/*"}), "part/deep/g.py"),
        (("grep", {"pattern": "of", "path": "part"}), "part/f:1:of the part"),
        (("grep", {"pattern": "=", "glob": "part/deep/*.py"}), "part/deep/g.py:1:deep = 1"),
        (("bash", {"command": "pwd"}), f"{whole}/part\n"),
        (("bash", {"command": "pwd", "cwd": "part/deep"}), f"{whole}/part/deep\n"),
        (("bash", {"command": "pwd", "cwd": "."}), f"{whole}\n"),
        (("bash", {"command": "pwd", "cwd": ".."}), "outside_workspace"),
        (("write", {"path": "part/h", "content": "h"}), "Created part/h (1 bytes)."),
        (edit("part", "worker", "part/f"), "Edited part/f (1 replacement)."),
    ]
    lead = [[worker("bob")], [ask("bob")]]
    steps = {"bob": [[call] for call, _ in calls], "lead": lead}
    stage = Stage(tmp_path, steps, permissions={"mode": mode})
    lay_out(stage.work)
    async with stage.planck as app, asyncio.timeout(240):
        session = await start(stage, app, cwd="part")
        await session.run("go")
        assert await results(session, *FILE_TOOLS) == [expected for _, expected in calls]
        changed = [data["path"] for type, data in await facts(session) if type == "file_changed"]
        assert changed == ["part/h", "part/f"]
        system = next(asked.system for asked in stage.provider.asked if "be bob" in asked.system)
        assert "paths are relative to it; you start in `part`." in system


async def test_a_folder_beside_the_workspace_has_absolute_paths_wherever_an_agent_starts(
    tmp_path: Path,
) -> None:
    beside = tmp_path / "beside"
    calls = [
        (read(f"{beside}/src/b.py"), "beside = 1\n"),
        (("list_dir", {"path": f"{beside}"}), "src/"),
        (("glob", {"pattern": "**/*.py", "path": f"{beside}"}), f"{beside}/src/b.py"),
        (("glob", {"pattern": f"{beside}/src/*.py", "path": f"{beside}"}), f"{beside}/src/b.py"),
        (("grep", {"pattern": "=", "path": f"{beside}"}), f"{beside}/src/b.py:1:beside = 1"),
        (
            ("grep", {"pattern": "=", "path": f"{beside}", "glob": "src/*.py"}),
            f"{beside}/src/b.py:1:beside = 1",
        ),
        (("bash", {"command": "pwd", "cwd": f"{beside}/src"}), f"{beside}/src\n"),
        (edit("1", "2", f"{beside}/src/b.py"), f"Edited {beside}/src/b.py (1 replacement)."),
    ]
    lead = [[worker("bob")], [ask("bob")]]
    steps = {"bob": [[call] for call, _ in calls], "lead": lead}
    (beside / "src").mkdir(parents=True)
    (beside / "src" / "b.py").write_text("beside = 1\n")
    stage = Stage(tmp_path, steps, beside=[beside], permissions={"mode": "workspace"})
    lay_out(stage.work)
    async with stage.planck as app, asyncio.timeout(240):
        session = await start(stage, app, cwd="part")
        await session.run("go")
        assert await results(session, *FILE_TOOLS) == [expected for _, expected in calls]
        changed = [data["path"] for type, data in await facts(session) if type == "file_changed"]
        assert changed == [f"{beside}/src/b.py"]


async def test_a_resumed_worker_is_in_its_folder_still_and_its_lead_in_the_workspace(tmp_path: Path) -> None:
    first = Stage(tmp_path, {"lead": [[worker("bob")]]})
    lay_out(first.work)
    async with first.planck as app, asyncio.timeout(240):
        session = await start(first, app, cwd="part")
        await session.run("go")
        id = session.id
    where = ("bash", {"command": "pwd"})
    again = Stage(tmp_path, {"bob": [[where]], "lead": [OK, OK, [ask("bob"), where]]})
    async with again.planck as app, asyncio.timeout(240):
        session = await app.resume(id)
        await session.run("again")
        assert sorted(await results(session, "bash")) == [f"{again.work}\n", f"{again.work}/part\n"]


async def test_a_view_is_made_by_the_first_look_at_a_file_and_ends_with_its_agent(tmp_path: Path) -> None:
    lead = [
        [worker("bob"), worker("amy")],
        [ask("bob"), ask("amy")],
        [target("destroy_agent", "bob")],
        OK,
        [worker("bob")],
        [ask("bob")],
    ]
    stage = Stage(tmp_path, {"bob": [[read()]], "amy": [OK], "lead": lead})
    (stage.work / "f").write_text("one\n")
    async with stage.planck as app, asyncio.timeout(240):
        session = await start(stage, app)
        await session.run("go")
        assert (len(session.members), count_views(stage.work)) == (2, 0), "amy read nothing, bob is gone"
        (stage.work / "f").write_text("two\n")
        stage._steps = {**stage._steps, "bob": [[edit("two", "three")]]}
        await session.run("again")
        assert await results(session, "edit") == ["Edited f (1 replacement)."], "another bob: it read nothing"
        assert count_views(stage.work) == 1


async def test_an_agent_that_was_restarted_knows_what_it_read_and_only_that(tmp_path: Path) -> None:
    lead = [[worker("bob"), worker("amy")], [ask("bob")], OK, [ask("bob")], [ask("amy")]]
    stage = Stage(
        tmp_path, {"bob": [[read()], OK, [edit("two", "x")]], "amy": [[edit("two", "y")]], "lead": lead}
    )
    (stage.work / "f").write_text("one\n")
    async with stage.planck as app, asyncio.timeout(240):
        session = await start(stage, app)
        await session.run("go")
        team = session._team
        await team.halt(TurnStatus.INTERRUPTED)
        for member in team.members:
            await team._restore(member)  # as after a crash
        team.resume()
        (stage.work / "f").write_text("two\n")
        await session.run("again")
        assert await results(session, "edit") == ["edit_conflict", "Edited f (1 replacement)."]


class Asked:
    """Says yes, and keeps what it was asked."""

    def __init__(self) -> None:
        self.questions: list[Question] = []

    async def decide(self, question: Question) -> Answer:
        self.questions.append(question)
        return Answer(question.id, question.digest, True)


async def test_the_user_is_asked_about_the_place_and_a_rule_vouches_for_no_program_of_another_folder(
    tmp_path: Path,
) -> None:
    run = ("bash", {"command": "./build"})
    bob = [
        [run],
        [("write", {"path": "part/h", "content": "h"})],
        [("write", {"path": ".git/x", "content": ""})],
    ]
    asked = Asked()
    rule = {"tool": "bash", "command": "./build", "decision": "allow", "unconfined": True}
    stage = Stage(
        tmp_path,
        {"bob": bob, "lead": [[run], [worker("bob")], [ask("bob")]]},
        approver=asked,
        permissions={"mode": "ask", "rules": [rule]},
    )
    lay_out(stage.work)
    for folder in (stage.work, stage.work / "part"):
        (folder / "build").write_text("#!/bin/sh\ntouch built && pwd\n")
        (folder / "build").chmod(0o755)
    async with stage.planck as app, asyncio.timeout(240):
        session = await start(stage, app, cwd="part")
        await session.run("go")
        assert [one.text for one in asked.questions] == [
            './build\n{"cwd":"part"}',
            'write {"path":"part/h","content":"h"}',
        ]
        previews = [one.preview for one in asked.questions]
        assert "run in 'part': ./build" in previews[0]
        assert "create part/h (1 bytes)" in previews[1]
        assert await results(session, "write") == ["Created part/h (1 bytes).", "protected_path"]
        assert await results(session, "bash") == [f"{stage.work}\n", f"{stage.work}/part\n"]
