"""What a budget costs a model call: the hold of its worst case and its settlement; aim: 5 us at any depth."""

import tempfile
import timeit
from pathlib import Path
from types import SimpleNamespace

from planck.budget.budget import Account, Hold
from planck.records.amounts import Amount
from planck.store.sqlite.quotas import QuotaFile, QuotaHold
from planck.toolkit.clock import SystemClock

CALLS, ROUNDS = 5_000, 15
WORST, ACTUAL = (500, 300, 1, 1, 0), (0, 0, 1, 1, 0)


def main() -> None:
    session = Account("session", Amount(micro_usd=10**12))
    run = _lend(session, "run", Amount(micro_usd=10**11, tokens=10**12))
    agent = _lend(run, "agent", Amount())
    task = _lend(agent, "task", Amount(micro_usd=10**10))
    bare = min(timeit.repeat(lambda: None, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6
    print(f"{'an empty call':34}{bare:6.2f} us")
    for account in (run, agent, task):
        taken = min(timeit.repeat(_Pay(account), number=CALLS, repeat=ROUNDS)) / CALLS * 1e6
        print(f"{'hold and settle, ' + account.id:34}{taken:6.2f} us  (aim <= 5)")
    with tempfile.TemporaryDirectory() as folder:
        quota = SimpleNamespace(usd_per_day=1e6, tokens_per_day=None)
        file = QuotaFile(Path(folder) / "quotas.db", lambda: {"p": quota}, SystemClock())
        taken = min(timeit.repeat(_Quota(file), number=100, repeat=10)) / 100 * 1e6
        print(f"{'the same of a quota, two commits':34}{taken:6.0f} us")
        file.close()


class _Pay:
    def __init__(self, account: Account) -> None:
        self._account = account

    def __call__(self) -> None:
        held = self._account.hold(WORST)
        assert isinstance(held, Hold)
        held.settle(ACTUAL)


class _Quota:
    def __init__(self, file: QuotaFile) -> None:
        self._file = file

    def __call__(self) -> None:
        held = self._file.hold("p", 5, 5)
        assert isinstance(held, QuotaHold)
        held.settle(1, 1)


def _lend(account: Account, id: str, amount: Amount) -> Account:
    lent = account.lend(id, amount)
    assert isinstance(lent, Account)
    return lent
