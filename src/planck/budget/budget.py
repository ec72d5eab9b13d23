"""What work may take: a tree of accounts, session > run > agent > task, which no model can enlarge.

For each unit an account has a limit of its own, or draws on the nearest one above that has. In every account
with a limit `spent + held + lent <= limit` holds at every step, but for an overrun: what a server counted
beyond the worst case that was held. `spent` is of the account and all below it, `held` of the requests on
their way that draw on its own limit, `lent` what those below it have of limits of their own, not spent yet.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

from planck.records.amounts import MICRO, UNITS, Amount, say, write_flag
from planck.records.outcome import Err, ErrorKind

UNLIMITED = Amount()

Parts = tuple[int, int, int, int, int]
"""Of each unit, in the order of `UNITS`."""

NOTHING: Parts = (0, 0, 0, 0, 0)

_Limit = tuple[int, list[int | None], list[int], list[int], list[int]]
"""Of a unit, what its account has: limit, spent, held and lent, each by unit."""


class Account:
    """Who wants to spend holds the worst case first.

    Check and hold are one step without an await, so that agents that ask at the same time can't all be told
    that there is enough.
    """

    __slots__ = (
        "_above", "_bounded", "_chain", "_children", "_closed", "_draining", "_held", "_lent", "_limit",
        "_limits", "_own", "_spendings", "_spent", "id", "parent", "since", "told",
    )  # fmt: skip

    def __init__(self, id: str, limit: Amount = UNLIMITED, parent: "Account | None" = None) -> None:
        """For a root; a part of an account is lent instead."""
        self.id: str = id
        self.parent: Account | None = parent
        self.since: float | None = None
        """When the first request of it began, on the loop's clock: what a forecast counts from."""
        self.told: bool = False
        """Whether it was said that little is left."""
        self._limit: list[int | None] = [*limit.parts]
        self._spent = [0, 0, 0, 0, 0]
        self._held = [0, 0, 0, 0, 0]
        self._lent = [0, 0, 0, 0, 0]
        self._own = [0, 0]
        """Milliseconds and calls of it alone."""
        self._closed = False
        self._children: dict[str, Account] = {}
        self._chain: tuple[Account, ...] = (self, *(parent._chain if parent else ()))
        self._bounded: tuple[tuple[int, Account], ...]
        """By unit, the nearest account with a limit."""
        # A hold and its settlement are on the way of every request: they see lists, and no attribute twice.
        self._limits: tuple[_Limit, ...]
        self._above: tuple[tuple[int, list[int]], ...]
        """By unit, what is lent in those above that one: what it spends was lent to it."""
        if limit == UNLIMITED:  # most sessions have no other accounts
            self._bounded = parent._bounded if parent else ()
            self._limits, self._above = (parent._limits, parent._above) if parent else ((), ())
        else:
            self._bound()
        self._spendings = tuple([one._spent for one in self._chain])
        self._draining: list[int] = parent._draining if parent else [0]
        """How many accounts of the tree were closed while requests of them were on their way."""

    def _bound(self) -> None:
        bounded, above = [], []
        for unit in range(len(UNITS)):
            owner = next((one for one in self._chain if one._limit[unit] is not None), None)
            if owner:
                bounded.append((unit, owner))
                above += [(unit, one) for one in owner._chain[1:]]
        self._bounded = tuple(bounded)
        self._limits = tuple((unit, one._limit, one._spent, one._held, one._lent) for unit, one in bounded)
        self._above = tuple((unit, one._lent) for unit, one in above)

    @property
    def limit(self) -> Amount:
        return Amount(*self._limit)

    @property
    def spent(self) -> Amount:
        return Amount(*self._spent)

    @property
    def own(self) -> tuple[int, int]:
        """Milliseconds and calls, without those of accounts below it."""
        ms, calls = self._own
        return ms, calls

    @property
    def held(self) -> Amount:
        """What requests on their way may take of its own limit."""
        return Amount(*self._held)

    @property
    def held_below(self) -> int:
        """Millionths of a dollar that requests on their way may take, those of loans too."""
        return self._held[0] + sum(child.held_below for child in self._children.values())

    @property
    def lent(self) -> Amount:
        return Amount(*self._lent)

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def bounded(self) -> bool:
        """Whether anything limits it, itself or above."""
        return bool(self._bounded)

    @property
    def is_run(self) -> bool:
        """Whether a run has it: the next run gets another one."""
        return self.parent is not None and self.parent.parent is None

    @property
    def priced(self) -> bool:
        """Whether money does: then the price of what is bought must be known."""
        return any(unit == 0 for unit, _ in self._bounded)

    @property
    def payers(self) -> Iterator[tuple[str, "Account"]]:
        """By unit, the account whose limit holds here."""
        return ((UNITS[unit], owner) for unit, owner in self._bounded)

    def hold(self, worst: Parts) -> "Hold | Err":
        """Sets aside what a request may take at most; refuses one that does not fit into what is left."""
        if self._closed:
            return self.refuse(worst)
        for unit, limit, spent, held, lent in self._limits:
            if worst[unit] + spent[unit] + held[unit] + lent[unit] > (limit[unit] or 0):
                return self.refuse(worst)
        # No await since the check.
        for unit, _, _, held, _ in self._limits:
            held[unit] += worst[unit]
        return Hold(self, worst)

    def fits(self, worst: Parts) -> bool:
        return not self._closed and all(
            worst[unit] <= owner._count_free(unit) for unit, owner in self._bounded
        )

    def count(self, actual: Parts) -> None:
        """Counts what was taken without being held: the time of a tool, which nobody knows before."""
        self._settle(NOTHING, actual)

    def lend(self, id: str, amount: Amount) -> "Account | Err":
        """Opens an account below this one, with a limit of its own where the amount names one."""
        asked = [*amount.parts]
        for unit, owner in self._bounded:
            wanted = asked[unit]
            if wanted is not None and (self._closed or wanted > owner._count_free(unit)):
                return self._refuse_loan(unit, owner, wanted)
        child = self._children[id] = Account(id, amount, self)
        for unit, wanted in enumerate(asked):
            if wanted is not None:
                self._move_lent(unit, wanted)
        return child

    def close(self) -> None:
        """Gives the rest back; what is held by requests on their way follows as they end."""
        if not self._closed:
            self._closed = True
            self._draining[0] += 1
            self._give_back()

    def reopen(self, id: str, limit: Amount, spent: Parts, own: Sequence[int]) -> "Account":
        """Opens what a log says was lent: unchecked, for an overrun may have left less than was lent."""
        child = self._children[id] = Account(id, limit, self)
        child._own[:] = own
        for unit, (whole, used) in enumerate(zip(limit.parts, spent, strict=True)):
            child._spent[unit] = used
            if whole is not None:
                self._move_lent(unit, max(0, whole - used))
        return child

    def left(self, unit: str = "usd") -> float | None:
        """Returns what can still be held or lent of a unit; None: nothing limits it."""
        at = UNITS.index(unit)
        owner = next((owner for number, owner in self._bounded if number == at), None)
        return None if owner is None else _show(at, max(0, owner._count_free(at)))

    @property
    def all_left(self) -> dict[str, float]:
        """By unit, what can still be held or lent; units without a limit are not there."""
        return {UNITS[unit]: _show(unit, max(0, owner._count_free(unit))) for unit, owner in self._bounded}

    def refuse(self, worst: Parts, report: Parts = NOTHING) -> Err:
        """Says what of a request, and of a report that is to follow it, does not fit, and what to do."""
        if self._closed:
            text = "This budget was closed when its task ended. Start the task again."
            return Err(ErrorKind.BUDGET_EXCEEDED, text, {"asked": None, "left": 0.0})
        unit, owner = next(
            (one for one in self._bounded if worst[one[0]] + report[one[0]] > one[1]._count_free(one[0])),
            self._bounded[0],
        )
        name, left = UNITS[unit], max(0.0, _show(unit, owner._count_free(unit)))
        limit, spent = _show(unit, owner._limit[unit] or 0), _show(unit, owner._spent[unit])
        held, lent = _show(unit, owner._held[unit]), _show(unit, owner._lent[unit])
        after = f", and the final report {say(name, _show(unit, report[unit]))}" if report[unit] else ""
        others = (f", {say(name, held)} reserved" if held else "") + (
            f", {say(name, lent)} set aside for workers and tasks" if lent else ""
        )
        asked = _show(unit, worst[unit])
        details = {
            "asked": asked,
            "left": left,
            "unit": name,
            "account": owner.id,
            "limit": limit,
            "spent": spent,
        }
        if owner.is_run and unit in _BY_FLAG:
            details["enough"] = _round_up(max(2 * limit, _ENOUGH * (asked + _show(unit, report[unit]))))
        return Err(
            ErrorKind.BUDGET_EXCEEDED,
            f"The request was not sent: it may take {say(name, asked)}{after}, with only {say(name, left)} "
            f"of {say(name, limit)} left ({say(name, spent)} spent{others}). "
            f"{_find_way_out(owner, unit, details)}",
            details,
        )

    def _refuse_loan(self, unit: int, owner: "Account", wanted: int) -> Err:
        name, asked = UNITS[unit], _show(unit, wanted)
        mine = 0.0 if self._closed else max(0.0, _show(unit, owner._count_free(unit)))
        return Err(
            ErrorKind.BUDGET_EXCEEDED,
            f"{say(name, asked)} is more than the {say(name, mine)} left in your budget; "
            "ask for less, or do the work yourself",
            {"asked": asked, "left": mine, "yours_to_lend": mine, "unit": name},
        )

    def _count_free(self, unit: int) -> int:
        limit = self._limit[unit]
        assert limit is not None
        return limit - self._spent[unit] - self._held[unit] - self._lent[unit]

    def _settle(self, held: Parts, actual: Parts) -> None:
        usd, tokens, ms, steps, calls = actual
        for spent in self._spendings:
            spent[0] += usd
            spent[1] += tokens
            spent[2] += ms
            spent[3] += steps
            if calls:
                spent[4] += calls
        self._own[0] += ms
        self._own[1] += calls
        over = False
        for unit, _, _, holding, _ in self._limits:
            holding[unit] -= held[unit]
            if actual[unit] > held[unit]:
                over = True
        for unit, lent in self._above:
            lent[unit] -= actual[unit]
        if over:
            self._recount()
        if self._draining[0]:
            for account in self._chain:
                if account._closed:
                    account._give_back()

    def _give_back(self) -> None:
        for unit, limit in enumerate(self._limit):
            if limit is not None and (free := self._count_free(unit)) > 0:
                self._limit[unit] = limit - free
                if self.parent:
                    self.parent._move_lent(unit, -free)
        drained = self.parent and not self._children and not any(self._held)
        if drained and self.parent and self.parent._children.pop(self.id, None):
            self._draining[0] -= 1
        # Not the parent alone: one without a limit passes on to its lender, which may have ended before it.
        if above := next((one for one in self._chain[1:] if one._closed), None):
            above._give_back()

    def _move_lent(self, unit: int, more: int) -> None:
        """Up to the account whose limit it comes out of: above that one it is part of a loan already."""
        for account in self._chain:
            account._lent[unit] += more
            if account._limit[unit] is not None:
                return

    def _recount(self) -> None:
        """An overrun is recorded as it is, never hidden; but nobody has less than nothing of a loan left."""
        for unit, owner in self._bounded:
            for account in owner._chain[1:]:
                account._lent[unit] = sum(one._count_set_aside(unit) for one in account._children.values())

    def _count_set_aside(self, unit: int) -> int:
        limit = self._limit[unit]
        return self._lent[unit] if limit is None else max(0, limit - self._spent[unit])


_BY_FLAG = (0, 1)
"""The units that an option of a run limits."""
_ENOUGH = 3
"""Times what did not fit: each answer makes the next request larger, and a report needs room, too."""


def _round_up(amount: float) -> float:
    """To two digits, as a person types it."""
    if amount <= 0:
        return amount
    digits = 1 - floor(log10(amount))
    return round(ceil(amount * 10.0**digits) / 10.0**digits, max(digits, 0))


def _find_way_out(owner: Account, unit: int, details: Mapping[str, Any]) -> str:
    lower = ", or lower the model's max_output" if unit < 2 else ""
    if owner.parent is None:
        return f"Raise `budget.{UNITS[unit]}` in your config.json{lower}."
    if "enough" in details:
        flag = write_flag(UNITS[unit], details["enough"])
        return f"Resume the session with a larger budget for the next run, such as {flag}{lower}."
    return f"Raise the budget that this agent or task was given{lower}."


class Hold:
    """What one request has set aside; whoever has it settles it on every way out, the first time counts."""

    __slots__ = ("_account", "_amount")

    def __init__(self, account: Account, amount: Parts) -> None:
        self._account = account
        self._amount: Parts | None = amount

    def settle(self, actual: Parts) -> None:
        """Gives back what was held, and counts what it came to."""
        if self._amount is not None:
            amount, self._amount = self._amount, None
            self._account._settle(amount, actual)


def _show(unit: int, value: int) -> float:
    return value / MICRO if unit == 0 else value
