"""The gate of a session: one question at a time, answers that fit no other, and everything in the log."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck.permissions.approver import Approvals
from planck.permissions.gate import AgentGate, Gate
from planck.permissions.policy import Surroundings
from planck.permissions.rules import Rule
from planck.records.approval import Answer, Question, Scope
from planck.records.authority import Authority, Confinement, Mode
from planck.records.events import Event, PermissionDecision, PermissionRequest, View
from planck.records.outcome import Err, Ok
from planck.toolkit.clock import RandomIds
from planck.toolkit.journal import Entry, Unrecorded
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Effect, Tool, ToolContext

BASH = Tool("bash", "", {}, lambda args, ctx: Ok({"output": ""}), effect=Effect.COMMAND, confinable=True)
WRITE = Tool("write", "", {}, lambda args, ctx: Ok({"output": ""}), effect=Effect.FILES)


class Person:
    """Answers as told, and remembers what was asked and how many questions stood at once."""

    def __init__(self, answer: Callable[[Question], Answer]) -> None:
        self.asked: list[Question] = []
        self.most = 0
        self._answer = answer
        self._now = 0

    async def decide(self, question: Question) -> Answer:
        self._now += 1
        self.most = max(self.most, self._now)
        self.asked.append(question)
        await asyncio.sleep(0)
        self._now -= 1
        return self._answer(question)


def yes(scope: Scope = Scope.ONCE) -> Callable[[Question], Answer]:
    return lambda question: Answer(question.id, question.digest, True, scope)


class Session:
    def __init__(self, person: Any, mode: Mode = Mode.ASK, patience: float = 30) -> None:
        self.log: list[View] = []
        self.kept: list[Rule] = []
        self.mode = mode
        self.gate = Gate(self, ids=RandomIds(), approvals=Approvals(person, patience))

    def surroundings(self, mode: Mode | None) -> Surroundings:
        return Surroundings()

    def keep(self, rule: Rule) -> str:
        self.kept.append(rule)
        return "kept"

    async def call(self, agent: str, tool: Tool, **args: Any) -> Err | Confinement | None:
        authority = Authority(self.mode, roots=("/w",))
        gate = AgentGate(self.gate, agent, authority, Scribe(Kept(self.log), agent))
        return await gate.decide(tool, args, ToolContext("s", agent, "call", Path("/w")))


class Kept(Unrecorded):
    """A journal that is a list."""

    def __init__(self, log: list[View]) -> None:
        super().__init__()
        self._log = log

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        self._log.extend(entry.fact for entry in entries)
        return []


async def test_a_yes_is_asked_for_recorded_and_gives_the_rights_that_were_shown() -> None:
    person = Person(yes())
    session = Session(person)
    rights = await session.call("a", BASH, command="git push", cwd="sub")
    assert rights == Confinement(Mode.FULL, ("/w",), ("/w",), network=True)
    (question,) = person.asked
    assert (question.agent, question.tool, question.text) == ("a", "bash", 'git push\n{"cwd":"sub"}')
    request, decision = session.log
    assert isinstance(request, PermissionRequest)
    assert isinstance(decision, PermissionDecision)
    assert (request.id, request.digest) == (question.id, question.digest)
    assert (decision.request_id, decision.decision, decision.scope) == (question.id, "allow", "once")
    await session.call("a", BASH, command="git push", cwd="sub")
    assert len(person.asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        lambda question: Answer("another", question.digest, True),
        lambda question: Answer(question.id, "another", True),
        lambda question: Answer(question.id, question.digest, False),
    ],
)
async def test_an_answer_to_anything_else_is_no(answer: Callable[[Question], Answer]) -> None:
    session = Session(Person(answer))
    assert isinstance(await session.call("a", BASH, command="ls"), Err)
    assert [fact.decision for fact in session.log if isinstance(fact, PermissionDecision)] == ["deny"]


async def test_an_old_answer_can_not_be_used_again() -> None:
    old: list[Answer] = []

    def replay(question: Question) -> Answer:
        old.append(Answer(question.id, question.digest, True))
        return old[0]

    session = Session(Person(replay))
    assert not isinstance(await session.call("a", BASH, command="ls"), Err)
    assert isinstance(await session.call("a", BASH, command="ls"), Err)


async def test_every_change_of_the_call_changes_what_the_answer_is_bound_to() -> None:
    person = Person(yes())
    session = Session(person)
    for agent, args in (("a", {"command": "x"}), ("b", {"command": "x"}), ("a", {"command": "y"})):
        await session.call(agent, BASH, **args)
    await session.call("a", BASH, command="x", cwd=".")
    await session.call("a", WRITE, command="x")
    assert len({question.digest for question in person.asked}) == 5


async def test_questions_of_all_agents_stand_in_one_queue() -> None:
    person = Person(yes())
    session = Session(person)
    await asyncio.gather(*(session.call(f"agent {n}", BASH, command=f"run {n}") for n in range(20)))
    assert person.most == 1
    assert [question.agent for question in person.asked] == [f"agent {n}" for n in range(20)]


async def test_what_one_agent_was_allowed_no_other_may() -> None:
    person = Person(yes(Scope.SESSION))
    session = Session(person)
    await session.call("a", BASH, command="git push")
    await session.call("a", BASH, command="git push origin")
    assert len(person.asked) == 1
    await session.call("b", BASH, command="git push")
    await session.call("a", BASH, command="git pull")
    assert len(person.asked) == 3
    assert session.kept == []


async def test_a_rule_is_kept_as_it_was_shown() -> None:
    person = Person(yes(Scope.RULE))
    session = Session(person)
    await session.call("a", BASH, command="git push")
    assert [msgspec.to_builtins(rule) for rule in session.kept] == [
        {"tool": "bash", "decision": "allow", "command": "git push", "unconfined": True}
    ]
    assert person.asked[0].rule == "bash 'git push' and what begins so outside the sandbox"


@pytest.mark.parametrize("command", ["a | b", "a > b", "$x", "a; b", "echo $(a)"])
async def test_what_words_can_not_say_is_allowed_once_only(command: str) -> None:
    person = Person(yes(Scope.SESSION))
    assert isinstance(await Session(person).call("a", BASH, command=command), Err)
    assert person.asked[0].rule == ""


async def test_nobody_answers_in_time_is_no_and_the_queue_goes_on() -> None:
    class Asleep:
        def __init__(self) -> None:
            self.asked = 0

        async def decide(self, question: Question) -> Answer:
            self.asked += 1
            if self.asked == 1:
                await asyncio.Event().wait()
            return Answer(question.id, question.digest, True)

    session = Session(Asleep(), patience=0.01)
    first, second = await asyncio.gather(
        session.call("a", BASH, command="x"), session.call("b", BASH, command="y")
    )
    assert isinstance(first, Err)
    assert not isinstance(second, Err)


async def test_a_call_that_is_gone_leaves_the_queue() -> None:
    entered = asyncio.Event()

    class Slow:
        async def decide(self, question: Question) -> Answer:
            if question.agent == "a":
                entered.set()
                await asyncio.Event().wait()
            return Answer(question.id, question.digest, True)

    session = Session(Slow())
    waiting = asyncio.ensure_future(session.call("a", BASH, command="x"))
    await entered.wait()
    waiting.cancel()
    await asyncio.wait({waiting})
    assert not isinstance(await session.call("b", BASH, command="y"), Err)
