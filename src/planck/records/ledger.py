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
    """One account as the log leaves it; `spent` is by it and all below it."""

    parent: str
    limit: Allowance | None = None
    spent: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0, 0, 0])
    own: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    """Milliseconds and calls of it alone."""
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
        self.costs: Costs = Costs()
        self.accounts: dict[str, AccountRow] = {}
        self.before: list[int] = [0, 0, 0, 0, 0]
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
            case AgentStarted(agent=agent, call_id=call_id, account=account):
                self.costs.names[agent.id] = agent.name
                self.models[agent.id] = agent.model.label
                own = agent.delegator_id if call_id else "run"
                parent = own if account is UNSET else account
                self.accounts.setdefault(agent.id, AccountRow(parent, agent.budget))
            case BudgetSpent() as fact:
                self._note(fact)
            case ModelChanged(model=model):
                self.models[agent_id] = model.label
            case _ if event.type == AgentEnded.type and agent_id in self.accounts:
                self.accounts[agent_id].open = False

    def _spend(self, agent_id: str, used: UsageSpent, ts: str) -> None:
        self.costs.add(agent_id, used.model, used.usage, used.cost_usd, used.estimated)
        usd = count_micro(used.cost_usd) if used.cost_usd else 0
        payer = agent_id if used.account is UNSET else used.account
        account = self.accounts.setdefault(payer, AccountRow("run"))
        account.since, account.until = account.since or ts, ts
        self._count(payer, (usd, used.usage.context_tokens, 0, int(used.outcome is UNSET), 0))

    def _count(self, id: str, more: Iterable[int]) -> None:
        """Counts it for an account and all above it, as the accounts themselves do."""
        sums, seen = [self.before], set[str]()
        while (row := self.accounts.get(id)) and id not in seen:  # a foreign log may have a ring
            seen.add(id)
            sums.append(row.spent)
            id = row.parent
        for unit, count in enumerate(more):
            for spent in sums:
                spent[unit] += count

    def _note(self, fact: BudgetSpent) -> None:
        if fact.limit_usd is not None:
            self.run = fact
        if not fact.account or fact.account in ("session", "run"):
            return
        if fact.why == "lent" and fact.account not in self.accounts:
            limit = {unit: fact.limit[unit] for unit in UNITS if unit in fact.limit}
            self.accounts[fact.account] = AccountRow(fact.parent, _read_limit(limit))
        row = self.accounts.setdefault(fact.account, AccountRow(fact.parent or "run"))
        if fact.why == "lent" and fact.parent != row.parent:  # logs from before `agent_started` named it
            self._count(row.parent, [-spent for spent in row.spent])
            row.parent = fact.parent
            self._count(row.parent, row.spent)
        told = [0, 0, 0, 0, 0]
        for number, unit in enumerate(("ms", "calls")):  # nothing else in the log says them by account
            at = UNITS.index(unit)
            if fact.own is UNSET:
                told[at] = int(fact.spent.get(unit, 0)) - row.spent[at]
            else:  # those below it say themselves what they spent, and maybe later
                told[at] = int(fact.own.get(unit, 0)) - row.own[number]
            row.own[number] += told[at]
        self._count(fact.account, told)
        if fact.why == "returned":
            row.open = False


def _read_limit(limit: dict[str, float]) -> Allowance | None:
    try:
        return msgspec.convert(limit, Allowance, strict=False)
    except msgspec.ValidationError:  # not what we write, but on disk
        return None
