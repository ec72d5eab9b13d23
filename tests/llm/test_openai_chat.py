import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from planck.http.transport import HttpTransport
from planck.llm.dialects.table import open_provider
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Item, Provider, ProviderError, Request
from planck.llm.retry import Retrying
from planck.records.events import (
    AssistantSaid,
    Delivery,
    Envelope,
    Kind,
    Status,
    TextDelta,
    ThinkingDelta,
    ToolEnd,
    UsageDelta,
)
from planck.records.history import History
from planck.records.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall
from planck.records.outcome import ErrorKind
from planck.records.specs import ModelSpec, ToolSpec
from planck.records.usage import Usage
from tests.wire import chat
from tests.wire.server import Reply, WireServer

USAGE = Usage(input_tokens=8, output_tokens=5, cache_read_tokens=4, reasoning_tokens=2)


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    transport = HttpTransport()
    yield transport
    await transport.aclose()


def provider(server: WireServer, transport: HttpTransport, **model: Any) -> Provider:
    endpoint = Endpoint("local", "openai", base_url=server.url, key="sk-secret-1")
    return open_provider(endpoint, ModelSpec(provider="local", model="m", **model), transport)


def history(*texts: str) -> History:
    history = History()
    for number, text in enumerate(texts):
        id = f"e{number}"
        history.apply(Envelope(id=id, kind=Kind.PROMPT, sender="user", receiver="a", text=text))
        history.apply(Delivery(ids=(id,), state="delivered"))
    return history


def request(*texts: str, **fields: Any) -> Request:
    return Request("a", "be brief", history(*texts), **fields)


async def collect(provider: Provider, request: Request) -> list[Item]:
    return [item async for item in provider.stream(request)]


async def test_text_arrives_in_deltas_and_ends_with_one_message(transport: HttpTransport) -> None:
    async with WireServer([chat.text("Hel", "lo", thinking=["hm"])]) as server:
        items = await collect(provider(server, transport), request("hi"))
    parts = (Thinking("hm"), Text("Hello"))
    assert items == [
        ThinkingDelta(text="hm"),
        TextDelta(text="Hel"),
        TextDelta(text="lo"),
        UsageDelta(usage=USAGE),
        AssistantMessage(parts, "openai_chat", "m", StopReason.END, USAGE, "chatcmpl-1"),
    ]
    asked = server.asked[0]
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.headers["authorization"] == "Bearer sk-secret-1"
    assert asked.json == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
    }


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_parallel_calls_are_put_together_from_fragments_of_any_size(
    transport: HttpTransport, size: int
) -> None:
    wanted = [("read", {"path": "ä.txt"}), ("bash", {"command": "ls"})]
    async with WireServer([chat.calls(*wanted, size=size)]) as server:
        *_, message = await collect(provider(server, transport), request("hi"))
    assert isinstance(message, AssistantMessage)
    assert message.stop is StopReason.TOOL_CALLS
    assert message.tool_calls == (
        ToolCall("", "call_read_0", "read", '{"path":"ä.txt"}'),
        ToolCall("", "call_bash_1", "bash", '{"command":"ls"}'),
    )


@pytest.mark.parametrize(
    ("finish", "stop"), [("length", StopReason.LENGTH), ("content_filter", StopReason.FILTER)]
)
async def test_half_a_call_is_dropped(transport: HttpTransport, finish: str, stop: StopReason) -> None:
    async with WireServer([chat.calls(("bash", '{"command": "rm -rf /tm'), finish=finish)]) as server:
        *_, message = await collect(provider(server, transport), request("hi"))
    assert message == AssistantMessage((), "openai_chat", "m", stop, USAGE, "chatcmpl-1")


async def test_an_answer_without_an_end_is_cut(transport: HttpTransport) -> None:
    whole = chat.calls(("bash", {"command": "ls"})).pieces
    async with WireServer([Reply(whole[:-3])]) as server:
        with pytest.raises(ProviderError) as caught:
            await collect(provider(server, transport), request("hi"))
    assert caught.value.err.kind is ErrorKind.STREAM_CUT


async def test_closing_the_stream_closes_the_connection(transport: HttpTransport) -> None:
    never = asyncio.Event()
    async with WireServer([Reply([*chat.text("Hel").pieces[:2], never])]) as server:
        stream = provider(server, transport).stream(request("hi"))
        assert await anext(stream) == TextDelta(text="Hel")
        await stream.aclose()
        await asyncio.wait_for(server.closed_early.wait(), 30)


async def test_a_step_with_results_is_encoded_as_the_server_wants_it(transport: HttpTransport) -> None:
    tool = ToolSpec("read", "Reads.", {"type": "object"})
    async with WireServer([chat.calls(("read", {"path": "x"})), chat.text("ok")]) as server:
        model = provider(server, transport)
        asking = request("hi", tools=(tool,))
        *_, message = await collect(model, asking)
        assert isinstance(message, AssistantMessage)
        asking.history.apply(AssistantSaid(message=message))
        asking.history.apply(ToolEnd(id="", name="read", ok=True, output="contents", duration_ms=1))
        await collect(model, asking)
    first, second = server.asked
    assert second.body.startswith(first.body[:-2])
    assert second.json["tools"][0]["function"]["name"] == "read"
    assert second.json["messages"][2:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_read_0",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path":"x"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_read_0", "content": "contents"},
    ]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (chat.error(401, "Incorrect API key provided: sk-secret-1"), ErrorKind.NOT_AUTHENTICATED),
        (chat.error(403, "no"), ErrorKind.NOT_AUTHENTICATED),
        (chat.error(429, "slow down"), ErrorKind.RATE_LIMITED),
        (
            chat.error(429, "You exceeded your current quota", "insufficient_quota"),
            ErrorKind.USAGE_LIMIT_REACHED,
        ),
        (chat.error(503, "later"), ErrorKind.OVERLOADED),
        (chat.error(529, "later"), ErrorKind.OVERLOADED),
        (chat.error(404, "The model `x` does not exist", "model_not_found"), ErrorKind.MODEL_NOT_SUPPORTED),
        (chat.error(400, "too long", "context_length_exceeded"), ErrorKind.CONTEXT_OVERFLOW),
        (chat.error(500, "oops"), ErrorKind.PROVIDER_HTTP_ERROR),
        (Reply([b"<html>gateway</html>"], 502), ErrorKind.PROVIDER_HTTP_ERROR),
        (Reply([chat.sse({"error": {"message": "Rate limit reached"}})]), ErrorKind.RATE_LIMITED),
        (Reply([b"data: {nonsense\n\n"]), ErrorKind.INVALID_RESPONSE),
        (Reply([b'{"error": {"message"', b': "Rate limit reached"}}']), ErrorKind.RATE_LIMITED),
        (Reply([b'\n {"error": "maximum context length"}'], cut=True), ErrorKind.CONTEXT_OVERFLOW),
        (Reply([b"<html>Sign in to the hotel's network</html>"]), ErrorKind.PROVIDER_HTTP_ERROR),
        (Reply([]), ErrorKind.STREAM_CUT),
    ],
)
async def test_errors_have_the_kind_of_the_contract_and_never_show_the_key(
    transport: HttpTransport, reply: Reply, kind: ErrorKind
) -> None:
    async with WireServer([reply]) as server:
        with pytest.raises(ProviderError) as caught:
            await collect(provider(server, transport), request("hi"))
    assert caught.value.err.kind is kind
    assert "sk-secret-1" not in f"{caught.value!r} {caught.value.err}"


async def test_nobody_there_is_a_network_error(transport: HttpTransport) -> None:
    async with WireServer([]) as server:
        pass
    with pytest.raises(ProviderError) as caught:
        await collect(provider(server, transport), request("hi"))
    assert caught.value.err.kind is ErrorKind.NETWORK


def fragment(**fields: Any) -> dict[str, Any]:
    return {"tool_calls": [fields]}


ODD_CALLS = {
    "no index, a new id begins a call": (
        [
            fragment(id="a", function={"name": "read", "arguments": '{"n":'}),
            fragment(function={"arguments": "1}"}),
            fragment(id="b", function={"name": "bash", "arguments": "{}"}),
        ],
        [("a", "read", '{"n":1}'), ("b", "bash", "{}")],
    ),
    "arguments as an object": (
        [fragment(index=0, id="a", function={"name": "read", "arguments": {"n": 1}})],
        [("a", "read", '{"n":1}')],
    ),
    "no id and no arguments": (
        [fragment(index=0, function={"name": "now"}), fragment(index=1, function={"name": "now"})],
        [("call_1_0", "now", "{}"), ("call_1_1", "now", "{}")],
    ),
    "the id again with each fragment": (
        [
            fragment(index=0, id="a", function={"name": "read", "arguments": "{"}),
            fragment(index=0, id="a", function={"name": None, "arguments": "}"}),
        ],
        [("a", "read", "{}")],
    ),
    "empty fragments": (
        [
            fragment(index=0, id="a", function={"name": "read", "arguments": ""}),
            fragment(index=0),
            {"tool_calls": []},
            {"tool_calls": None, "content": None},
            fragment(index=0, function={"arguments": "{}"}),
        ],
        [("a", "read", "{}")],
    ),
    "the same index for all": (
        [
            fragment(index=0, id="a", function={"name": "read", "arguments": '{"n":'}),
            fragment(index=0, id="other", function={"arguments": "1}"}),
            fragment(index=0, id="b", function={"name": "read", "arguments": '{"n":2}'}),
        ],
        [("a", "read", '{"n":1}'), ("b", "read", '{"n":2}')],
    ),
    "indices that do not begin at nought": (
        [fragment(index=7, id="a", function={"name": "read", "arguments": "{}"})],
        [("a", "read", "{}")],
    ),
}


@pytest.mark.parametrize("name", ODD_CALLS)
async def test_calls_as_compatible_servers_send_them(transport: HttpTransport, name: str) -> None:
    deltas, expected = ODD_CALLS[name]
    async with WireServer([chat.stream(deltas, "stop")]) as server:
        *_, message = await collect(provider(server, transport), request("hi"))
    assert isinstance(message, AssistantMessage)
    assert [(call.provider_id, call.name, call.arguments) for call in message.tool_calls] == expected
    assert message.stop is StopReason.TOOL_CALLS


async def test_events_and_fields_that_nobody_knows_are_passed_over(transport: HttpTransport) -> None:
    events = [
        b": keep-alive\n\n",
        b"event: ping\ndata: {}\n\n",
        chat.sse({"object": "something.new", "choices": [], "x": {"y": [1]}}),
        chat.sse({"choices": [{"delta": {"content": "hi", "audio": {"id": 7}}, "logprobs": {}}]}),
        chat.sse({"choices": [{"delta": {}, "finish_reason": "a_new_reason"}], "usage": None}),
        b"data: [DONE]\n\n",
        chat.sse({"choices": [{"delta": {"content": "after the end"}}]}),
    ]
    async with WireServer([Reply(events)]) as server:
        items = await collect(provider(server, transport), request("hi"))
    message = AssistantMessage((Text("hi"),), "openai_chat", "m", StopReason.END)
    assert items == [TextDelta(text="hi"), message]


async def test_a_text_that_is_cut_inside_a_character_loses_that_character_alone(
    transport: HttpTransport,
) -> None:
    texts = [rb"a\\ud83d \ud83d\ude00 \ud83d", rb"\ude00z"]
    events = [b'data: {"choices":[{"delta":{"content":"' + text + b'"}}]}\n\n' for text in texts]
    end = chat.sse({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    async with WireServer([Reply([*events, end])]) as server:
        *_, message = await collect(provider(server, transport), request("hi"))
    assert isinstance(message, AssistantMessage)
    assert message.text == "a\\ud83d \N{GRINNING FACE} \ufffd\ufffdz"


async def test_a_refusal_is_text_with_its_own_stop(transport: HttpTransport) -> None:
    async with WireServer([chat.stream([{"refusal": "I "}, {"refusal": "won't"}], "stop")]) as server:
        *_, message = await collect(provider(server, transport), request("hi"))
    assert message == AssistantMessage(
        (Text("I won't"),), "openai_chat", "m", StopReason.REFUSAL, USAGE, "chatcmpl-1"
    )


async def test_params_pass_through_but_for_what_is_ours(transport: HttpTransport) -> None:
    async with WireServer([chat.text("ok")]) as server:
        model = provider(server, transport, params={"temperature": 0.2, "effort": "low", "seed": 1})
        await collect(model, request("hi", params={"seed": 2, "stream": False, "messages": []}))
    body = server.asked[0].json
    assert (body["temperature"], body["reasoning_effort"], body["seed"]) == (0.2, "low", 2)
    assert body["stream"] is True
    assert len(body["messages"]) == 2


async def test_a_retry_over_a_real_socket_ends_with_one_answer(transport: HttpTransport) -> None:
    hurry = {"retry-after-ms": "1"}
    replies = [
        chat.error(429, "slow down", headers=hurry),
        Reply(chat.text("half").pieces[:2], cut=True),
        chat.text("whole"),
    ]
    async with WireServer(replies) as server:
        retrying = Retrying(provider(server, transport), lambda: -1.0)  # no jitter and no wait of our own
        items = await collect(retrying, request("hi"))
    states = [item.state for item in items if isinstance(item, Status)]
    assert states == ["retrying", "discarded", "retrying"]
    assert sum(isinstance(item, AssistantMessage) for item in items) == 1
    assert len(server.asked) == 3


async def test_cancelling_a_retried_call_closes_its_connection(transport: HttpTransport) -> None:
    async with WireServer([Reply([*chat.text("Hel").pieces[:2], asyncio.Event()])]) as server:
        retrying = Retrying(provider(server, transport), lambda: 0.0)
        task = asyncio.ensure_future(collect(retrying, request("hi")))
        async with asyncio.timeout(30):
            while not server.asked:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.closed_early.wait()


async def test_a_stall_closes_the_connection_and_the_next_attempt_answers(transport: HttpTransport) -> None:
    replies = [Reply([*chat.text("Hel").pieces[:2], asyncio.Event()]), chat.text("Hello")]
    async with WireServer(replies) as server:
        retrying = Retrying(provider(server, transport), lambda: -1.0, idle_timeout=0.3)
        *_, message = await collect(retrying, request("hi"))
        async with asyncio.timeout(30):
            await server.closed_early.wait()
    assert isinstance(message, AssistantMessage)
    assert message.text == "Hello"
