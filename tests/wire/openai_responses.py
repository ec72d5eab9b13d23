"""OpenAI Responses as a script plays it: items that are added, filled and done, then the whole response."""

import re
from collections.abc import Mapping
from typing import Any

from planck.records import codec
from planck.records.messages import Part, StopReason, Text, Thinking, ToolCall
from tests.wire.openai_chat import FAULTS
from tests.wire.script import Answer, pieces, sse

Frame = tuple[str, dict[str, Any]]


class OpenAIResponses:
    name = "openai_responses"

    def streams(self, path: str, body: Any) -> bool:
        return bool(body.get("stream"))

    def refuse(self, path: str, headers: Mapping[str, str], body: Any) -> str:
        if path != "/v1/responses":
            return f"no route {path}"
        if body.get("store") is not False:
            return "the history is ours: store must be false"
        if "previous_response_id" in body:
            return "a stateless client names no previous response"
        return _bad_input(body.get("input"))

    def frames(self, answer: Answer, model: str) -> list[bytes]:
        empty = {**self.whole(Answer(()), model), "status": "in_progress", "usage": None}
        events: list[Frame] = [("created", {"response": empty}), ("in_progress", {"response": empty})]
        for index, part in enumerate(answer.parts):
            events += _item_frames(index, part, answer)
        whole = self.whole(answer, model)
        events.append((whole["status"], {"response": whole}))
        return [
            sse({"type": f"response.{name}", "sequence_number": number, **fields}, f"response.{name}")
            for number, (name, fields) in enumerate(events)
        ]

    def whole(self, answer: Answer, model: str) -> Any:
        short = {StopReason.LENGTH: "max_output_tokens", StopReason.FILTER: "content_filter"}
        reason = short.get(answer.stop)
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": "incomplete" if reason else "completed",
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "instructions": None,
            "metadata": {},
            "model": model,
            "output": [_item(index, part, answer.stop) for index, part in enumerate(answer.parts)],
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": _usage(answer),
        }

    def fault(self, name: str) -> tuple[int, Any]:
        status, type_, code, message = FAULTS[name]
        return status, {"error": {"message": message, "type": type_, "param": None, "code": code}}

    def fault_frame(self, name: str) -> bytes:
        _, type_, code, message = FAULTS[name]
        body = {"type": "error", "code": code or type_, "message": message, "param": None}
        return sse({**body, "sequence_number": 9}, "error")


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    entered = usage.input_tokens + usage.cache_read_tokens
    return {
        "input_tokens": entered,
        "input_tokens_details": {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": entered + usage.output_tokens,
    }


def _item(index: int, part: Part, stop: StopReason) -> dict[str, Any]:
    match part:
        case Text():
            base = {"type": "message", "id": f"msg_{index}", "role": "assistant", "status": "completed"}
            return {**base, "content": [_content(part, stop)]}
        case Thinking():
            summary = [{"type": "summary_text", "text": part.text}] if part.text else []
            base = {"type": "reasoning", "id": part.signature or f"rs_{index}"}
            return {**base, "summary": summary, "encrypted_content": part.data or None}
        case ToolCall():
            base = {"type": "function_call", "id": f"fc_{index}", "call_id": part.provider_id}
            return {**base, "name": part.name, "arguments": part.arguments, "status": "completed"}


def _content(part: Text, stop: StopReason) -> dict[str, Any]:
    if stop is StopReason.REFUSAL:
        return {"type": "refusal", "refusal": part.text}
    return {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}


def _item_frames(index: int, part: Part, answer: Answer) -> list[Frame]:
    done = _item(index, part, answer.stop)
    where = {"output_index": index, "item_id": done["id"]}
    match part:
        case Text():
            begun = {**done, "content": [], "status": "in_progress"}
            inner = _text_frames(where, part, answer)
        case Thinking():
            begun = {**done, "summary": [], "encrypted_content": None}
            inner = _summary_frames(where, part, answer) if part.text else []
        case ToolCall():
            begun = {**done, "arguments": "", "status": "in_progress"}
            name = "function_call_arguments"
            inner = [
                (f"{name}.delta", {**where, "delta": d}) for d in pieces(part.arguments, answer.fragment)
            ]
            inner.append((f"{name}.done", {**where, "arguments": part.arguments, "name": part.name}))
    return [
        ("output_item.added", {"output_index": index, "item": begun}),
        *inner,
        ("output_item.done", {"output_index": index, "item": done}),
    ]


def _text_frames(where: dict[str, Any], part: Text, answer: Answer) -> list[Frame]:
    refused = answer.stop is StopReason.REFUSAL
    name, field = ("refusal", "refusal") if refused else ("output_text", "text")
    at = {**where, "content_index": 0}
    extra: dict[str, Any] = {} if refused else {"logprobs": []}
    deltas = [(f"{name}.delta", {**at, "delta": d, **extra}) for d in pieces(part.text, answer.fragment)]
    return [
        ("content_part.added", {**at, "part": _content(Text(""), answer.stop)}),
        *deltas,
        (f"{name}.done", {**at, field: part.text, **extra}),
        ("content_part.done", {**at, "part": _content(part, answer.stop)}),
    ]


def _summary_frames(where: dict[str, Any], part: Thinking, answer: Answer) -> list[Frame]:
    at = {**where, "summary_index": 0}
    name = "reasoning_summary"
    return [
        (f"{name}_part.added", {**at, "part": {"type": "summary_text", "text": ""}}),
        *((f"{name}_text.delta", {**at, "delta": d}) for d in pieces(part.text, answer.fragment)),
        (f"{name}_text.done", {**at, "text": part.text}),
        (f"{name}_part.done", {**at, "part": {"type": "summary_text", "text": part.text}}),
    ]


def _bad_input(items: Any) -> str:
    if not items or not isinstance(items, list):
        return "Missing required parameter: 'input'."
    called: list[str] = []
    answered: list[str] = []
    for at, item in enumerate(items):
        match item.get("type", "message"):
            case "function_call":
                if item["call_id"] in called:
                    return f"Duplicate item found with call id {item['call_id']}."
                if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", item["name"]):
                    return f"Invalid 'input[{at}].name': does not match pattern."
                if not isinstance(codec.decode(item["arguments"]), dict):
                    return f"Invalid 'input[{at}].arguments': no JSON object."
                if len(item["call_id"]) > 64:
                    return f"Invalid 'input[{at}].call_id': string too long."
                called.append(item["call_id"])
            case "function_call_output":
                answered.append(item["call_id"])
                if item["call_id"] not in called:
                    return f"No tool call found for function call output with call_id {item['call_id']}."
            case "reasoning" if "encrypted_content" not in item:
                return f"Item '{item.get('id')}' of type 'reasoning' was provided without its content."
            case "message" if why := _bad_message(item):
                return f"input[{at}]: {why}"
    if missing := set(called) - set(answered):
        return f"No tool output found for function call {min(missing)}."
    return ""


def _bad_message(item: dict[str, Any]) -> str:
    content = item["content"]
    if isinstance(content, str):
        return ""
    allowed = {"output_text", "refusal"} if item["role"] == "assistant" else {"input_text", "input_image"}
    wrong = [part["type"] for part in content if part["type"] not in allowed]
    return f"Invalid value: {wrong[0]!r}." if wrong else ""
