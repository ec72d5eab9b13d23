"""A yes that comes after the user narrowed what agents may do allows no more than that."""

import json
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.headless import OpenSession
from planck.records.approval import Answer, Question
from planck.testing import ScriptedProvider

CALLS = {
    "write": {"path": "made", "content": "x"},
    "bash": {"command": "touch made", "escalate": "it writes"},
}


class Narrows:
    """Narrows the session while its question is open, and then says yes."""

    session: OpenSession
    home: Path

    def __init__(self, mode: str, rule: dict[str, str]) -> None:
        self._mode = mode
        self._rule = rule
        self.asked: list[Question] = []

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        if self._mode:
            await self.session.change_mode(self._mode)
        if self._rule:
            self.home.mkdir(exist_ok=True)
            config = {"permissions": {"rules": [self._rule]}}
            (self.home / "config.json").write_text(json.dumps(config))
        return Answer(question.id, question.digest, True)


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize(
    ("mode", "rule"),
    [
        ("read-only", {}),
        ("plan", {}),
        ("", {"tool": "*", "decision": "deny"}),
        ("full", {"tool": "*", "decision": "deny"}),
        ("", {}),
    ],
)
async def test_what_was_forbidden_while_the_question_was_open_stays_so_after_a_yes(
    tmp_path: Path, tool: str, mode: str, rule: dict[str, str]
) -> None:
    person = Narrows(mode, rule)
    double = ScriptedProvider([[(tool, CALLS[tool])], "done"])
    flags: dict[str, Any] = {"default_model": "double/m", "permissions": {"mode": "ask"}}
    person.home = tmp_path / "home"
    work = tmp_path / "work"
    work.mkdir()
    options: Any = {"environ": {"PATH": "/usr/bin:/bin"}, "flags": flags, "approver": person}
    async with Planck(person.home, work, providers={"double": double}, **options) as planck:
        person.session = await planck.start()
        result = await person.session.run("go")
    assert len(person.asked) == 1
    narrowed = bool(mode or rule)
    assert (work / "made").exists() is not narrowed
    assert len(result.denials) == int(narrowed)
