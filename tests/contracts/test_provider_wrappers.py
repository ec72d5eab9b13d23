"""What every provider promises that is not a dialect: the script, and all that wraps another provider."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.llm.retry import Retrying
from planck.records.events import TextDelta
from planck.records.messages import AssistantMessage
from planck.records.outcome import Err, ErrorKind
from planck.records.usage import Usage
from planck.testing.cassette import Playback, Recording
from planck.testing.faulty import Faulty
from planck.testing.scripted import Say, ScriptedProvider
from tests.budgets import meter
from tests.wire.known import request

Wrap = Callable[[ScriptedProvider], Provider]


class Flat:
    """A cent for each answer."""

    def cost_usd(self, usage: Usage) -> float:
        return 0.01


WRAPPERS: dict[str, Wrap] = {
    "scripted": lambda inner: inner,
    "retrying": lambda inner: Retrying(inner, lambda: 0.0),
    "faulty": lambda inner: Faulty(inner, lambda: 0.5, rate=0.0),
    "recording": Recording,
    "metered": lambda inner: meter(inner, 100.0, Flat())[0],
    "all": lambda inner: Retrying(Recording(Faulty(inner, lambda: 0.5, rate=0.0)), lambda: 0.0),
}


@pytest.fixture(params=WRAPPERS.values(), ids=list(WRAPPERS))
def wrap(request: pytest.FixtureRequest) -> Wrap:
    wrap: Wrap = request.param
    return wrap


async def collect(provider: Provider, asked: Request) -> list[Item]:
    return [item async for item in provider.stream(asked)]


async def test_deltas_pass_unchanged_and_end_with_exactly_one_message(wrap: Wrap) -> None:
    say = Say(text="one two three", thinking="let me see", calls=[("read", {"path": "x"})])
    plain = await collect(ScriptedProvider([say]), request())
    assert await collect(wrap(ScriptedProvider([say])), request()) == plain
    assert [isinstance(item, AssistantMessage) for item in plain] == [False] * (len(plain) - 1) + [True]


async def test_a_failure_passes_with_its_kind_and_what_the_server_asked_for(wrap: Wrap) -> None:
    failure = ProviderError(ErrorKind.NOT_AUTHENTICATED, "who are you", {"status": 401}, retry_after=2.0)
    with pytest.raises(ProviderError) as caught:
        await collect(wrap(ScriptedProvider([failure])), request())
    assert (caught.value.err.kind, caught.value.retry_after) == (ErrorKind.NOT_AUTHENTICATED, 2.0)


async def test_closing_closes_what_is_inside(wrap: Wrap) -> None:
    inner = ScriptedProvider([Say(text="one two", wait=asyncio.Event())])
    stream = wrap(inner).stream(request())
    assert await anext(stream) == TextDelta(text="one ")
    assert inner.open_streams == 1
    await stream.aclose()
    assert inner.open_streams == 0


async def test_cancelling_closes_what_is_inside(wrap: Wrap) -> None:
    inner = ScriptedProvider([Say(text="one two", wait=asyncio.Event())])
    task = asyncio.ensure_future(collect(wrap(inner), request()))
    async with asyncio.timeout(30):
        while not inner.open_streams:
            await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert inner.open_streams == 0


async def test_a_bug_is_no_provider_error(wrap: Wrap) -> None:
    with pytest.raises(ZeroDivisionError):
        await collect(wrap(ScriptedProvider([ZeroDivisionError()])), request())


async def test_one_provider_serves_many_agents_at_once(wrap: Wrap) -> None:
    provider = wrap(ScriptedProvider(lambda asked: f"for {asked.agent_id}"))
    asked = [Request(f"a{n}", "", request().history) for n in range(20)]
    answers = await asyncio.gather(*(collect(provider, one) for one in asked))
    texts = [answer[-1].text for answer in answers if isinstance(answer[-1], AssistantMessage)]
    assert texts == [f"for a{n}" for n in range(20)]


async def test_a_tape_keeps_these_promises_too() -> None:
    script: list[Any] = [Say(text="one two", thinking="hm"), Err(ErrorKind.OVERLOADED, "later")]
    recording = Recording(ScriptedProvider(script))
    plain = await collect(recording, request())
    with pytest.raises(ProviderError):
        await collect(recording, request())
    playback = Playback(recording.dump())
    assert await collect(playback, request()) == plain
    with pytest.raises(ProviderError) as caught:
        await collect(playback, request())
    assert caught.value.err == Err(ErrorKind.OVERLOADED, "later")
