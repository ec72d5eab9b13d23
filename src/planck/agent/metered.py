"""A budget around a provider: what would exceed it is refused before the request leaves."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from planck.agent.seat import Tariff
from planck.context.compaction import Compactor, Room, SpecSize
from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.permissions.budget import Budget
from planck.records.events import UsageDelta
from planck.records.history import BYTES_PER_TOKEN
from planck.records.messages import AssistantMessage
from planck.records.outcome import Err, ErrorKind
from planck.records.specs import ModelSpec
from planck.records.usage import Usage
from planck.toolkit.scribe import Scribe


class Metered:
    """Holds the worst case of each call against a budget that the whole team shares, and settles it after."""

    def __init__(self, provider: Provider, budget: Budget, tariff: Tariff | None, model: ModelSpec) -> None:
        """`model` says what an answer has at most: the provider must have been opened with the same."""
        self._provider = provider
        self._budget = budget
        self._tariff = tariff
        self._model = model
        self._tools = SpecSize()

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        hold = self._budget.hold(self._find_worst(request))
        if isinstance(hold, Err):
            raise ProviderError(hold.kind, hold.message, hold.details)
        counted = Usage()
        try:
            async with aclosing(self._provider.stream(request)) as stream:
                async for item in stream:
                    if isinstance(item, UsageDelta):
                        counted = item.usage
                    elif isinstance(item, AssistantMessage):
                        hold.settle(self._cost_usd(item.usage))
                    yield item
        finally:  # cut, cancelled or refused: what the server had counted by then is spent
            hold.settle(self._cost_usd(counted))

    def admit(self, request: Request) -> None:
        """Raises `budget_exceeded` where nothing is left."""
        worst = self._find_worst(request)
        if self._budget.left <= 0:
            refused = self._budget.refuse(worst)
            raise ProviderError(refused.kind, refused.message, refused.details)

    def _find_worst(self, request: Request) -> float:
        """The dearest that the request can come to: all of it read anew or into the cache, a full answer."""
        fixed = (len(request.system.encode()) + self._tools.measure(request.tools)) // BYTES_PER_TOKEN
        entered, left = request.history.tokens(fixed), self._find_longest(request)
        kinds = (Usage(entered, left), Usage(0, left, entered), Usage(0, left, 0, entered))
        return max(map(self._cost_usd, kinds))

    def _find_longest(self, request: Request) -> int:
        """Tokens of the longest answer: what the user's own parameters say counts before the model's."""
        params = {**self._model.params, **request.params}
        said = [params[name] for name in _LONGEST if isinstance(params.get(name), int)]
        return max(said, default=self._model.max_output)

    def _cost_usd(self, usage: Usage) -> float:
        cost = self._tariff.cost_usd(usage) if self._tariff else None
        if cost is None:
            name = self._model.label
            raise ProviderError(
                ErrorKind.BUDGET_EXCEEDED,
                f"the price of {name} is not known, so a budget can't hold; give its entry in `models` a "
                '`price`: {"input": USD, "output": USD} for a million tokens, choose a model with a known '
                "price, or run without --max-budget-usd",
                {"asked": None, "left": self._budget.left, "model": name},
            )
        return cost


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
