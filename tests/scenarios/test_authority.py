"""Authority down a team: what a worker may is recorded; its questions reach the person, not its creator."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from planck.headless.planck import Planck
from planck.records.approval import Answer, Question
from tests.teams import Brains, spawned
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


def _events(folder: Path, type: str) -> list[dict[str, Any]]:
    (path,) = (folder / "home" / "sessions").glob("*.db")
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT bytes FROM events ORDER BY seq").fetchall()
    db.close()
    events = [json.loads(row[0]) for row in rows]
    return [event["data"] for event in events if event["type"] == type]
