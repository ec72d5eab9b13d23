"""Seats for the agents of one session: who answers for a model, at what price, and what makes it fit."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planck.agent.seat import Seat, bound_output
from planck.budget.accounts import Purse
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
from planck.llm.retry import RETRIES, Retrying
from planck.peers.peers import Peers
from planck.records.events import Status
from planck.records.messages import Message
from planck.records.outcome import Err, Ok, name_exception
from planck.records.specs import ModelSpec
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import is_async

Write = Callable[[list[Message]], Any]
"""Messages -> the text that stands for them, or an awaitable of it: a compactor of the program."""
_PATIENCE = 120.0
"""Seconds that a compactor of the program may take, as one of a sidecar may."""
_RETRIES_BEFORE_FALLBACK = 1


class Seats:
    def __init__(
        self,
        providers: Providers,
        peers: Peers,
        notes: Notes,
        scribe: Scribe,
        *,
        wait_s: int = 0,
        fallback: ModelSpec | None = None,
        watch: Callable[[Provider, ModelSpec], Provider] | None = None,
        compactors: Mapping[str, Write] | None = None,
    ) -> None:
        """`scribe` is the session's own: its watchers are told why a sidecar's summary was not taken.

        `fallback` answers for a model that can't. `watch` puts hooks around what answers for an agent.
        """
        self._watch = watch
        self._compactors = compactors or {}
        self._providers = providers
        self._peers = peers
        self._notes = notes
        self._scribe = scribe
        self._wait_s = wait_s
        self._fallback = fallback

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
        counted = Counted(self, model, compactor, purse)
        provider = self._watch(provider, model) if self._watch else provider
        return Seat(model, provider, tariff, fitting, counted=counted, spare=self._spare(counted))

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
        spare = self._spare(Counted(self, model, compactor, purse))
        provider = self._watch(provider, model) if self._watch else provider
        return Seat(model, provider, tariff, within, metered, spare=spare)

    def _spare(self, own: "Counted") -> "Spare | None":
        return Spare(self, self._fallback, own) if self._fallback and self._fallback != own.model else None

    def _retry(self, model: ModelSpec, provider: Provider) -> Provider:
        if self._providers.is_double(model.provider):  # a double is left alone
            return provider
        waiting = self._fallback is None or self._fallback == model  # there is another to go on with at once
        retries = RETRIES if waiting else _RETRIES_BEFORE_FALLBACK
        pace = self._providers.find_pace(model)
        return Retrying(
            provider, _jitter, retries=retries, wait_s=self._wait_s, pace=pace, name=model.provider
        )

    def _fit(self, provider: Provider, model: ModelSpec, compactor: str) -> Compactor:
        fitting = WindowCompactor(self._summariser(provider, compactor), model.context_window, self._notes)
        return OnRequest(fitting) if compactor == OFF else fitting

    def _summariser(self, provider: Provider, name: str) -> Summariser | None:
        if name == DIGEST:
            return None
        by_model = ModelSummariser(provider)
        if own := self._compactors.get(name):
            return ProgramSummariser(name, own, by_model, self._scribe)
        return by_model if name in BUILT_IN else SidecarSummariser(name, self._peers, by_model, self._scribe)


def _jitter() -> float:
    """A part of the time to wait before a retry."""
    import random  # noqa: TID251 - the one use; few answers need a retry

    return random.random()


class Counted:
    """Makes the seat of an agent anew, once something was lent for what it does."""

    def __init__(self, seats: Seats, model: ModelSpec, compactor: str, purse: Purse) -> None:
        self._seats = seats
        self.model = model
        self.compactor = compactor
        self.purse = purse

    def make(self) -> Seat:
        return self._seats.metered_seat(self.model, self.compactor, self.purse)


class Spare:
    """Makes the seat of an agent whose own model can't answer."""

    def __init__(self, seats: Seats, model: ModelSpec, own: Counted) -> None:
        self._seats = seats
        self._model = model
        self._own = own

    def make(self) -> Seat:
        return self._seats.seat_for(self._model, self._own.compactor, self._own.purse)


class ProgramSummariser:
    """Has a function of the program write it; where that does not deliver, the model does."""

    def __init__(self, name: str, write: Write, by_model: ModelSummariser, scribe: Scribe) -> None:
        self._name = name
        self._write = write
        self._by_model = by_model
        self._scribe = scribe

    async def summarise(self, messages: Sequence[Message], most: int, request: Request) -> Summary:
        # Gathered: what somebody else's code raises is a reason to ask the model, and ends no turn.
        found: Any
        (found,) = await asyncio.gather(self._call(list(messages)), return_exceptions=True)
        if isinstance(found, str) and not (problem := find_flaw(found, most)):
            return Summary(found)
        if isinstance(found, BaseException):
            problem = name_exception(found)
        elif not isinstance(found, str):
            problem = f"the compactor must return a text, not {type(found).__name__}"
        _tell_failure(self._scribe, self._name, problem)
        return await self._by_model.summarise(messages, most, request)

    async def _call(self, messages: list[Message]) -> Any:
        async with asyncio.timeout(_PATIENCE):
            if is_async(self._write):
                return await self._write(messages)
            return await asyncio.to_thread(self._write, messages)


def _tell_failure(scribe: Scribe, name: str, problem: str) -> None:
    detail = f"{problem.rstrip('.')}. The model writes the summary instead."
    scribe.publish(Status(component="compactor", name=name, state="failed", detail=detail))


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
        _tell_failure(self._scribe, self._name, problem)
        return await self._by_model.summarise(messages, most, request)
