"""OpenAI Chat Completions as a script plays it; `llama.cpp` and every compatible server speak the same."""

import re
from collections.abc import Mapping
from typing import Any

from planck.records import codec
from planck.records.messages import StopReason, Text, Thinking, ToolCall
from planck.records.usage import Usage
from tests.wire.script import Answer, pieces, sse

_STOPS = {
    StopReason.END: "stop",
    StopReason.TOOL_CALLS: "tool_calls",
    StopReason.LENGTH: "length",
    StopReason.REFUSAL: "stop",
    StopReason.FILTER: "content_filter",
}

FAULTS: dict[str, tuple[int, str, str | None, str]] = {
    "auth": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    "forbidden": (403, "invalid_request_error", None, "You are not allowed to sample from this model"),
    "model": (
        404,
        "invalid_request_error",
        "model_not_found",
        "The model `gpt-nope` does not exist or you do not have access to it.",
    ),
    "rate": (429, "tokens", "rate_limit_exceeded", "Rate limit reached for gpt-5 on tokens per min (TPM)."),
    "quota": (
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    "server": (500, "server_error", None, "The server had an error while processing your request."),
    "unavailable": (503, "server_error", None, "Service unavailable."),
    "overloaded": (503, "server_error", None, "The engine is currently overloaded, please try again later."),
    "too_long": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. Your messages have 130000.",
    ),
}


class OpenAIChat:
    name = "openai_chat"

    def streams(self, path: str, body: Any) -> bool:
        return bool(body.get("stream"))

    def refuse(self, path: str, headers: Mapping[str, str], body: Any) -> str:
        if path != "/v1/chat/completions":
            return f"no route {path}"
        return _bad_messages(body.get("messages") or [])

    def frames(self, answer: Answer, model: str) -> list[bytes]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *_deltas(answer)]
        choices: list[dict[str, Any]] = [
            {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
        ]
        choices.append({"index": 0, "delta": {}, "finish_reason": _STOPS[answer.stop]})
        chunks = [_chunk(model, [choice], None) for choice in choices]
        chunks.append(_chunk(model, [], usage(answer.usage)))
        return [*map(sse, chunks), b"data: [DONE]\n\n"]

    def whole(self, answer: Answer, model: str) -> Any:
        text = "".join(part.text for part in answer.parts if isinstance(part, Text))
        calls = [_call(part) for part in answer.parts if isinstance(part, ToolCall)]
        message = {"role": "assistant", "content": text or None, "refusal": None}
        if calls:
            message["tool_calls"] = calls  # type: ignore[assignment]
        choice = {"index": 0, "message": message, "finish_reason": _STOPS[answer.stop], "logprobs": None}
        base = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model}
        return {**base, "choices": [choice], "usage": usage(answer.usage)}

    def fault(self, name: str) -> tuple[int, Any]:
        status, type_, code, message = FAULTS[name]
        return status, {"error": {"message": message, "type": type_, "param": None, "code": code}}

    def fault_frame(self, name: str) -> bytes:
        return sse(self.fault(name)[1])


def _chunk(model: str, choices: list[dict[str, Any]], spent: dict[str, Any] | None) -> dict[str, Any]:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
    return {**base, "choices": choices, "usage": spent}


def usage(usage: Usage) -> dict[str, Any]:
    prompt = usage.input_tokens + usage.cache_read_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output_tokens,
        "total_tokens": prompt + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def _deltas(answer: Answer) -> list[dict[str, Any]]:
    """Text in order; the fragments of all calls interleaved."""
    out: list[dict[str, Any]] = []
    refused = answer.stop is StopReason.REFUSAL
    for part in answer.parts:
        if isinstance(part, Text):
            field = "refusal" if refused else "content"
            out += [{field: piece} for piece in pieces(part.text, answer.fragment)]
        elif isinstance(part, Thinking):
            out += [{"reasoning_content": piece} for piece in pieces(part.text, answer.fragment)]
    calls = [part for part in answer.parts if isinstance(part, ToolCall)]
    for index, call in enumerate(calls):
        begun = {**_call(call), "index": index, "function": {"name": call.name, "arguments": ""}}
        out.append({"tool_calls": [begun]})
    left = [list(pieces(call.arguments, answer.fragment)) for call in calls]
    while any(left):
        for index, rest in enumerate(left):
            if rest:
                out.append({"tool_calls": [{"index": index, "function": {"arguments": rest.pop(0)}}]})
    return out


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.provider_id, "type": "function", "function": function}


def _bad_messages(messages: list[dict[str, Any]]) -> str:
    if not messages:
        return "Invalid 'messages': empty array."
    open_calls: set[str] = set()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return f"messages[{at}]: a tool message must follow an assistant message with its tool_calls"
            open_calls.discard(message["tool_call_id"])
            if not isinstance(message["content"], str | list):
                return f"messages[{at}].content: expected a string"
            continue
        if open_calls:
            return f"tool_call_ids did not have response messages: {sorted(open_calls)}"
        if message["role"] == "assistant":
            calls = message.get("tool_calls")
            if calls is not None and not calls:
                return f"messages[{at}].tool_calls: empty array"
            if message.get("content") is None and not calls:
                return f"messages[{at}].content: expected a string, got null"
            for call in calls or ():
                if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", call["function"]["name"]):
                    return f"messages[{at}].tool_calls.function.name: does not match pattern"
                if not isinstance(codec.decode(call["function"]["arguments"]), dict):
                    return f"messages[{at}]: Failed to parse tool call arguments as JSON"
                if len(call["id"]) > 64:
                    return f"messages[{at}].tool_calls.id: string too long"
            open_calls = {call["id"] for call in calls or ()}
            if len(open_calls) != len(calls or ()):
                return f"messages[{at}]: duplicate tool_call ids"
        elif not message.get("content") and message.get("content") != "":
            return f"messages[{at}].content: must not be empty"
    return f"tool_call_ids did not have response messages: {sorted(open_calls)}" if open_calls else ""
