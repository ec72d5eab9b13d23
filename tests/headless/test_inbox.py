"""Questions to the user: any number at once, in any order; the first answer counts, none is left behind."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from planck import ErrorKind, Ok, Planck, Tool
from planck.headless import Inbox, OpenSession, make_key
from planck.records.approval import Question
from planck.records.board import fold_events
from planck.records.messages import ToolCall
from planck.records.outcome import Err
from planck.testing import Say, ScriptedProvider
from planck.toolkit.clock import SystemClock
from planck.toolkit.journal import Unrecorded
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Effect
from planck.toolkit.toolset import ToolSet
from planck.tools.executor import Executor, Site, read_calls
from tests.virtual_time import run_virtual

KEY = "sk-ant-0123456789abcdef0123"
Asked = Callable[[OpenSession, Inbox], Awaitable[None]]


async def play(
    folder: Path, script: Any, act: Asked, *, tools: list[Tool] | None = None
) -> list[dict[str, Any]]:
    """Runs one prompt in mode `ask` while `act` sits at the inbox; returns the recorded events."""
    inbox, double = Inbox(), ScriptedProvider(script)
    environ = {"ANTHROPIC_API_KEY": KEY}
    # Tools of the program ask only where a rule says so.
    rules = [{"tool": tool.name, "decision": "ask"} for tool in tools or ()]
    async with Planck(
        folder / "home",
        folder,
        environ=environ,
        flags={"permissions": {"rules": rules}},
        providers={"double": double},
        approver=inbox,
    ) as planck:
        session = await planck.start(model="double/m", mode="ask", stored=False, tools=tools or [])
        await session.prompt("go")
        await act(session, inbox)
        await session.settled()
        assert inbox.pending() == ()
        return recorded(session)


def recorded(session: OpenSession) -> list[dict[str, Any]]:
    return [{"type": event.type, **_data(event)} for event in session.recorded()]


def _data(event: Any) -> dict[str, Any]:
    from planck.records import codec

    data: dict[str, Any] = codec.decode(bytes(event.data))
    return data


def of_type(events: list[dict[str, Any]], type: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == type]


async def wait_for(inbox: Inbox, count: int) -> tuple[Question, ...]:
    seen = inbox.changes
    while len(inbox.pending()) != count:
        async with asyncio.timeout(60):
            seen = await inbox.wait_for_change(seen)
    return inbox.pending()


TWO: list[Any] = [
    [("write", {"path": "a", "content": "1"}), ("write", {"path": "b", "content": "2"})],
    "done",
]


async def test_two_questions_are_answered_out_of_order_and_the_first_answer_counts(tmp_path: Path) -> None:
    kinds: list[Any] = []

    async def act(session: OpenSession, inbox: Inbox) -> None:
        first, second = await wait_for(inbox, 2)
        assert inbox.pending(session.id) == (first, second)
        assert [
            one.since <= asked.asked < asked.deadline
            for one, asked in zip(fold_events(session.recorded()).questions, (first, second), strict=True)
        ] == [True, True]
        assert inbox.pending("another") == ()
        said = [
            inbox.answer(second.id, first.digest, True),  # seen was another question
            inbox.answer("nobody", first.digest, True),
            inbox.answer(first.id, first.digest, True, "for ever"),
            inbox.answer(second.id, second.digest, True),
            inbox.answer(second.id, second.digest, False),
            inbox.answer(first.id, first.digest, False, reason="use git log instead"),
            inbox.answer(first.id, first.digest, True),
        ]
        kinds.extend(None if one is None else one.kind for one in said)

    events = await play(tmp_path, TWO, act)
    conflict = ErrorKind.WRITER_CONFLICT
    assert kinds == [
        conflict,
        ErrorKind.NOT_FOUND,
        ErrorKind.INVALID_ARGS,
        None,
        conflict,
        None,
        conflict,
    ]
    assert [(tmp_path / name).exists() for name in "ab"] == [False, True]
    ends = of_type(events, "tool_end")
    assert [end["ok"] for end in ends] == [False, True]
    assert "use git log instead" in ends[0]["output"]
    decisions = {one["decision"]: one for one in of_type(events, "permission_decision")}
    assert "use git log instead" in decisions["deny"]["reason"]
    assert decisions["allow"]["scope"] == "once"


async def test_a_question_says_what_its_recorded_request_says(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text(f"one\ntwo\nthe key is {KEY}\n")
    script = [
        [
            ("edit", {"path": "old.txt", "old_string": "two", "new_string": "zwei\u202e"}),
            ("write", {"path": "sub/new.txt", "content": "a\nb\n"}),
            ("bash", {"command": f"curl -H 'x: {KEY}' example.invalid", "escalate": "the network"}),
        ],
        "done",
    ]
    asked: list[Question] = []

    async def act(session: OpenSession, inbox: Inbox) -> None:
        asked.extend(await wait_for(inbox, 3))
        for one in asked:
            assert inbox.answer(one.id, one.digest, False) is None

    events = await play(tmp_path, script, act)
    requests = {one["id"]: one for one in of_type(events, "permission_request")}
    fields = [
        "id",
        "call_id",
        "tool",
        "agent",
        "text",
        "adds",
        "reason",
        "rule",
        "preview",
        "preview_failed",
        "deadline",
        "digest",
    ]
    for one in asked:
        assert {field: getattr(one, field) for field in fields} == {
            field: requests[one.id][field] for field in fields
        }
        assert one.deadline > of_type(events, "turn_start")[0].get("ts", "")
        assert KEY not in repr(one)
    assert [one.tool for one in asked] == ["edit", "write", "bash"], "in the order of the calls"
    edit, write, bash = asked
    assert "--- a/old.txt\n+++ b/old.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\\u202e\n" in edit.preview
    assert "--- /dev/null\n+++ b/sub/new.txt\n@@ -0,0 +1,2 @@\n+a\n+b" in write.preview
    assert (edit.rule, bash.tool, bash.agent) == ("edit", "bash", "orchestrator")
    assert (tmp_path / "old.txt").read_text().startswith("one\ntwo\n")
    assert not (tmp_path / "sub").exists()


async def test_a_dry_run_that_fails_hangs_or_floods_still_leads_to_the_question(tmp_path: Path) -> None:
    def flood(args: dict[str, Any], ctx: Any) -> Any:
        return Ok({"output": "x" * 1_000_000})

    def fail(args: dict[str, Any], ctx: Any) -> Any:
        raise SystemExit("no")

    def make(name: str, plan: Any) -> Tool:
        return Tool(name, "", {}, lambda args, ctx: "ran", plan, effect=Effect.FILES)

    tools = [make("flood", flood), make("fail", fail), Tool("plain", "", {}, lambda args, ctx: "ran")]
    script: list[Any] = [[("flood", {}), ("fail", {}), ("plain", {})], "done"]

    async def act(session: OpenSession, inbox: Inbox) -> None:
        asked = {one.tool: one for one in await wait_for(inbox, 3)}
        assert 60_000 < len(asked["flood"].preview) < 70_000
        assert "would fail" in asked["fail"].preview
        assert asked["plain"].preview == ""
        assert [one.tool for one in asked.values() if one.preview_failed] == ["fail"]
        for one in asked.values():
            assert inbox.answer(one.id, one.digest, True) is None

    events = await play(tmp_path, script, act, tools=tools)
    assert [end["output"] for end in of_type(events, "tool_end")] == ["ran"] * 3


@pytest.mark.parametrize("how", ["interrupt", "interrupt its agent", "stop", "close"])
async def test_a_question_whose_turn_is_stopped_is_a_refusal(tmp_path: Path, how: str) -> None:
    inbox, double = Inbox(), ScriptedProvider(TWO)
    async with Planck(
        tmp_path / "home", tmp_path, environ={}, providers={"double": double}, approver=inbox
    ) as planck:
        session = await planck.start(model="double/m", mode="ask", name="mine")
        await session.prompt("go")
        first, second = await wait_for(inbox, 2)
        assert inbox.answer(first.id, first.digest, True) is None
        match how:
            case "interrupt":
                session.interrupt()
            case "interrupt its agent":
                session.interrupt("orchestrator")
            case "stop":
                await session.stop()
            case _:
                await session.aclose()
        assert await wait_for(inbox, 0) == ()
        late = inbox.answer(second.id, second.digest, True)
        assert isinstance(late, Err)
        assert late.kind is ErrorKind.WRITER_CONFLICT
        await session.aclose()
        events = [codec_line(line) for line in planck.archive.events("mine")]
    end = next(one for one in of_type(events, "tool_end") if one["data"]["id"] == second.call_id)["data"]
    assert end["error"]["kind"] == "permission_denied"
    assert "was not run" in end["output"]
    assert "unknown" not in end["output"]
    decisions = [one["data"] for one in of_type(events, "permission_decision")]
    mine = [one for one in decisions if one["request_id"] == second.id]
    assert [one["decision"] for one in mine] == ["deny"]
    assert not (tmp_path / "b").exists()


def codec_line(line: bytes) -> dict[str, Any]:
    from planck.records import codec

    found: dict[str, Any] = codec.decode(line)
    return found


def test_a_question_that_nobody_answers_is_refused_at_its_deadline(tmp_path: Path) -> None:
    ran: list[str] = []

    async def act(session: OpenSession, inbox: Inbox) -> None:
        (asked,) = await wait_for(inbox, 1)
        await asyncio.sleep(3599)
        assert inbox.pending() == (asked,)
        await asyncio.sleep(2)
        assert inbox.pending() == ()
        late = inbox.answer(asked.id, asked.digest, True)
        assert isinstance(late, Err)
        assert late.kind is ErrorKind.WRITER_CONFLICT

    events = run_virtual(play(tmp_path, [[("note", {})], "done"], act, tools=[note(ran)]))
    assert [end["error"]["kind"] for end in of_type(events, "tool_end")] == ["permission_denied"]
    assert ran == []


def note(ran: list[str]) -> Tool:
    async def execute(args: dict[str, Any], ctx: Any) -> Any:
        ran.append(ctx.call_id)
        return Ok({"output": "noted"})

    return Tool("note", "", {"properties": {"n": {}}}, execute, effect=Effect.FILES)


async def test_the_same_answer_sent_again_with_its_key_is_the_same_answer(tmp_path: Path) -> None:
    async def act(session: OpenSession, inbox: Inbox) -> None:
        first, second = await wait_for(inbox, 2)
        key = make_key("k1", first.id, True)
        assert inbox.answer(first.id, first.digest, True, request=key) is None
        assert inbox.answer(first.id, first.digest, True, request=key) is None
        other = inbox.answer(first.id, first.digest, False, request=make_key("k1", first.id, False))
        assert isinstance(other, Err)
        assert other.kind is ErrorKind.NOT_UNIQUE
        assert inbox.answer(second.id, second.digest, False) is None

    events = await play(tmp_path, TWO, act)
    keys = [one.get("request") for one in of_type(events, "permission_decision")]
    assert [one["key"] for one in keys if one] == ["k1"]


async def test_an_answer_for_the_session_holds_for_what_its_rule_says(tmp_path: Path) -> None:
    script = [[("write", {"path": "a", "content": "1"})], [("write", {"path": "b", "content": "2"})], "done"]

    async def act(session: OpenSession, inbox: Inbox) -> None:
        (asked,) = await wait_for(inbox, 1)
        assert asked.rule == "write"
        assert inbox.answer(asked.id, asked.digest, True, "session") is None

    events = await play(tmp_path, script, act)
    assert len(of_type(events, "permission_request")) == 1
    assert (tmp_path / "b").read_text() == "2"


class Clients:
    """Several people who answer at random, twice, too late, and with the wrong digest; one interrupts."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.taken: dict[str, bool] = {}
        self.ran: list[str] = []

    async def answer(self, session: OpenSession, inbox: Inbox) -> None:
        known: dict[str, Question] = {}
        while True:
            known.update({one.id: one for one in inbox.pending()})
            for one in self.choose.sample(list(known.values()), k=min(len(known), 3)):
                allow = self.choose.random() < 0.5
                digest = one.digest if self.choose.random() < 0.8 else "wrong"
                if inbox.answer(one.id, digest, allow) is None:
                    assert one.id not in self.taken, "two answers were taken"
                    self.taken[one.id] = allow
            await asyncio.sleep(self.choose.random() * 3)

    async def meddle(self, session: OpenSession) -> None:
        while True:
            await asyncio.sleep(self.choose.random() * 40)
            session.interrupt()

    async def act(self, session: OpenSession, inbox: Inbox) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.answer(session, inbox)) for _ in range(3)]
            tasks.append(group.create_task(self.meddle(session)))
            for n in range(6):
                await session.prompt(f"go {n}")
                await asyncio.sleep(self.choose.random() * 30)
            await session.settled()
            for task in tasks:
                task.cancel()


@pytest.mark.parametrize("seed", range(12))
def test_whatever_clients_do_each_question_has_one_decision_and_it_is_the_one_taken(
    tmp_path: Path, seed: int
) -> None:
    clients = Clients(seed)

    def script(request: Any) -> Any:
        if clients.choose.random() < 0.4:
            return "done"
        return Say(calls=[("note", {"n": n}) for n in range(clients.choose.randint(1, 4))])

    events = run_virtual(play(tmp_path, script, clients.act, tools=[note(clients.ran)]), seed=seed)
    decisions: dict[str, list[dict[str, Any]]] = {}
    for one in of_type(events, "permission_decision"):
        decisions.setdefault(one["request_id"], []).append(one)
    requests = of_type(events, "permission_request")
    assert requests, "the seed asks nothing"
    assert {one["id"]: 1 for one in requests} == {id: len(found) for id, found in decisions.items()}
    ends = {one["id"]: one for one in of_type(events, "tool_end")}
    for one in requests:
        (decision,) = decisions[one["id"]]
        allowed = decision["decision"] == "allow"
        if allowed:
            assert clients.taken[one["id"]] is True
        elif clients.taken.get(one["id"]):  # a yes that was taken counts, unless its turn was stopped then
            assert "stopped" in decision["reason"]
        assert (one["call_id"] in clients.ran) <= allowed
        if not allowed:
            assert ends[one["call_id"]]["error"]["kind"] == "permission_denied"


async def test_an_answer_is_not_taken_once_its_asker_was_told_to_stop() -> None:
    inbox = Inbox()
    question = Question(
        id="q", agent_id="a", agent="a", tool="t", text="", adds="", reason="", digest="d", session_id="s"
    )
    asking = asyncio.ensure_future(inbox.decide(question))
    (asked,) = await wait_for(inbox, 1)
    asking.cancel()
    assert inbox.pending() == ()
    late = inbox.answer(asked.id, asked.digest, True)
    assert isinstance(late, Err)
    assert late.kind is ErrorKind.WRITER_CONFLICT
    await asyncio.wait({asking})
    assert asking.cancelled()


async def test_a_call_that_waited_for_an_answer_when_the_process_died_was_not_run(tmp_path: Path) -> None:
    inbox, double = Inbox(), ScriptedProvider(TWO)
    async with Planck(
        tmp_path / "home", tmp_path, environ={}, providers={"double": double}, approver=inbox
    ) as planck:
        session = await planck.start(model="double/m", mode="ask")
        await session.prompt("go")
        first, second = await wait_for(inbox, 2)
        cut = await planck.archive.fork(session.id)  # what a killed process would leave
        resumed = await planck.resume(cut.id)
        assert inbox.answer(first.id, first.digest, False) is None
        assert inbox.answer(second.id, second.digest, False) is None
        ends = of_type(recorded(resumed), "tool_end")
        assert [end["error"]["kind"] for end in ends] == ["permission_denied"] * 2
        assert ["was not run" in end["output"] for end in ends] == [True, True]
        denied = {one["request_id"] for one in of_type(recorded(resumed), "permission_decision")}
        assert denied == {first.id, second.id}
        await session.settled()


class LoopClock(SystemClock):
    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


def test_the_time_of_a_call_is_not_the_time_that_somebody_took_to_answer(tmp_path: Path) -> None:
    async def execute(args: dict[str, Any], ctx: Any) -> Any:
        await asyncio.sleep(2)
        return Ok({"output": "ran"})

    class Slow:
        async def decide(self, tool: Tool, args: dict[str, Any], ctx: Any) -> None:
            await asyncio.sleep(500)

    async def run() -> list[int]:
        tools = ToolSet([Tool("slow", "", {}, execute, effect=Effect.FILES)])
        scribe = Scribe(Unrecorded(), "a")
        executor = Executor(tools, Site("s", tmp_path), permit=Slow(), scribe=scribe, clock=LoopClock())
        calls = read_calls(tools, [ToolCall(f"c{n}", f"c{n}", "slow", "{}") for n in range(2)])
        return [finished.duration_ms async for finished in executor.run(calls)]

    assert run_virtual(run()) == [2000, 2000]
