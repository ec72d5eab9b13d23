"""A provider under a budget of its own, without a session; and what the accounts of a session are."""

import copy

from planck.agent.metered import Metered
from planck.agent.seat import Tariff
from planck.budget.accounts import Accounts, Purse
from planck.budget.budget import NOTHING, Account
from planck.llm.provider import Provider
from planck.records.amounts import Allowance, Amount
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


def describe_tree(accounts: Accounts) -> dict[str, object]:
    """By account, where it stands, its limit, and what of each limited unit was spent and lent by it.

    Not the run's: each resume has a new one. What the session spent is in every run.
    """
    found: dict[str, object] = {"session": _describe_units(accounts.session, accounts.session.spent)}
    below = [*accounts.run._children.values()]
    while below:
        account = below.pop()
        below += account._children.values()
        sums = (_describe_units(account, account.spent), _describe_units(account, account.lent))
        lender = account.parent.id if account.parent else ""
        # Of what has ended only what those below it can still draw counts: it may be overrun after its end.
        limit = account.all_left if account.closed else account.limit
        found[account.id] = (lender, limit, *sums, account.closed)
    return found


def _describe_units(account: Account, amount: Amount) -> dict[int, int | None]:
    return {unit: amount.parts[unit] for unit, _ in account._bounded}


def drop_held(accounts: Accounts) -> Accounts:
    """A copy without what requests on their way hold: it ends with their process.

    What ended gives that back, too: a worker may still draw on a loan whose task is over.
    """
    copied = copy.deepcopy(accounts)
    below = [copied.session]
    for account in below:  # which grows meanwhile
        below += account._children.values()
        account._held[:] = NOTHING
    for account in below:
        if account.closed:
            account._give_back()
    return copied
