"""What is special to Anthropic Messages; what all dialects share is in tests/contracts/test_provider.py."""

from typing import Any

import pytest

from planck.llm.provider import Item, Request
from planck.records.events import AssistantSaid, Delivery, Envelope, ErrorData, Kind, ToolEnd
from planck.records.history import History
from planck.records.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall
from planck.records.specs import ToolSpec
from tests.wire.anthropic import Anthropic
from tests.wire.known import KNOWN, history
from tests.wire.memory import MemoryTransport
from tests.wire.script import Answer, play, sse
from tests.wire.server import Reply

KNOWN_HERE = next(known for known in KNOWN if known.type == "anthropic")
TOOLS = (ToolSpec("read", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}}),)


async def sent(request: Request, **model: Any) -> Any:
    transport = MemoryTransport(play(Anthropic(), [Answer((Text("ok"),))]))
    provider = KNOWN_HERE.provider("http://here", transport, **model)
    assert [item async for item in provider.stream(request)]
    return transport.asked[0].json


async def streamed(*frames: bytes) -> list[Item]:
    transport = MemoryTransport(lambda asked: Reply(list(frames)))
    provider = KNOWN_HERE.provider("http://here", transport)
    return [item async for item in provider.stream(Request("a", "", history("hi")))]


def long_history(steps: int) -> History:
    told = history("begin")
    for step in range(steps):
        call = ToolCall(f"t{step}", f"c{step}", "read", "{}")
        parts = (Thinking("hm", "c2ln"), call)
        said = AssistantMessage(parts, "anthropic", KNOWN_HERE.model, StopReason.TOOL_CALLS)
        told.apply(AssistantSaid(message=said))
        told.apply(ToolEnd(id=f"t{step}", name="read", ok=True, output="x", duration_ms=1))
    return told


async def test_the_system_prompt_and_the_newest_results_carry_the_cache_markers() -> None:
    body = await sent(Request("a", "be brief", long_history(6), TOOLS))
    assert "cache_control" in body["system"][0]
    marked = [
        at
        for at, message in enumerate(body["messages"])
        for block in message["content"]
        if "cache_control" in block
    ]
    assert marked == [len(body["messages"]) - 3, len(body["messages"]) - 1]


async def test_a_marker_never_enters_the_kept_bytes() -> None:
    told = long_history(3)
    transport = MemoryTransport(play(Anthropic(), [Answer((Text("ok"),))]))
    provider = KNOWN_HERE.provider("http://here", transport)
    for _ in range(2):
        assert [item async for item in provider.stream(Request("a", "", told))]
    assert transport.asked[0].body == transport.asked[1].body


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"effort": "high"}, {"output_config": {"effort": "high"}}),
        ({"effort": "none"}, {"thinking": {"type": "disabled"}}),
        ({"thinking": {"type": "adaptive"}}, {"thinking": {"type": "adaptive"}}),
        ({"stop": "END"}, {"stop_sequences": ["END"]}),
        ({"max_tokens": 5, "temperature": 0.1}, {"max_tokens": 5, "temperature": 0.1}),
        ({}, {"max_tokens": 32_000}),
        ({"messages": [], "model": "other"}, {"model": KNOWN_HERE.model}),
    ],
)
async def test_settings_have_their_names_in_this_dialect(
    params: dict[str, Any], expected: dict[str, Any]
) -> None:
    body = await sent(Request("a", "", history("hi"), params=params))
    assert {name: body.get(name) for name in expected} == expected
    assert not {"effort", "stop"} & body.keys()


@pytest.mark.parametrize("reason", ["pause_turn", "stop_sequence", "something_new"])
async def test_a_reason_without_a_meaning_for_us_is_an_end(reason: str) -> None:
    frames = [
        sse({"type": "message_start", "message": {"usage": {"input_tokens": 3}}}),
        sse({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}}),
        sse({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "b"}}),
        sse({"type": "content_block_delta", "index": 0, "delta": {"type": "from_the_future", "x": [1]}}),
        sse({"type": "content_block_stop", "index": 0}),
        sse({"type": "content_block_start", "index": 1, "content_block": {"type": "server_tool_use"}}),
        sse({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 2}}),
        sse({"type": "message_stop"}),
    ]
    message = (await streamed(*frames))[-1]
    assert isinstance(message, AssistantMessage)
    assert (message.parts, message.stop) == ((Text("ab"),), StopReason.END)
    assert (message.usage.input_tokens, message.usage.output_tokens) == (3, 2)


async def test_a_call_that_comes_whole_at_its_start_keeps_its_arguments() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}}
    message = (
        await streamed(
            sse({"type": "message_start", "message": {}}),
            sse({"type": "content_block_start", "index": 0, "content_block": call}),
            sse({"type": "content_block_stop", "index": 0}),
            sse({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            sse({"type": "message_stop"}),
        )
    )[-1]
    assert isinstance(message, AssistantMessage)
    assert message.tool_calls == (ToolCall("", "t1", "read", '{"path":"a"}'),)


async def test_a_result_that_failed_says_so_and_an_empty_one_is_not_empty() -> None:
    told = history("go")
    call = ToolCall("t1", "c1", "read", "{}")
    told.apply(AssistantSaid(message=AssistantMessage((call,), "openai_chat", "gpt", StopReason.TOOL_CALLS)))
    told.apply(
        ToolEnd(id="t1", name="read", ok=False, output=" ", error=ErrorData("timeout", "", {}), duration_ms=1)
    )
    told.apply(Envelope(id="e9", kind=Kind.PROMPT, sender="user", receiver="a", text=""))
    told.apply(Delivery(ids=("e9",), state="delivered"))
    *_, result, prompt = (await sent(Request("a", "", told)))["messages"]
    block = result["content"][0]
    assert (block["tool_use_id"], block["is_error"], block["content"][0]["text"]) == (
        "c1",
        True,
        "(no output)",
    )
    assert prompt["content"][0]["text"] == "(empty)"
