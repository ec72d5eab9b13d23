"""Events in other JSON types than the vendor's: read where they mean only one thing, else one error."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from planck.llm.provider import ProviderError
from planck.llm.retry import Retrying, is_passing
from planck.records import codec
from planck.records.events import TextDelta, ThinkingDelta
from planck.records.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall
from planck.records.outcome import ErrorKind
from tests.wire import chat
from tests.wire.known import KNOWN, Known, request
from tests.wire.memory import MemoryTransport
from tests.wire.samples import PARALLEL, TEXT, THINKING
from tests.wire.script import Answer, play
from tests.wire.server import Reply


def unclear(value: Any) -> Callable[[Any], Any]:
    """An object of other fields is an event that says nothing, and not an unclear one."""
    return lambda old: None if isinstance(value, dict) and isinstance(old, dict | list) else value


PER_DIALECT = pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
ANSWERS = (TEXT, THINKING, PARALLEL)
Path = tuple[str | int, ...]

SAME: dict[str, Callable[[Any], Any]] = {
    "a text as its parts": lambda value: (
        [{"type": "text", "text": value}] if isinstance(value, str) else None
    ),
    "a text as one part": lambda value: {"type": "text", "text": value} if isinstance(value, str) else None,
    "a text as texts": lambda value: [value[:1], value[1:]] if isinstance(value, str) else None,
    "a number as text": lambda value: str(value) if type(value) is int else None,
    "a number with a point": lambda value: float(value) if type(value) is int else None,
    "a truth as text": lambda value: str(value).lower() if isinstance(value, bool) else None,
    "one alone without its list": lambda value: (
        value[0] if isinstance(value, list) and len(value) == 1 else None
    ),
    "an empty object as a list": lambda value: [] if value == {} else None,
    "a list with a null": lambda value: [None, *value] if isinstance(value, list) else None,
}
"""Ways to write a value that can mean only one thing; None where a value has no such way."""
UNCLEAR: dict[str, Any] = {
    "true": True,
    "an unknown object": {"x": [1]},
    "lists": [[[{"y": 1}]]],
    "half": 0.5,
}
TAGS = {"type"}
"""What an event is read by: a word, in every server that we know."""
SPELLED = {"arguments", "partial_json"}
"""Texts of JSON: a list in their place would be arguments."""


async def hear(known: Known, answer: Answer, alter: Callable[[bytes], bytes]) -> AssistantMessage:
    transport = MemoryTransport(play(known.server, [answer]), alter=alter)
    items = [item async for item in known.provider("http://here", transport).stream(request())]
    assert isinstance(items[-1], AssistantMessage)
    return items[-1]


async def fail(known: Known, answer: Answer, alter: Callable[[bytes], bytes]) -> ProviderError | None:
    try:
        await hear(known, answer, alter)
    except ProviderError as error:
        return error
    return None


def change(body: bytes, where: Path, put: Callable[[Any], Any]) -> bytes:
    """The body with another value at one place of each of its events."""
    lines = []
    for line in body.split(b"\n"):
        lead, event = split(line)
        if event is not None:
            line = lead + codec.encode(walk(event, where, put))
        lines.append(line)
    return b"\n".join(lines)


def split(line: bytes) -> tuple[bytes, Any]:
    lead = b"data: " if line.startswith(b"data: ") else b""
    text = line.removeprefix(lead)
    return lead, codec.decode(text) if text.startswith(b"{") else None


def walk(value: Any, where: Path, put: Callable[[Any], Any]) -> Any:
    if not where:
        put_in = put(value)
        return value if put_in is None else put_in
    step, *rest = where
    if isinstance(value, dict) and step in value:
        return {**value, step: walk(value[step], tuple(rest), put)}
    if isinstance(value, list) and step == "*":
        return [walk(one, tuple(rest), put) for one in value]
    return value


def places(value: Any, at: Path = ()) -> Iterator[Path]:
    if at:
        yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*at, key))
    if isinstance(value, list):
        for inner in value:
            yield from places(inner, (*at, "*"))


def all_places(known: Known, answer: Answer) -> list[Path]:
    body = b"".join(known.server.frames(answer, known.model))
    found = (split(line)[1] for line in body.split(b"\n"))
    return sorted({place for event in found if event is not None for place in places(event)}, key=str)


@PER_DIALECT
async def test_a_value_that_can_mean_only_one_thing_is_read(known: Known) -> None:
    tried = 0
    for answer in ANSWERS:
        plain = await hear(known, answer, bytes)
        for where in all_places(known, answer):
            if where[-1] in TAGS or {"usage", "usageMetadata", "input", "args", "arguments"} & {*where[:-1]}:
                continue  # counts: test_odd_usage; inside of arguments: the model's own
            for name, put in SAME.items():
                body = b"".join(known.server.frames(answer, known.model))
                if change(body, where, put) == change(body, where, lambda value: None):
                    continue
                if name.startswith("a text") and where[-1] in SPELLED:
                    continue
                tried += 1
                try:
                    odd = await hear(known, answer, partial(change, where=where, put=put))
                except ProviderError as error:
                    raise AssertionError((where, name)) from error
                odd = replace(odd, response_id=plain.response_id)  # test_response_id
                assert odd == plain, (where, name)
    assert tried > 60


@PER_DIALECT
async def test_a_value_that_says_nothing_clear_is_one_error_that_is_not_tried_again(known: Known) -> None:
    failed = 0
    for answer in ANSWERS:
        for where in all_places(known, answer):
            for name, value in UNCLEAR.items():
                error = await fail(known, answer, partial(change, where=where, put=unclear(value)))
                failed += error is not None
                assert error is None or not is_passing(error), (where, name, error)
    assert failed > 10


@PER_DIALECT
@pytest.mark.parametrize("broken", ["wrong type", "not JSON"])
async def test_an_event_that_can_not_be_read_is_asked_for_once_and_names_its_provider(
    known: Known, broken: str
) -> None:
    def alter(body: bytes) -> bytes:
        lead = b"" if known.type == "ollama" else b"data: "
        event = b'{"half": }' if broken == "not JSON" else b"[7]"
        return lead + event + b"\n\n" + body

    transport = MemoryTransport(play(known.server, [TEXT]), alter=alter)
    provider = Retrying(known.provider("http://here", transport), lambda: 0.0, name="here")
    with pytest.raises(ProviderError) as caught:
        async for _ in provider.stream(request()):
            pass
    assert len([address for address in transport.addresses if not address.endswith("/api/show")]) == 1
    err = caught.value.err
    assert (err.kind, err.details["provider"], err.details["attempts"]) == (
        ErrorKind.INVALID_RESPONSE,
        "here",
        1,
    )
    assert err.message.startswith("'here' sent an event that Planck can't read: ")


CHAT = next(known for known in KNOWN if known.name == "openai-chat")
RESPONSES = next(known for known in KNOWN if known.name == "openai-responses")
CLAUDE = next(known for known in KNOWN if known.name == "anthropic")


def mistral(*deltas: Any) -> bytes:
    """As `magistral` streams: its thoughts are a list of parts inside a part of the content."""
    events = [
        chat.chunk({"index": 0, "delta": {"content": content}, "finish_reason": None}) for content in deltas
    ]
    events.append(chat.chunk({"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}))
    return b"".join([*map(chat.sse, events), b"data: [DONE]\n\n"])


def think(text: str) -> list[Any]:
    return [{"type": "thinking", "thinking": [{"type": "text", "text": text}], "closed": False}]


async def test_a_list_of_parts_gives_its_thoughts_and_its_text() -> None:
    both = [*think("sums."), {"type": "text", "text": "It "}]
    cited = [{"type": "text", "text": "is 4."}, {"type": "reference", "reference_ids": [1]}]
    body = mistral("", think("Easy "), both, cited)
    transport = MemoryTransport(lambda asked: Reply([body]))
    items = [item async for item in CHAT.provider("http://here", transport).stream(request())]
    said = items[-1]
    assert isinstance(said, AssistantMessage)
    assert (said.parts, said.stop) == ((Thinking("Easy sums."), Text("It is 4.")), StopReason.END)
    assert "".join(item.text for item in items if isinstance(item, ThinkingDelta)) == "Easy sums."
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == "It is 4."


async def test_a_part_that_can_not_be_shown_is_an_error_and_not_left_out() -> None:
    body = mistral("see ", [{"type": "image_url", "image_url": "https://example.com/a.png"}])
    transport = MemoryTransport(lambda asked: Reply([body]))
    with pytest.raises(ProviderError) as caught:
        async for _ in CHAT.provider("http://here", transport).stream(request()):
            pass
    assert not is_passing(caught.value)


REASON = {
    "openai-chat": (b'"finish_reason":"stop"', b'"finish_reason":null'),
    "anthropic": (b'"stop_reason":"end_turn"', b'"stop_reason":null'),
}


@pytest.mark.parametrize("known", [CHAT, CLAUDE], ids=lambda known: known.name)
async def test_an_end_without_a_reason_is_the_end_of_an_answer_that_says_something(known: Known) -> None:
    """As Cortex ends: with the mark of its dialect, and no word of why."""
    with_reason, without = REASON[known.name]
    plain = await hear(known, TEXT, bytes)
    assert await hear(known, TEXT, lambda body: body.replace(with_reason, without)) == plain
    with pytest.raises(ProviderError) as caught:
        await hear(known, Answer(()), lambda body: body.replace(with_reason, without))
    assert caught.value.err.kind is ErrorKind.STREAM_CUT


@pytest.mark.parametrize(("arguments", "whole"), [('{"path":"a"}', True), ('{"path":"a', False), ("", True)])
async def test_a_call_before_an_end_without_a_reason_is_run_where_it_is_whole(
    arguments: str, whole: bool
) -> None:
    pieces = [piece for piece in chat.calls(("read", arguments)).pieces if isinstance(piece, bytes)]
    body = b"".join(pieces).replace(b'"finish_reason":"tool_calls"', b'"finish_reason":null')
    transport = MemoryTransport(lambda asked: Reply([body]))
    stream = CHAT.provider("http://here", transport).stream(request())
    if whole:
        *_, said = [item async for item in stream]
        assert isinstance(said, AssistantMessage)
        assert [call.arguments for call in said.tool_calls] == [arguments or "{}"]
        assert said.stop is StopReason.TOOL_CALLS
        return
    with pytest.raises(ProviderError) as caught:
        _ = [item async for item in stream]
    assert caught.value.err.kind is ErrorKind.STREAM_CUT


async def test_arguments_that_come_as_an_object_are_the_text_of_it() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": {"path": "ä", "n": [1]}}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**call, "arguments": {}}},
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.completed", "response": {"output": [call]}},
    ]
    for sent in (events, events[2:]):
        transport = MemoryTransport(lambda asked, sent=sent: Reply([*map(chat.sse, sent)]))  # type: ignore[misc]
        items = [item async for item in RESPONSES.provider("http://here", transport).stream(request())]
        assert isinstance(items[-1], AssistantMessage)
        assert items[-1].parts == (ToolCall("", "c1", "read", '{"path":"ä","n":[1]}'),)
