"""A provider under a budget of its own, without a session."""

from planck.agent.metered import Metered
from planck.agent.seat import Tariff
from planck.budget.accounts import Accounts, Purse
from planck.llm.provider import Provider
from planck.records.amounts import Allowance
from planck.records.specs import ModelSpec


class Always:
    """Answers for every model."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def open(self, model: ModelSpec) -> Provider:
        return self._provider


def meter(provider: Provider, usd: float, tariff: Tariff, max_output: int = 0) -> tuple[Metered, Accounts]:
    accounts = Accounts(run=Allowance(usd=usd).amount)
    purse = Purse(accounts, accounts.run)
    return Metered(Always(provider), purse, tariff, ModelSpec("p", "m", max_output=max_output)), accounts
