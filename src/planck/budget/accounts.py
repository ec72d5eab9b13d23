"""The accounts of one session: its own, the run's, and one for each agent and each task with a loan."""

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from msgspec import UNSET

from planck.budget.budget import NOTHING, UNLIMITED, Account, Hold, Parts
from planck.records.amounts import MICRO, UNITS, Amount, say
from planck.records.events import BudgetSpent, Envelope, View
from planck.records.outcome import Err, PlanckError
from planck.records.specs import AgentSpec

if TYPE_CHECKING:
    from planck.records.ledger import AccountRow, Ledger

SESSION, RUN = "session", "run"


class Accounts:
    def __init__(self, session: Amount = UNLIMITED, run: Amount = UNLIMITED) -> None:
        self._limits = (session, run)
        self.limited: bool = (session, run) != (UNLIMITED, UNLIMITED)
        """Whether anything limits anybody: as long as nothing does, nothing is held and nothing asked."""
        self._open: dict[str, Account] = {}
        self.before: Ledger | None = None
        """What the log says was spent before this process opened it."""
        self._begin((0, 0, 0, 0, 0))

    def take_up(self, ledger: "Ledger", living: Set[str]) -> None:
        """Rebuilds the tree that a log describes; to be told before anything is held or lent.

        `living` are the agents and the tasks that have not ended. The run is a new one: it has spent nothing.
        """
        self.before = ledger
        self._begin(_read_parts(ledger.before))
        order = _sort_by_lender(ledger)
        kept = _find_rests(ledger, living, order)
        made, ended, lowered = {RUN: self.run}, list[str](), {self.session, self.run}
        # Lenders before borrowers: a loan of somebody who is not there yet would come out of the run.
        for id, lender in order:
            row = ledger.accounts[id]
            limit, spent = row.limit.amount if row.limit else UNLIMITED, _read_parts(row.spent)
            if id in living:
                made[id] = self._go_on(made[lender], row, id, limit, lowered)
            elif rest := kept.get(id):  # it ended before those that it lent to: only what is theirs is left
                whole = [
                    None if most is None else min(most, used + more)
                    for most, used, more in zip(limit.parts, spent, rest, strict=True)
                ]
                made[id] = self._go_on(made[lender], row, id, Amount(*whole), lowered)
                ended.append(id)
        for id in ended:
            self.close(id)

    def _begin(self, spent: Parts) -> None:
        whole, run = self._limits
        self.session: Account = Account(SESSION, whole)
        self.session.count(spent)
        # Of what the session has not got itself the run sets nothing aside: it draws on what there is.
        fitting = [
            None if one is None or (most is not None and one > most - used) else one
            for one, most, used in zip(run.parts, whole.parts, spent, strict=True)
        ]
        opened = self.session.lend(RUN, Amount(*fitting))
        assert isinstance(opened, Account)
        self.run = opened

    def get(self, id: str) -> Account | None:
        return self._open.get(id)

    def of(self, spec: AgentSpec) -> Account:
        """Returns the account of an agent; a member that the session begins with has it from the run."""
        if found := self._open.get(spec.id):
            return found
        lent = self.lend(self.run, spec.id, spec.budget.amount if spec.budget else UNLIMITED)
        if isinstance(lent, Err):
            asked, left = (say(lent.details["unit"], lent.details[key]) for key in ("asked", "left"))
            text = f"Cannot give {spec.name!r} a budget of {asked}: the run has {left} left."
            step = "Lower this member's `budget`, or raise the budget for the run."
            raise PlanckError(lent.kind, f"{text} {step}", lent.details)
        return lent

    def _go_on(
        self, lender: Account, row: "AccountRow", id: str, limit: Amount, lowered: set[Account]
    ) -> Account:
        """Lends what is left of a loan again; of a run or a session that has less now, what there is."""
        owners, spent = dict(lender.payers), _read_parts(row.spent)
        whole = [*limit.parts]
        for at, unit in enumerate(UNITS):
            most, owner = whole[at], owners.get(unit)
            if most is None or owner is None or owner not in lowered:
                continue
            rest = _count(unit, owner.left(unit) or 0)
            if most - spent[at] > rest:
                whole[at] = spent[at] + rest
        lent = self._open[id] = lender.reopen(id, Amount(*whole), spent, row.own)
        self.limited = self.limited or limit != UNLIMITED
        if whole != [*limit.parts]:
            lowered.add(lent)
        return lent

    def lend(self, lender: Account, id: str, amount: Amount) -> Account | Err:
        lent = lender.lend(id, amount)
        if isinstance(lent, Account):
            self._open[id] = lent
            self.limited = self.limited or amount != UNLIMITED
        return lent

    def return_loan(self, id: str) -> BudgetSpent | None:
        """Returns the fact that says so, whose follower is a `GiveBack`; None: nothing was lent."""
        found = self._open.get(id)
        if found and not found.bounded:
            self.close(id)
        return self.describe(found, "returned") if found and found.bounded else None

    def close(self, id: str) -> None:
        if account := self._open.pop(id, None):
            account.close()

    def describe(self, account: Account, why: str, stops_in_s: float | None = None) -> BudgetSpent:
        """Returns the fact that says what an account has now."""
        whole = self.run if self.run.limit.micro_usd is not None else self.session
        limit, spent = whole.limit.micro_usd, whole.spent.micro_usd or 0
        own, told = account.own, account.spent
        return BudgetSpent(
            limit_usd=None if limit is None else limit / MICRO,
            spent_usd=None if limit is None else spent / MICRO,
            account=account.id,
            parent=account.parent.id if account.parent else "",
            limit=account.limit.describe(),
            spent=_without_zeros(told),
            own=UNSET if own == (told.ms, told.calls) else {"ms": own[0], "calls": own[1]},
            lent=_without_zeros(account.lent),
            why=why,  # type: ignore[arg-type] # one of the words of its type
            stops_in_s=stops_in_s,
        )


class GiveBack:
    """Closes an account in the step that commits the end of its work."""

    def __init__(self, accounts: Accounts, id: str) -> None:
        self._accounts = accounts
        self._id = id

    def apply(self, fact: View) -> None:
        self._accounts.close(self._id)


def _count(unit: str, value: float) -> int:
    """The units of an account: money in millionths."""
    return round(value * MICRO) if unit == "usd" else int(value)


def _read_parts(values: Sequence[int]) -> Parts:
    usd, tokens, ms, steps, calls = values
    return usd, tokens, ms, steps, calls


def _sort_by_lender(ledger: "Ledger") -> list[tuple[str, str]]:
    """Returns the accounts, each with its lender, and every lender before those that it lent to."""
    below: dict[str, list[str]] = {}
    for id, row in ledger.accounts.items():
        below.setdefault(row.parent if row.parent in ledger.accounts else RUN, []).append(id)
    order = [(id, RUN) for id in below.get(RUN, ())]
    for lender, _ in order:  # which grows meanwhile
        order += [(id, lender) for id in below.get(lender, ())]
    return order


def _find_rests(ledger: "Ledger", living: Set[str], order: list[tuple[str, str]]) -> dict[str, list[int]]:
    """Returns, for each account with somebody living below it, what those have left of their own limits."""
    kept: dict[str, list[int]] = {}
    for id, lender in reversed(order):
        if id not in living and id not in kept:
            continue
        row, further = ledger.accounts[id], kept.get(id, [0, 0, 0, 0, 0])
        limit = (row.limit.amount if row.limit and id in living else UNLIMITED).parts
        sums = kept.setdefault(lender, [0, 0, 0, 0, 0])
        for unit, most in enumerate(limit):
            sums[unit] += further[unit] if most is None else max(0, most - row.spent[unit])
    return kept


def _without_zeros(amount: Amount) -> dict[str, float]:
    return {unit: value for unit, value in amount.describe().items() if value}


class Purse:
    """An agent's own account, or that of the task at hand, if something was lent for it."""

    def __init__(self, accounts: Accounts, account: Account, *, keeps: bool = False) -> None:
        """`keeps`: its last request is kept back between its turns too, whatever others spend: the lead's."""
        self.accounts = accounts
        self.own = account
        self.paying: Account = account
        self.last: bool = False
        """The next request is the last one: without tools, for a report."""
        self.told: set[str] = set()
        """Accounts of which this agent knows that little is left."""
        self._keeps = keeps
        self._kept: Hold | None = None

    @property
    def task_id(self) -> str:
        """The task whose loan pays now; empty: its own account does."""
        return "" if self.paying is self.own else self.paying.id

    def begin(self, opening: Envelope) -> None:
        """The turn that this opens is paid by what was lent for it, else by the agent's own account."""
        self.paying = self.accounts.get(opening.id) or self.own
        self.last = False

    def end(self) -> None:
        """Between turns its own account pays."""
        self.paying = self.own
        self.last = False

    def keep(self, report: Parts) -> None:
        """Keeps so much back for a report, where the agent is one that must have one."""
        if self._keeps:
            self.release()
            held = self.paying.hold(report)
            self._kept = held if isinstance(held, Hold) else None

    def release(self) -> None:
        if self._kept:
            self._kept.settle(NOTHING)
            self._kept = None


def make_free_purse() -> Purse:
    """Returns one that nothing limits."""
    accounts = Accounts()
    return Purse(accounts, accounts.run)
