"""Streams that never end, in every dialect: each ends by its clock or at its bound, with a kind."""

import asyncio
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Any

import pytest

from planck.llm.provider import Provider, ProviderError
from planck.llm.retry import Retrying
from planck.records.messages import AssistantMessage, StopReason, size
from planck.records.outcome import Err, ErrorKind
from tests.memory import growth
from tests.virtual_time import run_virtual
from tests.wire.hostile import ENDLESS, NOISE, HostileTransport, say_word_then
from tests.wire.known import KNOWN, Known, request

pytestmark = pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)


async def end_of(provider: Provider, **fields: Any) -> tuple[AssistantMessage | ErrorKind, float]:
    """What a call came to, and how many seconds it took."""
    loop = asyncio.get_running_loop()
    begun, last = loop.time(), None
    try:
        async for item in provider.stream(request(**fields)):
            last = item
    except ProviderError as error:
        return error.err.kind, loop.time() - begun
    assert isinstance(last, AssistantMessage)
    return last, loop.time() - begun


def watched(known: Known, transport: HostileTransport) -> Provider:
    provider = known.provider("http://here", transport)
    return Retrying(provider, lambda: 0.0, retries=0, idle_timeout=120, first_timeout=600)


@pytest.mark.parametrize("noise", NOISE)
def test_noise_is_no_sign_of_life(known: Known, noise: str) -> None:
    stream = islice(say_word_then(NOISE[noise])(known), 2_000)  # whoever takes it for life waits that long
    transport = HostileTransport(stream, pause=1)
    kind, seconds = run_virtual(end_of(watched(known, transport)))
    assert kind is ErrorKind.STREAM_CUT
    assert 119 <= seconds - words_before(known) <= 121
    assert transport.closed


CUTS: dict[str, Callable[[Known], Iterable[bytes]]] = {
    "at once": lambda known: [],
    "after a word": lambda known: islice(say_word_then(NOISE["comments"])(known), words_before(known)),
    "by silence": lambda known: islice(say_word_then(NOISE["comments"])(known), 2_000),
    "inside an event": lambda known: [b'data: {"half": '],
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_cut_stream_names_its_provider(known: Known, cut: str) -> None:
    transport = HostileTransport(iter(CUTS[cut](known)), pause=1)
    provider = Retrying(known.provider("http://here", transport), lambda: 0.0, retries=0, name="home")

    async def ask() -> Err:
        with pytest.raises(ProviderError) as caught:
            async for _ in provider.stream(request()):
                pass
        return caught.value.err

    err = run_virtual(ask())
    assert (err.kind, err.details["provider"]) == (ErrorKind.STREAM_CUT, "home")
    assert err.message.startswith("'home': ")


@pytest.mark.parametrize("noise", NOISE)
def test_noise_before_the_first_word_is_no_word(known: Known, noise: str) -> None:
    piece = NOISE[noise](known)
    transport = HostileTransport(iter([piece] * 10_000), pause=1)
    kind, seconds = run_virtual(end_of(watched(known, transport)))
    assert (kind, round(seconds)) == (ErrorKind.STREAM_CUT, 600)


def words_before(known: Known) -> int:
    """Seconds until the first word was said: one for each piece."""
    return next(at for at, piece in enumerate(say_word_then(NOISE["comments"])(known), 1) if b"MARK" in piece)


@pytest.mark.parametrize("endless", ENDLESS)
async def test_an_answer_without_an_end_takes_no_more_than_its_bound(known: Known, endless: str) -> None:
    stream = ENDLESS[endless](known)
    stream = chain([next(stream)], stream)  # what the test itself needs is there before
    transport = HostileTransport(stream, pieces=16)
    grown = growth()
    async with asyncio.timeout(60):
        end, _ = await end_of(known.provider("http://here", transport))
    assert grown() < 100 << 10
    assert transport.closed
    if isinstance(end, AssistantMessage):
        assert end.stop is StopReason.LENGTH
        assert size(end) < 200_000
        assert end.usage.output_tokens > 0
    else:
        assert end is ErrorKind.LIMIT_EXCEEDED


async def test_every_clock_goes_on_while_a_flood_is_read(known: Known) -> None:
    """One word in each event, as fast as they can be had: others run in between."""
    transport = HostileTransport(say_word_then(a_letter)(known), pieces=100_000)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.ensure_future(count_turns())
    await end_of(known.provider("http://here", transport), answer_bytes=20_000)
    counting.cancel()
    assert turns > 20_000 // 256


def a_letter(known: Known) -> bytes:
    word = next(piece for piece in say_word_then(NOISE["comments"])(known) if b"MARK" in piece)
    return word.replace(b"MARK", b"x")
