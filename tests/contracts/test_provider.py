"""What every dialect promises, over a real socket and our own transport, in the vendor's own bytes."""

import asyncio
import re
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from planck.http.transport import HttpTransport
from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.records import codec
from planck.records.events import (
    AssistantSaid,
    Delivery,
    Envelope,
    Kind,
    TextDelta,
    ThinkingDelta,
    ToolEnd,
    TurnEnd,
    TurnStatus,
    UsageDelta,
    View,
)
from planck.records.history import History
from planck.records.messages import (
    AssistantMessage,
    Image,
    Part,
    StopReason,
    Text,
    Thinking,
    ToolCall,
)
from planck.records.outcome import ErrorKind
from planck.records.specs import ToolSpec
from planck.records.usage import Usage
from tests.wire.known import KEY, KNOWN, WRAPPED, Known, request
from tests.wire.memory import MemoryTransport
from tests.wire.script import SHOW, Answer, Fault, Step, play
from tests.wire.server import Asked, Reply, WireServer

pytestmark = pytest.mark.parametrize("known", [*KNOWN, WRAPPED], ids=lambda known: known.name)

TOOLS = (
    ToolSpec("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSpec("now", "Tells the time.", {"type": "object", "properties": {}}),
)
CALLS = (
    ToolCall("", "call_1", "read", '{"path":"a/ä.txt","deep":{"n":[1,2.5,null]}}'),
    ToolCall("", "call_2", "now", "{}"),
    ToolCall("", "call_3", "read", '{"path":"b"}'),
)


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    transport = HttpTransport()
    yield transport
    await transport.aclose()


async def collect(provider: Provider, asked: Request) -> list[Item]:
    async with asyncio.timeout(30):
        return [item async for item in provider.stream(asked)]


async def ask(known: Known, transport: HttpTransport, step: Step, **fields: Any) -> tuple[list[Item], Asked]:
    async with WireServer(play(known.server, [step])) as server:
        items = await collect(known.provider(server.url, transport), request(**fields))
        return items, server.asked[-1]


def sent(transport: MemoryTransport) -> list[Asked]:
    return [asked for asked in transport.asked if asked.path != SHOW]


def said(items: list[Item]) -> AssistantMessage:
    *deltas, last = items
    assert isinstance(last, AssistantMessage)
    assert not any(isinstance(item, AssistantMessage) for item in deltas)
    return last


@pytest.mark.parametrize("fragment", [1, 4, 1000])
async def test_text_arrives_in_deltas_and_ends_with_one_message(
    known: Known, transport: HttpTransport, fragment: int
) -> None:
    usage = Usage(100, 7, cache_read_tokens=40)
    items, _ = await ask(known, transport, Answer((Text("Grüße, 世界 🎉!"),), usage=usage, fragment=fragment))
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == "Grüße, 世界 🎉!"
    message = said(items)
    assert message.parts == (Text("Grüße, 世界 🎉!"),)
    assert (message.stop, message.model) == (StopReason.END, known.model)
    for count in known.counts:
        assert getattr(message.usage, count) == getattr(usage, count)
    assert [item.usage for item in items if isinstance(item, UsageDelta)][-1] == message.usage


async def test_thinking_is_told_apart_from_text_and_kept(known: Known, transport: HttpTransport) -> None:
    usage = Usage(10, 20, reasoning_tokens=12)
    items, _ = await ask(known, transport, Answer((*known.thoughts, Text("It is 4.")), usage=usage))
    assert "".join(item.text for item in items if isinstance(item, ThinkingDelta)) == "well, let me see"
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == "It is 4."
    assert said(items).parts == (*known.thoughts, Text("It is 4."))


@pytest.mark.parametrize("fragment", [1, 3, 1000])
async def test_parallel_calls_are_put_together_from_fragments_of_any_size(
    known: Known, transport: HttpTransport, fragment: int
) -> None:
    answer = Answer((Text("I look."), *CALLS), StopReason.TOOL_CALLS, fragment=fragment)
    items, _ = await ask(known, transport, answer, tools=TOOLS)
    message = said(items)
    assert message.stop is StopReason.TOOL_CALLS
    assert message.text == "I look."
    assert [(call.name, codec.decode(call.arguments)) for call in message.tool_calls] == [
        (call.name, codec.decode(call.arguments)) for call in CALLS
    ]
    ids = [call.provider_id for call in message.tool_calls]
    assert ids == [call.provider_id for call in CALLS] if known.ids else len(set(ids)) == 3


@pytest.mark.parametrize("stop", [StopReason.LENGTH, StopReason.REFUSAL, StopReason.FILTER])
async def test_an_answer_that_was_cut_short_calls_nothing(
    known: Known, transport: HttpTransport, stop: StopReason
) -> None:
    items, _ = await ask(known, transport, Answer((Text("I was"), *CALLS), stop), tools=TOOLS)
    message = said(items)
    if stop is not StopReason.LENGTH and not known.refuses:
        return
    assert (message.text, message.tool_calls) == ("I was", ())
    assert message.stop is stop or (message.stop in _NOT_DONE and stop in _NOT_DONE)


_NOT_DONE = {StopReason.REFUSAL, StopReason.FILTER}  # vendors name one of the two

KINDS = {
    "auth": ErrorKind.NOT_AUTHENTICATED,
    "forbidden": ErrorKind.NOT_AUTHENTICATED,
    "model": ErrorKind.MODEL_NOT_SUPPORTED,
    "rate": ErrorKind.RATE_LIMITED,
    "quota": ErrorKind.USAGE_LIMIT_REACHED,
    "server": ErrorKind.PROVIDER_HTTP_ERROR,
    "unavailable": ErrorKind.OVERLOADED,
    "overloaded": ErrorKind.OVERLOADED,
    "too_long": ErrorKind.CONTEXT_OVERFLOW,
}


@pytest.mark.parametrize("fault", KINDS)
async def test_each_refusal_has_its_kind_and_hides_the_key(
    known: Known, transport: HttpTransport, fault: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        await ask(known, transport, Fault(fault))
    assert caught.value.err.kind == KINDS[fault]
    assert KEY not in str(caught.value) + codec.encode_str(caught.value.err.details)


async def test_the_server_says_how_long_to_wait(known: Known, transport: HttpTransport) -> None:
    with pytest.raises(ProviderError) as caught:
        await ask(known, transport, Fault("rate", retry_after="7"))
    assert caught.value.retry_after == 7


@pytest.mark.parametrize("fault", ["overloaded", "rate", "server"])
async def test_an_error_inside_the_stream_has_its_kind(
    known: Known, transport: HttpTransport, fault: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        await ask(known, transport, Fault(fault, after=1))
    assert caught.value.err.kind == KINDS[fault]


@pytest.mark.parametrize("kept", [0.3, 0.9])
async def test_a_connection_that_is_lost_in_the_middle_is_a_cut(
    known: Known, transport: HttpTransport, kept: float
) -> None:
    frames = known.server.frames(Answer((Text("I look."), *CALLS), StopReason.TOOL_CALLS), known.model)
    lost = Reply(frames[: int(len(frames) * kept)], cut=True)
    whole = play(known.server, [Answer(())])
    async with WireServer(lambda asked: whole(asked) if asked.path == SHOW else lost) as server:
        with pytest.raises(ProviderError) as caught:
            await collect(known.provider(server.url, transport), request(tools=TOOLS))
    assert caught.value.err.kind == ErrorKind.STREAM_CUT


async def test_closing_the_stream_closes_the_connection(known: Known, transport: HttpTransport) -> None:
    frames = known.server.frames(Answer((Text("a long story"),)), known.model)
    first = next(number for number, frame in enumerate(frames) if b"a lon" in frame) + 1
    stalled = Reply([*frames[:first], asyncio.Event()])
    whole = play(known.server, [Answer(())])
    async with WireServer(lambda asked: whole(asked) if asked.path == SHOW else stalled) as server:
        stream = known.provider(server.url, transport).stream(request())
        while (item := await anext(stream)) != TextDelta(text="a lon"):
            assert isinstance(item, UsageDelta)
        await stream.aclose()
        async with asyncio.timeout(30):
            await server.closed_early.wait()


async def test_the_key_travels_in_a_header_only(known: Known, transport: HttpTransport) -> None:
    _, asked = await ask(known, transport, Answer((Text("hi"),)))
    assert KEY not in asked.path
    assert KEY.encode() not in asked.body
    assert [name for name, value in asked.headers.items() if KEY in value] in (
        ["authorization"],
        ["x-api-key"],
        ["x-goog-api-key"],
    )


async def test_own_thinking_goes_back_and_that_of_another_model_does_not(known: Known) -> None:
    transport = MemoryTransport(play(known.server, [Answer((Text("ok"),))]))
    provider = known.provider("http://here", transport)
    mine = said(await _thinking_answer(known))
    for message in (_of(mine), _of(mine, model="other"), _of(mine, dialect="other")):
        asked = request("first")
        asked.history.apply(AssistantSaid(message=message))
        asked.history.apply(
            ToolEnd(id="t1", name="now", ok=True, output="noon", duration_ms=1),
        )
        said(await collect(provider, asked))
    own, model, dialect = (known.replays(asked.json) for asked in sent(transport))
    assert codec.encode(own).count(b"c2lnbmVk") == (1 if "c2lnbmVk" in str(known.thoughts) else 0)
    for foreign in (model, dialect):
        assert b"c2lnbmVk" not in codec.encode(foreign)
        assert b"b3BhcXVl" not in codec.encode(foreign)


async def _thinking_answer(known: Known) -> list[Item]:
    parts: tuple[Part, ...] = (*known.thoughts, ToolCall("t1", "c1", "now", "{}"))
    transport = MemoryTransport(play(known.server, [Answer(parts, StopReason.TOOL_CALLS)]))
    return await collect(known.provider("http://here", transport), request())


def _of(message: AssistantMessage, **fields: Any) -> AssistantMessage:
    """With the id that the turn would mint, and what else is said to be different."""
    parts = tuple(replace(part, id="t1") if isinstance(part, ToolCall) else part for part in message.parts)
    return replace(message, parts=parts, **fields)


async def test_each_request_of_a_session_is_a_prefix_of_the_next(known: Known) -> None:
    transport = MemoryTransport(play(known.server, [Answer((Text("ok"),))]))
    provider = known.provider("http://here", transport)
    told = History()
    for fact in _session(known):
        told.apply(fact)
        if not told.open_calls and told.messages and not isinstance(told.messages[-1], AssistantMessage):
            said(await collect(provider, Request("a1", "be brief", told, TOOLS)))
    bodies = [_unmarked(asked.body) for asked in sent(transport)]
    assert len(bodies) > 8
    for earlier, later in pairwise(bodies):
        assert later.startswith(earlier[:-2])


def _unmarked(body: bytes) -> bytes:
    return body.replace(b',"cache_control":{"type":"ephemeral"}', b"")


def _session(known: Known) -> list[View]:
    facts: list[View] = []
    for turn in range(5):
        facts += _prompt(f"e{turn}", f"question {turn}")
        call = ToolCall(f"t{turn}", f"c{turn}", "read", '{"path": "x"}')
        facts.append(_said((*known.thoughts, Text("looking"), call), known))
        facts.append(ToolEnd(id=f"t{turn}", name="read", ok=True, output=f"line {turn}", duration_ms=1))
        facts.append(_said((Text(f"answer {turn}"),), known))
    return facts


def _prompt(id: str, text: str) -> list[View]:
    envelope = Envelope(id=id, kind=Kind.PROMPT, sender="user", receiver="a", text=text)
    return [envelope, Delivery(ids=(id,), state="delivered")]


def _said(parts: tuple[Part, ...], known: Known, dialect: str = "") -> AssistantSaid:
    return AssistantSaid(
        message=AssistantMessage(parts, dialect or known.server.name, known.model, StopReason.END)
    )


TEXTS = st.one_of(st.text(max_size=12), st.sampled_from(["", " ", "\n", "\x00", "'\"\\", "x"]))
ARGUMENTS = st.one_of(
    st.sampled_from(["", "{}", '{"path": "a"}', "[1]", "null", "{", '{"a":', "nonsense", "[" * 5000]), TEXTS
)
PARTS = st.lists(
    st.one_of(
        st.builds(Text, TEXTS),
        st.builds(Thinking, TEXTS, st.sampled_from(["", "c2ln"]), st.sampled_from(["", "ZGF0YQ=="])),
        st.tuples(
            st.sampled_from(["read", "now", "gone", "", "a b.c", "ä" * 80]),
            ARGUMENTS,
            st.sampled_from(["", "a b|c", "x.y", "z" * 80]),
        ),
    ),
    max_size=5,
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("prompt"), TEXTS),
        st.tuples(st.just("said"), PARTS, st.sampled_from(["anthropic", "google", "openai_chat", "x"])),
        st.tuples(st.just("end")),
    ),
    max_size=8,
)


@given(steps=STEPS, finished=st.integers(0, 5), cut=st.integers(0, 40), image=st.booleans())
def test_any_history_folds_to_a_sendable_request(
    known: Known, steps: list[Any], finished: int, cut: int, image: bool
) -> None:
    told = History()
    for fact in [*_facts(steps, finished, image, known)[:cut], *_prompt("last", "go on")]:
        told.apply(fact)
    transport = MemoryTransport(play(known.server, [Answer((Text("ok"),))]))
    provider = known.provider("http://here", transport, images=image)
    items = asyncio.run(collect(provider, Request("a1", "", told, TOOLS)))
    assert said(items).text == "ok"


def _facts(steps: list[Any], finished: int, image: bool, known: Known) -> list[View]:
    facts: list[View] = []
    picture = (Image("image/png", "aGk="),) if image else ()
    for number, step in enumerate(steps):
        match step:
            case ("prompt", text):
                facts += _prompt(f"e{number}", text)
            case ("said", parts, dialect):
                made = tuple(_part(part, number, at) for at, part in enumerate(parts))
                facts += [*_prompt(f"p{number}", "and?"), _said(made, known, dialect)]
                calls = [part for part in made if isinstance(part, ToolCall)]
                facts += [
                    ToolEnd(id=call.id, name=call.name, ok=not at, output="", duration_ms=1, images=picture)
                    for at, call in enumerate(calls[:finished])
                ]
            case _:
                facts.append(TurnEnd(status=TurnStatus.INTERRUPTED, text="", usage=Usage()))
    return facts


def _part(part: Any, number: int, at: int) -> Part:
    if not isinstance(part, tuple):
        return part  # type: ignore[no-any-return]
    name, arguments, odd = part
    return ToolCall(f"t{number}_{at}", f"{odd}c{number}_{at}", name, arguments)


async def test_a_tool_can_be_required(known: Known, transport: HttpTransport) -> None:
    answer = Answer((CALLS[2],), StopReason.TOOL_CALLS)
    _, asked = await ask(known, transport, answer, tools=TOOLS, tool_choice="required")
    if not known.forces:
        return
    assert re.search(r'"(tool_choice|mode|type)":\s*"?(required|ANY|\{"type":"any"|any)', asked.body.decode())
