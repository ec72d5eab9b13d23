"""Seats for the agents of one session: who answers for a model, at what price, and what makes it fit."""

import random  # noqa: TID251 - jitter is the one use, handed to whoever waits before a retry
from collections.abc import Sequence

from msgspec.structs import replace

from planck.agent.metered import Metered, WithinBudget
from planck.agent.seat import Seat
from planck.config.providers import Providers
from planck.context.compaction import (
    BUILT_IN,
    DIGEST,
    OFF,
    ModelSummariser,
    Notes,
    OnRequest,
    Summariser,
    Summary,
    WindowCompactor,
    find_flaw,
)
from planck.context.fitting import ROOMY
from planck.llm.catalog import CatalogModel
from planck.llm.provider import Provider, Request
from planck.llm.retry import Retrying
from planck.peers.peers import Peers
from planck.permissions.budget import Budget
from planck.records.events import Status
from planck.records.messages import Message
from planck.records.outcome import Err, Ok
from planck.records.specs import ModelSpec
from planck.toolkit.scribe import Scribe


class Seats:
    def __init__(
        self, providers: Providers, peers: Peers, budget: Budget | None, notes: Notes, scribe: Scribe
    ) -> None:
        """`scribe` is the session's own: its watchers are told why a sidecar's summary was not taken."""
        self._providers = providers
        self._peers = peers
        self._budget = budget
        self._notes = notes
        self._scribe = scribe

    def seat_for(self, model: ModelSpec, compactor: str) -> Seat:
        """What changes with an agent's model: who answers, what it costs, how its history is made to fit."""
        tariff = self._providers.price(model)
        small = model.context_window < ROOMY
        bounded = _bound_output(model, tariff) if self._budget or small else model
        provider = self._providers.open(bounded)
        metered = Metered(provider, self._budget, tariff, bounded) if self._budget else None
        provider = metered or provider
        if not self._providers.is_double(model.provider):  # a double is left alone
            provider = Retrying(provider, random.random)
        fitting = WindowCompactor(self._summariser(provider, compactor), model.context_window, self._notes)
        within = WithinBudget(fitting, metered) if metered else fitting
        return Seat(model, provider, tariff, OnRequest(fitting) if compactor == OFF else within)

    def _summariser(self, provider: Provider, name: str) -> Summariser | None:
        if name == DIGEST:
            return None
        by_model = ModelSummariser(provider)
        return by_model if name in BUILT_IN else SidecarSummariser(name, self._peers, by_model, self._scribe)


_MOST_OUTPUT = 32_000


def _bound_output(model: ModelSpec, known: CatalogModel | None) -> ModelSpec:
    """Under a budget every request says how long its answer may be: its worst case must be one.

    With a small window too: a small model that rambles writes until the window is full.
    """
    if model.max_output:
        return model
    most = min(known.max_output if known and known.max_output else _MOST_OUTPUT, _MOST_OUTPUT)
    return replace(model, max_output=min(most, max(model.context_window // 4, 1)))


class SidecarSummariser:
    """Has a sidecar write it; where that does not deliver, the model does, and the watchers are told why."""

    def __init__(self, name: str, peers: Peers, by_model: ModelSummariser, scribe: Scribe) -> None:
        self._name = name
        self._peers = peers
        self._by_model = by_model
        self._scribe = scribe

    async def summarise(self, messages: Sequence[Message], most: int, request: Request) -> Summary:
        outcome = await self._peers.compact(self._name, messages)
        problem = outcome.message if isinstance(outcome, Err) else find_flaw(outcome.value, most)
        if isinstance(outcome, Ok) and not problem:
            return Summary(outcome.value)
        detail = f"{problem}; the model summarises instead"
        self._scribe.publish(Status(component="compactor", name=self._name, state="failed", detail=detail))
        return await self._by_model.summarise(messages, most, request)
