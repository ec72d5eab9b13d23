from collections.abc import Callable
from typing import Any

import pytest

from planck.llm.dialects.table import open_provider
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.records import codec
from planck.records.events import AssistantSaid, TextDelta, ThinkingDelta, ToolEnd, UsageDelta
from planck.records.messages import (
    AssistantMessage,
    Image,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    UserMessage,
)
from planck.records.outcome import ErrorKind
from planck.records.specs import ModelSpec, ToolSpec
from planck.records.usage import Usage
from tests.wire.known import request
from tests.wire.memory import MemoryTransport
from tests.wire.ollama import Ollama
from tests.wire.script import Answer, Fault, Step, play
from tests.wire.server import Asked, Reply, json_reply

SHOWN = {"model_info": {"general.architecture": "llama", "llama.context_length": 8192}, "capabilities": []}
TOOL = ToolSpec("read", "Reads.", {"type": "object"})


def script(*steps: Step, shown: Any = SHOWN) -> Callable[[Asked], Reply]:
    chat = play(Ollama(), steps)
    return lambda asked: json_reply(shown) if asked.path == "/api/show" else chat(asked)


def ollama(transport: MemoryTransport, **fields: Any) -> Provider:
    endpoint = Endpoint("local", "ollama", base_url="http://here")
    spec = {"provider": "local", "model": "small", "images": True, "context_window": 4096, **fields}
    return open_provider(endpoint, ModelSpec(**spec), transport)


async def collect(provider: Provider, asked: Request) -> list[Item]:
    return [item async for item in provider.stream(asked)]


async def test_thinking_text_and_calls_arrive_and_a_call_gets_an_id() -> None:
    parts = (Thinking("hm"), Text("I look."), ToolCall("", "", "read", '{"path":"x"}'))
    transport = MemoryTransport(script(Answer(parts, StopReason.TOOL_CALLS, Usage(9, 4), fragment=20)))
    items = await collect(ollama(transport), request())
    call = ToolCall("", "call_1_0", "read", '{"path":"x"}')
    assert items == [
        ThinkingDelta(text="hm"),
        TextDelta(text="I look."),
        UsageDelta(usage=Usage(9, 4)),
        AssistantMessage((*parts[:2], call), "ollama", "small", StopReason.TOOL_CALLS, Usage(9, 4)),
    ]


@pytest.mark.parametrize(
    ("window", "params", "num_ctx"), [(4096, {}, 4096), (131_072, {}, 8192), (4096, {"num_ctx": 2048}, 2048)]
)
async def test_the_context_is_asked_for_within_what_the_model_can_take(
    window: int, params: dict[str, Any], num_ctx: int
) -> None:
    transport = MemoryTransport(script(Answer((Text("ok"),))))
    model = ollama(transport, context_window=window, params={"temperature": 0.5, **params}, max_output=99)
    await collect(model, request())
    await collect(model, request(params={"effort": "high", "keep_alive": "5m"}))
    show, first, second = transport.asked
    assert (show.path, show.json) == ("/api/show", {"model": "small"})
    assert first.json["options"] == {"num_predict": 99, "temperature": 0.5, "num_ctx": num_ctx}
    assert (second.json["think"], second.json["keep_alive"]) == ("high", "5m")


async def test_a_prompt_that_would_be_cut_is_refused_here() -> None:
    transport = MemoryTransport(script(Answer((Text("ok"),))))
    with pytest.raises(ProviderError) as caught:
        await collect(ollama(transport), request("x" * 20_000))
    assert caught.value.err.kind is ErrorKind.CONTEXT_OVERFLOW
    assert [asked.path for asked in transport.asked] == ["/api/show"]


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (200, {}),
        (200, {"model_info": {}}),
        (200, {"model_info": {"x.context_length": "9"}}),
        (200, [7]),
        (404, "404 page not found"),
        (405, ""),
    ],
)
@pytest.mark.parametrize(("window", "num_ctx"), [(4096, 4096), (0, 32_768)])
async def test_a_server_that_does_not_say_its_context_is_told_one(
    status: int, shown: Any, window: int, num_ctx: int
) -> None:
    chat = play(Ollama(), [Answer((Text("ok"),))])
    told = json_reply(shown, status)
    transport = MemoryTransport(lambda asked: told if asked.path == "/api/show" else chat(asked))
    await collect(ollama(transport, context_window=window), request())
    assert transport.asked[-1].json["options"] == {"num_ctx": num_ctx}


@pytest.mark.parametrize(("sent", "arguments"), [(None, "{}"), ('{"path":"x"}', '{"path":"x"}')])
async def test_arguments_that_are_null_or_a_text_are_the_object_that_they_mean(
    sent: Any, arguments: str
) -> None:
    call = {"function": {"name": "read", "arguments": sent}}
    line = codec.encode({"message": {"role": "assistant", "tool_calls": [call]}, "done": True})
    shown = json_reply(SHOWN)
    transport = MemoryTransport(lambda asked: shown if asked.path == "/api/show" else Reply([line]))
    *_, message = await collect(ollama(transport), request())
    assert isinstance(message, AssistantMessage)
    assert [call.arguments for call in message.tool_calls] == [arguments]


async def test_an_address_in_the_openai_form_is_the_same_server() -> None:
    transport = MemoryTransport(script(Answer((Text("ok"),))))
    endpoint = Endpoint("local", "ollama", base_url="http://here/v1")
    await collect(open_provider(endpoint, ModelSpec(provider="local", model="small"), transport), request())
    assert [asked.path for asked in transport.asked] == ["/api/show", "/api/chat"]


async def test_an_unknown_model_and_a_broken_stream_have_their_kinds() -> None:
    missing = MemoryTransport(lambda asked: json_reply({"error": "model 'small' not found"}, 404))
    broken = MemoryTransport(script(Fault("server", after=1)))
    for transport, kind in (
        (missing, ErrorKind.MODEL_NOT_SUPPORTED),
        (broken, ErrorKind.PROVIDER_HTTP_ERROR),
    ):
        with pytest.raises(ProviderError) as caught:
            await collect(ollama(transport), request())
        assert caught.value.err.kind is kind


async def test_half_an_answer_calls_nothing() -> None:
    parts = (Text("I"), ToolCall("", "", "read", "{}"))
    cut_short = MemoryTransport(script(Answer(parts, StopReason.LENGTH)))
    *_, message = await collect(ollama(cut_short), request())
    assert isinstance(message, AssistantMessage)
    assert (message.tool_calls, message.stop) == ((), StopReason.LENGTH)
    lines = Ollama().frames(Answer(parts, StopReason.TOOL_CALLS), "small")
    shown = json_reply(SHOWN)
    cut = MemoryTransport(lambda asked: shown if asked.path == "/api/show" else Reply(lines[:-1]))
    with pytest.raises(ProviderError) as caught:
        await collect(ollama(cut), request())
    assert caught.value.err.kind is ErrorKind.STREAM_CUT


async def test_a_step_goes_back_in_ollamas_own_shape() -> None:
    transport = MemoryTransport(script(Answer((Text("ok"),))))
    asked = request("look", tools=(TOOL,))
    asked.history.messages.append(UserMessage((Text("this"), Image("image/png", "aGk="))))
    parts = (Thinking("hm"), ToolCall("t1", "c1", "read", '{"path": "x"}'))
    asked.history.apply(
        AssistantSaid(message=AssistantMessage(parts, "ollama", "small", StopReason.TOOL_CALLS))
    )
    asked.history.apply(ToolEnd(id="t1", name="read", ok=True, output="text", duration_ms=1))
    await collect(ollama(transport), asked)
    body = transport.asked[-1].json
    assert body["tools"][0]["function"]["name"] == "read"
    call = {"function": {"name": "read", "arguments": {"path": "x"}}}
    assert body["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "look"},
        {"role": "user", "content": "this", "images": ["aGk="]},
        {"role": "assistant", "content": "", "tool_calls": [call], "thinking": "hm"},
        {"role": "tool", "tool_name": "read", "content": "text"},
    ]
