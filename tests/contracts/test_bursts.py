"""Deltas that come together: whoever takes them so is told the same as one who takes them one by one."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from planck.llm.provider import Item, Provider, ProviderError
from planck.records.events import TextBurst, ThinkingBurst
from planck.records.messages import AssistantMessage, Part, Text, Thinking, ToolCall
from planck.testing.cassette import Recording
from planck.testing.faulty import Faulty
from tests.llm.test_hostile_streams import a_letter
from tests.wire.hostile import HostileTransport, say_word_then
from tests.wire.known import KNOWN, WRAPPED, Known, request
from tests.wire.memory import MemoryTransport
from tests.wire.script import Answer, Fault, Step, play

pytestmark = pytest.mark.parametrize("known", [*KNOWN, WRAPPED], ids=lambda known: known.name)

PARTS: tuple[Part, ...] = (
    Thinking("well, let me see"),
    Text("one two three four, and éé 🙂 " * 30),
    ToolCall("", "c1", "read", '{"path": "x"}'),
)
WHOLE = 1 << 20
"""All of it in one read."""


def open_known(known: Known, step: Step, piece: int) -> Provider:
    return known.provider("http://here", MemoryTransport(play(known.server, [step]), piece=piece))


async def hear(provider: Provider, *, bursts: bool) -> tuple[list[Item], list[Item], str]:
    """What came, the same with each delta alone, and the error that ended it."""
    came: list[Item] = []
    error = ""
    try:
        async for item in provider.stream(request(bursts=bursts)):
            came.append(item)
    except ProviderError as failure:
        error = str(failure.err.kind)
    return came, [one for item in came for one in unfold(item)], error


def unfold(item: Item) -> Sequence[Item]:
    return item.deltas if isinstance(item, TextBurst | ThinkingBurst) else (item,)


@pytest.mark.parametrize("piece", [WHOLE, 700, 1])
async def test_a_burst_says_what_its_deltas_say(known: Known, piece: int) -> None:
    alone, _, _ = await hear(open_known(known, Answer(PARTS), 1), bursts=False)
    came, told, _ = await hear(open_known(known, Answer(PARTS), piece), bursts=True)
    assert told == alone
    assert isinstance(told[-1], AssistantMessage)
    bursts = [item for item in came if isinstance(item, TextBurst | ThinkingBurst)]
    assert all(burst.text == "".join(burst.texts) and len(burst.texts) > 1 for burst in bursts)
    assert bool(bursts) == (piece > 1)
    assert piece < WHOLE or len(came) < 10


@pytest.mark.parametrize("bursts", [True, False])
@pytest.mark.parametrize("after", range(1, 6))
async def test_what_stands_before_an_error_in_the_same_read_is_told(
    known: Known, after: int, bursts: bool
) -> None:
    fault = Fault("overloaded", after=after)
    _, alone, kind = await hear(open_known(known, fault, 1), bursts=False)
    _, told, same = await hear(open_known(known, fault, WHOLE), bursts=bursts)
    assert (told, same) == (alone, kind)
    assert kind or isinstance(told[-1], AssistantMessage)  # one that had ended before


async def test_a_reader_that_leaves_in_a_burst_closes_the_connection(known: Known) -> None:
    transport = HostileTransport(say_word_then(a_letter)(known), pieces=2_000)
    async with aclosing(known.provider("http://here", transport).stream(request(bursts=True))) as stream:
        assert isinstance(await burst_of(stream), TextBurst)
    assert transport.closed


async def test_a_reader_that_is_cancelled_in_a_burst_closes_the_connection(known: Known) -> None:
    transport = HostileTransport(say_word_then(a_letter)(known), pieces=100_000)
    begun = asyncio.Event()

    async def read() -> None:
        async for item in known.provider("http://here", transport).stream(request(bursts=True)):
            if isinstance(item, TextBurst):
                begun.set()

    reading = asyncio.ensure_future(read())
    await begun.wait()
    reading.cancel()
    await asyncio.wait({reading})
    assert reading.cancelled()
    assert transport.closed


async def burst_of(stream: AsyncIterator[Item]) -> Item:
    while True:
        item = await anext(stream)
        if isinstance(item, TextBurst):
            return item


@pytest.mark.parametrize("left", range(8))
async def test_a_fault_inside_a_burst_lets_through_what_came_before(known: Known, left: int) -> None:
    def faulty(piece: int) -> Provider:
        numbers = iter([0.0, 0.9, 0.0, left / 8])  # a fault, inside the stream, a cut, after so many items
        return Faulty(open_known(known, Answer(PARTS), piece), lambda: next(numbers))

    _, alone, kind = await hear(faulty(1), bursts=False)
    _, told, same = await hear(faulty(WHOLE), bursts=True)
    assert (told, same, len(told)) == (alone, kind, left)
    assert kind == "stream_cut"


async def test_a_tape_is_the_same_however_the_stream_came(known: Known) -> None:
    async def record(*, piece: int, bursts: bool) -> Any:
        tape = Recording(open_known(known, Answer(PARTS), piece))
        await hear(tape, bursts=bursts)
        return tape.dump()

    assert await record(piece=WHOLE, bursts=True) == await record(piece=1, bursts=False)
