"""Authority down a team: what a worker may is recorded; its questions reach the person, not its creator."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planck.headless.planck import Planck
from planck.records.approval import Answer, Question
from planck.records.outcome import PlanckError
from planck.workspace.process.containment import sandbox_program
from tests.teams import Brains, open_planck, spawned, write_team
from tests.wire import chat
from tests.wire.server import WireServer


class Person:
    def __init__(self) -> None:
        self.asked: list[Question] = []

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(question.id, question.digest, allow="yes" in question.text)


async def test_a_workers_question_goes_to_the_person_and_the_yes_to_it_alone(
    tmp_path: Path,
) -> None:
    ask = ("ask_agent", {"identifier": "dora", "identifier_type": "name", "question": "go"})
    brains = Brains(
        {
            "orchestrator": [
                chat.calls(spawned("dora", tools=["bash", "spawn_agent", "*"])),
                chat.calls(ask),
                chat.calls(("bash", {"command": "touch no"})),
                chat.text("done"),
            ],
            "dora": [
                chat.calls(("bash", {"command": "touch yes"}), ("write", {"path": "x", "content": "x"})),
                chat.calls(("bash", {"command": "touch no"})),
                chat.text("I did."),
            ],
        }
    )
    person = Person()
    (tmp_path / "work").mkdir()
    async with WireServer(brains) as server:
        providers = {"local": {"type": "openai", "base_url": server.url}}
        async with Planck(
            tmp_path / "home",
            tmp_path / "work",
            environ={"PATH": "/usr/bin:/bin"},
            flags={"default_model": "local/m", "providers": providers},
            approver=person,
        ) as planck:
            session = await planck.start(mode="ask")
            result = await session.run("go")
    assert [(question.agent, question.text) for question in person.asked] == [
        ("dora (works for orchestrator)", "touch yes"),
        ("dora (works for orchestrator)", "touch no"),
        ("orchestrator", "touch no"),
    ]
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["yes"]
    assert len(result.denials) == 2
    authorities = [started["agent"]["authority"] for started in _events(tmp_path, "agent_started")]
    team = ["ask_agent", "bash", "delegate_task", "list_team", "send_response"]
    assert [authority.get("tools") for authority in authorities] == [None, team]
    assert [authority.get("spawn_depth", 0) for authority in authorities] == [1, 0]
    assert {authority["mode"] for authority in authorities} == {"ask"}


WRITES = [
    ("write", {"path": "src/deep/a", "content": "x"}),
    ("bash", {"command": "echo x > src/b"}),
    ("write", {"path": "made/c", "content": "x"}),
    ("write", {"path": "src/../d", "content": "x"}),
    ("bash", {"command": "cat own; echo x > e || echo x > src/.git/f || mv src g"}),
]


@pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize("mode", ["workspace", "full"])
async def test_a_member_with_roots_writes_there_alone_and_so_does_whom_it_starts(
    tmp_path: Path, mode: str
) -> None:
    ask = ("ask_agent", {"identifier": "dora", "identifier_type": "name", "question": "go"})
    brains = Brains(
        {
            "orchestrator": [
                chat.calls(*WRITES[1:]),
                chat.calls(spawned("dora", tools=["bash", "write"])),
                chat.calls(ask),
                chat.text("done"),
            ],
            "dora": [chat.calls(*WRITES), chat.text("I did.")],
        }
    )
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "own").write_text("can be read")
    member = {"type": "orchestrator", "tools": ["bash", "write", "spawn_agent"], "roots": ["src"]}
    async with WireServer(brains) as server, open_planck(tmp_path, server.url) as planck:
        session = await planck.start(team=write_team(tmp_path / "team", member), mode=mode)
        await session.run("go")
    assert sorted(str(path.relative_to(work)) for path in work.rglob("*")) == [
        *("own", "src", "src/b", "src/deep", "src/deep/a")
    ]
    said = [message["content"] for message in brains.last("dora") if message["role"] == "tool"]
    assert "is read-only for this agent" in said[2]
    assert "can be read" in said[4]
    assert "[sandbox: you can write only to src here" in said[4]
    assert all("- You may write only under `src`." in system for system in brains.systems)
    assert all("Permission mode `workspace`" in system for system in brains.systems)


async def test_nobody_is_asked_about_a_file_that_a_member_may_never_write(tmp_path: Path) -> None:
    brains = Brains({"orchestrator": [chat.calls(*WRITES[2:4]), chat.text("done")]})
    (tmp_path / "work/src").mkdir(parents=True)
    person = Person()
    async with WireServer(brains) as server:
        providers = {"local": {"type": "openai", "base_url": server.url}}
        flags = {"default_model": "local/m", "providers": providers}
        async with Planck(
            tmp_path / "home", tmp_path / "work", environ={}, flags=flags, approver=person
        ) as planck:
            member = {"type": "orchestrator", "tools": ["write"], "roots": ["src"]}
            session = await planck.start(team=write_team(tmp_path / "team", member), mode="ask")
            await session.run("go")
    said = [message["content"] for message in brains.last("orchestrator") if message["role"] == "tool"]
    assert person.asked == []
    assert all("is read-only for this agent" in text for text in said)


@pytest.mark.parametrize("root", ["none", "file", "link", "..", "/etc", "sub/.git", "a/../../x", "nul\0"])
async def test_a_root_that_is_no_folder_of_the_workspace_is_no_bound(tmp_path: Path, root: str) -> None:
    work = tmp_path / "work"
    (work / "sub/.git").mkdir(parents=True)
    (work / "link").symlink_to("sub")
    (work / "file").touch()
    async with open_planck(tmp_path, "http://127.0.0.1:9") as planck:
        team = write_team(tmp_path / "team", {"type": "orchestrator", "roots": ["sub", root]})
        (problem,) = await planck.check_team(team)
        with pytest.raises(PlanckError) as refused:
            await planck.start(team=team, stored=False)
    assert problem.startswith(f"orchestrator: root {root!r} ")
    assert refused.value.err.kind == "invalid_args"
    assert problem in refused.value.err.message


def _events(folder: Path, type: str) -> list[dict[str, Any]]:
    (path,) = (folder / "home" / "sessions").glob("*.db")
    with closing(sqlite3.connect(path)) as db, db:
        rows = db.execute("SELECT bytes FROM events ORDER BY seq").fetchall()
    db.close()
    events = [json.loads(row[0]) for row in rows]
    return [event["data"] for event in events if event["type"] == type]
