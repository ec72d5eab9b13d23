"""What a session has used and paid, by agent, model and account: a pure fold over its events."""

from collections.abc import Iterable

import msgspec
from msgspec import UNSET

from planck.records.amounts import UNITS, Allowance, count_micro
from planck.records.events import (
    AgentEnded,
    AgentStarted,
    BudgetSpent,
    Event,
    ModelChanged,
    UsageSpent,
    view,
)
from planck.records.usage import Costs


class AccountRow(msgspec.Struct):
    """One account as the log leaves it; `spent` is its own, without those below."""

    parent: str
    limit: Allowance | None = None
    spent: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0, 0, 0])
    open: bool = True
    since: str = ""
    until: str = ""


class Ledger:
    """Takes in the events that matter, in their order; `usage` is what is paid, all else says by whom."""

    TYPES = frozenset(
        {UsageSpent.type, BudgetSpent.type, AgentStarted.type, ModelChanged.type, AgentEnded.type}
    )

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.models: dict[str, str] = {}
        self.costs = Costs()
        self.accounts: dict[str, AccountRow] = {}
        self.before = [0, 0, 0, 0, 0]
        """By unit, what the session has spent."""
        self.run: BudgetSpent | None = None
        """The newest fact of a budget in USD."""
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        if event.type not in self.TYPES:
            return
        agent_id = event.agent_id or ""
        match view(event):
            case UsageSpent() as used:
                self._spend(agent_id, used, event.ts)
            case AgentStarted(agent=agent, call_id=call_id):
                self.costs.names[agent.id] = agent.name
                self.models[agent.id] = agent.model.label
                parent = agent.delegator_id if call_id else "run"
                self.accounts.setdefault(agent.id, AccountRow(parent, agent.budget))
            case BudgetSpent() as fact:
                self._note(fact)
            case ModelChanged(model=model):
                self.models[agent_id] = model.label
            case _ if event.type == AgentEnded.type and agent_id in self.accounts:
                self.accounts[agent_id].open = False

    def sum_up(self, account: str) -> list[int]:
        """Returns what an account and all below it have spent, by unit."""
        total = [*self.accounts[account].spent] if account in self.accounts else [0, 0, 0, 0, 0]
        for id, row in self.accounts.items():
            if row.parent == account and id != account:
                total = [a + b for a, b in zip(total, self.sum_up(id), strict=True)]
        return total

    def _spend(self, agent_id: str, used: UsageSpent, ts: str) -> None:
        self.costs.add(agent_id, used.model, used.usage, used.cost_usd)
        usd = count_micro(used.cost_usd) if used.cost_usd else 0
        tokens, answers = used.usage.context_tokens, int(used.outcome is UNSET)
        payer = agent_id if used.account is UNSET else used.account
        account = self.accounts.get(payer) or self.accounts.setdefault(payer, AccountRow("run"))
        account.since, account.until = account.since or ts, ts
        for sums in (account.spent, self.before):
            sums[0] += usd
            sums[1] += tokens
            sums[3] += answers

    def _note(self, fact: BudgetSpent) -> None:
        if fact.limit_usd is not None:
            self.run = fact
        if not fact.account or fact.account in ("session", "run"):
            return
        if fact.why == "lent" and fact.account not in self.costs.names:
            limit = {unit: fact.limit[unit] for unit in UNITS if unit in fact.limit}
            self.accounts[fact.account] = AccountRow(fact.parent, _read_limit(limit))
        row = self.accounts.setdefault(fact.account, AccountRow(fact.parent or "run"))
        for unit in ("ms", "calls"):  # nothing else in the log says them by account
            at = UNITS.index(unit)
            row.spent[at] = max(row.spent[at], int(fact.spent.get(unit, 0)))
        if fact.why == "returned":
            row.open = False


def _read_limit(limit: dict[str, float]) -> Allowance | None:
    try:
        return msgspec.convert(limit, Allowance, strict=False)
    except msgspec.ValidationError:  # not what we write, but on disk
        return None
