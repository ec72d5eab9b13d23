"""A conversation with a log: opened, resumed from its events, and closed."""

from collections import defaultdict
from collections.abc import AsyncGenerator, Callable

from planck.agent.actor import Actor
from planck.agent.agent import Agent
from planck.agent.journal import Journal
from planck.records.events import (
    USER,
    AgentStarted,
    Envelope,
    Event,
    Kind,
    SessionResumed,
    SessionStarted,
    TurnEnd,
    TurnStart,
    TurnStatus,
    View,
    view,
)
from planck.records.history import interrupted
from planck.records.ports import Ids
from planck.records.specs import AgentSpec
from planck.records.usage import Usage
from planck.session.journal import SessionJournal
from planck.store.store import Store
from planck.team.team import Team

BuildAgent = Callable[[AgentSpec, Journal], Agent]
"""How an agent gets its model and tools; the facade's wiring knows."""


class Session:
    def __init__(
        self, id: str, name: str, store: Store, journal: SessionJournal, team: Team, ids: Ids
    ) -> None:
        self.id = id
        self.name = name
        self.team = team
        self._store = store
        self._journal = journal
        self._ids = ids

    @property
    def head(self) -> int:
        return self._store.head

    async def prompt(self, text: str) -> None:
        """Returns once the prompt is durable; it is answered in its turn."""
        agent = self.team.orchestrator.agent
        await self.team.orchestrator.post(
            Envelope(id=self._ids.new(), kind=Kind.PROMPT, sender=USER, receiver=agent.id, text=text)
        )

    def events(self, after: int = 0) -> AsyncGenerator[Event, None]:
        """Every recorded event after a number, then what happens, deltas included."""
        return self._journal.events(after)

    async def aclose(self) -> None:
        try:
            await self.team.aclose()
        finally:
            self._journal.close()
            self._store.close()


async def start(
    started: SessionStarted,
    spec: AgentSpec,
    store: Store,
    journal: SessionJournal,
    build: BuildAgent,
    ids: Ids,
) -> Session:
    await journal.record(None, 0, started)
    await journal.record(spec.id, 0, AgentStarted(agent=spec))
    team = Team(Actor(build(spec, journal)))
    team.start()
    return Session(started.id, started.name, store, journal, team, ids)


async def resume(
    id: str,
    name: str,
    version: str,
    store: Store,
    journal: SessionJournal,
    build: BuildAgent,
    ids: Ids,
) -> Session:
    """Rebuild the team from the log; what was in flight is recorded as interrupted, and nothing is re-run."""
    facts = _facts_by_agent(store)
    agents = [_revive(agent_facts, journal, build) for agent_facts in facts.values()]
    in_flight = tuple(call.id for agent, _ in agents for call in agent.history.open_calls)
    await journal.record(None, 0, SessionResumed(version=version, interrupted=in_flight))
    for agent, in_turn in agents:
        closing = _closing(agent, in_turn)
        if closing:
            await agent.record(*closing)
    team = Team(Actor(agents[0][0]))
    team.start()
    return Session(id, name, store, journal, team, ids)


def _facts_by_agent(store: Store) -> dict[str, list[View]]:
    facts: dict[str, list[View]] = defaultdict(list)
    for event in store.read():
        if event.agent_id is not None and (fact := view(event)):
            facts[event.agent_id].append(fact)
    return facts


def _revive(facts: list[View], journal: Journal, build: BuildAgent) -> tuple[Agent, bool]:
    """The agent with its history, and whether its last turn never ended."""
    spec = next(fact.agent for fact in facts if isinstance(fact, AgentStarted))
    agent = build(spec, journal)
    in_turn = False
    for fact in facts:
        agent.history.apply(fact)
        if isinstance(fact, TurnStart):
            agent.turn += 1
            in_turn = True
        elif isinstance(fact, TurnEnd):
            in_turn = False
    return agent, in_turn


def _closing(agent: Agent, in_turn: bool) -> list[View]:
    closing: list[View] = [interrupted(call) for call in agent.history.open_calls]
    if in_turn:
        closing.append(TurnEnd(status=TurnStatus.INTERRUPTED, text="", usage=Usage()))
    return closing
