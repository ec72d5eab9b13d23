"""How long a process without a pool waits for its database: each outage counts from its own beginning."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from planck.records.outcome import ErrorKind, PlanckError
from planck.store.postgres.store import PostgresStore
from planck.store.store import StoreError
from tests.postgres import run_sql
from tests.store.postgres.proxy import Proxy
from tests.store.postgres.test_faults import IDS, Bench, draft, texts

LATER = 1000.0
"""Seconds: far more than anybody waits for a database."""


@pytest.fixture
async def bench(database: str, tmp_path: Path) -> AsyncGenerator[Bench, None]:
    bench = Bench(database, tmp_path)
    yield bench
    for library in bench.libraries:
        await library.aclose()


def pass_time(seconds: float) -> None:
    """Moves the clock of this test's loop on."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # type: ignore[method-assign]  # the loop is this test's own


async def be_refused(proxy: Proxy) -> None:
    """Returns once somebody has tried in vain to connect."""
    proxy.open = False
    proxy.cut()
    async with asyncio.timeout(60):
        tried = proxy.refused
        while proxy.refused < tried + 2:
            await asyncio.sleep(0.01)


async def send_again(proxy: Proxy, store: PostgresStore) -> None:
    """The statement did not arrive: it is sent again."""
    proxy.arm(b'"once"', after=False)
    await store.append([draft("once")])


async def find_it_done(proxy: Proxy, store: PostgresStore) -> None:
    """The statement arrived and its answer did not: nothing is sent again."""
    proxy.arm(b'"once"', after=True)
    await store.append([draft("once")])


async def be_turned_down(proxy: Proxy, store: PostgresStore) -> None:
    """The server is back, and its answer is an error."""
    url = proxy.target_url
    run_sql(url, "ALTER TABLE events ADD CONSTRAINT full_up CHECK (seq < 2) NOT VALID")
    appending = asyncio.ensure_future(store.append([draft("never")]))
    await be_refused(proxy)
    proxy.open = True
    with pytest.raises(PlanckError):
        await appending
    run_sql(url, "ALTER TABLE events DROP CONSTRAINT full_up")


async def be_given_up(proxy: Proxy, store: PostgresStore) -> None:
    """It took too long: every log was abandoned."""
    appending = asyncio.ensure_future(store.append([draft("never")]))
    await be_refused(proxy)
    pass_time(LATER)
    with pytest.raises(PlanckError):
        await appending
    proxy.open = True


@pytest.mark.parametrize("end", [send_again, find_it_done, be_turned_down, be_given_up])
async def test_the_next_outage_does_not_count_from_the_one_before(
    bench: Bench, end: Callable[[Proxy, PostgresStore], Awaitable[None]]
) -> None:
    async with Proxy(bench.url) as proxy:
        library = bench.library(proxy.url)
        first = await bench.session(library)
        await end(proxy, first)
        pass_time(LATER)
        # Nothing is committed between the two: that alone would end the first outage.
        store = await library.create("def", "name-def", IDS, {"workspace": str(bench.root), "created": "1"})
        appending = asyncio.ensure_future(store.append([draft("second")]))
        await be_refused(proxy)
        proxy.open = True
        try:
            await asyncio.wait_for(appending, 60)
        finally:
            for one in (first, store):
                with suppress(PlanckError):
                    await one.aclose()
            await library.aclose()
        assert texts(bench.url, "def") == ["second"]


async def test_a_queue_that_is_fenced_before_an_append_sends_nothing(bench: Bench) -> None:
    library = bench.library()
    store = await bench.session(library)
    sent = library.engine.flushes
    lapsed = StoreError(ErrorKind.WRITER_CONFLICT, "the lease lapsed")
    library.engine.before_append = lambda: library.engine.fence(lapsed)
    with pytest.raises(PlanckError, match="the lease lapsed"):
        await store.append([draft("late")])
    assert library.engine.flushes == sent
    with suppress(PlanckError):
        await store.aclose()
    assert texts(bench.url) == ["first"]
