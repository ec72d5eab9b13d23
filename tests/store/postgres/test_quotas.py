"""Shared quotas: however many nodes take slices, a day's quota is not exceeded."""

import asyncio
import random
import socket
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from planck.records.outcome import Err, ErrorKind
from planck.store.postgres.quotas import PostgresQuotas, SliceHold
from tests.ports import FixedClock
from tests.postgres import run_sql


class Limit(NamedTuple):
    usd_per_day: float | None = None
    tokens_per_day: int | None = None


class Nodes:
    def __init__(self, url: str) -> None:
        self.url = url
        self.limits: dict[str, Limit] = {"vendor": Limit(tokens_per_day=10_000)}
        self.made: list[PostgresQuotas] = []

    def node(self) -> PostgresQuotas:
        self.made.append(PostgresQuotas(lambda: self.url, lambda: self.limits, FixedClock()))
        return self.made[-1]


@pytest.fixture
def nodes(database: str) -> Iterator[Nodes]:
    made = Nodes(database)
    yield made
    for quotas in made.made:
        quotas.close()


def take(quotas: PostgresQuotas, tokens: int, used: int | None = None) -> bool:
    hold = asyncio.run(quotas.hold("vendor", 0, tokens))
    if isinstance(hold, Err):
        assert hold.kind is ErrorKind.BUDGET_EXCEEDED
        return False
    assert hold is not None
    hold.settle(0, tokens if used is None else used)
    return True


def test_ten_nodes_at_once_never_spend_more_than_the_quota(nodes: Nodes, seed: int) -> None:
    spent: list[int] = []

    def work(number: int) -> None:
        quotas, dice = nodes.node(), random.Random(f"{seed} {number}")
        while True:
            worst = dice.randint(1, 300)
            used = dice.randint(0, worst)
            if not take(quotas, worst, used):
                return
            spent.append(used)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 10_000 - 10 * 500 - 300 <= sum(spent) <= 10_000


def test_what_a_node_did_not_use_is_given_back_when_it_ends(nodes: Nodes) -> None:
    first = nodes.node()
    assert take(first, 400, 100)
    first.close()
    second = nodes.node()
    assert take(second, 9_900)
    assert not take(second, 1)


def test_a_dead_node_s_slice_counts_as_spent(nodes: Nodes) -> None:
    dead = nodes.node()
    assert take(dead, 10, 10)  # it took 500, and is never heard of again
    nodes.made.remove(dead)
    assert not take(nodes.node(), 9_501)
    assert take(nodes.node(), 9_500)
    dead.close()


def test_dollars_and_tokens_are_held_together_or_not_at_all(nodes: Nodes) -> None:
    nodes.limits["vendor"] = Limit(1.0, 100)
    quotas = nodes.node()
    assert quotas.counts_usd("vendor")
    assert asyncio.run(quotas.hold("other", 1, 1)) is None
    refused = asyncio.run(quotas.hold("vendor", 1_000, 101))
    assert isinstance(refused, Err)
    assert refused.details["unit"] == "tokens"
    assert isinstance(asyncio.run(quotas.hold("vendor", 1_000_000, 100)), SliceHold)


def test_a_request_that_took_more_than_it_said_is_counted_in_full(nodes: Nodes) -> None:
    quotas = nodes.node()
    assert take(quotas, 9_000, 9_800)
    assert not take(quotas, 201)
    assert take(quotas, 200)


def test_another_limit_is_seen_at_the_next_request(nodes: Nodes) -> None:
    quotas = nodes.node()
    assert take(quotas, 10_000)
    assert not take(quotas, 1)
    nodes.limits["vendor"] = Limit(tokens_per_day=20_000)
    assert take(quotas, 1)


def test_a_database_that_is_gone_refuses_with_a_kind(nodes: Nodes) -> None:
    nodes.url = "postgresql://me:sesame@127.0.0.1:9/x"
    refused = asyncio.run(nodes.node().hold("vendor", 0, 1))
    assert isinstance(refused, Err)
    assert refused.kind is ErrorKind.READ_FAILED
    assert "sesame" not in refused.message


async def test_while_the_database_says_nothing_everything_else_goes_on(nodes: Nodes) -> None:
    """A link that is cut without a word: the watchdog of a node would end all that it does."""
    silent = socket.create_server(("127.0.0.1", 0))
    port = silent.getsockname()[1]
    quotas = PostgresQuotas(
        lambda: f"postgresql://me:x@127.0.0.1:{port}/x", lambda: nodes.limits, FixedClock()
    )
    asking = asyncio.ensure_future(quotas.hold("vendor", 0, 1))
    await asyncio.sleep(0.05)
    assert not asking.done()
    asking.cancel()
    await asyncio.wait({asking})
    assert asking.cancelled()
    await asyncio.to_thread(quotas.close)
    silent.close()


async def test_a_slice_that_comes_too_late_is_there_for_the_next_request(nodes: Nodes) -> None:
    quotas = nodes.node()
    asking = asyncio.ensure_future(quotas.hold("vendor", 0, 10))
    while not run_sql(nodes.url, "SELECT to_regclass('slices') IS NOT NULL")[0][0]:
        await asyncio.sleep(0.01)
    asking.cancel()
    await asyncio.wait({asking})
    for _ in range(49):
        hold = await quotas.hold("vendor", 0, 10)
        assert isinstance(hold, SliceHold)
        hold.settle(0, 10)
    await asyncio.to_thread(quotas.close)
    (spent,) = run_sql(nodes.url, "SELECT spent FROM quotas")
    assert spent in ([490], [500]), "the cancelled one may have been quicker; nothing else is lost"


def test_the_tables_say_who_has_what(nodes: Nodes) -> None:
    assert take(nodes.node(), 10)
    assert run_sql(nodes.url, 'SELECT scope, "left" FROM slices') == [["vendor tokens 2026-01-01", 500]]
