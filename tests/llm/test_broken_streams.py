"""Streams that are cut at every byte, and frames that are damaged: typed errors, and never half a call."""

import random
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import pytest

from planck.llm.provider import ProviderError
from planck.records import codec
from planck.records.messages import AssistantMessage, Part, StopReason, Text, ToolCall
from planck.records.outcome import ErrorKind
from planck.records.specs import ToolSpec
from tests.wire.known import KNOWN, Known, request
from tests.wire.memory import MemoryTransport
from tests.wire.script import Answer, play

pytestmark = pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)

TOOLS = (
    ToolSpec("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSpec("now", "Tells.", {"type": "object", "properties": {}}),
)
CALLS = (
    ToolCall("", "call_1", "read", '{"path":"a/ä.txt","deep":{"n":[1,2.5,null]}}'),
    ToolCall("", "call_2", "now", "{}"),
    ToolCall("", "call_3", "read", '{"path":"b","more":"\\"{}\\""}'),
)
RETRIED = {ErrorKind.STREAM_CUT, ErrorKind.NETWORK}


def answers(known: Known) -> tuple[Answer, Answer]:
    said: tuple[Part, ...] = (*known.thoughts, Text("I look: ä."), *CALLS)
    return Answer(said, StopReason.TOOL_CALLS, fragment=9), Answer((*known.thoughts, Text("It is 4.")))


async def outcome(known: Known, answer: Answer, transport: MemoryTransport) -> AssistantMessage | ErrorKind:
    """What a caller sees: the one message or the kind of the one error it may meet."""
    last: Any = None
    try:
        provider = known.provider("http://here", transport)
        async for item in provider.stream(request(tools=TOOLS)):
            assert not isinstance(last, AssistantMessage)
            last = item
    except ProviderError as error:
        assert not isinstance(last, AssistantMessage)
        return error.err.kind
    assert isinstance(last, AssistantMessage)
    return last


async def cut_at_each(known: Known, cuts: Iterator[int], broken: bool) -> tuple[int, int]:
    """How many cuts gave an error, and how many came late enough for the whole message."""
    failed = whole = 0
    for answer in answers(known):
        complete = await outcome(known, answer, MemoryTransport(play(known.server, [answer])))
        assert isinstance(complete, AssistantMessage)
        size = len(b"".join(known.server.frames(answer, known.model)))
        for at in cuts_of(cuts, size):
            script = play(known.server, [answer])
            transport = MemoryTransport(script, alter=itemgetter(slice(at)), broken=broken)
            seen = await outcome(known, answer, transport)
            if isinstance(seen, ErrorKind):
                assert seen in RETRIED, (at, seen)
                failed += 1
            else:
                assert seen.parts == complete.parts, at
                whole += 1
    return failed, whole


def cuts_of(step: Iterator[int], size: int) -> range:
    return range(next(step), size, next(step))


@pytest.mark.parametrize("broken", [True, False], ids=["lost", "ended"])
async def test_a_stream_cut_at_one_byte_in_ten_is_cut_or_whole(known: Known, broken: bool) -> None:
    failed, whole = await cut_at_each(known, iter([0, 10, 3, 10]), broken)
    assert failed > 100
    assert whole < failed


@pytest.mark.soak
@pytest.mark.parametrize("broken", [True, False], ids=["lost", "ended"])
async def test_a_stream_cut_at_any_byte_is_cut_or_whole(known: Known, broken: bool) -> None:
    failed, _ = await cut_at_each(known, iter([0, 1, 0, 1]), broken)
    assert failed > 1000


async def test_an_end_without_its_line_end_changes_nothing(known: Known) -> None:
    for answer in answers(known):
        bare = MemoryTransport(play(known.server, [answer]), alter=bytes.rstrip)
        whole = MemoryTransport(play(known.server, [answer]))
        assert await outcome(known, answer, bare) == await outcome(known, answer, whole)


async def test_chunks_of_one_byte_change_nothing(known: Known) -> None:
    for answer in answers(known):
        one = MemoryTransport(play(known.server, [answer]), piece=1)
        whole = MemoryTransport(play(known.server, [answer]))
        assert await outcome(known, answer, one) == await outcome(known, answer, whole)


async def test_mutated_frames_give_typed_errors_only(known: Known, seed: int) -> None:
    await mutate(known, 4_000 // len(KNOWN) + 1, seed)


@pytest.mark.soak
async def test_many_mutated_frames_give_typed_errors_only(known: Known, seed: int) -> None:
    await mutate(known, 100_000 // len(KNOWN) + 1, seed)


async def mutate(known: Known, times: int, seed: int) -> None:
    source = random.Random(f"{seed}-{known.name}")
    print(f"seed {seed}")
    errors = 0
    for number in range(times):
        answer = answers(known)[number % 2]
        damage = Damage(source)
        transport = MemoryTransport(
            play(known.server, [answer]), alter=damage, piece=source.choice([1 << 16, 100, 7])
        )
        seen = await outcome(known, answer, transport)
        errors += isinstance(seen, ErrorKind)
        if isinstance(seen, AssistantMessage):
            for call in seen.tool_calls:
                assert isinstance(call.arguments, str)
                assert call.provider_id
                codec.encode(seen)
    assert errors > times // 10


class Damage:
    """One to three wounds to a body, of the kinds that proxies, bugs and attackers inflict."""

    def __init__(self, source: random.Random) -> None:
        self._source = source

    def __call__(self, body: bytes) -> bytes:
        for _ in range(self._source.randint(1, 3)):
            body = self._source.choice(WOUNDS)(self._source, body)
        return body


def _flip(source: random.Random, body: bytes) -> bytes:
    at = source.randrange(max(len(body), 1))
    return body[:at] + bytes([source.randrange(256)]) + body[at + 1 :]


def _drop(source: random.Random, body: bytes) -> bytes:
    at = source.randrange(max(len(body), 1))
    return body[:at] + body[at + source.randint(1, 40) :]


def _insert(source: random.Random, body: bytes) -> bytes:
    at = source.randrange(max(len(body), 1))
    return body[:at] + source.choice(POISON) + body[at:]


def _swap(source: random.Random, body: bytes) -> bytes:
    frames = body.split(b"\n\n")
    a, b = source.randrange(len(frames)), source.randrange(len(frames))
    frames[a], frames[b] = frames[b], frames[a]
    return b"\n\n".join(frames)


def _repeat(source: random.Random, body: bytes) -> bytes:
    frames = body.split(b"\n\n")
    at = source.randrange(len(frames))
    return b"\n\n".join([*frames[: at + 1], *frames[at:]])


def _retype(source: random.Random, body: bytes) -> bytes:
    """A value of another type where one was."""
    marks = [at for at in range(len(body)) if body[at : at + 2] == b'":']
    if not marks:
        return body
    at = source.choice(marks) + 2
    return body[:at] + source.choice([b"null,", b"[],", b"{},", b"1e999,", b'"x",', b"-1,"]) + body[at:]


WOUNDS = (_flip, _drop, _insert, _swap, _repeat, _retype)
POISON = (
    b"\n\n",
    b"\r",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b": comment\n\n",
    b"data: {}\n\n",
    b"data: null\n\n",
    b"data: [1]\n\n",
    b"data: " + b"[" * 3000 + b"\n\n",
    b'data: {"type":"surprise","index":"x","delta":[]}\n\n',
    b"event: error\ndata: nonsense\n\n",
    b"data: [DONE]\n\n",
    b"{}\n",
    b"\\ud800",
    b'","',
    b"9" * 400,
)
