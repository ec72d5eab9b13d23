"""Readers of every pace, in seeded disorder: no event missing, none twice, and no delta after its event."""

import asyncio
import random

import pytest

from planck.records.events import ErrorEvent, Event, TextDelta, view
from planck.session.bus import Bus
from planck.session.journal import SessionJournal
from planck.store.memory import MemoryStore
from tests.ports import FixedClock
from tests.virtual_time import run_virtual


async def _simulate(seed: int) -> None:
    rng = random.Random(seed)
    store = MemoryStore()
    journal = SessionJournal(store, Bus(), FixedClock())
    seen: list[tuple[int, list[Event]]] = []

    async def read(after: int, pace: float) -> None:
        mine: list[Event] = []
        seen.append((after, mine))
        async for event in journal.events(after):
            mine.append(event)
            if rng.random() < pace:
                await asyncio.sleep(rng.random())

    async def write(writer: int) -> None:
        for burst in range(8):
            for _ in range(rng.randrange(200)):
                journal.publish("a", 1, TextDelta(text=f"{writer}.{burst}"))
                if rng.random() < 0.7:
                    await journal.record("a", 1, ErrorEvent(kind=f"{writer}.{burst}", message=""))
            await asyncio.sleep(rng.random() * 3)

    async with asyncio.TaskGroup() as readers:
        async with asyncio.TaskGroup() as writers:
            for writer in range(3):
                writers.create_task(write(writer))
            for _ in range(6):
                readers.create_task(read(rng.randrange(50), rng.choice([0.0, 0.01, 0.3])))
                await asyncio.sleep(rng.random() * 4)
        journal.close()
    for after, events in seen:
        assert [event.seq for event in events if event.seq] == list(range(after + 1, store.head + 1))
        _assert_no_stale_delta(events)


def _assert_no_stale_delta(events: list[Event]) -> None:
    """A delta names its burst; it never comes after an event of a later burst of the same writer."""
    newest: dict[str, int] = {}
    for event in events:
        fact = view(event)
        text = fact.text if isinstance(fact, TextDelta) else fact.kind if isinstance(fact, ErrorEvent) else ""
        writer, _, burst = text.partition(".")
        assert int(burst) >= newest.get(writer, 0)
        if event.seq:
            newest[writer] = int(burst)


@pytest.mark.parametrize("number", range(12))
def test_readers_of_every_pace_get_every_event_once(number: int, seed: int) -> None:
    print("seed", seed + number)
    run_virtual(_simulate(seed + number), seed=seed + number)


@pytest.mark.soak
def test_a_thousand_disorders(seed: int) -> None:
    for number in range(1000):
        run_virtual(_simulate(seed + number), seed=seed + number)
