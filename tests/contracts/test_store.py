"""One suite for every `Store`."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from planck.records.events import Draft, Event
from planck.records.outcome import ErrorKind
from planck.store.memory import MemoryStore
from planck.store.postgres.library import PostgresLibrary
from planck.store.sqlite.store import SqliteStore
from planck.store.store import Store, StoreError
from planck.toolkit.clock import RandomIds

Make = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite", "sqlite-power", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store, None]:
    meta = {"id": "abc", "name": "calm-fox"}
    made: Store
    if request.param == "memory":
        made = MemoryStore(meta)
    elif request.param == "postgres":
        library = PostgresLibrary(request.getfixturevalue("database"), tmp_path / "copies", tmp_path)
        made = await library.create("abc", "calm-fox", RandomIds(), {})
        yield made
        await made.aclose()
        await library.aclose()
        return
    else:
        durability = "power" if request.param == "sqlite-power" else "process"
        made = SqliteStore.create(tmp_path / "s" / "abc_calm-fox.db", meta, durability=durability)  # type: ignore[arg-type]  # a literal by construction
    yield made
    await made.aclose()


def draft(text: str, agent_id: str | None = "a") -> Draft:
    return Draft(
        "2026-01-01T00:00:00.000Z", agent_id, 1, "message", msgspec.Raw(msgspec.json.encode({"t": text}))
    )


def plain(events: list[Event]) -> list[tuple[int | None, str | None, bytes]]:
    return [(event.seq, event.agent_id, bytes(event.data)) for event in events]


async def test_events_are_numbered_from_one_and_read_back_as_written(store: Store) -> None:
    first = await store.append([draft("a"), draft("b")])
    second = await store.append([draft("c")])
    assert [e.seq for e in first + second] == [1, 2, 3]
    assert plain(list(store.read())) == plain(first + second)
    assert plain(list(store.read(2))) == plain(second)
    assert list(store.read(3)) == []
    assert store.head == 3


async def test_concurrent_appends_keep_batches_whole_and_seq_gap_free(store: Store) -> None:
    batches = await asyncio.gather(*(store.append([draft(f"{i}"), draft(f"{i}'")]) for i in range(50)))
    assert sorted(e.seq or 0 for batch in batches for e in batch) == list(range(1, 101))
    for batch in batches:
        assert batch[1].seq == (batch[0].seq or 0) + 1


async def test_a_reader_may_ask_for_one_agent(store: Store) -> None:
    await store.append([draft("a", "x"), draft("b", "y"), draft("c", None), draft("d", "x")])
    assert [e.seq for e in store.read(agent_id="x")] == [1, 4]


async def test_a_reader_gets_what_is_appended_while_it_reads(store: Store) -> None:
    await store.append([draft("a"), draft("b", "y")])
    reader, of_one = store.read(), store.read(agent_id="a")
    assert (next(reader).seq, next(of_one).seq) == (1, 1)
    await store.append([draft("c")])
    assert [e.seq for e in reader] == [2, 3]
    assert [e.seq for e in of_one] == [3]


class Heard:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_commit(self, events: Sequence[Event]) -> None:
        self.events += events


async def test_what_a_cancelled_caller_handed_in_is_committed_and_announced(store: Store) -> None:
    heard = Heard()
    store.watch(heard)

    async def hand_in() -> None:
        await store.append([draft("a")])

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(hand_in())
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait_for(store.append([draft("b")]), 30)
    assert [e.seq for e in heard.events] == [1, 2]
    assert plain(list(store.read())) == plain(heard.events)


async def test_others_of_the_same_iteration_do_not_wait_for_one_that_was_cancelled(store: Store) -> None:
    callers = [asyncio.create_task(store.append([draft(name)])) for name in "abc"]
    await asyncio.sleep(0)
    callers[0].cancel()
    ended = await asyncio.wait_for(asyncio.gather(*callers, return_exceptions=True), 30)
    assert plain(list(store.read())) == [
        (1, "a", b'{"t":"a"}'),
        (2, "a", b'{"t":"b"}'),
        (3, "a", b'{"t":"c"}'),
    ]
    assert [[e.seq for e in events] for events in ended[1:] if isinstance(events, list)] == [[2], [3]]


async def test_commits_are_announced_before_the_caller_goes_on(store: Store) -> None:
    heard = Heard()
    store.watch(heard)
    events = await store.append([draft("a")])
    assert heard.events == events


async def test_a_barrier_returns(store: Store) -> None:
    await store.append([draft("a")])
    await store.barrier()
    store.checkpoint()
    assert store.head == 1


async def test_a_closed_store_refuses(store: Store) -> None:
    await store.append([draft("a")])
    await store.aclose()
    with pytest.raises(StoreError) as caught:
        await store.append([draft("b")])
    assert caught.value.err.kind is ErrorKind.LOG_WRITE_FAILED
    await store.aclose()


async def test_metadata_is_kept(store: Store) -> None:
    assert store.meta == {"id": "abc", "name": "calm-fox"}
    assert store.damage is None


async def test_pages_backwards_from_the_newest(store: Store) -> None:
    await store.append([draft(f"{n}") for n in range(1, 26)])
    assert [e.seq for e in store.read_back(limit=10)] == list(range(16, 26))
    assert [e.seq for e in store.read_back(16, limit=10)] == list(range(6, 16))
    assert [e.seq for e in store.read_back(6, limit=10)] == list(range(1, 6))
    assert store.read_back(1) == []


async def test_a_number_that_no_event_has_is_a_place_in_the_log_and_no_damage(store: Store) -> None:
    await store.append([draft(f"{n}") for n in range(1, 6)])
    assert [e.seq for e in store.read(-1)] == list(range(1, 6))
    assert list(store.read(99)) == []
    assert (store.read_back(0), store.read_back(-1)) == ([], [])
    assert [e.seq for e in store.read_back(99, limit=2)] == [4, 5]
    with pytest.raises(TypeError):
        list(store.read(1.5))  # type: ignore[arg-type]
    assert store.damage is None
    await store.append([draft("6")])


async def test_blobs_are_kept_once_by_their_hash(store: Store) -> None:
    name = store.keep(b"picture")
    assert store.keep(b"picture") == name
    assert store.blob(name) == b"picture"
    for missing in ("00" * 32, "no name", ""):
        with pytest.raises(StoreError) as caught:
            store.blob(missing)
        assert caught.value.err.kind is ErrorKind.RESOURCE_MISSING
