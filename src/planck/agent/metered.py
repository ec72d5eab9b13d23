"""A budget around a provider: what would exceed it is refused before the request leaves."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from planck.agent.seat import Tariff
from planck.context.compaction import Compactor, Room
from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.permissions.budget import Budget
from planck.records.messages import AssistantMessage
from planck.records.outcome import ErrorKind
from planck.records.usage import Usage
from planck.toolkit.scribe import Scribe


class Metered:
    """Counts what a provider's answers cost against a budget that the whole team shares."""

    def __init__(self, provider: Provider, budget: Budget, tariff: Tariff | None, model: str) -> None:
        self._provider = provider
        self._budget = budget
        self._tariff = tariff
        self._model = model

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        self.admit()
        async with aclosing(self._provider.stream(request)) as stream:
            async for item in stream:
                if isinstance(item, AssistantMessage):
                    self._budget.spend(self._cost_usd(item.usage) or 0.0)
                yield item

    def admit(self) -> None:
        """Raises `budget_exceeded` where no further call may leave."""
        if self._cost_usd(Usage(input_tokens=1)) is None:
            raise ProviderError(
                ErrorKind.BUDGET_EXCEEDED,
                f"the price of {self._model} is not known, so a budget can't hold; "
                "choose a model with a known price, or run without --max-budget-usd",
            )
        if self._budget.left <= 0:
            raise ProviderError(
                ErrorKind.BUDGET_EXCEEDED,
                f"${self._budget.spent:.4f} of ${self._budget.limit:.4f} are spent; "
                "resume it to go on: each run has a budget of its own",
                {"spent_usd": self._budget.spent, "limit_usd": self._budget.limit},
            )

    def _cost_usd(self, usage: Usage) -> float | None:
        return self._tariff.cost_usd(usage) if self._tariff else None


class WithinBudget:
    """Compacts only while there is a budget left: what may not be sent need not fit."""

    def __init__(self, compactor: Compactor, metered: Metered) -> None:
        self._compactor = compactor
        self._metered = metered

    async def make_room(self, request: Request, scribe: Scribe, *, overflowed: bool = False) -> Room | None:
        self._metered.admit()
        return await self._compactor.make_room(request, scribe, overflowed=overflowed)

    async def shorten(self, request: Request, scribe: Scribe) -> Room | None:
        return await self._compactor.shorten(request, scribe)
