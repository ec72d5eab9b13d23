"""The Anthropic Messages API as a script plays it."""

import re
from collections.abc import Mapping
from typing import Any

from planck.records import codec
from planck.records.messages import Part, StopReason, Text, Thinking, ToolCall
from tests.wire.script import Answer, pieces, sse

_STOPS = {
    StopReason.END: "end_turn",
    StopReason.TOOL_CALLS: "tool_use",
    StopReason.LENGTH: "max_tokens",
    StopReason.REFUSAL: "refusal",
    StopReason.FILTER: "refusal",
}

_FAULTS: dict[str, tuple[int, str, str]] = {
    "auth": (401, "authentication_error", "invalid x-api-key"),
    "forbidden": (
        403,
        "permission_error",
        "Your API key does not have permission to use the specified resource.",
    ),
    "model": (404, "not_found_error", "model: claude-nope"),
    "rate": (429, "rate_limit_error", "This request would exceed your organization's rate limit."),
    "quota": (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
    ),
    "server": (500, "api_error", "Internal server error"),
    "unavailable": (503, "api_error", "Service unavailable"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "too_long": (400, "invalid_request_error", "prompt is too long: 215000 tokens > 200000 maximum"),
}


class Anthropic:
    name = "anthropic"

    def streams(self, path: str, body: Any) -> bool:
        return bool(body.get("stream"))

    def refuse(self, path: str, headers: Mapping[str, str], body: Any) -> str:
        if path.split("?")[0] != "/v1/messages":
            return f"no route {path}"
        if "anthropic-version" not in headers:
            return "anthropic-version: header is required"
        if not isinstance(body.get("max_tokens"), int):
            return "max_tokens: Field required"
        return _bad_messages(
            body.get("messages") or [], {tool["name"] for tool in body.get("tools", ())}
        ) or (_bad_markers(body))

    def frames(self, answer: Answer, model: str) -> list[bytes]:
        started = {**self.whole(Answer((), usage=answer.usage), model), "stop_reason": None}
        frames = [_event("message_start", message=started), _event("ping")]
        for index, part in enumerate(answer.parts):
            frames += _block_frames(index, part, answer.fragment)
        delta = {"stop_reason": _STOPS[answer.stop], "stop_sequence": None}
        frames.append(_event("message_delta", delta=delta, usage=_usage(answer)))
        return [*frames, _event("message_stop")]

    def whole(self, answer: Answer, model: str) -> dict[str, Any]:
        return {
            "id": "msg_01",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [_block(part) for part in answer.parts],
            "stop_reason": _STOPS[answer.stop],
            "stop_sequence": None,
            "usage": _usage(answer),
        }

    def fault(self, name: str) -> tuple[int, Any]:
        status, type_, message = _FAULTS[name]
        error = {"type": type_, "message": message}
        return status, {"type": "error", "error": error, "request_id": "req_01"}

    def fault_frame(self, name: str) -> bytes:
        _, type_, message = _FAULTS[name]
        return _event("error", error={"type": type_, "message": message})


def _event(type_: str, **fields: Any) -> bytes:
    return sse({"type": type_, **fields}, type_)


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
    }


def _block(part: Part) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Thinking(data=""):
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case Thinking():
            return {"type": "redacted_thinking", "data": part.data}
        case ToolCall():
            return {
                "type": "tool_use",
                "id": part.provider_id,
                "name": part.name,
                "input": codec.decode(part.arguments),
            }


def _block_frames(index: int, part: Part, fragment: int) -> list[bytes]:
    match part:
        case Text():
            start = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(part.text, fragment)]
        case Thinking(data=""):
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(part.text, fragment)]
            deltas.append({"type": "signature_delta", "signature": part.signature})
        case Thinking():
            start, deltas = _block(part), []
        case ToolCall():
            start = {"type": "tool_use", "id": part.provider_id, "name": part.name, "input": {}}  # type: ignore[dict-item]
            parts = ["", *pieces(part.arguments, fragment)]
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in parts]
    return [
        _event("content_block_start", index=index, content_block=start),
        *(_event("content_block_delta", index=index, delta=delta) for delta in deltas),
        _event("content_block_stop", index=index),
    ]


def _bad_messages(messages: list[dict[str, Any]], tools: set[str]) -> str:
    """The rules that the API enforces with a 400."""
    if not messages:
        return "messages: at least one message is required"
    if messages[0]["role"] != "user":
        return "messages: first message must use the user role"
    if messages[-1]["role"] != "user":
        return "This model does not support assistant message prefill."
    called: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        blocks = message["content"]
        if not blocks:
            return f"messages.{at}: all messages must have non-empty content"
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(results) != sorted(called):
            return f"messages.{at}: tool_use ids were found without tool_result blocks: {called} / {results}"
        if called and [block["type"] for block in blocks[: len(called)]] != ["tool_result"] * len(called):
            return f"messages.{at}: tool_result blocks must come first"
        called = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for id in called:
            if not re.fullmatch("[a-zA-Z0-9_-]+", id):
                return f"messages.{at}: tool_use.id: String should match pattern"
            if id in seen:
                return f"messages.{at}: tool_use ids must be unique"
            seen.add(id)
        for block in blocks:
            if why := _bad_block(block):
                return f"messages.{at}: {why}"
    return ""


def _bad_block(block: dict[str, Any]) -> str:
    match block["type"]:
        case "text" if not block["text"].strip():
            return "text content blocks must contain non-whitespace text"
        case "thinking" if not block["signature"]:
            return "thinking.signature: Field required"
        case "tool_use" if not re.fullmatch("[a-zA-Z0-9_-]{1,200}", block["name"]):
            return "tool_use.name: String should match pattern"
        case "tool_use" if not isinstance(block["input"], dict):
            return "tool_use.input: Input should be a valid dictionary"
        case "tool_result":
            content = block.get("content", "")
            return next((why for inner in content if (why := _bad_block(inner))), "") if content else ""
        case "thinking" | "redacted_thinking" if "cache_control" in block:
            return "cache_control is not allowed on thinking blocks"
    return ""


def _bad_markers(body: dict[str, Any]) -> str:
    blocks = [*body.get("tools", ()), *body.get("system", ())]
    blocks += [
        block for message in body["messages"] for block in message["content"] if isinstance(block, dict)
    ]
    marked = sum("cache_control" in block for block in blocks if isinstance(block, dict))
    return "A maximum of 4 blocks with cache_control may be provided." if marked > 4 else ""
