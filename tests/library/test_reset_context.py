"""`reset_previous_context` of an ask or a task: the other agent begins with an empty history."""

from pathlib import Path
from typing import Any

import pytest

from planck.records.messages import Message
from tests.library.program import make_planck, results

WORKER = {"type": "w", "name": "w", "description": "", "system_prompt": "Work."}
TARGET = {"identifier": "w", "identifier_type": "name"}


class Model:
    """The lead follows its calls; what the worker is shown is kept."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        self._lead = iter([[("spawn_agent", WORKER)], *([call] for call in calls), "done", *["ok"] * 9])
        self.shown: list[list[Message]] = []

    def __call__(self, request: Any) -> Any:
        if "spawn_agent" in {one.name for one in request.tools}:
            return next(self._lead)
        self.shown.append(list(request.history.messages))
        return f"answer {len(self.shown)}"


def ask(question: str, *, reset: bool | None = None) -> tuple[str, dict[str, Any]]:
    more = {} if reset is None else {"reset_previous_context": reset}
    return "ask_agent", {**TARGET, "question": question, **more}


def delegate(task: str, *, reset: bool | None = None) -> tuple[str, dict[str, Any]]:
    more = {} if reset is None else {"reset_previous_context": reset}
    return "delegate_task", {**TARGET, "task": task, **more}


@pytest.mark.parametrize("say", [ask, delegate])
async def test_an_agent_whose_context_is_reset_sees_only_the_new_message(tmp_path: Path, say: Any) -> None:
    model = Model(ask("first"), say("second", reset=True), ask("third"), ask("fourth", reset=False))
    async with make_planck(tmp_path, model) as p:
        session = await p.start(name="mine")
        await session.run("go")
    first, second, third, fourth = model.shown
    assert [len(shown) for shown in (first, second, third, fourth)] == [1, 1, 3, 5]
    assert "second" in str(second[0])
    assert "first" not in str(second)


async def test_a_reset_holds_after_a_resume_and_in_a_fork(tmp_path: Path) -> None:
    model = Model(ask("first"), ask("second", reset=True))
    async with make_planck(tmp_path, model) as p:
        session = await p.start(name="mine")
        await session.run("go")
        await session.aclose()
        copy = await p.archive.fork("mine", name="copy")
        for name in ("mine", copy.id):
            session = await p.resume(name)
            await session.prompt("third", agent="w")
            await session.settled()
            await session.aclose()
    assert [len(shown) for shown in model.shown] == [1, 1, 3, 3]


async def test_a_target_that_is_not_there_is_told_before_its_context(tmp_path: Path) -> None:
    unknown = ("ask_agent", {**TARGET, "identifier": "x", "question": "?", "reset_previous_context": True})
    async with make_planck(tmp_path, Model(unknown)) as p:
        session = await p.start()
        await session.run("go")
        assert results(session)[1].startswith("not_found")
