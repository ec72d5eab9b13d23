import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck.records import codec
from planck.records.events import (
    ErrorEvent,
    Event,
    Kind,
    TextBurst,
    TextDelta,
    ToolProgress,
    ToolStart,
    TurnEnd,
    TurnStart,
    TurnStatus,
)
from planck.records.outcome import ErrorKind
from planck.records.redact import Redactor
from planck.records.usage import Usage
from planck.session.bus import Bus
from planck.session.journal import SessionJournal
from planck.store.memory import MemoryStore
from planck.store.sqlite.store import SqliteStore
from planck.store.store import Store, StoreError
from tests.ports import FixedClock


@pytest.fixture
def store(tmp_path: Path) -> Any:
    made = SqliteStore.create(tmp_path / "s" / "a_b.db", {})
    yield made
    made.close()


@pytest.fixture(params=[True, False], ids=["file", "memory"])
def either(request: pytest.FixtureRequest, store: SqliteStore) -> Store:
    return store if request.param else MemoryStore()


def fact(text: str) -> ErrorEvent:
    return ErrorEvent(kind="x", message=text)


def delta(text: str) -> TextDelta:
    return TextDelta(text=text)


def shown(event: Event) -> tuple[int | None, str]:
    data = msgspec.json.decode(event.data)
    return event.seq, data.get("message") or data.get("text")


async def test_what_is_recorded_is_published_once_it_is_stored(store: SqliteStore) -> None:
    bus = Bus()
    journal = SessionJournal(store, bus, FixedClock())
    subscription = bus.subscribe()
    events = await journal.record("a", 1, fact("one"), fact("two"), barrier=True)
    journal.publish("a", 1, delta("d"))
    assert list(subscription.queue)[:2] == events
    assert subscription.queue[2].seq is None
    assert [shown(e) for e in store.read()] == [(1, "one"), (2, "two")]


async def test_a_delta_can_not_be_recorded(store: SqliteStore) -> None:
    journal = SessionJournal(store, Bus(), FixedClock())
    with pytest.raises(StoreError) as caught:
        await journal.record("a", 1, fact("one"), delta("d"))
    assert caught.value.err.kind is ErrorKind.EPHEMERAL_NOT_LOGGABLE
    assert store.head == 0


@pytest.mark.parametrize("args", [object(), {"a": "\ud800"}, {1j: 2}], ids=["object", "surrogate", "key"])
async def test_what_is_no_json_is_refused_and_nothing_of_it_stored(store: SqliteStore, args: Any) -> None:
    journal = SessionJournal(store, Bus(), FixedClock())
    with pytest.raises(StoreError) as caught:
        await journal.record("a", 1, fact("one"), ToolStart(id="1", name="x", args=args))
    assert caught.value.err.kind is ErrorKind.LOG_ENCODE_FAILED
    assert store.head == 0


async def test_known_secrets_never_reach_the_file(store: SqliteStore, tmp_path: Path) -> None:
    redactor = Redactor(["sk-canary"])
    journal = SessionJournal(store, Bus(), FixedClock(), redactor=lambda: redactor)
    await journal.record("a", 1, fact("the key is sk-canary"), barrier=True)
    assert [shown(e) for e in store.read()] == [(1, "the key is [redacted]")]
    store.close()
    assert not [p for p in (tmp_path / "s").iterdir() if b"sk-canary" in p.read_bytes()]


async def test_keys_are_looked_for_once_for_all_that_came_together(store: SqliteStore) -> None:
    """A key that was written meanwhile is known to the next thing that is shown."""
    found, looks, bus = [Redactor([])], list[Redactor](), Bus()

    def look() -> Redactor:
        looks.append(found[-1])
        return found[-1]

    journal, subscription = SessionJournal(store, bus, FixedClock(), redactor=look), bus.subscribe()
    journal.publish("a", 1, TextBurst(text="said " * 3, texts=["said "] * 3))
    assert len(looks) == 1
    found.append(Redactor(["sk-canary"]))
    journal.publish("a", 1, ToolProgress(id="1", text="cat: sk-canary\n"))
    journal.publish("a", 1, delta("it is sk-canary!"))
    told = [codec.decode(event.data)["text"] for event in subscription.queue]
    assert told == ["said "] * 3 + ["cat: [redacted]\n", "it is [redacted]!"]


async def test_replay_then_live_has_no_gap_and_nothing_twice(store: SqliteStore) -> None:
    bus = Bus()
    journal = SessionJournal(store, bus, FixedClock())
    await journal.record("a", 1, *(fact(f"{n}") for n in range(1, 31)))
    seen: list[Event] = []

    async def watch() -> None:
        async with aclosing(journal.events(after=10)) as events:
            async for event in events:
                seen.append(event)
                await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watch())
        for n in range(31, 101):
            journal.publish("a", 1, delta(f"d{n}"))
            await journal.record("a", 1, fact(f"{n}"))
        bus.close()
    assert [shown(e) for e in seen if e.seq] == [(n, f"{n}") for n in range(11, 101)]


async def test_a_slow_reader_loses_deltas_and_never_events(either: Store) -> None:
    bus = Bus()
    journal = SessionJournal(either, bus, FixedClock())
    events = journal.events()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(_next(events))
        await asyncio.sleep(0)
        await journal.record("a", 1, fact("1"))
    assert shown(first.result()) == (1, "1")
    for n in range(2, 3002):
        journal.publish("a", 1, delta("d"))
        await journal.record("a", 1, fact(f"{n}"))
    bus.close()
    rest = [event async for event in events]
    assert [shown(e) for e in rest if e.seq] == [(n, f"{n}") for n in range(2, 3002)]
    assert 0 < sum(e.seq is None for e in rest) < 3000


async def test_a_reader_that_fell_behind_while_it_held_an_event_reaches_the_head(either: Store) -> None:
    journal = SessionJournal(either, Bus(), FixedClock())
    await journal.record("a", 1, fact("1"))
    events = journal.events()
    assert shown(await anext(events)) == (1, "1")
    for n in range(2, 2002):
        await journal.record("a", 1, fact(f"{n}"))
    async with asyncio.timeout(30):  # the session stays open: nothing more will come
        for n in range(2, 2002):
            assert shown(await anext(events)) == (n, f"{n}")
    await events.aclose()


async def test_a_slow_reader_still_gets_every_event_after_the_session_was_closed(store: SqliteStore) -> None:
    bus = Bus()
    journal = SessionJournal(store, bus, FixedClock())
    await journal.record("a", 1, fact("1"))
    events = journal.events()
    assert shown(await anext(events)) == (1, "1")
    for n in range(2, 3002):
        await journal.record("a", 1, fact(f"{n}"))
    journal.close()
    store.close()
    assert [shown(e) async for e in events] == [(n, f"{n}") for n in range(2, 3002)]


async def _next(events: AsyncGenerator[Event, None]) -> Event:
    return await anext(events)


async def test_a_delta_is_never_shown_after_the_event_that_completes_it(store: SqliteStore) -> None:
    bus = Bus()
    journal = SessionJournal(store, bus, FixedClock())
    await journal.record("a", 1, fact("first"))
    events = journal.events()
    assert shown(await anext(events)) == (1, "first")
    journal.publish("a", 1, delta("hal"))
    await journal.record("a", 1, fact("half"))
    journal.publish("a", 1, delta("next"))
    bus.close()
    assert [shown(e) async for e in events] in (
        [(None, "hal"), (2, "half"), (None, "next")],
        [(2, "half"), (None, "next")],
    )


async def test_without_live_the_replay_ends(store: SqliteStore) -> None:
    journal = SessionJournal(store, Bus(), FixedClock())
    await journal.record("a", 1, fact("1"), fact("2"))
    assert [shown(e) async for e in journal.events(after=1, live=False)] == [(2, "2")]


async def test_the_log_is_tidied_while_an_agent_stays_in_its_turn(tmp_path: Path) -> None:
    path = tmp_path / "s" / "a_b.db"
    store = SqliteStore.create(path, {})
    journal = SessionJournal(store, Bus(), FixedClock())
    start = TurnStart(kind=Kind.PROMPT, message_id="m")
    end = TurnEnd(status=TurnStatus.COMPLETED, text="", usage=Usage())
    await journal.record("lead", 1, start)
    for turn in range(20):  # of a worker, for which the lead waits
        await journal.record("worker", turn, start, fact("y" * 500_000))
        await journal.record("worker", turn, end)
    assert path.stat().st_size > 5_000_000
    assert path.with_name(f"{path.name}-wal").stat().st_size < 8_000_000
    store.close()
