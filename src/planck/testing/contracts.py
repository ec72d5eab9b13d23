"""Contracts: what Planck expects of an object that a program passes, as checks for any test runner."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from planck.records.events import Draft, Event
from planck.records.outcome import ErrorKind
from planck.store.store import Store, StoreError

MakeStore = Callable[[], Awaitable[Store]]
"""Makes an empty store; called once for each check."""


async def check_store(make: MakeStore) -> None:
    """Runs every check of `STORE_CHECKS`, each on a new store; raises `AssertionError` for one that fails.

    await check_store(make_my_store)
    """
    for check in STORE_CHECKS:
        store = await make()
        try:
            await check(store)
        except Exception as problem:
            said = f"{check.__name__.replace('_', ' ')}: {type(problem).__name__}: {problem}"
            raise AssertionError(said) from problem
        finally:
            await store.aclose()


@contextmanager
def _refused(kind: ErrorKind) -> Iterator[None]:
    try:
        yield
    except StoreError as refused:
        if refused.err.kind is not kind:
            raise AssertionError(f"{refused.err.kind} instead of {kind}") from refused
    else:
        raise AssertionError(f"no StoreError of kind {kind}")


def _draft(text: str, agent_id: str | None = "a") -> Draft:
    return Draft(
        "2026-01-01T00:00:00.000Z", agent_id, 1, "message", msgspec.Raw(msgspec.json.encode({"t": text}))
    )


def _plain(events: list[Event]) -> list[tuple[int | None, str | None, bytes]]:
    return [(event.seq, event.agent_id, bytes(event.data)) for event in events]


async def events_are_numbered_from_one_and_read_back_as_written(store: Store) -> None:
    first = await store.append([_draft("a"), _draft("b")])
    second = await store.append([_draft("c")])
    assert [e.seq for e in first + second] == [1, 2, 3]
    assert _plain(list(store.read())) == _plain(first + second)
    assert _plain(list(store.read(2))) == _plain(second)
    assert list(store.read(3)) == []
    assert store.head == 3


async def concurrent_appends_keep_batches_whole_and_seq_gap_free(store: Store) -> None:
    batches = await asyncio.gather(*(store.append([_draft(f"{i}"), _draft(f"{i}'")]) for i in range(50)))
    assert sorted(e.seq or 0 for batch in batches for e in batch) == list(range(1, 101))
    for batch in batches:
        assert batch[1].seq == (batch[0].seq or 0) + 1


async def a_reader_may_ask_for_one_agent(store: Store) -> None:
    await store.append([_draft("a", "x"), _draft("b", "y"), _draft("c", None), _draft("d", "x")])
    assert [e.seq for e in store.read(agent_id="x")] == [1, 4]


async def a_reader_gets_what_is_appended_while_it_reads(store: Store) -> None:
    await store.append([_draft("a"), _draft("b", "y")])
    reader, of_one = store.read(), store.read(agent_id="a")
    assert (next(reader).seq, next(of_one).seq) == (1, 1)
    await store.append([_draft("c")])
    assert [e.seq for e in reader] == [2, 3]
    assert [e.seq for e in of_one] == [3]


class _Heard:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_commit(self, events: Sequence[Event]) -> None:
        self.events += events


async def what_a_cancelled_caller_handed_in_is_committed_and_announced(store: Store) -> None:
    heard = _Heard()
    store.watch(heard)

    async def hand_in() -> None:
        await store.append([_draft("a")])

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(hand_in())
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait_for(store.append([_draft("b")]), 30)
    assert [e.seq for e in heard.events] == [1, 2]
    assert _plain(list(store.read())) == _plain(heard.events)


async def others_of_the_same_iteration_do_not_wait_for_one_that_was_cancelled(store: Store) -> None:
    callers = [asyncio.ensure_future(store.append([_draft(name)])) for name in "abc"]
    await asyncio.sleep(0)
    callers[0].cancel()
    ended = await asyncio.wait_for(asyncio.gather(*callers, return_exceptions=True), 30)
    assert _plain(list(store.read())) == [
        (1, "a", b'{"t":"a"}'),
        (2, "a", b'{"t":"b"}'),
        (3, "a", b'{"t":"c"}'),
    ]
    assert [[e.seq for e in events] for events in ended[1:] if isinstance(events, list)] == [[2], [3]]


async def commits_are_announced_before_the_caller_goes_on(store: Store) -> None:
    heard = _Heard()
    store.watch(heard)
    events = await store.append([_draft("a")])
    assert heard.events == events


async def a_barrier_returns(store: Store) -> None:
    await store.append([_draft("a")])
    await store.barrier()
    store.checkpoint()
    assert store.head == 1


async def a_closed_store_refuses(store: Store) -> None:
    await store.append([_draft("a")])
    await store.aclose()
    with _refused(ErrorKind.LOG_WRITE_FAILED):
        await store.append([_draft("b")])
    await store.aclose()


async def metadata_is_kept(store: Store) -> None:
    assert isinstance(store.meta, dict)
    assert store.damage is None


async def pages_backwards_from_the_newest(store: Store) -> None:
    await store.append([_draft(f"{n}") for n in range(1, 26)])
    assert [e.seq for e in store.read_back(limit=10)] == list(range(16, 26))
    assert [e.seq for e in store.read_back(16, limit=10)] == list(range(6, 16))
    assert [e.seq for e in store.read_back(6, limit=10)] == list(range(1, 6))
    assert store.read_back(1) == []


async def a_number_that_no_event_has_is_a_place_in_the_log_and_no_damage(store: Store) -> None:
    await store.append([_draft(f"{n}") for n in range(1, 6)])
    assert [e.seq for e in store.read(-1)] == list(range(1, 6))
    assert list(store.read(99)) == []
    assert (store.read_back(0), store.read_back(-1)) == ([], [])
    assert [e.seq for e in store.read_back(99, limit=2)] == [4, 5]
    try:
        list(store.read(1.5))  # type: ignore[arg-type]  # what a program may pass all the same
    except TypeError:
        pass
    else:
        raise AssertionError("read(1.5) must raise TypeError")
    assert store.damage is None
    await store.append([_draft("6")])


async def blobs_are_kept_once_by_their_hash(store: Store) -> None:
    name = store.keep(b"picture")
    assert store.keep(b"picture") == name
    assert store.blob(name) == b"picture"
    for missing in ("00" * 32, "no name", ""):
        with _refused(ErrorKind.RESOURCE_MISSING):
            store.blob(missing)


STORE_CHECKS: tuple[Callable[[Store], Awaitable[None]], ...] = (
    events_are_numbered_from_one_and_read_back_as_written,
    concurrent_appends_keep_batches_whole_and_seq_gap_free,
    a_reader_may_ask_for_one_agent,
    a_reader_gets_what_is_appended_while_it_reads,
    what_a_cancelled_caller_handed_in_is_committed_and_announced,
    others_of_the_same_iteration_do_not_wait_for_one_that_was_cancelled,
    commits_are_announced_before_the_caller_goes_on,
    a_barrier_returns,
    a_closed_store_refuses,
    metadata_is_kept,
    pages_backwards_from_the_newest,
    a_number_that_no_event_has_is_a_place_in_the_log_and_no_damage,
    blobs_are_kept_once_by_their_hash,
)
"""By name what a store must do."""
