"""The gate of a session: one question at a time, answers that fit no other, and everything in the log."""

import asyncio
import json
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck.permissions.approver import Approvals
from planck.permissions.gate import AgentGate, Gate
from planck.permissions.policy import PolicyContext
from planck.permissions.rules import Rule, SourcedRule, load
from planck.records.approval import Answer, Question, Scope
from planck.records.authority import Authority, Confinement, Mode
from planck.records.events import Event, PermissionDecision, PermissionRequest, View
from planck.records.outcome import Err, ErrorKind, Ok
from planck.toolkit.clock import RandomIds
from planck.toolkit.journal import Entry, Unrecorded
from planck.toolkit.permit import Trial
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
    place = "/home/u/.planck/config.json"

    def __init__(self, person: Any, mode: Mode = Mode.ASK, patience: float = 30) -> None:
        self.log: list[View] = []
        self.kept: list[Rule] = []
        self.mode = mode
        self.around = PolicyContext()
        self.denied: list[dict[str, str]] = []
        """What the user's file denies by now."""
        self.gate = Gate(self, ids=RandomIds(), approvals=Approvals(person, patience))

    def policy_context(self, mode: Mode | None) -> PolicyContext:
        return self.around

    def read_now(self) -> tuple[SourcedRule, ...]:
        return load(self.denied, "the file")

    def bind(self, rule: Rule) -> Rule:
        return rule

    def keep(self, rule: Rule) -> str:
        self.kept.append(rule)
        return "kept"

    async def call(self, agent: str, tool: Tool, **args: Any) -> Err | Confinement | Trial | None:
        authority = Authority(self.mode, roots=("/w",))
        gate = self.agent = AgentGate(self.gate, agent, authority, Scribe(Kept(self.log), agent))
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


async def test_questions_of_all_agents_are_put_at_once_in_their_order() -> None:
    person = Person(yes())
    session = Session(person)
    await asyncio.gather(*(session.call(f"agent {n}", BASH, command=f"run {n}") for n in range(20)))
    assert person.most == 20
    assert [question.agent for question in person.asked] == [f"agent {n}" for n in range(20)]


async def test_what_one_agent_was_allowed_no_other_may() -> None:
    person = Person(yes(Scope.SESSION))
    session = Session(person)
    await session.call("a", BASH, command="git push")
    await session.call("a", BASH, command="git  'push'")
    assert len(person.asked) == 1
    await session.call("b", BASH, command="git push")
    await session.call("a", BASH, command="git pull")
    assert len(person.asked) == 3
    assert session.kept == []


def revised(rule: str, scope: Scope = Scope.SESSION) -> Callable[[Question], Answer]:
    return lambda question: Answer(question.id, question.digest, True, scope, rule=rule)


@pytest.mark.parametrize(
    ("command", "same", "more"),
    [
        ("rm one", "rm one", "rm one two"),
        ("rm -rf build", "rm  -rf build", "rm -rf build/../.."),
        ("git push", "git push", "git push --force"),
        ("sudo true", "sudo true", "sudo true; sudo rm x"),
        ("python x.py", "python x.py", "python x.py -c y"),
    ],
)
@pytest.mark.parametrize("scope", [Scope.SESSION, Scope.RULE])
async def test_what_is_remembered_is_that_command_and_no_longer_one(
    command: str, same: str, more: str, scope: Scope
) -> None:
    person = Person(yes(scope))
    session = Session(person)
    for asked in (command, same, more):
        await session.call("a", BASH, command=asked)
    assert [question.text for question in person.asked] == [command, more]


async def test_a_star_that_the_user_chooses_holds_for_what_begins_so_and_for_nothing_else() -> None:
    person = Person(revised("bash git commit * (outside the sandbox)", Scope.RULE))
    session = Session(person)
    await session.call("a", BASH, command="git commit -m 'a b'")
    (question,) = person.asked
    assert question.rule == "bash git commit -m 'a b' (outside the sandbox)"
    assert question.wider == "bash git commit * (outside the sandbox)"
    assert question.place == session.place
    written = {"tool": "bash", "decision": "allow", "command": "git commit *", "unconfined": True}
    assert [msgspec.to_builtins(rule) for rule in session.kept] == [written]
    for command in ("git commit", "git commit --amend", "git commit -m 'c'"):
        await session.call("a", BASH, command=command)
    assert len(person.asked) == 1
    for command in ("git push", "git -c x=y commit", "git commit -m x; git push", "git commitx"):
        await session.call("a", BASH, command=command)
    assert len(person.asked) == 5


NO_STAR = (
    "rm x",
    "/bin/rm x",
    "sudo pytest",
    "bash x.sh",
    "python3.11 x.py",
    "/usr/bin/python3 -m pytest",
    "node18 x.js",
    "ssh host true",
    "curl host",
    "find . -name x",
    "xargs echo",
    "env X=1 pytest",
    "timeout 5 pytest",
    "nice pytest",
    "busybox ls",
    "npx jest",
    "make test",
    "docker run x",
    "perl5.36 x",
    "awk 1 x",
    "git -C x commit",
    "git push origin",
    "git config a b",
    "npm run build",
    "npm exec x",
    "eval x",
    "tar cf x y",
    "mv a b",
)


@pytest.mark.parametrize("command", NO_STAR)
async def test_no_star_for_what_could_then_do_anything(command: str) -> None:
    words = command.split()
    for count in range(1, len(words) + 1):
        rule = f"bash {' '.join(words[:count])} *"
        person = Person(revised(rule, Scope.RULE))
        session = Session(person)
        rights = await session.call("a", BASH, command=command)
        assert not isinstance(rights, Err), "the yes still holds for this call"
        assert session.kept == []
        decision = session.log[-1]
        assert isinstance(decision, PermissionDecision)
        assert decision.scope == "once"
        assert "once only, because a rule cannot have * " in decision.reason
        await session.call("a", BASH, command=f"{command} more")
        assert len(person.asked) == 2
    assert person.asked[0].wider == ""


@pytest.mark.parametrize(
    "rule",
    [
        *("bash *", "bash", "*", "write", "mcp__x", "bash git st*", "bash git * -s", "bash git push"),
        *("bash git status -s; ls", "bash git status $x *", "bash git status > x", "bash git status | cat *"),
        "bash git status -s more",
    ],
)
async def test_a_rule_that_does_not_say_this_call_is_not_remembered(rule: str) -> None:
    person = Person(revised(rule, Scope.RULE))
    session = Session(person)
    assert not isinstance(await session.call("a", BASH, command="git status -s"), Err)
    assert session.kept == []
    await session.call("a", BASH, command="git status -s")
    assert len(person.asked) == 2


async def test_a_no_may_say_why_and_the_model_reads_it() -> None:
    why = "use the staging server\x1b[2K"
    person = Person(lambda question: Answer(question.id, question.digest, False, reason=why))
    session = Session(person)
    refused = await session.call("a", BASH, command="ssh host")
    assert isinstance(refused, Err)
    assert refused.message.startswith(
        'bash was not run: the user wants a change: "use the staging server\\x1b[2K". Do what they say.'
    )
    assert isinstance(session.log[-1], PermissionDecision)
    assert "staging" in session.log[-1].reason


async def test_a_rule_is_kept_as_it_was_shown() -> None:
    person = Person(yes(Scope.RULE))
    session = Session(person)
    await session.call("a", BASH, command="git push")
    assert [msgspec.to_builtins(rule) for rule in session.kept] == [
        {"tool": "bash", "decision": "allow", "command": "git push", "exact": True, "unconfined": True}
    ]
    (question,) = person.asked
    assert (question.rule, question.place) == ("bash git push (outside the sandbox)", session.place)
    assert json.loads(question.written) == msgspec.to_builtins(session.kept[0])
    request = session.log[0]
    assert isinstance(request, PermissionRequest)
    assert (request.agent, request.rule) == ("a", question.rule)


@pytest.mark.parametrize("command", ["a | b", "a > b", "$x", "a; b", "echo $(a)"])
async def test_what_words_can_not_say_is_allowed_once_only(command: str) -> None:
    person = Person(yes(Scope.SESSION))
    assert isinstance(await Session(person).call("a", BASH, command=command), Err)
    assert person.asked[0].rule == ""


async def test_nobody_answers_in_time_is_no_and_others_are_answered() -> None:
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


class Silent:
    async def decide(self, question: Question) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError


NO_ANSWERS: dict[str, tuple[Any, str, str]] = {
    "in time": (Silent(), "nobody", "nobody answered in time"),
    "to this question": (
        Person(lambda asked: Answer("another", asked.digest, True)),
        "nobody",
        "the answer was for another question",
    ),
    "to this call": (
        Person(lambda asked: Answer(asked.id, "another", False)),
        "nobody",
        "the answer was for another question",
    ),
    "that fits": (
        Person(yes(Scope.SESSION)),
        "nobody",
        "this call can be allowed only once, and the answer was for longer",
    ),
    "by the frontend": (
        Person(lambda asked: Answer(asked.id, asked.digest, False, unanswered="the terminal was closed")),
        "nobody",
        "the terminal was closed",
    ),
    "but a no": (
        Person(lambda asked: Answer(asked.id, asked.digest, False, Scope.SESSION)),
        "user",
        "the user said no",
    ),
}


@pytest.mark.parametrize(("person", "by", "why"), NO_ANSWERS.values(), ids=NO_ANSWERS)
async def test_only_a_no_of_the_users_is_recorded_as_one(person: Any, by: str, why: str) -> None:
    session = Session(person, patience=0.01 if isinstance(person, Silent) else 30)
    denied = await session.call("a", BASH, command="a | b")
    assert isinstance(denied, Err)
    assert denied.kind is ErrorKind.PERMISSION_DENIED
    decision = session.log[-1]
    assert isinstance(decision, PermissionDecision)
    assert (decision.by, decision.reason, bool(decision.request_id)) == (by, why, True)


async def test_a_call_that_is_gone_is_asked_about_no_more() -> None:
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


STARS = (
    *(
        "git diff a",
        "git log -3",
        "git show HEAD",
        "git merge-index x",
        "sort a",
        "cat a",
        "cmake .",
        "tsx a.ts",
    ),
    *(
        "python3-dbg x",
        "bash-static x",
        "vim.basic x",
        "touch a",
        "rg foo",
        "ls",
        "some-program-of-tomorrow x",
    ),
)
SITUATIONS = [
    (mode, no_sandbox, escalate)
    for mode in (Mode.ASK, Mode.WORKSPACE)
    for no_sandbox in ("", "no bubblewrap")
    for escalate in ("", "it needs the network")
]


@pytest.mark.parametrize("command", STARS)
@pytest.mark.parametrize(("mode", "no_sandbox", "escalate"), SITUATIONS)
async def test_a_rule_leaves_the_sandbox_only_if_its_text_says_so_and_only_for_that_command(
    command: str, mode: Mode, no_sandbox: str, escalate: str
) -> None:
    args = {"command": command, "escalate": escalate} if escalate else {"command": command}
    words = command.split()
    wanted = [f"bash {' '.join(words[:count])} *" for count in range(1, len(words) + 1)]
    for text in ("", f"bash {command}", *wanted, *(f"{one} (outside the sandbox)" for one in wanted)):
        answers = chain([revised(text, Scope.RULE)], repeat(yes()))
        person = Person(lambda question, answers=answers: next(answers)(question))  # type: ignore[misc]
        session = Session(person, mode)
        session.around = PolicyContext(no_sandbox=no_sandbox)
        await session.call("a", BASH, **args)
        if not person.asked:
            assert (mode, no_sandbox, escalate) == (Mode.WORKSPACE, "", "")
            return
        (question,) = person.asked
        assert question.rule == f"bash {command} (outside the sandbox)"
        assert not question.wider or not (no_sandbox or escalate)
        for kept in session.kept:
            assert kept.unconfined == (text == "")
            assert kept.exact or text == question.wider or text in wanted
            assert kept.exact or not (no_sandbox or escalate), "nothing would hold it"
        for later in (Mode.ASK, Mode.WORKSPACE):
            session.mode, session.around = later, PolicyContext()
            for follows in (command, f"{command} more"):
                before = len(person.asked)
                rights = await session.call("a", BASH, command=follows)
                free = isinstance(rights, Confinement) and rights.mode is Mode.FULL
                shown = text == "" and follows == command
                assert not free or shown or len(person.asked) > before, "it left the sandbox unasked"


async def test_a_kept_rule_is_not_asked_about_again_and_runs_in_the_sandbox_of_the_workspace() -> None:
    person = Person(revised("bash touch *", Scope.SESSION))
    session = Session(person)
    await session.call("a", BASH, command="touch one")
    rights = await session.call("a", BASH, command="touch two")
    assert len(person.asked) == 1
    assert rights == Confinement(Mode.ASK, ("/w",), ("/w",))


NARROWED = [
    *((tool, mode, {}) for tool in (BASH, WRITE) for mode in (Mode.READ_ONLY, Mode.PLAN)),
    (BASH, Mode.ASK, {"tool": "bash", "decision": "deny"}),
    (BASH, Mode.ASK, {"tool": "bash", "command": "touch", "decision": "deny"}),
    (WRITE, Mode.ASK, {"tool": "*", "decision": "deny"}),
    (BASH, Mode.WORKSPACE, {}),
]


@pytest.mark.parametrize(("tool", "mode", "rule"), NARROWED)
@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("escalate", ["", "it needs more"])
async def test_a_yes_gives_no_more_than_the_mode_and_the_rules_of_its_own_time(
    tool: Tool, mode: Mode, rule: dict[str, str], scope: Scope, escalate: str
) -> None:
    def narrow(question: Question) -> Answer:
        session.agent.authority = Authority(mode, roots=("/w",))
        session.denied = [rule] if rule else []
        return Answer(question.id, question.digest, True, scope)

    session = Session(Person(narrow))
    args = {"command": "touch x", "path": "x", **({"escalate": escalate} if escalate else {})}
    rights = await session.call("a", tool, **args)
    decision = session.log[-1]
    assert isinstance(decision, PermissionDecision)
    if rule or tool is WRITE or (escalate and mode is not Mode.WORKSPACE):
        assert isinstance(rights, Err)
        assert (decision.decision, session.kept) == ("deny", [])
        assert "the user said yes, but by then it was no longer allowed, because " in decision.reason
    else:
        assert isinstance(rights, Confinement)
        written = ("/w",) if mode is Mode.WORKSPACE else ()
        free = bool(escalate)  # what `workspace` would ask about itself
        held = Mode.FULL if free else Mode.WORKSPACE if written else Mode.READ_ONLY
        assert (rights.mode, rights.writable, rights.network) == (held, written, free)


async def test_a_rule_that_came_since_takes_nothing_from_an_answer() -> None:
    answers = iter((revised("bash touch *"), yes()))
    person = Person(lambda question: next(answers)(question))
    session = Session(person)
    first, second = await asyncio.gather(
        session.call("a", BASH, command="touch x"), session.call("a", BASH, command="touch y")
    )
    assert first == second == Confinement(Mode.FULL, ("/w",), ("/w",), network=True)
