"""What the sessions of this server did since it started, as counts."""

from collections import Counter
from datetime import datetime

import msgspec

from planck.records.events import (
    AssistantSaid,
    Compacted,
    Event,
    ToolEnd,
    TurnEnd,
    TurnStart,
    TurnStatus,
    UsageSpent,
    view,
)
from planck.records.usage import Figures, count_call

_BEFORE_AN_ANSWER = (TurnStart.type, ToolEnd.type, Compacted.type)
STATUSES = tuple(str(status) for status in TurnStatus)
CLASSES = ("input", "output", "cache_read", "cache_write", "reasoning")


class Tally:
    def __init__(self) -> None:
        self.turns: Counter[str] = Counter()
        self.spent: Figures = Figures()
        self.calls: Counter[bool] = Counter()
        self.requests: int = 0
        self.seconds: float = 0.0
        """Between what a model was given and its answer."""
        self._given: dict[str, str] = {}

    def add(self, event: Event) -> None:
        agent = event.agent_id or ""
        if event.type in _BEFORE_AN_ANSWER:
            self._given[agent] = event.ts
        if event.type == AssistantSaid.type:
            self.requests += 1
            self.seconds += _count_seconds(self._given.pop(agent, event.ts), event.ts)
        elif event.type in (TurnEnd.type, ToolEnd.type, UsageSpent.type):
            self._count(view(event))
        if event.type == TurnEnd.type:
            self._given.pop(agent, None)

    def _count(self, fact: msgspec.Struct | None) -> None:
        match fact:
            case TurnEnd(status=status):
                self.turns[str(status)] += 1
            case ToolEnd(ok=ok):
                self.calls[ok] += 1
            case UsageSpent(usage=usage, cost_usd=cost, estimated=estimated):
                self.spent += count_call(usage, cost, estimated)


def _count_seconds(begin: str, end: str) -> float:
    try:
        return max((datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds(), 0.0)
    except ValueError:
        return 0.0
