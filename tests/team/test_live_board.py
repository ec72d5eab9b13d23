"""After each commit of random schedules the board says what the live team says of itself."""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import pytest

from planck.llm.provider import Request
from planck.permissions.approver import Approvals
from planck.permissions.gate import AgentGate, Gate
from planck.permissions.policy import PolicyContext
from planck.permissions.rules import Rule, SourcedRule
from planck.records import codec
from planck.records.approval import Answer, Question
from planck.records.authority import Authority, Mode
from planck.records.board import Board, apply
from planck.records.events import (
    AgentStarted,
    Control,
    Delivery,
    Envelope,
    Event,
    PermissionDecision,
    TurnStart,
    UsageSpent,
    Wait,
)
from planck.records.outcome import Err, ErrorKind, Ok
from planck.records.ports import add_seconds
from planck.records.specs import AgentSpec, Limits
from planck.records.usage import Usage
from planck.session.journal import SessionJournal
from planck.team.member import Member
from planck.testing.scripted import Scripted
from planck.toolkit.journal import Entry
from planck.toolkit.permit import Permit
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext
from tests.ports import FixedClock, JournalProxy
from tests.teams import Crew, ask, delegate, spawned, target
from tests.virtual_time import run_virtual

ANSWERS = 80
"""Of the models in one schedule that may do something; from then on they say that they are done."""
LIMITS = Limits(live_agents=14, total_agents=40, hops=40, steps=8)


def test_the_board_says_what_the_team_says_of_itself(seed: int) -> None:
    _run_schedules(range(seed, seed + 8))


@pytest.mark.soak
def test_the_board_says_what_the_team_says_of_itself_in_500_schedules(seed: int) -> None:
    _run_schedules(range(seed, seed + 500))


def _run_schedules(seeds: range) -> None:
    total: Counter[str] = Counter()
    for seed in seeds:
        try:
            total += run_virtual(_run_schedule(seed), seed=seed)
        except AssertionError as e:
            raise AssertionError(f"schedule {seed}: {e}") from e
    print(f"{len(seeds)} schedules: {dict(sorted(total.items()))}")
    for seen in (
        "asks",
        "tasks",
        "spawns",
        "destroys",
        "interrupts",
        "timeouts",
        "approvals",
        "model errors",
    ):
        assert total[seen] > 0, f"no {seen} in these schedules"
    assert total["two waits, one answered"] > 0


async def _run_schedule(seed: int) -> Counter[str]:
    play = Play(seed)
    await play.run()
    return play.seen


class LoopClock(FixedClock):
    def now(self) -> str:
        return add_seconds("2026-01-01T00:00:00.000Z", round(self.monotonic(), 3))

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class SlowCommits(JournalProxy):
    """Commits in order, each alone and a moment after it was handed in."""

    def __init__(self, inner: SessionJournal, choose: random.Random) -> None:
        super().__init__(inner)
        self.board = Board()
        self.fresh: list[Event] = []
        self._choose = choose
        self._queue: deque[tuple[Sequence[Entry], asyncio.Future[list[Event]]]] = deque()
        self._worker: asyncio.Task[None] | None = None

    @property
    def in_flight(self) -> list[Entry]:
        return [entry for entries, _ in self._queue for entry in entries]

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[list[Event]] = loop.create_future()
        self._queue.append((entries, done))
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._commit_all())
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            await asyncio.wait({done})  # as a journal promises: the cancellation comes after the commit
            raise

    async def _commit_all(self) -> None:
        while self._queue:
            await asyncio.sleep(self._choose.randint(1, 9) / 1000)
            entries, done = self._queue[0]
            events = await super().record_all(entries)
            self._queue.popleft()
            for event in events:
                self.board = apply(self.board, event)
            self.fresh += events
            done.set_result(events)


class Person:
    """Answers in random order of time; some questions never."""

    def __init__(self, choose: random.Random) -> None:
        self._choose = choose

    async def decide(self, question: Question) -> Answer:
        await asyncio.sleep(self._choose.choice((0.02, 0.3, 1, 9)))
        return Answer(question.id, question.digest, self._choose.random() < 0.6)


class OpenQuestions(Approvals):
    """Keeps what somebody waits for now."""

    def __init__(self, person: Person) -> None:
        super().__init__(person, patience=3)
        self.open: dict[str, str] = {}

    async def ask(self, question: Question) -> Answer:
        self.open[question.id] = question.agent_id
        try:
            return await super().ask(question)
        finally:
            del self.open[question.id]


class NoRules:
    place = ""

    def policy_context(self, mode: Mode | None) -> PolicyContext:
        return PolicyContext()

    def read_now(self) -> tuple[SourcedRule, ...]:
        return ()

    def bind(self, rule: Rule) -> Rule:
        return rule

    def keep(self, rule: Rule) -> str:
        raise NotImplementedError


class Play(Crew):
    """A team whose models do at random whatever a model can do."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.seen: Counter[str] = Counter()
        workers = [f"w{n}" for n in range(self.choose.randint(4, 10))]
        super().__init__(self._say, *workers, limits=LIMITS, journal=self._slow, clock=LoopClock())
        self.questions = OpenQuestions(Person(self.choose))
        self._gate = Gate(NoRules(), ids=self.ids, approvals=self.questions)
        self._spawned = 0
        self._answers = 0

    async def run(self, text: str = "go") -> None:
        loop: Any = asyncio.get_running_loop()
        loop.before_jump = self._compare
        await self.start()
        for _ in range(self.choose.randint(2, 4)):
            await self.team.mail.prompt(self.team.orchestrator, text)
            await asyncio.sleep(self.choose.randint(1, 4000) / 1000)
            self._meddle()
        await self.team.wait_until_settled()
        await asyncio.sleep(1)
        self._compare()
        assert not self.slow.in_flight
        board = self.slow.board
        assert not board.questions
        assert not any(row.waits or row.calls for row in board.agents)
        assert board.state in ("done", "failed", "interrupted")
        await self.aclose()
        loop.before_jump = None

    def permit_for(self, spec: AgentSpec, scribe: Scribe) -> Permit:
        return AgentGate(self._gate, spec.name, Authority(Mode.ASK), scribe)

    def extra_tools(self) -> list[Tool]:
        schema = {"type": "object", "properties": {}}
        return [
            Tool("nap", "sleeps", schema, self._nap, effect=Effect.NONE),
            Tool("deploy", "is asked about", schema, self._nap, effect=Effect.FILES),
        ]

    def _slow(self, inner: SessionJournal) -> SlowCommits:
        self.slow = SlowCommits(inner, self.choose)
        return self.slow

    async def _nap(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        await asyncio.sleep(self.choose.randint(0, 900) / 1000)
        return Ok({"output": "zzz"})

    def _meddle(self) -> None:
        """What a user does from outside."""
        if self.choose.random() < 0.4:
            self.team.interrupt_all()
            self.seen["interrupts"] += 1

    async def _say(self, request: Request) -> Scripted:
        await asyncio.sleep(self.choose.randint(1, 400) / 1000)
        self._answers += 1
        dice = self.choose.random() if self._answers < ANSWERS else 1
        if dice < 0.05:
            self.seen["model errors"] += 1
            return Err(ErrorKind.OVERLOADED, "too many")
        if dice < 0.07:
            self.seen["model errors"] += 1
            return RuntimeError("a bug in a dialect")
        if dice < 0.45 or dice == 1:
            return "done"
        lead = request.agent_id == self.team.orchestrator.id
        return [self._call(lead) for _ in range(self.choose.randint(1, 4))]

    def _call(self, lead: bool) -> tuple[str, Any]:
        others = [member.name for member in self.team.members] or ["nobody"]
        other = self.choose.choice(others)
        dice = self.choose.random()
        if lead and dice < 0.12:
            self._spawned += 1
            return spawned(f"s{self._spawned}", provider="s")
        if lead and dice < 0.22:
            return target("destroy_agent", other)
        if lead and dice < 0.32:
            return target("interrupt_agent", other)
        dice = self.choose.random()
        if dice < 0.45:
            return ask(other, timeout_ms=self.choose.choice((50, 400, 2_000, 20_000)))
        if dice < 0.6:
            return delegate(other)
        if dice < 0.7:
            return "send_response", {"response": "so it is"}
        return (self.choose.choice(("nap", "deploy", "deploy", "list_team", "no_such_tool")), {})

    def _compare(self) -> None:
        """Called when nothing is ready to run: what was committed has taken its effect."""
        for event in self.slow.fresh:
            self._note(event)
        self.seen["events"] += len(self.slow.fresh)
        self.slow.fresh.clear()
        self.seen["moments"] += 1
        board, live = self.slow.board, {member.id: member for member in self.team.members}
        flight = Flight(self.slow.in_flight)
        known = {row.id for row in board.agents if not row.ended}
        self._same(known - flight.destroyed | flight.started, set(live), "who is there")
        for id in live.keys() & known:
            self._compare_member(live[id], board, flight)
        stopped = {row.id for row in board.agents if row.stopping or row.status == "ended"}
        self._same(set(), {one.agent_id for one in board.questions} & stopped, "questions of who stops")
        self._same([], [row.waits for row in board.agents if row.id in stopped and row.waits], "waits of it")
        # The live one takes its questions back one by one, in no time that a log would know of.
        stopping = flight.stopped | stopped
        self._same(
            {one.id for one in board.questions if one.agent_id not in stopping} - flight.decided,
            {id for id, who in self.questions.open.items() if who not in stopping} - flight.decided,
            "questions",
        )
        tasks = {letter.id for letter in board.owed if letter.kind == "task"}
        open_tasks = set(self.team.mail.sent.tasks)
        self._same(tasks - flight.touched, open_tasks - flight.touched, "tasks that are owed")
        if not flight.entries:
            self.seen["moments with nothing in flight"] += 1

    def _compare_member(self, member: Member, board: Board, flight: "Flight") -> None:
        row, agent, mine = board.agent(member.id), member.actor.agent, flight.of(member.id)
        assert row
        begins = sum(isinstance(fact, TurnStart) for fact in mine)
        self._same(row.turn, agent.turn - begins, f"turn of {row.name}")
        spent = sum((fact.usage for fact in mine if isinstance(fact, UsageSpent)), Usage())
        self._same(row.usage + spent, agent.usage, f"usage of {row.name}")
        self._same(
            [letter.id for letter in row.unread if letter.id not in flight.touched],
            [id for id in agent.history.unread if id not in flight.touched],
            f"unread of {row.name}",
        )
        if begins or row.stopping or row.id in flight.stopped:
            self.seen["skipped: what an agent that begins or stops does"] += 1
            return
        now = self.clock.now()
        # An ask's clock starts once it is sent, which is a commit later than its deadline says.
        waits = Counter(wait.on for wait in row.waits if add_seconds(wait.deadline, 1) > now)
        over = Counter(
            wait.on for wait in row.waits if wait.message_id in flight.touched or wait.deadline <= now
        )
        asks = [ask for ask in self.team.mail.asks.values() if ask.envelope.sender == member.id]
        edges = Counter(ask.target.id for ask in asks if ask.waiting)
        edges -= Counter(fact.on for fact in mine if isinstance(fact, Wait))
        # Whose target ends or stops may learn a commit later than the log that there is nothing to wait for.
        gone = flight.stopped | {one.id for one in board.agents if one.ended or one.stopping}
        edges = Counter({on: n for on, n in edges.items() if on not in gone or on in waits})
        self.seen["comparisons"] += 1
        self.seen["waits compared"] += len(waits)
        assert waits - over <= edges <= waits, f"waits of {row.name} at {now}: board {waits}, live {edges}"
        self._same(row.status, agent.activity.value, f"status of {row.name}")
        tool = agent.current_tools[0] if agent.current_tools else ""
        self._same(row.calls[0].name if row.calls else "", tool, f"tool of {row.name}")

    def _same(self, board: object, live: object, what: str) -> None:
        self.seen["comparisons"] += 1
        assert board == live, f"{what} at {self.clock.now()}: board {board}, live {live}"

    def _note(self, event: Event) -> None:
        data = codec.decode(bytes(event.data))
        kind = data.get("kind")
        if event.type == "message" and kind in ("ask", "task"):
            self.seen[f"{kind}s"] += 1
        elif event.type in ("permission_request", "agent_ended"):
            self.seen[{"permission_request": "approvals", "agent_ended": "destroys"}[event.type]] += 1
        elif event.type == "tool_end":
            self.seen["spawns"] += data["name"] == "spawn_agent" and data["ok"]
            self.seen["interrupts"] += data["name"] == "interrupt_agent" and data["ok"]
            self.seen["timeouts"] += (data.get("error") or {}).get("kind") == "timeout"
        elif event.type == "delivery" and data["state"] == "answered":
            self.seen["two waits, one answered"] += any(
                row.waits and sum(call.name == "ask_agent" for call in row.calls) > len(row.waits)
                for row in self.slow.board.agents
            )


class Flight:
    """What was handed to the log and is not in it yet: the live team may be that much ahead."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.started: set[str] = set()
        self.touched: set[str] = set()
        """Messages that are being sent, consumed or settled."""
        self.decided: set[str] = set()
        self.stopped: set[str] = set()
        self.destroyed: set[str] = set()
        for entry in entries:
            match entry.fact:
                case AgentStarted():
                    self.started.add(entry.fact.agent.id)
                case Envelope():
                    self.touched |= {entry.fact.id, entry.fact.correlation_id or ""}
                case Delivery():
                    self.touched |= set(entry.fact.ids)
                case Control(action="destroy", target=id):
                    self.destroyed.add(id)
                    self.stopped.add(id)
                case Control(target=id):
                    self.stopped.add(id)
                case PermissionDecision():
                    self.decided.add(entry.fact.request_id)

    def of(self, agent_id: str) -> list[Any]:
        return [entry.fact for entry in self.entries if entry.agent_id == agent_id]
