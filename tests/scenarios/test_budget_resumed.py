"""A resume neither widens nor narrows a budget: the accounts are what they were before the kill."""

import asyncio
import random
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from planck import Planck
from planck.budget.accounts import Accounts
from planck.budget.budget import UNLIMITED, Account
from planck.headless.open_session import OpenSession
from planck.llm.provider import Request
from planck.records import codec
from planck.records.amounts import Allowance, Amount
from planck.records.events import AgentEnded, AgentStarted, Event, UsageSpent, View
from planck.records.ledger import Ledger
from planck.records.outcome import Err
from planck.records.specs import AgentSpec, ModelSpec
from planck.records.usage import Usage
from planck.testing import Say, ScriptedProvider
from tests.budgets import describe_tree, drop_held
from tests.command import WAIT
from tests.teams import delegate, spawned, target, write_team

DIME: dict[str, Any] = {"id": "dear", "model": "m", "provider": "local", "max_output": 5}
DIME["price"] = {"input": 0.0, "output": 20_000.0}
"""Ten cents for the five tokens of an answer, and nothing for what it reads."""
LEAD = {"type": "orchestrator", "name": "lead", "tools": ["list_dir"]}
CARA = {"type": "cara", "name": "cara", "tools": ["list_dir"]}


def open_planck(folder: Path, double: ScriptedProvider, **flags: Any) -> Planck:
    flags = {
        "models": [DIME],
        "default_model": "dear",
        "providers": {"local": {"type": "openai", "base_url": "http://127.0.0.1:9"}},
        "permissions": {"mode": "full"},
        **flags,
    }
    return Planck(folder / "home", folder, environ={}, flags=flags, providers={"local": double})


def lend(name: str, **budget: float) -> tuple[str, dict[str, Any]]:
    return ("delegate_task", {**delegate(name)[1], "budget": budget})


def rebuild(limits: tuple[Amount, Amount], events: list[Event], living: set[str]) -> Accounts:
    accounts = Accounts(*limits)
    accounts.take_up(Ledger(events), living)
    return accounts


class Names:
    """Answers by the name of the agent that asks; from `most` requests on nobody is answered any more."""

    def __init__(self, answer: Any, most: int) -> None:
        self._answer = answer
        self.left = most
        self.hanging = 0

    async def __call__(self, request: Request) -> Say:
        found = re.search(r"You are (\w+),|^be (\w+)$", request.system, re.MULTILINE)
        assert found
        said: Say | None = self._answer(found[1] or found[2]) if self.left > 0 else None
        self.left -= 1
        if said is None:
            self.hanging += 1
            try:
                await asyncio.Event().wait()
            finally:
                self.hanging -= 1
        assert said
        return said


async def wait_until_still(session: OpenSession, names: Names) -> None:
    """Until each agent that works waits for an answer that never comes."""
    team = session._team
    async with asyncio.timeout(WAIT):
        while (
            team._chores  # somebody is being destroyed
            or names.hanging < sum(member.actor.working for member in team.members)
            or not all(member.actor.working or member.actor.idle for member in team.members)
        ):
            await asyncio.sleep(0)


async def test_a_worker_that_lent_most_of_its_budget_has_the_rest_after_a_resume(tmp_path: Path) -> None:
    says = {
        "lead": [Say(calls=[delegate("cara")]), Say(calls=[delegate("bob")]), Say(text="waiting")],
        "bob": [Say(calls=[lend("cara", usd=0.7)]), Say(text="done")],
    }
    names = Names(lambda name: says[name].pop(0) if says.get(name) else None, 99)
    bob = {"type": "bob", "name": "bob", "tools": ["list_dir"], "budget": {"usd": 1.0}}
    async with open_planck(tmp_path, ScriptedProvider(names)) as planck:
        session = await planck.start(team=write_team(tmp_path / "team", LEAD, bob, CARA))
        await session.prompt("go")
        async with asyncio.timeout(WAIT):
            while says["bob"] or not session._team.members[1].actor.idle:
                await asyncio.sleep(0)
        before = session._team.accounts.get(session.members[1].id)
        assert before
        killed = (await planck.archive.fork(session.name)).id
        names.left = 0
        again = await planck.resume(killed)
        after = again._team.accounts.get(again.members[1].id)
        assert after
        assert (after.limit, after.spent.micro_usd, after.lent) == (
            before.limit,
            before.spent.micro_usd,
            before.lent,
        )
        assert after.left() == before.left() == 0.1


class Book:
    """A session of random facts: each is done to a tree of accounts, and recorded as the runtime does it."""

    def __init__(self, limits: tuple[Amount, Amount]) -> None:
        self.accounts = Accounts(*limits)
        self.events: list[Event] = []
        self.living: dict[str, str] = {}
        """By account, the agent whose own it is; empty: a task's."""
        self._limits = limits
        self._number = 0
        self._unrecorded: dict[str, list[UsageSpent]] = {}
        """By account, what was settled by now, and is recorded later: an answer takes its time to be read."""

    def record(self, agent: str, *facts: View | None) -> None:
        for fact in facts:
            if fact:
                self.events.append(
                    Event(len(self.events) + 1, "", agent, 0, fact.type, msgspec.Raw(codec.encode(fact)))
                )

    def act(self, kind: int, who: int, size: int) -> None:
        ids = [*self.living]
        id = ids[who % len(ids)] if ids else ""
        match kind:
            case 0:
                self.start("", size)
            case 1 if id:
                self.start(id, size)
            case 2 if id:
                self.lend(id, size)
            case 3 | 4 if id:
                self.spend(id, size)
            case 5 if id:
                self.record_answers(id)
                self.end(id)
            case 6 if id:
                self.spend(id, size, late=True)
            case 7 if id:
                self.record_answers(id)
            case 8:
                self.resume()

    def start(self, lender: str, size: int) -> None:
        """A member of the team or, where somebody lends, one that was spawned."""
        delegator = self.living.get(lender, "") or (lender and "lead")
        budget = make_budget(size)
        self._number += 1
        id = f"a{self._number}"
        spec = AgentSpec(id, id, id, "worker", ModelSpec("p", "m"), delegator_id=delegator, budget=budget)
        above = self.accounts.get(lender) or self.accounts.run
        lent = self.accounts.lend(above, id, budget.amount if budget else UNLIMITED)
        if isinstance(lent, Err):
            return
        self.living[id] = id
        named = UNSET if lender in ("", delegator) else lender
        self.record(id, AgentStarted(agent=spec, call_id="c" if lender else None, account=named))
        if lender and budget:
            self.record(delegator, self.accounts.describe(lent, "lent"))

    def lend(self, lender: str, size: int) -> None:
        budget = make_budget(size) or Allowance(usd=0.1)
        self._number += 1
        id = f"t{self._number}"
        account = self.accounts.get(lender)
        assert account
        lent = self.accounts.lend(account, id, budget.amount)
        if isinstance(lent, Account):
            self.living[id] = ""
            self.record(self.living[lender] or "lead", self.accounts.describe(lent, "lent"))

    def spend(self, id: str, size: int, *, late: bool = False) -> None:
        """An answer; in some the server counts more than was held. A session is not overrun: what it lends
        after a resume is what it has then."""
        account = self.accounts.get(id)
        assert account
        usage = Usage(input_tokens=size)
        usd, over = size * 1_000, size % 7 == 0 and not self.accounts.session.bounded
        held = account.hold((usd // (1 + over), size // (1 + over), size // (1 + over), 1, size % 3))
        if isinstance(held, Err):
            return
        held.settle((usd, size, size, 1, size % 3))
        spent = UsageSpent(
            model="p/m", usage=usage, cost_usd=usd / 1e6, account=UNSET if self.living[id] else id
        )
        self._unrecorded.setdefault(id, []).append(spent)
        if not late:
            self.record_answers(id)

    def record_answers(self, *ids: str) -> None:
        for id in ids or tuple(self._unrecorded):
            account = self.accounts.get(id)
            assert account
            for spent in self._unrecorded.pop(id, ()):
                told = self.accounts.describe(account, "spent") if account.bounded else None
                self.record(self.living[id] or "lead", spent, told)

    def resume(self) -> None:
        """A kill: what was not recorded is lost. Of a loan that was overrun the next life lends the rest."""
        self._unrecorded.clear()
        self.accounts = rebuild(self._limits, self.events, {*self.living})

    def end(self, id: str) -> None:
        agent = self.living.pop(id)
        self.record(id, AgentEnded(status="destroyed", reason="") if agent else None)
        self.record(agent or "lead", self.accounts.return_loan(id))
        self.accounts.close(id)


def make_budget(size: int) -> Allowance | None:
    """None, or one with a limit for some of the units."""
    kind = size % 6
    budgets: list[dict[str, Any]] = [
        {},
        {"usd": size / 50},
        {"tokens": size * 3},
        {"ms": size * 2},
        {"calls": size, "usd": size / 90},
        {"steps": size},
    ]
    return Allowance(**budgets[kind]) if budgets[kind] and size else None


ACTS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 20), st.integers(1, 60)), min_size=10, max_size=40
)
LIMITS = (UNLIMITED, Allowance(usd=3, tokens=900).amount, Allowance(ms=2_000, calls=50, steps=40).amount)


def check_random_log(acts: list[tuple[int, int, int]], limit: Amount) -> None:
    book = Book((limit, UNLIMITED))
    for act in acts:
        book.act(*act)
    book.record_answers()
    again = rebuild((limit, UNLIMITED), book.events, {*book.living})
    assert describe_tree(again) == describe_tree(book.accounts)


TOLD_LATE = [(0, 0, 6), (1, 0, 6), (6, 1, 20), (3, 0, 10), (7, 1, 1)]
"""A worker's answer is settled before its lender's account is recorded, and recorded after it."""


@settings(max_examples=300)
@given(acts=ACTS, limit=st.sampled_from(LIMITS))
@example(acts=TOLD_LATE, limit=LIMITS[2])
@example(acts=[*TOLD_LATE, (8, 0, 1), (3, 0, 10), (3, 1, 10)], limit=LIMITS[2])
def test_the_accounts_after_a_resume_are_those_before_the_kill(
    acts: list[tuple[int, int, int]], limit: Amount
) -> None:
    check_random_log(acts, limit)


@pytest.mark.soak
@settings(settings.get_profile("soak"), max_examples=10_000)
@given(acts=ACTS, limit=st.sampled_from(LIMITS))
def test_the_accounts_of_ten_thousand_logs_are_those_before_the_kill(
    acts: list[tuple[int, int, int]], limit: Amount
) -> None:
    check_random_log(acts, limit)


def act_at_random(chance: random.Random, name: str) -> Say:
    who = chance.choice(["lead", "bob", "cara", "dan"])
    budget: dict[str, float] = chance.choice(
        [{}, {}, {"usd": chance.randint(1, 8) / 10}, {"steps": 3}, {"ms": 90_000}, {"calls": 4}]
    )
    extra: dict[str, Any] = {"budget": budget} if budget else {}
    task = ("delegate_task", {**delegate(who)[1], **extra})
    acts: list[list[tuple[str, Any]]] = [[task], [task], [("list_dir", {})], []]
    if name == "lead":
        acts += [
            [spawned(who, model_id="dear", **extra)],
            [target("destroy_agent", who)],
            [task, ("list_dir", {})],
        ]
    calls = chance.choice(acts)
    return Say(calls=calls) if calls else Say(text="done")


async def kill_at_random(folder: Path, seed: int) -> None:
    """A team at work, seen by the log that it leaves when it is killed."""
    chance = random.Random(seed)
    names = Names(lambda name: act_at_random(chance, name), chance.randint(3, 40))
    bob = {"type": "bob", "name": "bob", "tools": ["list_dir"], "budget": {"usd": 1.0, "ms": 600_000}}
    folder.mkdir()
    whole = Allowance(usd=6, calls=60)
    async with open_planck(folder, ScriptedProvider(names), budget={"usd": 6, "calls": 60}) as planck:
        session = await planck.start(team=write_team(folder / "team", LEAD, bob, CARA))
        await session.prompt("go")
        await check_killed(session, names, whole.amount)


async def check_killed(session: OpenSession, names: Names, whole: Amount) -> None:
    await wait_until_still(session, names)
    team, events = session._team, [*session._log.store.read()]
    living = {*(member.id for member in team.members), *team.mail.sent.tasks}
    again = rebuild((whole, UNLIMITED), events, living)
    assert describe_tree(again) == describe_tree(drop_held(team.accounts))


@pytest.mark.parametrize("budget", [{}, {"budget": {"usd": 0.2}}])
async def test_a_worker_that_a_loan_paid_for_stays_below_that_loan(tmp_path: Path, budget: Any) -> None:
    says = {
        "lead": [
            Say(calls=[delegate("bob")]),
            Say(text="waiting"),
            Say(calls=[spawned("dan", model_id="dear", **budget)]),
        ],
        "bob": [Say(calls=[lend("lead", usd=0.7)]), Say(text="done")],
    }
    names = Names(lambda name: says[name].pop(0) if says[name] else None, 99)
    bob = {"type": "bob", "name": "bob", "budget": {"usd": 1.0}}
    async with open_planck(tmp_path, ScriptedProvider(names)) as planck:
        session = await planck.start(team=write_team(tmp_path / "team", LEAD, bob))
        await session.prompt("go")
        async with asyncio.timeout(WAIT):
            while len(session.members) < 3 or not names.hanging:
                await asyncio.sleep(0)
        await check_killed(session, names, UNLIMITED)


async def test_a_team_that_is_killed_at_work_finds_its_accounts_again(tmp_path: Path, seed: int) -> None:
    for number in range(8):
        await kill_at_random(tmp_path / str(number), seed + number)


@pytest.mark.soak
async def test_a_thousand_teams_that_are_killed_find_their_accounts_again(tmp_path: Path, seed: int) -> None:
    for number in range(1_000):
        await kill_at_random(tmp_path / str(number), seed + number)
