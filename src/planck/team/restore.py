"""Builds an agent from its log, after a crash of its actor or of the whole process."""

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from planck.agent.actor import UnfinishedTurn
from planck.agent.agent import Agent
from planck.records.events import (
    AssistantSaid,
    Compacted,
    Delivery,
    Envelope,
    ModelChanged,
    TurnEnd,
    TurnStart,
    TurnStatus,
    UsageSpent,
    View,
)
from planck.records.history import is_news
from planck.records.specs import AgentSpec
from planck.records.usage import Usage
from planck.toolkit.journal import Journal

BuildAgent = Callable[[AgentSpec, Journal], Agent]
"""How an agent gets its model and tools; the facade's wiring knows."""


class RestoredAgent(msgspec.Struct, frozen=True):
    agent: Agent
    opening: Envelope | None
    """What had started the turn that never ended, if there is one."""
    steps: int = 0
    """Answers of the model in that turn, what they used, and its last text."""
    spent: Usage = Usage()
    text: str = ""

    @property
    def unfinished(self) -> UnfinishedTurn | None:
        """The turn that waits for the user: it had not begun what it asks about, so it can ask again."""
        if self.opening is None or not self.agent.history.left_asking:
            return None
        return UnfinishedTurn(self.opening, self.steps, self.spent, self.text)

    def end_cut_turn(self) -> list[View]:
        """Returns the facts that end that turn: each open call gets its one result, nothing is run again."""
        facts = self.agent.history.end_open_calls()
        if news := tuple(one.id for one in self.agent.history.unread.values() if is_news(one)):
            facts.append(Delivery(ids=news, state="delivered"))  # it wakes nobody
        if self.opening:
            facts.append(TurnEnd(status=TurnStatus.INTERRUPTED, text="", usage=Usage()))
        return facts


def restore_agent(
    spec: AgentSpec, facts: Iterable[View], journal: Journal, build: BuildAgent
) -> RestoredAgent:
    """Returns the agent as its facts leave it: its history, turn number, usage and unread mail."""
    facts, checkpoint = list(facts), 0
    for at, fact in enumerate(facts):
        if isinstance(fact, ModelChanged):
            spec = replace(spec, model=fact.model)
        elif isinstance(fact, Compacted):
            checkpoint = at
            if 0 < fact.window < spec.model.context_window:
                # The model once refused what should have fitted: it need not do so again.
                spec = replace(spec, model=replace(spec.model, context_window=fact.window))
    agent = build(spec, journal)
    envelopes: dict[str, Envelope] = {}
    opening: Envelope | None = None
    steps, spent, text = 0, Usage(), ""
    take = agent.history.skip
    for at, fact in enumerate(facts):
        if at == checkpoint:
            take = agent.history.apply
        take(fact)
        match fact:
            case Envelope():
                envelopes[fact.id] = fact
            case TurnStart():
                agent.scribe.turn += 1
                opening = envelopes.pop(fact.message_id, None)
                steps, spent, text = 0, Usage(), ""
            case AssistantSaid():
                steps, text = steps + 1, fact.message.text or text
            case TurnEnd():
                opening = None
            case UsageSpent():
                agent.usage += fact.usage
                spent += fact.usage
            case Compacted() if fact.usage != Usage():
                agent.usage = fact.usage
    return RestoredAgent(agent, opening, steps, spent, text)
