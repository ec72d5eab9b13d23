"""What is special to Gemini; what all dialects share is in tests/contracts/test_provider.py."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planck.llm.dialects.gemini_schema import declare
from planck.llm.provider import Item, ProviderError, Request
from planck.records.events import AssistantSaid, ErrorData, ToolEnd
from planck.records.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall
from planck.records.outcome import ErrorKind
from planck.records.specs import ToolSpec
from tests.wire.google import Google, bad_schema
from tests.wire.known import KNOWN, history
from tests.wire.memory import MemoryTransport
from tests.wire.script import Answer, play, sse
from tests.wire.server import Reply

KNOWN_HERE = next(known for known in KNOWN if known.type == "google")


async def sent(request: Request, **model: Any) -> Any:
    transport = MemoryTransport(play(Google(), [Answer((Text("ok"),))]))
    provider = KNOWN_HERE.provider("http://here", transport, **model)
    assert [item async for item in provider.stream(request)]
    return transport.asked[0].json


async def streamed(*chunks: Any) -> list[Item]:
    transport = MemoryTransport(lambda asked: Reply([sse(chunk) for chunk in chunks]))
    provider = KNOWN_HERE.provider("http://here", transport)
    return [item async for item in provider.stream(Request("a", "", history("hi")))]


def candidate(*parts: Any, **fields: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts)}, **fields}]}


async def test_a_signature_stays_with_the_part_that_it_came_with() -> None:
    call = {"functionCall": {"name": "now", "args": {}}, "thoughtSignature": "c2lnMQ=="}
    second = {"functionCall": {"id": "own", "name": "now"}}
    message = (await streamed(candidate({"text": "ab"}, call, second), candidate(finishReason="STOP")))[-1]
    assert isinstance(message, AssistantMessage)
    text, signature, first, last = message.parts
    assert (text, signature) == (Text("ab"), Thinking(signature="c2lnMQ=="))
    assert isinstance(first, ToolCall)
    assert isinstance(last, ToolCall)
    assert (first.provider_id, last.provider_id, last.arguments) == ("planck_1_0", "own", "{}")
    told = history("hi")
    parts = (text, signature, _with(first, "t1"), _with(last, "t2"))
    told.apply(
        AssistantSaid(message=AssistantMessage(parts, "google", KNOWN_HERE.model, StopReason.TOOL_CALLS))
    )
    for id, failed in (("t1", None), ("t2", ErrorData("timeout", "late", {}))):
        told.apply(ToolEnd(id=id, name="now", ok=not failed, output="noon", error=failed, duration_ms=1))
    _, model, results = (await sent(Request("a", "", told)))["contents"]
    assert model["parts"] == [{"text": "ab"}, call, {"functionCall": {**second["functionCall"], "args": {}}}]
    assert [part["functionResponse"] for part in results["parts"]] == [
        {"name": "now", "response": {"output": "noon"}},
        {"id": "own", "name": "now", "response": {"error": "noon"}},
    ]


def _with(call: ToolCall, id: str) -> ToolCall:
    return ToolCall(id, call.provider_id, call.name, call.arguments)


@pytest.mark.parametrize(("model", "signed"), [("gemini-2.5-pro", False), ("gemini-3-pro", True)])
async def test_calls_of_another_model_get_the_documented_stand_in(model: str, signed: bool) -> None:
    told = history("hi")
    call = ToolCall("t1", "c1", "now", "{}")
    told.apply(AssistantSaid(message=AssistantMessage((call,), "anthropic", "m", StopReason.TOOL_CALLS)))
    told.apply(ToolEnd(id="t1", name="now", ok=True, output="noon", duration_ms=1))
    part = (await sent(Request("a", "", told), model=model))["contents"][1]["parts"][0]
    assert (part.get("thoughtSignature") == "skip_thought_signature_validator") is signed


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"])
async def test_an_answer_that_the_model_broke_off_can_be_tried_again(reason: str) -> None:
    with pytest.raises(ProviderError) as caught:
        await streamed(candidate({"text": "a"}), candidate(finishReason=reason))
    assert caught.value.err.kind == ErrorKind.STREAM_CUT


async def test_null_arguments_are_none() -> None:
    call = {"functionCall": {"id": "own", "name": "now", "args": None}}
    message = (await streamed(candidate(call, finishReason="STOP")))[-1]
    assert isinstance(message, AssistantMessage)
    assert message.tool_calls == (ToolCall("", "own", "now", "{}"),)


async def test_a_blocked_prompt_is_filtered_and_says_nothing() -> None:
    message = (await streamed({"promptFeedback": {"blockReason": "SAFETY"}}))[-1]
    assert isinstance(message, AssistantMessage)
    assert (message.parts, message.stop) == ((), StopReason.FILTER)


@pytest.mark.parametrize(
    ("model", "params", "generation"),
    [
        (
            "gemini-3-pro",
            {"effort": "low"},
            {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "low"}},
        ),
        ("gemini-2.5-pro", {"effort": "none"}, {"thinkingConfig": {"thinkingBudget": 0}}),
        ("gemini-3-pro", {"max_tokens": 9, "top_p": 0.5}, {"maxOutputTokens": 9, "topP": 0.5}),
        ("gemini-3-pro", {"stop": "END"}, {"stopSequences": ["END"]}),
    ],
)
async def test_settings_have_their_names_in_this_dialect(
    model: str, params: dict[str, Any], generation: dict[str, Any]
) -> None:
    body = await sent(Request("a", "", history("hi"), params=params), model=model)
    assert body["generationConfig"] == generation


def declared(schema: dict[str, Any]) -> Any:
    return declare(ToolSpec("t", "d", {"type": "object", "properties": {"x": schema}}))


@pytest.mark.parametrize(
    ("schema", "cleaned"),
    [
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"enum": [1, 2]}, {"type": "integer", "description": "one of 1, 2"}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string", "nullable": True}),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        ),
        ({"type": "string", "format": "uri", "$comment": "x"}, {"type": "string"}),
        (
            {"allOf": [{"type": "object", "properties": {"y": {"type": "string"}}, "required": ["y"]}]},
            {"type": "object", "properties": {"y": {"type": "string"}}, "required": ["y"]},
        ),
    ],
)
def test_a_schema_is_said_in_the_subset(schema: dict[str, Any], cleaned: dict[str, Any]) -> None:
    assert declared(schema)["parameters"]["properties"]["x"] == cleaned


def test_references_are_written_out() -> None:
    parameters = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/leaf"},
            "b": {"type": "array", "items": {"$ref": "#/$defs/leaf"}},
        },
        "$defs": {"leaf": {"type": "string", "minLength": 1}},
    }
    leaf = {"type": "string", "minLength": 1}
    found = declare(ToolSpec("t", "d", parameters))["parameters"]["properties"]
    assert found == {"a": leaf, "b": {"type": "array", "items": leaf}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        True,
        {},
        {"$ref": "#/nowhere"},
        {"type": "object", "properties": {"again": {"$ref": "#/properties/x"}}},
    ],
)
def test_what_the_subset_has_no_word_for_is_sent_as_it_is(schema: Any) -> None:
    assert declared(schema)["parametersJsonSchema"]["properties"]["x"] == schema


def test_a_function_without_parameters_has_none() -> None:
    empty: dict[str, Any] = {"type": "object", "properties": {}}
    assert declare(ToolSpec("t", "d", empty)) == {"name": "t", "description": "d"}


LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": ["integer", "null"]},
        {"enum": ["a", "b"]},
        {"enum": [1, "x"]},
        {"const": True},
        {"type": "array"},
        {"type": "object"},
        {"$ref": "#/properties/x"},
        {"type": "number", "exclusiveMinimum": 0, "format": "percent"},
        {},
    ]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"allOf": parts}, st.lists(inner, min_size=1, max_size=2)),
        st.builds(
            lambda props: {"type": "object", "properties": props, "required": [*props, "gone"]},
            st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
        ),
    ),
    max_leaves=6,
)


@given(schema=SCHEMAS)
def test_whatever_is_declared_is_in_the_subset_or_said_in_full(schema: Any) -> None:
    found = declared(schema)
    assert "parametersJsonSchema" in found or bad_schema(found["parameters"], "t") == ""
