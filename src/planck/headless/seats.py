"""Seats for the agents of one session: who answers for a model, at what price, and what makes it fit."""

import random  # noqa: TID251 - jitter is the one use, handed to whoever waits before a retry
from collections.abc import Sequence

from planck.agent.seat import Seat, bound_output
from planck.config.providers import Providers
from planck.context.compaction import (
    BUILT_IN,
    DIGEST,
    OFF,
    Compactor,
    ModelSummariser,
    Notes,
    OnRequest,
    Summariser,
    Summary,
    WindowCompactor,
    find_flaw,
)
from planck.context.fitting import ROOMY
from planck.llm.provider import Provider, Request
from planck.llm.retry import Retrying
from planck.peers.peers import Peers
from planck.permissions.accounts import Purse
from planck.records.events import Status
from planck.records.messages import Message
from planck.records.outcome import Err, Ok
from planck.records.specs import ModelSpec
from planck.toolkit.scribe import Scribe


class Seats:
    def __init__(
        self, providers: Providers, peers: Peers, notes: Notes, scribe: Scribe, *, wait_s: int = 0
    ) -> None:
        """`scribe` is the session's own: its watchers are told why a sidecar's summary was not taken."""
        self._providers = providers
        self._peers = peers
        self._notes = notes
        self._scribe = scribe
        self._wait_s = wait_s

    def seat_for(self, model: ModelSpec, compactor: str, purse: Purse) -> Seat:
        """What changes with an agent's model: who answers, what it costs, how its history is made to fit."""
        if purse.accounts.limited or self._providers.quotas is not None:
            return self.metered_seat(model, compactor, purse)
        tariff = self._providers.price(model)
        # A small model that rambles writes until its window is full.
        small = model.context_window < ROOMY
        bounded = bound_output(model, tariff.max_output if tariff else 0) if small else model
        provider = self._retry(model, self._providers.open(bounded))
        fitting = self._fit(provider, model, compactor)
        return Seat(model, provider, tariff, fitting, counted=Counted(self, model, compactor, purse))

    def metered_seat(self, model: ModelSpec, compactor: str, purse: Purse) -> Seat:
        """The same where something limits what the agent may take."""
        from planck.agent.metered import Metered, WithinBudget  # most runs have no limit

        tariff = self._providers.price(model)
        longest = tariff.max_output if tariff else 0
        quotas = self._providers.quotas
        metered = Metered(self._providers, purse, tariff, model, longest=longest, quotas=quotas)
        provider = self._retry(model, metered)
        fitting = self._fit(provider, model, compactor)
        within = fitting if compactor == OFF else WithinBudget(fitting, metered)
        return Seat(model, provider, tariff, within, metered)

    def _retry(self, model: ModelSpec, provider: Provider) -> Provider:
        if self._providers.is_double(model.provider):  # a double is left alone
            return provider
        return Retrying(provider, random.random, wait_s=self._wait_s)

    def _fit(self, provider: Provider, model: ModelSpec, compactor: str) -> Compactor:
        fitting = WindowCompactor(self._summariser(provider, compactor), model.context_window, self._notes)
        return OnRequest(fitting) if compactor == OFF else fitting

    def _summariser(self, provider: Provider, name: str) -> Summariser | None:
        if name == DIGEST:
            return None
        by_model = ModelSummariser(provider)
        return by_model if name in BUILT_IN else SidecarSummariser(name, self._peers, by_model, self._scribe)


class Counted:
    """Makes the seat of an agent anew, once something was lent for what it does."""

    def __init__(self, seats: Seats, model: ModelSpec, compactor: str, purse: Purse) -> None:
        self._seats = seats
        self._model = model
        self._compactor = compactor
        self._purse = purse

    def make(self) -> Seat:
        return self._seats.metered_seat(self._model, self._compactor, self._purse)


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
