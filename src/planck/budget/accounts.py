"""The accounts of one session: its own, the run's, and one for each agent and each task with a loan."""

from typing import TYPE_CHECKING

from planck.budget.budget import NOTHING, UNLIMITED, Account, Hold, Parts
from planck.records.amounts import MICRO, UNITS, Amount, say
from planck.records.events import BudgetSpent, Envelope, View
from planck.records.outcome import Err, PlanckError
from planck.records.specs import AgentSpec

if TYPE_CHECKING:
    from planck.records.ledger import Ledger

SESSION, RUN = "session", "run"


class Accounts:
    def __init__(self, session: Amount = UNLIMITED, run: Amount = UNLIMITED) -> None:
        self._limits = (session, run)
        self.limited = (session, run) != (UNLIMITED, UNLIMITED)
        """Whether anything limits anybody: as long as nothing does, nothing is held and nothing asked."""
        self._open: dict[str, Account] = {}
        self.before: Ledger | None = None
        """What the log says was spent before this process opened it."""
        self._begin((0, 0, 0, 0, 0))

    def take_up(self, ledger: "Ledger") -> None:
        """Goes on from what a log says was spent; to be told before anything is held or lent."""
        self.before = ledger
        usd, tokens, ms, steps, calls = ledger.before
        self._begin((usd, tokens, ms, steps, calls))

    def _begin(self, spent: Parts) -> None:
        whole, run = self._limits
        self.session = Account(SESSION, whole)
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
        limit = spec.budget.amount if spec.budget else UNLIMITED
        if self.before and spec.id in self.before.accounts:
            return self._go_on(self.before, spec.id, limit)
        lent = self.lend(self.run, spec.id, limit)
        if isinstance(lent, Err):
            asked, left = (say(lent.details["unit"], lent.details[key]) for key in ("asked", "left"))
            text = f"Cannot give {spec.name!r} a budget of {asked}: the run has {left} left."
            step = "Lower this member's `budget`, or raise the budget for the run."
            raise PlanckError(lent.kind, f"{text} {step}", lent.details)
        return lent

    def reopen(self, id: str, limit: Amount) -> None:
        """Takes up what was lent for a task that nobody has ended."""
        if id not in self._open and self.before:
            self._go_on(self.before, id, limit)

    def _go_on(self, ledger: "Ledger", id: str, limit: Amount) -> Account:
        """Lends what is left of a loan again, or as much of that as there is now."""
        row = ledger.accounts.get(id)
        lender = self._open.get(row.parent, self.run) if row else self.run
        usd, tokens, ms, steps, calls = ledger.sum_up(id)
        spent = (usd, tokens, ms, steps, calls)
        there = lender.all_left
        rest = [
            None if whole is None else max(0, min(whole - used, _count(unit, there.get(unit, _ENOUGH))))
            for unit, whole, used in zip(UNITS, limit.parts, spent, strict=True)
        ]
        lent = self.lend(lender, id, Amount(*rest))
        assert isinstance(lent, Account)
        lent.go_on(limit, spent)
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
        return BudgetSpent(
            limit_usd=None if limit is None else limit / MICRO,
            spent_usd=None if limit is None else spent / MICRO,
            account=account.id,
            parent=account.parent.id if account.parent else "",
            limit=account.limit.describe(),
            spent=_without_zeros(account.spent),
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


_ENOUGH = 10**18


def _count(unit: str, value: float) -> int:
    """The units of an account: money in millionths."""
    return round(value * MICRO) if unit == "usd" and value != _ENOUGH else int(value)


def _without_zeros(amount: Amount) -> dict[str, float]:
    return {unit: value for unit, value in amount.describe().items() if value}


class Purse:
    """An agent's own account, or that of the task at hand, if something was lent for it."""

    def __init__(self, accounts: Accounts, account: Account, *, keeps: bool = False) -> None:
        """`keeps`: its last request is kept back between its turns too, whatever others spend: the lead's."""
        self.accounts = accounts
        self.own = account
        self.paying = account
        self.last = False
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
