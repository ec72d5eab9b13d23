"""Ids, deadlines and the order of work are answered by ports: whoever stands in for them decides."""

import asyncio
from collections.abc import Sequence
from typing import Any

from planck.agent.agent import Agent, Kit
from planck.llm.provider import Request
from planck.records.events import Envelope, Event, ToolEnd, ToolStart, TurnStart, View, view
from planck.records.messages import AssistantMessage
from planck.records.specs import AgentSpec, Limits
from planck.team.team import Team
from planck.testing.scripted import Say
from planck.toolkit.journal import Entry, Journal
from tests.ports import CountedIds, FixedClock, JournalProxy
from tests.teams import Crew, ask
from tests.virtual_time import run_virtual


class Caused(CountedIds):
    """Remembers what each id was minted for."""

    def __init__(self) -> None:
        super().__init__()
        self.causes: dict[str, str] = {}

    def new(self, cause: str = "") -> str:
        id = super().new(cause)
        self.causes[id] = cause
        return id


class Hurried(FixedClock):
    """Lets no wait for an answer end but by its deadline."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    async def within(self, future: asyncio.Future[Any], seconds: float, key: str) -> bool:
        self.keys.append(key)
        if isinstance(future, asyncio.Task):
            return await super().within(future, seconds, key)
        return False


class NewestFirst:
    def choose_opening(self, ready: Sequence[Envelope]) -> Envelope | None:
        return ready[-1] if len(ready) > 1 else None

    def choose_joining(self, ready: Sequence[Envelope]) -> Sequence[Envelope]:
        return ready


class Ported(Crew):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.caused = self.ids = Caused()
        self.hurried = self.clock = Hurried()
        self.team = Team(
            "ported",
            journal=self.journal,
            ids=self.caused,
            clock=self.hurried,
            limits=Limits(),
            build=self._build,
        )

    def _build(self, spec: AgentSpec, journal: Journal) -> Agent:
        agent = super()._build(spec, journal)
        if spec.id == "bob":
            kit = agent.kit
            agent.kit = Kit(kit.tools, kit.runner, kit.preparation, NewestFirst())
        return agent


def test_the_ports_decide_what_an_id_is_when_a_wait_ends_and_which_mail_is_next() -> None:
    run_virtual(_ported())


async def _ported() -> None:
    def script(request: Request) -> Say | str:
        said = any(isinstance(message, AssistantMessage) for message in request.history.messages)
        if said or request.agent_id == "bob":
            return "ok"
        return Say(calls=[ask("bob", "one"), ask("bob", "two")])

    crew = Ported(script, "bob")
    await crew.start()
    await crew.team.mail.prompt(crew.team.orchestrator, "go")
    while len(crew.recorded("tool_end")) < 2:
        await asyncio.sleep(1)
    facts = crew.recorded()
    calls = [fact.id for fact in facts if isinstance(fact, ToolStart)]
    asks = [fact for fact in facts if isinstance(fact, Envelope) and fact.sender == "lead"]
    assert [crew.caused.causes[one.id] for one in asks] == calls, "an ask's id is minted for its call"
    assert [crew.caused.causes[call] for call in calls] == ["lead", "lead"]
    assert _errors(facts) == ["timeout", "timeout"], "the clock says that the time is up"
    assert {*calls, *(one.id for one in asks)} <= set(crew.hurried.keys)
    await crew.aclose()


def _errors(facts: Sequence[View]) -> list[str]:
    return [fact.error.kind for fact in facts if isinstance(fact, ToolEnd) and fact.error]


def test_a_schedule_chooses_what_opens_a_turn_and_what_joins_it() -> None:
    run_virtual(_scheduled())


async def _scheduled() -> None:
    crew = Ported(lambda request: "ok", "bob")
    await crew.start()
    bob = crew.team.member("bob")
    assert bob
    await crew.team.mail.delegate(crew.team.orchestrator, bob, "one")
    await asyncio.sleep(1)
    assert bob.actor.agent.turn == 0, "alone it opens none"
    await crew.team.mail.delegate(crew.team.orchestrator, bob, "two")
    await crew.team.wait_until_settled()
    tasks = [fact.id for fact in crew.recorded() if isinstance(fact, Envelope) and fact.receiver == "bob"]
    turns = [fact for event in crew.events() if event.agent_id == "bob" and (fact := view(event))]
    opened = [fact.message_id for fact in turns if isinstance(fact, TurnStart)]
    assert opened == [tasks[1]], "the other one joined"
    await crew.aclose()


class Detached(JournalProxy):
    """Commits a moment later, also what a caller handed in who does not wait for it any more."""

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        inner = super().record_all(entries, barrier=barrier)

        async def commit() -> list[Event]:
            await asyncio.sleep(1)
            return await inner

        return await asyncio.shield(asyncio.get_running_loop().create_task(commit()))


def test_a_sender_that_is_gone_before_its_message_is_in_the_log_leaves_nothing_counted() -> None:
    run_virtual(_gone_sender())


async def _gone_sender() -> None:
    crew = Crew(lambda request: "ok", "bob", journal=Detached)
    await crew.start()
    lead = crew.team.orchestrator
    sending = asyncio.get_running_loop().create_task(crew.team.mail.prompt(lead, "go"))
    await asyncio.sleep(0.5)
    sending.cancel()
    await asyncio.sleep(5)
    async with asyncio.timeout(60):
        await crew.team.wait_until_settled()
    assert (crew.team.mail.count_incoming(lead), lead.actor.agent.turn) == (0, 1)
    await crew.aclose()
