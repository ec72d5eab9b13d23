"""The tree of accounts: whatever is done to it, nobody has more than was given, and nothing is lost."""

import random
from collections.abc import Iterator

import pytest

from planck.budget.budget import NOTHING, Account, Hold, Parts
from planck.records.amounts import Allowance, Amount
from planck.records.outcome import Err, ErrorKind

UNITS = range(5)


def walk(account: Account) -> Iterator[Account]:
    yield account
    for child in account._children.values():
        yield from walk(child)


def check(root: Account) -> None:
    for account in walk(root):
        limit, spent, held, lent = (
            amount.parts for amount in (account.limit, account.spent, account.held, account.lent)
        )
        for unit in UNITS:
            values = [value[unit] or 0 for value in (spent, held, lent)]
            assert min(values) >= 0, (account.id, unit, values)
            if (most := limit[unit]) is not None:
                assert sum(values) <= most, (account.id, unit, values, most)


class Play:
    """Random operations on a random tree, and a book of its own to compare with."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.root = Account("root", self.amount(100_000))
        self.open = [self.root]
        self.holds: list[tuple[Account, Hold, Parts]] = []
        self.booked: dict[str, list[int]] = {}
        self.parents: dict[str, str] = {}

    def amount(self, most: int) -> Amount:
        chosen = (self.random.choice((None, self.random.randint(1, most))) for _ in UNITS)
        return Amount(*chosen)

    def parts(self, most: int) -> Parts:
        a, b, c, d, e = (self.random.choice((0, self.random.randint(0, most))) for _ in UNITS)
        return a, b, c, d, e

    def act(self) -> None:
        account = self.random.choice(self.open)
        match self.random.randrange(8):
            case 0 | 1:
                lent = account.lend(f"a{len(self.parents)}", self.amount(30_000))
                if isinstance(lent, Account):
                    self.parents[lent.id] = account.id
                    self.open.append(lent)
            case 2 | 3 | 4:
                worst = self.parts(3_000)
                held = account.hold(worst)
                if isinstance(held, Hold):
                    self.holds.append((account, held, worst))
            case 5 | 6 if self.holds:
                self.settle(self.random.randrange(len(self.holds)))
            case 7 if account is not self.root:
                account.close()
                self.open.remove(account)

    def settle(self, at: int) -> None:
        account, hold, worst = self.holds.pop(at)
        a, b, c, d, e = (self.random.randint(0, most) for most in worst)
        hold.settle((a, b, c, d, e))
        hold.settle((9, 9, 9, 9, 9))  # the first time counts
        booked = self.booked.setdefault(account.id, [0, 0, 0, 0, 0])
        for unit, value in enumerate((a, b, c, d, e)):
            booked[unit] += value

    def end(self) -> None:
        while self.holds:
            self.settle(0)
        for account in [one for one in self.open if one is not self.root]:
            account.close()


def play(seed: int, operations: int) -> None:
    played = Play(seed)
    for _ in range(operations):
        played.act()
        check(played.root)
    played.end()
    check(played.root)
    total = tuple(sum(booked[unit] for booked in played.booked.values()) for unit in UNITS)
    assert played.root.spent.parts == total
    assert (played.root.lent.parts, played.root.held.parts) == (NOTHING, NOTHING)
    assert list(walk(played.root)) == [played.root]


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_never_hold_spend_and_lend_more_than_they_have(seed: int) -> None:
    play(seed, 200)


@pytest.mark.soak
def test_two_thousand_random_trees_add_up() -> None:
    for seed in range(2_000):
        play(seed, 200)


def usd(micro: int) -> Parts:
    return micro, 0, 0, 0, 0


def test_what_a_worker_spends_of_a_loan_is_spent_for_those_above_and_the_rest_comes_back() -> None:
    session = Account("session", Amount(micro_usd=10))
    run = session.lend("run", Amount(micro_usd=8))
    assert isinstance(run, Account)
    worker = run.lend("worker", Amount(micro_usd=5))
    assert isinstance(worker, Account)
    hold = worker.hold(usd(4))
    assert isinstance(hold, Hold)
    assert (run.lent.micro_usd, worker.held.micro_usd, run.left(), worker.left()) == (5, 4, 3e-6, 1e-6)
    hold.settle(usd(3))
    assert (worker.spent.micro_usd, run.spent.micro_usd, session.spent.micro_usd) == (3, 3, 3)
    assert (run.lent.micro_usd, run.left()) == (2, 3e-6)
    worker.close()
    assert (run.lent.micro_usd, run.left(), session.left()) == (0, 5e-6, 2e-6)


def test_a_loan_beyond_what_is_there_is_refused_with_what_can_be_lent() -> None:
    run = Account("run", Amount(micro_usd=920_000))
    refused = run.lend("worker", Allowance(usd=1.5).amount)
    assert isinstance(refused, Err)
    assert refused.kind is ErrorKind.BUDGET_EXCEEDED
    assert refused.message.startswith("$1.50 is more than the $0.92 left in your budget; ")
    assert refused.details == {"asked": 1.5, "left": 0.92, "yours_to_lend": 0.92, "unit": "usd"}
    assert run.lent.micro_usd == 0


def test_an_account_without_a_limit_lends_out_of_the_one_above_it() -> None:
    run = Account("run", Amount(micro_usd=10))
    lead = run.lend("lead", Amount())
    assert isinstance(lead, Account)
    assert isinstance(lead.lend("worker", Amount(micro_usd=7)), Account)
    assert isinstance(lead.hold(usd(4)), Err)
    assert isinstance(lead.hold(usd(3)), Hold)
    assert isinstance(run.lend("other", Amount(micro_usd=1)), Err)


def test_what_a_server_counts_beyond_the_worst_case_is_recorded_and_stops_the_next() -> None:
    run = Account("run", Amount(micro_usd=10))
    worker = run.lend("worker", Amount(micro_usd=5))
    assert isinstance(worker, Account)
    hold = worker.hold(usd(5))
    assert isinstance(hold, Hold)
    hold.settle(usd(12))
    assert (worker.spent.micro_usd, run.spent.micro_usd, run.lent.micro_usd) == (12, 12, 0)
    assert (run.left(), worker.left()) == (0.0, 0.0)
    assert isinstance(run.hold(usd(1)), Err)
    worker.close()
    assert run.spent.micro_usd == 12


def test_a_closed_account_gives_back_what_its_last_request_did_not_need_and_takes_no_other() -> None:
    run = Account("run", Amount(micro_usd=10))
    task = run.lend("task", Amount(micro_usd=6))
    assert isinstance(task, Account)
    hold = task.hold(usd(4))
    assert isinstance(hold, Hold)
    task.close()
    task.close()
    assert run.lent.micro_usd == 4
    refused = task.hold(usd(1))
    assert isinstance(refused, Err)
    hold.settle(usd(1))
    assert (run.lent.micro_usd, run.spent.micro_usd, run.left()) == (0, 1, 9e-6)


def test_a_loan_of_a_loan_outlives_the_one_between() -> None:
    run = Account("run", Amount(tokens=100))
    first = run.lend("first", Amount(tokens=60))
    assert isinstance(first, Account)
    second = first.lend("second", Amount(tokens=20))
    assert isinstance(second, Account)
    first.close()
    assert (run.lent.tokens, run.left("tokens")) == (20, 80)
    assert isinstance(second.hold((0, 20, 0, 0, 0)), Hold)
    second.close()
    assert run.lent.tokens == 20  # on its way
