"""The demo: a small project with a failing test, and a team on an offline model that mends it."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Literal, NamedTuple

from planck.headless.open_session import OpenSession
from planck.headless.planck import Planck
from planck.llm.provider import Item, Provider, Request
from planck.permissions.approver import Approver
from planck.records.messages import AssistantMessage, ToolMessage
from planck.testing.scripted import Say, ScriptedProvider

_TASK = "The tests in this project fail. Find out why, fix the code, and show that they pass."

_PROJECT = {
    "prices.py": '''\
def total(prices, discount=0):
    """The sum of the prices, less a discount in percent."""
    return sum(prices) - discount
''',
    "test_prices.py": """\
import unittest

from prices import total


class TotalTest(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(total([10, 20]), 30)

    def test_discount_is_in_percent(self):
        self.assertEqual(total([100, 100], discount=10), 180)


if __name__ == "__main__":
    unittest.main()
""",
}

_RUN_TESTS = "python3 -B -m unittest -q 2>&1"
_OLD, _NEW = "sum(prices) - discount", "sum(prices) * (100 - discount) / 100"
_WRONG = "sum(prices) * (100 - discount)"
"""What the builder writes first: it claims to be done, and the check says that it is not."""

_MODEL = {"provider": "offline", "model_id": "demo"}
_TEAM = {
    "name": "Demo",
    "description": "A lead, a builder and a tester.",
    "members": [
        {
            "type": "orchestrator",
            **_MODEL,
            "system_prompt": "You lead: find the cause, delegate the fix, check the result.",
            "tools": ["read", "bash", "update_plan"],
        },
        {
            "type": "builder",
            **_MODEL,
            "description": "Reads and edits code.",
            "system_prompt": "You change code, then ask the tester to confirm that it works.",
            "tools": ["read", "edit"],
            "done_when": [_RUN_TESTS],
        },
        {
            "type": "tester",
            **_MODEL,
            "description": "Runs the tests and reports the results.",
            "system_prompt": "You run the tests and report exactly what they print.",
            "tools": ["bash"],
        },
    ],
}


class Pace(NamedTuple):
    """Seconds before an answer and between its words, for somebody who watches."""

    thought: float
    word: float


_PACES = {"brisk": Pace(0.5, 0.015), "slow": Pace(1.6, 0.07)}
"""All of it in about 10 seconds, and in a pace at which every line can be read."""


def open_demo(
    folder: Path, *, approver: Approver | None = None, pace: Literal["", "brisk", "slow"] = ""
) -> tuple[Planck, str]:
    """Returns Planck on the demo's project, its home and team in the same folder, and the task for it."""
    team = folder / "home" / "teams" / "demo"
    team.mkdir(parents=True)
    (team / "TEAM.json").write_text(json.dumps(_TEAM, indent=2) + "\n")
    project = folder / "project"
    project.mkdir()
    for name, text in _PROJECT.items():
        (project / name).write_text(text)
    model: Provider = ScriptedProvider(_answer)
    planck = Planck(
        home=folder / "home",
        workspace=project,
        approver=approver,
        providers={"offline": _Slow(model, _PACES[pace]) if pace else model},
        flags={"default_model": "offline/demo", "default_team": "demo", "permissions": {"mode": "full"}},
    )
    return planck, _TASK


class _Slow:
    """A provider at the pace of a person who follows it."""

    def __init__(self, provider: Provider, pace: Pace) -> None:
        self._provider = provider
        self._pace = pace

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        await asyncio.sleep(self._pace.thought)
        async with aclosing(self._provider.stream(request)) as items:
            async for item in items:
                yield item
                await asyncio.sleep(self._pace.word)


async def find_failure(session: OpenSession) -> str:
    """What the team left undone, by its log: a script may end before its work is done."""
    edited, passed = False, False
    async for event in session.events():
        if event.type == "tool_end" and event.data["name"] == "edit":
            edited, passed = event.data["ok"], False
        if event.type == "tool_end" and event.data["name"] == "bash":
            passed = event.data.get("exit_code") == 0
        if event.seq == session.head:
            break
    if not edited:
        return "the file was not changed"
    return "" if passed else "the tests do not pass"


def _answer(request: Request) -> Say:
    """Returns the next line of the agent that asks, by how often it has spoken already."""
    spoken = sum(isinstance(message, AssistantMessage) for message in request.history.messages)
    for role, script in (("You lead", _lead), ("You change code", _build), ("You run the tests", _test)):
        if role in request.system:
            return script(spoken, _last_output(request))
    return Say(text="This offline model only knows the demo.")


def _lead(spoken: int, output: str) -> Say:
    match spoken:
        case 0:
            return Say(
                text="I'll read the code and ask the tester what fails.",
                calls=[
                    _plan(done=0),
                    ("read", {"path": "prices.py"}),
                    (
                        "ask_agent",
                        _to("tester", question="Please run the tests. What fails, and with which values?"),
                    ),
                ],
            )
        case 1:
            task = "total() in prices.py subtracts the discount as an amount, but it is a percentage. Fix it."
            return Say(
                text="The discount is subtracted as an amount, not a percentage. The builder can fix that.",
                calls=[_plan(done=1), ("delegate_task", _to("builder", task=task))],
            )
        case 2:
            return Say(text="The builder is working on it. I'll continue when it reports back.")
        case 3:
            return Say(
                text="I'll run the tests myself.", calls=[_plan(done=2), ("bash", {"command": _RUN_TESTS})]
            )
        case 4 if "OK" not in output:
            return Say(text="The tests still fail. See the last run above.")
        case 4:
            return Say(calls=[_plan(done=3)])
    return Say(
        text="**Fixed.** `total` in `prices.py` subtracted the discount as an amount, not a percentage.\n\n"
        "- The builder changed one line.\n"
        "- The tester and I ran the tests after the change: both runs passed."
    )


def _plan(done: int) -> tuple[str, dict[str, object]]:
    texts = ("Find the cause", "Fix it", "Check the result")
    states = ["completed"] * done + ["in_progress", "pending", "pending"]
    return "update_plan", {"steps": [{"text": t, "status": s} for t, s in zip(texts, states, strict=False)]}


def _build(spoken: int, output: str) -> Say:
    match spoken:
        case 0:
            return Say(calls=[("read", {"path": "prices.py"})])
        case 1:
            change = {"path": "prices.py", "old_string": _OLD, "new_string": _WRONG}
            return Say(text="I need to change one line.", calls=[("edit", change)])
        case 2:
            return Say(text="Done: total() now treats the discount as a percentage.")
        case 3:
            change = {"path": "prices.py", "old_string": _WRONG, "new_string": _NEW}
            return Say(text="A percentage has to be divided by 100.", calls=[("edit", change)])
        case 4:
            question = "I changed total() in prices.py. Do the tests pass now?"
            return Say(calls=[("ask_agent", _to("tester", question=question))])
    return Say(text=f"total() now treats the discount as a percentage. The tester says: {output.strip()}")


def _test(spoken: int, output: str) -> Say:
    if spoken % 2 == 0:
        return Say(calls=[("bash", {"command": _RUN_TESTS})])
    failure = re.search(r"AssertionError: (\S+) != (\S+)", output)
    if failure:
        return Say(
            text=f"One test fails: test_discount_is_in_percent got {failure[1]}, expected {failure[2]}."
        )
    passed = re.search(r"Ran (\d+) tests", output)
    return Say(
        text=f"{passed[1]} of {passed[1]} tests pass."
        if passed and "OK" in output
        else f"I can't tell from this output: {output[-200:]}"
    )


def _to(name: str, **more: str) -> dict[str, str]:
    return {"identifier": name, "identifier_type": "name", **more}


def _last_output(request: Request) -> str:
    results = [m.results for m in request.history.messages if isinstance(m, ToolMessage)]
    return results[-1][-1].output if results else ""
