"""Streams as servers that copy a vendor send them: of each kind one recording of our own in every dialect."""

from collections.abc import Iterator
from typing import Any

import pytest

from planck.llm.dialects.parts import join_thoughts
from planck.llm.provider import ProviderError
from planck.llm.retry import Retrying
from planck.records import codec
from planck.records.events import TextDelta, ThinkingDelta
from planck.records.messages import AssistantMessage, StopReason
from planck.records.outcome import ErrorKind
from tests.wire.known import KNOWN, Known, request
from tests.wire.memory import MemoryTransport
from tests.wire.script import SHOW
from tests.wire.server import Asked, Reply, json_reply

DONE = "[DONE]"
THOUGHT, SAID, ARGUMENTS = "Easy sums.", "It is 4.", {"path": "ä", "n": [1]}
Events = list[Any]


def parts(text: str) -> list[Any]:
    """A text as Mistral writes it."""
    return [{"type": "text", "text": text[:3]}, {"type": "text", "text": text[3:]}, {"type": "reference"}]


def fragments(arguments: Any) -> list[Any]:
    return [arguments[:9], arguments[9:]] if isinstance(arguments, str) else [arguments]


def chat(content: Any, thought: Any, arguments: Any, reason: str | None) -> Events:
    begun, *rest = fragments(arguments)
    function = {"name": "read", "arguments": begun}
    thinking = {"content": [{"type": "thinking", "thinking": thought}]}  # as Mistral writes it
    deltas: Events = [
        {"reasoning_content": thought} if isinstance(thought, str) else thinking,
        {"content": content},
        {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]},
        *({"tool_calls": [{"index": 0, "function": {"arguments": more}}]} for more in rest),
    ]
    choices: Events = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices[-1]["finish_reason"] = reason
    return [{"id": "x", "object": "chat.completion.chunk", "choices": [choice]} for choice in choices]


def responses(content: Any, thought: Any, arguments: Any, reason: str | None) -> Events:
    call = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": arguments}
    items = [
        {"type": "reasoning", "id": "", "summary": [{"type": "summary_text", "text": thought}]},
        {"type": "message", "content": [{"type": "output_text", "text": content}]},
        call,
    ]
    done = [
        {"type": "response.output_item.done", "output_index": number, "item": item}
        for number, item in enumerate(items)
    ]
    events: Events = [
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": thought},
        {"type": "response.output_text.delta", "output_index": 1, "delta": content},
        *done[:2],
        {"type": "response.output_item.added", "output_index": 2, "item": {**call, "arguments": ""}},
        *(
            {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": more}
            for more in fragments(arguments)
        ),
        done[2],
    ]
    return [*events, {"type": "response.completed", "response": {"output": items}}] if reason else events


def anthropic(content: Any, thought: Any, arguments: Any, reason: str | None) -> Events:
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in fragments(arguments)]
    blocks: Events = [
        ({"type": "thinking", "thinking": ""}, [{"type": "thinking_delta", "thinking": thought}]),
        ({"type": "text", "text": ""}, [{"type": "text_delta", "text": content}]),
        ({"type": "tool_use", "id": "c1", "name": "read", "input": {}}, pieces),
    ]
    events: Events = [{"type": "message_start", "message": {"id": "x", "content": []}}]
    for number, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": number, "content_block": block})
        events += [{"type": "content_block_delta", "index": number, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": number})
    events.append({"type": "message_delta", "delta": {"stop_reason": reason and "tool_use"}})
    return [*events, {"type": "message_stop"}] if reason else events


def google(content: Any, thought: Any, arguments: Any, reason: str | None) -> Events:
    said = [
        {"text": thought, "thought": True},
        {"text": content},
        {"functionCall": {"id": "c1", "name": "read", "args": arguments}},
    ]
    candidates: Events = [{"content": {"role": "model", "parts": [part]}} for part in said]
    candidates[-1] |= {"finishReason": reason and "STOP"}
    return [{"candidates": [candidate]} for candidate in candidates]


def ollama(content: Any, thought: Any, arguments: Any, reason: str | None) -> Events:
    call = {"id": "c1", "function": {"name": "read", "arguments": arguments}}
    said: Events = [{"thinking": thought}, {"content": content}, {"tool_calls": [call]}]
    lines: Events = [{"message": {"role": "assistant", **one}, "done": False} for one in said]
    lines[-1] |= {"done": reason is not None, "done_reason": reason}
    return lines


RECORDED = {
    "anthropic": anthropic,
    "google": google,
    "openai-chat": chat,
    "llama_cpp": chat,
    "openai-responses": responses,
    "ollama": ollama,
}
SPELLED = codec.encode_str(ARGUMENTS)
KINDS = {
    "as the vendor": (SAID, THOUGHT, None, "stop", ()),
    "texts as lists of parts": (parts(SAID), parts(THOUGHT), None, "stop", ()),
    "arguments as an object": (SAID, THOUGHT, ARGUMENTS, "stop", ()),
    "arguments as a text": (SAID, THOUGHT, SPELLED, "stop", ()),
    "an end mark after a reason": (SAID, THOUGHT, None, "stop", (DONE,)),
    "an end mark without a reason": (SAID, THOUGHT, None, None, (DONE,)),
    "all of it": (parts(SAID), parts(THOUGHT), ARGUMENTS, None, (DONE,)),
}
"""By kind: the text, the thought, the arguments (None: as the vendor sends them), the reason, the rest."""

PER_DIALECT = pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)


def record(known: Known, events: Events) -> MemoryTransport:
    lead, end = ("", "\n") if known.type == "ollama" else ("data: ", "\n\n")
    lines = [lead + (event if isinstance(event, str) else codec.encode_str(event)) + end for event in events]
    body = "".join(lines).encode()

    def answer(asked: Asked) -> Reply:
        return json_reply({}) if asked.path == SHOW else Reply([body])

    return MemoryTransport(answer)


def play(known: Known, kind: str) -> Events:
    content, thought, arguments, reason, rest = KINDS[kind]
    if arguments is None:
        arguments = ARGUMENTS if known.type in ("google", "ollama") else SPELLED
    return [*RECORDED[known.name](content, thought, arguments, reason), *rest]


async def hear(known: Known, transport: MemoryTransport) -> list[Any]:
    return [item async for item in known.provider("http://here", transport).stream(request())]


@PER_DIALECT
@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_of_a_server_that_copies_a_vendor_is_read(known: Known, kind: str) -> None:
    items = await hear(known, record(known, play(known, kind)))
    message = items[-1]
    assert isinstance(message, AssistantMessage)
    assert message.stop is StopReason.TOOL_CALLS
    assert (message.text, join_thoughts(message.parts)) == (SAID, THOUGHT)
    (call,) = message.tool_calls
    assert (call.name, codec.decode(call.arguments)) == ("read", ARGUMENTS)
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == SAID
    assert "".join(item.text for item in items if isinstance(item, ThinkingDelta)) == THOUGHT


def half(events: Events) -> Iterator[Events]:
    """Up to each of its events that is not the last word."""
    for count in range(len(events)):
        yield events[:count]


async def try_to_hear(known: Known, events: Events) -> AssistantMessage | None:
    """None for an answer that was cut; any other error is raised."""
    try:
        *_, message = await hear(known, record(known, events))
    except ProviderError as failure:
        if failure.err.kind is not ErrorKind.STREAM_CUT:
            raise
        return None
    assert isinstance(message, AssistantMessage)
    return message


@PER_DIALECT
async def test_an_end_mark_makes_no_answer_of_nothing_and_no_call_of_half_a_call(known: Known) -> None:
    for events in half(play(known, "an end mark without a reason")[:-1]):
        message = await try_to_hear(known, [*events, DONE])
        if message is not None:
            assert message.text or join_thoughts(message.parts), events
            begun = [ARGUMENTS] if '"read"' in codec.encode_str(events) else []
            assert [codec.decode(call.arguments) for call in message.tool_calls] == begun, events
    with pytest.raises(ProviderError, match="before it was complete"):
        await hear(known, record(known, [DONE]))


@PER_DIALECT
async def test_an_event_that_is_not_json_is_asked_for_once(known: Known) -> None:
    transport = record(known, [*play(known, "as the vendor")[:1], '{"half": }'])
    provider = Retrying(known.provider("http://here", transport), lambda: 0.0, name="here")
    with pytest.raises(ProviderError) as caught:
        _ = [item async for item in provider.stream(request())]
    assert caught.value.err.kind is ErrorKind.INVALID_RESPONSE
    assert len([address for address in transport.addresses if not address.endswith(SHOW)]) == 1
