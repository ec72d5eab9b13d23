"""Accounts around a provider: what would exceed one is refused before the request leaves."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from msgspec.structs import replace

from planck.agent.seat import Forecast, Tariff, bound_output
from planck.budget.accounts import Purse
from planck.budget.budget import Account, Parts
from planck.context.compaction import Compactor, Room, SpecSize
from planck.llm.provider import UNREADABLE, Item, Provider, ProviderError, Request
from planck.records.amounts import UNITS, count_micro, say
from planck.records.events import TextDelta, ThinkingDelta, UsageDelta
from planck.records.history import BYTES_PER_TOKEN
from planck.records.messages import AssistantMessage, size
from planck.records.outcome import Err, ErrorKind
from planck.records.ports import QuotaHold, Quotas
from planck.records.specs import ModelSpec
from planck.records.usage import Attempt, Usage
from planck.toolkit.scribe import Scribe

REPORT = 2_048
"""Tokens that the last answer may have at most: what is kept back for it nobody else can use."""

_LITTLE_LEFT = 0.8


class ProviderFactory(Protocol):
    def open(self, model: ModelSpec) -> Provider:
        """Returns who answers for a model; no connection is opened yet."""


_GO_ON = Forecast()


class Metered:
    """Holds the worst case of each call against the account that pays for it, and settles it after."""

    def __init__(
        self,
        opening: ProviderFactory,
        purse: Purse,
        tariff: Tariff | None,
        model: ModelSpec,
        *,
        longest: int = 0,
        quotas: Quotas | None = None,
    ) -> None:
        """`longest`: what an answer of the model has at most, where nobody said less."""
        self._opening = opening
        self._purse = purse
        self._tariff = tariff
        self._model = model
        self._bounded = bound_output(model, longest)
        self._report = replace(self._bounded, max_output=min(self._bounded.max_output, REPORT))
        self._quotas = quotas
        self._opened: dict[int, Provider] = {}
        self._tools = SpecSize()

    def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        if not self._purse.accounts.limited and self._quotas is None:
            return self._open(self._model).stream(request)
        return self._stream_held(request)

    async def _stream_held(self, request: Request) -> AsyncGenerator[Item, None]:
        account, model = self._purse.paying, self._report if self._purse.last else self._bounded
        worst = self._find_worst(request, model)
        hold = account.hold(worst)
        if isinstance(hold, Err):
            raise ProviderError(hold.kind, hold.message, hold.details)
        counted, answered, heard, sent = Usage(), 0, 0, False
        began = asyncio.get_running_loop().time()
        if account.since is None:
            account.since = began
        quota: QuotaHold | None = None
        try:
            request.tally.unsent = True
            quota = await self._hold_quota(worst)
            request.tally.unsent, sent = False, True
            async with aclosing(self._open(model).stream(request)) as stream:
                async for item in stream:
                    if isinstance(item, UsageDelta):
                        counted = item.usage
                    elif isinstance(item, AssistantMessage):
                        # As a part of the answer, so that the log, which a resumed session counts by, has it.
                        whole = self._complete(item.usage, request, size(item))
                        if whole.estimated:
                            request.tally.count(whole.usage, estimated=True)
                        item = replace(item, usage=whole.usage)
                        counted, answered = item.usage, 1
                    elif isinstance(item, TextDelta | ThinkingDelta):
                        heard += len(item.text.encode())
                    yield item
        except ProviderError as failure:
            # A server that refuses or can't be reached does no work; a cut stream was being worked on.
            cut = failure.err.kind is ErrorKind.STREAM_CUT or UNREADABLE in failure.err.details
            sent = cut or bool(heard) or counted != Usage()
            if sent:
                yield UsageDelta(usage=self._complete(counted, request, heard).usage)
            raise
        finally:
            # Silence is not zero: what left the machine may be charged for, also if we stopped listening.
            if sent and not answered and not request.tally.unsent:
                whole = self._complete(counted, request, heard)
                counted = whole.usage
                request.tally.count(counted, estimated=whole.estimated)  # a cancelled stream can't say it
            took = round((asyncio.get_running_loop().time() - began) * 1000)
            actual = self._measure(counted)
            hold.settle((*actual[:2], took, answered, 0))
            if quota:
                quota.settle(actual[0], actual[1])

    def foresee(self, request: Request) -> Forecast:
        """Looks at what is left before a step: whether it is the last one, whether it becomes scarce.

        A step is taken only if the report after it can be paid for too; that report's worst case counts what
        the step's own answer may add to it.
        """
        purse, account = self._purse, self._purse.paying
        if not account.bounded:
            return _GO_ON
        purse.release()
        step = self._find_worst(request, self._bounded)
        after = self._find_worst(request, self._report, self._find_longest(request, self._bounded))
        both: Parts = (step[0] + after[0], step[1] + after[1], step[2] + 1, step[3] + 1, 0)
        if not account.fits(both) and account.fits(self._find_worst(request, self._report)):
            return Forecast(last=account.refuse(step, after))
        purse.keep(after)
        return self._find_scarce(account)

    def _find_scarce(self, account: Account) -> Forecast:
        for unit, owner in account.payers:
            at = UNITS.index(unit)
            limit, spent = owner.limit.parts[at] or 0, owner.spent.parts[at] or 0
            if owner.id in self._purse.told or spent < limit * _LITTLE_LEFT:
                continue
            self._purse.told.add(owner.id)
            since = account.since if owner.since is None else owner.since
            rate = spent / max(asyncio.get_running_loop().time() - since, 1e-9) if since is not None else 0.0
            stops = (limit - spent) / rate if rate and limit > spent else None
            values = {"usd": 1_000_000}.get(unit, 1)
            text = f"{say(unit, spent / values)} of {say(unit, limit / values)}"
            return Forecast(scarce=owner, text=text, stops_in_s=stops)
        return _GO_ON

    def admit(self, request: Request) -> None:
        """Raises `budget_exceeded` where nothing is left, and where a price that counts is not known."""
        account = self._purse.paying
        if not self._purse.accounts.limited and self._quotas is None:
            return
        worst = self._find_worst(request, self._bounded)
        if any(left <= 0 for left in account.all_left.values()) and not self._purse.last:
            refused = account.refuse(worst)
            raise ProviderError(refused.kind, refused.message, refused.details)

    async def _hold_quota(self, worst: Parts) -> QuotaHold | None:
        if self._quotas is None:
            return None
        held = await self._quotas.hold(self._model.provider, worst[0], worst[1])
        if isinstance(held, Err):
            raise ProviderError(held.kind, held.message, held.details)
        return held

    def _find_worst(self, request: Request, model: ModelSpec, more: int = 0) -> Parts:
        """The dearest that the request can come to: all of it read anew or into the cache, a full answer."""
        entered, left = self._count_entered(request) + more, self._find_longest(request, model)
        kinds = (Usage(entered, left), Usage(0, left, entered), Usage(0, left, 0, entered))
        return max(self._count_cost(kind) for kind in kinds), entered + left, 1, 1, 0

    def _complete(self, usage: Usage, request: Request, received: int) -> Attempt:
        from planck.llm.estimate import complete  # few servers leave something uncounted

        return complete(usage, lambda: self._count_entered(request), received)

    def _count_entered(self, request: Request) -> int:
        fixed = (len(request.system.encode()) + self._tools.measure(request.tools)) // BYTES_PER_TOKEN
        return request.history.tokens(fixed)

    def _find_longest(self, request: Request, model: ModelSpec) -> int:
        """Tokens of the longest answer: what the user's own parameters say counts before the model's."""
        params = {**model.params, **request.params}
        said = [params[name] for name in _LONGEST if isinstance(params.get(name), int)]
        return max(said, default=model.max_output)

    def _measure(self, usage: Usage) -> tuple[int, int]:
        return self._count_cost(usage), usage.context_tokens

    def _count_cost(self, usage: Usage) -> int:
        cost = self._tariff.cost_usd(usage) if self._tariff else None
        if cost is not None:
            return max(0, count_micro(cost))
        if not self._purse.paying.priced and not (
            self._quotas and self._quotas.counts_usd(self._model.provider)
        ):
            return 0
        name = self._model.label
        raise ProviderError(
            ErrorKind.BUDGET_EXCEEDED,
            f"The price of {name} is not known, so a budget in USD cannot be enforced. Set its `price` in "
            '`models` ({"input": USD, "output": USD}, per million tokens), choose a model with a known '
            "price, or run without a budget or quota in USD.",
            {"asked": None, "left": self._purse.paying.left(), "model": name},
        )

    def _open(self, model: ModelSpec) -> Provider:
        if model.max_output not in self._opened:
            self._opened[model.max_output] = self._opening.open(model)
        return self._opened[model.max_output]


_LONGEST = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "num_predict")
"""What vendors call it; parameters are passed on as they are."""


class WithinBudget:
    """Compacts only while there is a budget left: what may not be sent need not fit."""

    def __init__(self, compactor: Compactor, metered: Metered) -> None:
        self._compactor = compactor
        self._metered = metered

    async def make_room(self, request: Request, scribe: Scribe, *, overflowed: bool = False) -> Room | None:
        self._metered.admit(request)
        return await self._compactor.make_room(request, scribe, overflowed=overflowed)

    async def shorten(self, request: Request, scribe: Scribe) -> Room | None:
        return await self._compactor.shorten(request, scribe)
