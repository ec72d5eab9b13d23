"""What goes wrong between a session and its database: nothing is lost, nothing is written twice, and the
kind of the error says what to mend."""

import asyncio
import hashlib
import os
import ssl
import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest
import trustme

from planck.records.events import Draft
from planck.records.outcome import ErrorKind, PlanckError
from planck.store.postgres.connection import hide_password
from planck.store.postgres.library import PostgresLibrary
from planck.store.postgres.roster import PostgresRoster
from planck.store.postgres.schema import KNOWN
from planck.store.postgres.store import PostgresStore
from planck.store.roster import Command, SessionRow
from planck.store.store import StoreError
from planck.toolkit.clock import RandomIds
from tests.postgres import run_sql
from tests.store.postgres.proxy import Proxy

IDS = RandomIds()


def draft(text: str) -> Draft:
    return Draft("2026-01-01T00:00:00.000Z", "a", 1, "message", msgspec.Raw(msgspec.json.encode({"t": text})))


def texts(url: str, id: str = "abc") -> list[str]:
    """What is in the database, and the chain over it holds."""
    rows = run_sql(url, f"SELECT seq, bytes, hash FROM events WHERE session = '{id}' ORDER BY seq")
    previous, found = bytes(32), []
    for number, (seq, data, digest) in enumerate(rows, 1):
        assert isinstance(data, bytes)
        previous = hashlib.sha256(previous + data).digest()
        assert (seq, digest) == (number, previous)
        found.append(msgspec.json.decode(data)["data"]["t"])
    ((head, hash),) = run_sql(url, f"SELECT head, hash FROM sessions WHERE id = '{id}'")
    assert (head, hash) == (len(rows), previous)
    return found


def refused(outcome: object) -> ErrorKind | None:
    return outcome.err.kind if isinstance(outcome, PlanckError) else None


class Bench:
    def __init__(self, url: str, root: Path) -> None:
        self.url = url
        self.root = root
        self.libraries: list[PostgresLibrary] = []

    def library(self, url: str = "", home: str = "one", **more: object) -> PostgresLibrary:
        made = PostgresLibrary(url or self.url, self.root / home, self.root, **more)  # type: ignore[arg-type]  # its own options
        self.libraries.append(made)
        return made

    async def session(self, library: PostgresLibrary, id: str = "abc") -> PostgresStore:
        store = await library.create(id, f"name-{id}", IDS, {"workspace": str(self.root), "created": "1"})
        await store.append([draft("first")])
        return store


@pytest.fixture
async def bench(database: str, tmp_path: Path) -> AsyncGenerator[Bench, None]:
    bench = Bench(database, tmp_path)
    yield bench
    for library in bench.libraries:
        await library.aclose()


@pytest.mark.parametrize("after", [False, True], ids=["before it arrives", "before its answer arrives"])
async def test_a_commit_that_is_cut_is_in_the_log_exactly_once(bench: Bench, after: bool) -> None:
    async with Proxy(bench.url) as proxy:
        store = await bench.session(bench.library(proxy.url))
        proxy.arm(b'"precious"', after=after)
        events = await asyncio.wait_for(store.append([draft("precious"), draft("too")]), 60)
        assert [event.seq for event in events] == [2, 3]
        await store.append([draft("last")])
        assert proxy.cuts == 1
        assert [event.seq for event in store.read()] == [1, 2, 3, 4]
        await store.aclose()
        assert texts(bench.url) == ["first", "precious", "too", "last"]
        for library in bench.libraries:
            await library.aclose()


@pytest.mark.heavy
async def test_a_commit_whose_answer_was_lost_has_not_failed_while_nobody_can_say_so(bench: Bench) -> None:
    """The server answers with errors only: it takes no connections, then has no time for questions."""
    import asyncpg

    name, server = bench.url.rpartition("/")[2], f"{bench.url.rpartition('/')[0]}/postgres"
    async with Proxy(bench.url) as proxy:
        store = await bench.session(bench.library(proxy.url))
        other = await asyncpg.connect(bench.url)
        run_sql(
            server,
            f"ALTER DATABASE {name} SET statement_timeout = '50ms'",
            f"ALTER DATABASE {name} ALLOW_CONNECTIONS false",
        )
        proxy.arm(b'"precious"', after=True)
        appending = asyncio.ensure_future(store.append([draft("precious")]))
        while not proxy.cuts:
            await asyncio.sleep(0.01)
        async with other.transaction():
            await other.execute("LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE")
            run_sql(server, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            done, _ = await asyncio.wait({appending}, timeout=2.5)
            assert not done
        run_sql(server, f"ALTER DATABASE {name} RESET statement_timeout")
        assert [event.seq for event in await asyncio.wait_for(appending, 60)] == [2]
        await other.close()
        await store.aclose()
        assert texts(bench.url) == ["first", "precious"]
        for library in bench.libraries:
            await library.aclose()


async def test_whoever_took_over_meanwhile_keeps_the_log_and_the_cut_one_is_told(bench: Bench) -> None:
    async with Proxy(bench.url) as proxy:
        library = bench.library(proxy.url)
        store = await bench.session(library)
        proxy.open = False
        proxy.cut()
        late = asyncio.ensure_future(store.append([draft("late")]))
        run_sql(bench.url, "DELETE FROM nodes")  # its lease is over
        other = await bench.library(home="other").open("abc")
        await other.append([draft("other")])
        proxy.open = True
        with pytest.raises(StoreError) as told:
            await asyncio.wait_for(late, 60)
        assert told.value.err.kind is ErrorKind.WRITER_CONFLICT
        with pytest.raises(StoreError) as again:
            await store.append([draft("again")])
        assert again.value.err.kind is ErrorKind.WRITER_CONFLICT
        assert texts(bench.url) == ["first", "other"]
        await other.aclose()
        await store.aclose()
        for one in bench.libraries:
            await one.aclose()


async def test_the_epoch_alone_refuses_a_late_writer(bench: Bench) -> None:
    store = await bench.session(bench.library())
    run_sql(bench.url, "DELETE FROM nodes")  # its lease is over, and it does not know
    other = await bench.library(home="other").open("abc")
    ended = await asyncio.gather(*(store.append([draft("late")]) for _ in range(64)), return_exceptions=True)
    assert {refused(outcome) for outcome in ended} == {ErrorKind.WRITER_CONFLICT}
    await other.append([draft("other")])
    assert texts(bench.url) == ["first", "other"]
    await store.aclose()
    await other.aclose()


async def test_of_two_writers_of_one_epoch_one_gets_each_place_in_the_log(bench: Bench) -> None:
    first = await bench.session(bench.library())
    await first.aclose()
    one = await bench.library(home="a").open("abc")
    library = bench.library(home="b", owner=bench.libraries[1].owner)
    other = await library.open_claimed("abc", one.epoch)  # a mistake that no roster makes
    ended = await asyncio.gather(
        one.append([draft("one")]), other.append([draft("other")]), return_exceptions=True
    )
    assert sorted(str(refused(outcome)) for outcome in ended) == ["None", "writer_conflict"]
    assert len(texts(bench.url)) == 2
    await one.aclose()
    await other.aclose()


async def test_appends_wait_for_a_database_that_is_gone_for_a_moment(bench: Bench) -> None:
    async with Proxy(bench.url) as proxy:
        library = bench.library(proxy.url)
        stores = [await bench.session(library, f"s{number}") for number in range(5)]
        proxy.open = False
        proxy.cut()
        waiting = [asyncio.ensure_future(store.append([draft("waits")])) for store in stores]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(waiting[0]), 0.3)
        proxy.open = True
        await asyncio.wait_for(asyncio.gather(*waiting), 60)
        for number in range(5):
            assert texts(bench.url, f"s{number}") == ["first", "waits"]
        for store in stores:
            await store.aclose()
        await library.aclose()


async def test_a_cancelled_caller_hears_whether_its_facts_are_in(bench: Bench) -> None:
    async with Proxy(bench.url) as proxy:
        library = bench.library(proxy.url)
        store = await bench.session(library)
        proxy.open = False
        proxy.cut()
        caller = asyncio.ensure_future(store.append([draft("kept")]))
        await asyncio.sleep(0)
        caller.cancel()
        caller.cancel()
        proxy.open = True
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(caller, 60)
        assert texts(bench.url) == ["first", "kept"]
        await store.aclose()
        await library.aclose()


async def test_a_fenced_node_lets_go_at_once_and_writes_nothing_more(bench: Bench) -> None:
    async with Proxy(bench.url) as proxy:
        library = bench.library(proxy.url)
        store = await bench.session(library)
        proxy.open = False
        proxy.cut()
        waiting = asyncio.ensure_future(store.append([draft("never")]))
        await asyncio.sleep(0)
        library.engine.fence(StoreError(ErrorKind.WRITER_CONFLICT, "this node lost its lease"))
        with pytest.raises(StoreError):
            await asyncio.wait_for(waiting, 30)
        proxy.open = True
        with pytest.raises(StoreError):
            await store.append([draft("never")])
        await store.aclose()
        assert texts(bench.url) == ["first"]
        await library.aclose()


async def test_one_session_s_bad_bytes_keep_no_other_back(bench: Bench) -> None:
    library = bench.library()
    good, bad = await bench.session(library, "good"), await bench.session(library, "bad")
    run_sql(bench.url, "ALTER TABLE events ADD CHECK (session <> 'bad' OR seq < 2)")
    ended = await asyncio.gather(
        good.append([draft("in")]), bad.append([draft("out")]), return_exceptions=True
    )
    assert [refused(outcome) for outcome in ended] == [None, ErrorKind.LOG_WRITE_FAILED]
    run_sql(bench.url, "ALTER TABLE events DROP CONSTRAINT events_check")
    await bad.append([draft("in now")])
    assert (texts(bench.url, "good"), texts(bench.url, "bad")) == (["first", "in"], ["first", "in now"])
    await good.aclose()
    await bad.aclose()


async def test_a_full_disk_of_the_database_is_told_and_passes(bench: Bench) -> None:
    library = bench.library()
    store = await bench.session(library)
    run_sql(
        bench.url,
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$",
        "CREATE TRIGGER full_disk BEFORE INSERT ON events EXECUTE FUNCTION full_disk()",
    )
    with pytest.raises(StoreError) as told:
        await store.append([draft("out")])
    assert told.value.err.kind is ErrorKind.LOG_WRITE_FAILED
    assert "Free some disk space or memory on the server." in told.value.err.message
    assert texts(bench.url) == ["first"]
    run_sql(bench.url, "DROP TRIGGER full_disk ON events")
    await store.append([draft("in")])
    assert texts(bench.url) == ["first", "in"]
    await store.aclose()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs takes root")
async def test_a_disk_that_is_really_full_loses_nothing_that_was_acknowledged(bench: Bench) -> None:
    small = bench.root / "small"
    small.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", str(small)]
    if subprocess.run(mount).returncode:
        pytest.skip("mounting a small tmpfs is not allowed here")
    try:
        store = await bench.session(bench.library())
        run_sql(
            bench.url,
            f"CREATE TABLESPACE small_{os.getpid()} LOCATION '{small}'",
            f"ALTER TABLE events SET TABLESPACE small_{os.getpid()}",
            "ALTER TABLE events ALTER COLUMN bytes SET STORAGE PLAIN",
        )
        acknowledged, kinds = ["first"], set()
        for number in range(600):
            try:
                await store.append([draft(f"{number}" + "x" * 5000)])
                acknowledged.append(f"{number}" + "x" * 5000)
            except StoreError as failure:
                kinds.add((failure.err.kind, failure.err.details["sqlstate"]))
                break
        assert kinds == {(ErrorKind.LOG_WRITE_FAILED, "53100")}
        assert texts(bench.url) == acknowledged
        run_sql(bench.url, "ALTER TABLE events SET TABLESPACE pg_default")
        await store.append([draft("on")])
        assert texts(bench.url) == [*acknowledged, "on"]
        await store.aclose()
        run_sql(bench.url, f"DROP TABLESPACE small_{os.getpid()}")
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


async def test_a_newer_database_is_refused_and_not_touched(bench: Bench) -> None:
    store = await bench.session(bench.library())
    await store.aclose()
    run_sql(bench.url, f"INSERT INTO planck_version VALUES ({KNOWN + 1})")
    library = bench.library()
    for attempt in (library.open("abc"), asyncio.to_thread(library.find, "abc")):
        with pytest.raises(StoreError) as told:
            await attempt
        assert told.value.err.kind is ErrorKind.LOG_WRITE_FAILED
        assert told.value.err.details == {"schema": KNOWN + 1, "known": KNOWN}
    assert texts(bench.url) == ["first"]


async def test_a_wrong_password_is_told_without_saying_it(bench: Bench) -> None:
    password = bench.url.partition("planck:")[2].partition("@")[0]
    for url in (bench.url.replace(password, "sesame"), bench.url.replace("planck:", "stranger:")):
        with pytest.raises(StoreError) as told:
            await bench.library(url).open("abc")
        assert told.value.err.kind is ErrorKind.NOT_AUTHENTICATED
        assert "sesame" not in str(told.value)
        assert password not in str(told.value)


async def test_no_password_is_shown_of_any_address() -> None:
    for url in (
        "postgresql://me:se:sa@me@host:1/x?password=sesame",
        "postgresql://me:sesame@one:1,two:2/x?sslmode=require",
        "postgres://me:sesame@[::1]:5432/x",
        "postgresql://host/x?password=sesame",
    ):
        shown = hide_password(url)
        assert ("sesame" in shown, "se:sa" in shown) == (False, False)
        assert shown.endswith("/x")


async def test_a_certificate_that_does_not_match_is_refused(bench: Bench, tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("elsewhere.invalid")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    root = tmp_path / "root.pem"
    authority.cert_pem.write_to_path(str(root))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readexactly(8)  # an SSLRequest
            writer.write(b"S")
            await writer.drain()
            await writer.start_tls(context)
            await reader.read(1)
        except (OSError, EOFError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    url = f"postgresql://planck:sesame@127.0.0.1:{port}/x?sslmode=verify-full&sslrootcert={root}"
    with pytest.raises(StoreError) as told:
        await bench.library(url).open("abc")
    server.close()
    assert told.value.err.kind is ErrorKind.NOT_AUTHENTICATED
    assert "certificate" in told.value.err.message


@pytest.mark.parametrize("count", [1, 5], ids=["a shorter log", "a longer one"])
async def test_a_copy_that_is_no_beginning_of_the_log_is_made_anew_and_the_loss_is_told(
    bench: Bench, count: int
) -> None:
    store = await bench.session(bench.library())
    await store.append([draft("two"), draft("three")])
    await store.aclose()
    # A standby that lacked the last two was promoted, and somebody went on there.
    run_sql(
        bench.url,
        "DELETE FROM events WHERE seq > 1",
        "UPDATE sessions SET head = 1, hash = (SELECT hash FROM events WHERE seq = 1)",
    )
    other = await bench.library(home="other").open("abc")
    new = [f"new {number}" for number in range(count)]
    await other.append([draft(text) for text in new])
    await other.aclose()
    back = await bench.library().open("abc")
    assert [msgspec.json.decode(bytes(event.data))["t"] for event in back.read()] == ["first", *new]
    assert back.damage is not None
    assert back.damage.kind is ErrorKind.CORRUPT_LOG_LINE
    assert list((bench.root / "one").glob("*.lost1"))
    await back.append([draft("on")])
    await back.aclose()
    assert texts(bench.url) == ["first", *new, "on"]


async def test_only_the_missing_tail_is_pulled(bench: Bench) -> None:
    store = await bench.session(bench.library())
    await store.aclose()
    there = await bench.library(home="other").open("abc")
    await there.append([draft(f"{number}") for number in range(2500)])
    await there.aclose()
    # What this machine has already is not asked for again, so nobody misses it here.
    back = bench.library()
    path = await asyncio.to_thread(back.path_of, "abc")
    run_sql(bench.url, "UPDATE events SET bytes = 'gone' WHERE seq < 2000")
    again = await bench.library().open("abc")
    assert (again.head, again.path) == (2501, path)
    assert len(list(again.read())) == 2501
    await again.aclose()


async def test_damage_in_the_database_is_told_with_what_is_sound(bench: Bench) -> None:
    store = await bench.session(bench.library())
    await store.append([draft("two"), draft("three")])
    await store.aclose()
    run_sql(bench.url, "UPDATE events SET bytes = 'x' WHERE seq = 2")
    with pytest.raises(StoreError) as told:
        await bench.library(home="other").open("abc")
    assert told.value.err.kind is ErrorKind.CORRUPT_LOG_LINE
    assert told.value.err.details["sound"] == 1


async def test_a_hundred_sessions_are_committed_by_few_statements(bench: Bench) -> None:
    library = bench.library()
    stores = [await bench.session(library, f"s{number:03}") for number in range(100)]
    before = library.engine.flushes
    await asyncio.gather(*(store.append([draft("x")]) for store in stores for _ in range(3)))
    assert library.engine.flushes - before <= 4
    for store in stores:
        assert store.head == 4
    await asyncio.gather(*(store.aclose() for store in stores))


async def test_all_who_wait_for_a_hint_share_one_connection(database: str) -> None:
    roster = PostgresRoster(database)
    await roster.start()
    await asyncio.gather(*(roster.wait(0.2) for _ in range(5)))
    sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
    assert run_sql(database, sql) == [[1]]
    await roster.aclose()


async def test_of_many_nodes_that_are_given_the_same_at_once_one_enters_it(database: str) -> None:
    rosters = [PostgresRoster(database) for _ in range(4)]
    try:
        for number in range(100):  # the name was noticed before the id in one of 17 rounds
            id = f"a{number}"
            row = SessionRow(id=id, name=id, project="p")
            prompt = Command(id=f"submit-{id}", session=id, kind="prompt", data={"text": "go"})
            made = await asyncio.gather(*(roster.submit(row, prompt) for roster in rosters * 3))
            assert sorted(made) == [False] * 11 + [True]
            assert await rosters[0].commands([id]) == [prompt]
    finally:
        for roster in rosters:
            await roster.aclose()
