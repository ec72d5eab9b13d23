"""What is special to Responses, and to the vendor's own server; the rest: `tests/contracts/test_provider`."""

from typing import Any

import pytest

from planck.llm.dialects.table import open_provider
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.records import codec
from planck.records.events import AssistantSaid, TextDelta, ThinkingDelta
from planck.records.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall
from planck.records.outcome import ErrorKind
from planck.records.specs import ModelSpec
from planck.records.usage import Usage
from tests.wire.known import request
from tests.wire.memory import MemoryTransport
from tests.wire.openai_chat import OpenAIChat
from tests.wire.openai_responses import OpenAIResponses
from tests.wire.script import Answer, play, sse
from tests.wire.server import Reply

OK = Answer((Text("ok"),))


def openai(transport: MemoryTransport, api: str = "", base_url: str = "", **fields: Any) -> Provider:
    endpoint = Endpoint("openai", "openai", api, base_url, "sk-key-123456")
    return open_provider(endpoint, ModelSpec(provider="openai", model="gpt-5", **fields), transport)


async def collect(provider: Provider, asked: Request) -> list[Item]:
    return [item async for item in provider.stream(asked)]


async def test_the_vendors_own_server_is_asked_by_responses_without_storing() -> None:
    transport = MemoryTransport(play(OpenAIResponses(), [OK]))
    model = openai(transport, reasoning=True, max_output=500, params={"effort": "low", "store": True})
    await collect(model, request(params={"temperature": 0.5}))
    (asked,) = transport.asked
    assert asked.path == "/v1/responses"
    assert asked.json == {
        "model": "gpt-5",
        "stream": True,
        "store": False,
        "instructions": "be brief",
        "max_output_tokens": 500,
        "prompt_cache_key": "a1",
        "include": ["reasoning.encrypted_content"],
        "temperature": 0.5,
        "reasoning": {"effort": "low"},
        "input": [{"role": "user", "content": "hello"}],
    }


async def test_the_vendors_chat_gets_a_stable_cache_key_and_its_own_names() -> None:
    transport = MemoryTransport(play(OpenAIChat(), [OK]))
    model = openai(transport, "chat", max_output=500, params={"effort": "high"})
    for _ in range(2):
        await collect(model, request())
    first, second = (asked.json for asked in transport.asked)
    assert first == second
    assert first["prompt_cache_key"] == "a1"
    assert first["max_completion_tokens"] == 500
    assert first["reasoning_effort"] == "high"


@pytest.mark.parametrize(
    ("base_url", "vendor"),
    [
        ("https://api.openai.com", True),
        ("https://api.openai.com/v1/", True),
        ("https://api.openai.com.evil.test/v1", False),
        ("http://api.openai.com/v1", False),
        ("http://localhost:8080", False),
    ],
)
def test_who_the_vendor_is(base_url: str, vendor: bool) -> None:
    assert Endpoint("x", "openai", base_url=base_url).is_vendor is vendor


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_compatible_server_is_not_told_what_only_the_vendor_knows(api: str) -> None:
    server = OpenAIChat() if api == "chat" else OpenAIResponses()
    transport = MemoryTransport(play(server, [OK]))
    await collect(openai(transport, api, "http://here", max_output=500), request())
    body = transport.asked[0].json
    assert not {"prompt_cache_key", "max_completion_tokens", "include"} & body.keys()


async def test_reasoning_without_what_it_led_to_stays_at_home() -> None:
    transport = MemoryTransport(play(OpenAIResponses(), [OK]))
    asked = request()
    led_to_text = (Thinking("", "rs_2", "c2ln"), Thinking("", "", "bm8gaWQ="), Text("so"))
    for parts in ((Thinking("", "rs_1", "c2ln"),), led_to_text):
        message = AssistantMessage(parts, "openai_responses", "gpt-5", StopReason.LENGTH)
        asked.history.apply(AssistantSaid(message=message))
    await collect(openai(transport), asked)
    items = transport.asked[0].json["input"][1:]
    assert [item for item in items if item.get("role") != "user"] == [
        {"role": "assistant", "content": ""},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "c2ln"},
        {"type": "reasoning", "summary": [], "encrypted_content": "bm8gaWQ="},
        {"role": "assistant", "content": "so"},
    ]


def event(type: str, **fields: Any) -> bytes:
    return sse({"type": f"response.{type}", **fields})


async def test_a_server_that_sends_its_items_only_at_the_end_is_understood() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "now", "arguments": "{}"}
    transport = MemoryTransport(
        lambda asked: Reply(
            [
                event("output_text.delta", delta="no", output_index=0),
                event("something_new", delta={"not": "a string"}, item=7),
                event("completed", response={"output": [call]}),
            ]
        )
    )
    items = await collect(openai(transport), request())
    message = AssistantMessage(
        (ToolCall("", "c1", "now", "{}"),), "openai_responses", "gpt-5", StopReason.TOOL_CALLS
    )
    assert items == [TextDelta(text="no"), message]


async def test_the_parts_of_a_summary_are_told_apart() -> None:
    name = "reasoning_summary_text.delta"
    item = {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": t} for t in ("one", "two")],
    }
    transport = MemoryTransport(
        lambda asked: Reply(
            [
                event(name, delta="one", summary_index=0),
                event(name, delta="two", summary_index=1),
                event("output_item.done", output_index=0, item=item),
                event("completed", response={}),
            ]
        )
    )
    items = await collect(openai(transport), request())
    assert items[:2] == [ThinkingDelta(text="one"), ThinkingDelta(text="\n\ntwo")]
    last = items[-1]
    assert isinstance(last, AssistantMessage)
    assert last.parts == (Thinking("one\n\ntwo", "rs"),)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rate_limit_exceeded", ErrorKind.RATE_LIMITED),
        ("server_error", ErrorKind.PROVIDER_HTTP_ERROR),
        ("insufficient_quota", ErrorKind.USAGE_LIMIT_REACHED),
        ("context_length_exceeded", ErrorKind.CONTEXT_OVERFLOW),
    ],
)
async def test_a_failed_response_has_its_kind(code: str, kind: ErrorKind) -> None:
    error = {"code": code, "message": "for sk-key-123456"}
    transport = MemoryTransport(lambda asked: Reply([event("failed", response={"error": error})]))
    with pytest.raises(ProviderError) as caught:
        await collect(openai(transport), request())
    assert caught.value.err.kind is kind
    assert "sk-key-123456" not in codec.encode_str(caught.value.err)


@pytest.mark.parametrize(("most", "stop"), [(7, StopReason.LENGTH), (8, StopReason.TOOL_CALLS)])
async def test_a_call_at_the_limit_is_half_a_call_whatever_the_server_says(
    most: int, stop: StopReason
) -> None:
    """llama.cpp ends an answer that it cut at the limit as completed, with a call that it never finished."""
    answer = Answer((ToolCall("", "c1", "now", "{}"),), StopReason.TOOL_CALLS, Usage(10, 7))
    transport = MemoryTransport(play(OpenAIResponses(), [answer]))
    message = (await collect(openai(transport, max_output=most), request()))[-1]
    assert isinstance(message, AssistantMessage)
    assert (message.stop, len(message.tool_calls)) == (stop, 0 if stop is StopReason.LENGTH else 1)
