"""Gemini's `streamGenerateContent` as a script plays it."""

import re
from collections.abc import Mapping
from typing import Any

from planck.records import codec
from planck.records.messages import Part, StopReason, Text, Thinking, ToolCall
from tests.wire.script import Answer, pieces, sse

_STOPS = {
    StopReason.END: "STOP",
    StopReason.TOOL_CALLS: "STOP",
    StopReason.LENGTH: "MAX_TOKENS",
    StopReason.REFUSAL: "PROHIBITED_CONTENT",
    StopReason.FILTER: "SAFETY",
}

_RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "31s"}
_DAILY = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "50"}],
}
_BAD_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
_QUOTA_TEXT = "You exceeded your current quota, please check your plan and billing details."

_FAULTS: dict[str, tuple[int, str, str, list[Any]]] = {
    "auth": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [_BAD_KEY]),
    "forbidden": (403, "PERMISSION_DENIED", "Your API key was reported as leaked.", []),
    "model": (
        404,
        "NOT_FOUND",
        "models/gemini-nope is not found for API version v1beta, or is not supported for generateContent.",
        [],
    ),
    "rate": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).", [_RETRY]),
    "quota": (429, "RESOURCE_EXHAUSTED", _QUOTA_TEXT, [_DAILY, _RETRY]),
    "server": (500, "INTERNAL", "An internal error has occurred.", []),
    "unavailable": (503, "UNAVAILABLE", "The service is currently unavailable.", []),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", []),
    "too_long": (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
        [],
    ),
}


class Google:
    name = "google"

    def streams(self, path: str, body: Any) -> bool:
        return ":streamGenerateContent" in path

    def refuse(self, path: str, headers: Mapping[str, str], body: Any) -> str:
        if not path.startswith("/v1beta/models/") or "GenerateContent" not in path.replace(":g", ":G"):
            return f"no route {path}"
        if self.streams(path, body) and "alt=sse" not in path:
            return "only server-sent events are played here"
        for tool in body.get("tools", ()):
            for declared in tool["functionDeclarations"]:
                if why := bad_schema(declared.get("parameters"), declared["name"]):
                    return why
        return _bad_contents(body.get("contents") or [])

    def frames(self, answer: Answer, model: str) -> list[bytes]:
        parts = [part for said in _parts(answer.parts) for part in _split(said, answer.fragment)]
        if answer.stop is StopReason.FILTER and not parts:
            blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": _usage(answer)}
            return [sse(blocked)]
        chunks: list[dict[str, Any]] = [{"candidates": [_candidate([part])]} for part in parts]
        last = {**_candidate([{"text": ""}]), "finishReason": _STOPS[answer.stop]}
        chunks.append({"candidates": [last], "usageMetadata": _usage(answer)})
        return [sse({**chunk, "modelVersion": "gemini-3-pro", "responseId": "r1"}) for chunk in chunks]

    def whole(self, answer: Answer, model: str) -> Any:
        candidate = {**_candidate(_parts(answer.parts)), "finishReason": _STOPS[answer.stop]}
        return {"candidates": [candidate], "usageMetadata": _usage(answer)}

    def fault(self, name: str) -> tuple[int, Any]:
        code, status, message, details = _FAULTS[name]
        error = {"code": code, "message": message, "status": status, "details": details}
        return code, {"error": error}

    def fault_frame(self, name: str) -> bytes:
        return sse(self.fault(name)[1])


def _candidate(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"content": {"role": "model", "parts": parts}, "index": 0}


def _usage(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    return {
        "promptTokenCount": usage.input_tokens + usage.cache_read_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
        "cachedContentTokenCount": usage.cache_read_tokens,
        "thoughtsTokenCount": usage.reasoning_tokens,
        "totalTokenCount": usage.context_tokens,
    }


def _parts(parts: tuple[Part, ...]) -> list[dict[str, Any]]:
    """As our records have it: a signature without text belongs to the part that follows."""
    out: list[dict[str, Any]] = []
    signature: dict[str, Any] = {}
    for part in parts:
        match part:
            case Thinking(text=""):
                signature = {"thoughtSignature": part.signature}
                continue
            case Thinking():
                signature = {"thoughtSignature": part.signature} if part.signature else {}
                out.append({"text": part.text, "thought": True, **signature})
            case Text():
                out.append({"text": part.text, **signature})
            case ToolCall():
                call = {"name": part.name, "args": codec.decode(part.arguments)}
                id = {} if part.provider_id.startswith("planck_") else {"id": part.provider_id}
                out.append({"functionCall": {**id, **call}, **signature})
        signature = {}
    return out + ([{"text": "", **signature}] if signature else [])


def _split(part: dict[str, Any], fragment: int) -> list[dict[str, Any]]:
    """Text comes in fragments unless it is signed; a call is always whole."""
    if "functionCall" in part or "thoughtSignature" in part:
        return [part]
    return [{**part, "text": piece} for piece in pieces(part["text"], fragment)]


def _bad_contents(contents: list[dict[str, Any]]) -> str:
    if not contents:
        return "contents is not specified"
    if contents[0]["role"] != "user" or contents[-1]["role"] != "user":
        return "Please ensure that a single turn or multiturn request starts and ends with a user role."
    called = 0
    for at, content in enumerate(contents):
        parts = content["parts"]
        if not parts:
            return f"contents[{at}].parts must not be empty."
        answered = sum("functionResponse" in part for part in parts)
        if answered != called:
            return "Please ensure that the number of function response parts is equal to the number of calls."
        called = sum("functionCall" in part for part in parts)
        if called and contents[at - 1]["role"] != "user":
            return "Please ensure that function call turn comes immediately after a user turn."
        for part in parts:
            if why := _bad_part(part):
                return f"contents[{at}]: {why}"
    return "Please ensure that function response turn comes after a function call turn." if called else ""


def _bad_part(part: dict[str, Any]) -> str:
    data = part.keys() & {"text", "inlineData", "functionCall", "functionResponse"}
    if len(data) != 1:
        return f"oneof field 'data' must have one initialized field, has {sorted(data)}"
    if part.get("text") == "" and "thoughtSignature" not in part:
        return "must have a text parameter"
    named = part.get("functionCall") or part.get("functionResponse")
    if named and not re.fullmatch(r"[a-zA-Z0-9_.:-]{1,64}", named["name"]):
        return f"Invalid function name {named['name']!r}"
    if "functionCall" in part and not isinstance(part["functionCall"]["args"], dict):
        return "args must be a struct"
    return ""


_SCHEMA = {
    *("type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems"),
    *("properties", "required", "anyOf", "minimum", "maximum", "minLength", "maxLength", "pattern"),
    *("minProperties", "maxProperties", "default", "example", "propertyOrdering"),
}


def bad_schema(schema: Any, where: str) -> str:
    if schema is None:
        return ""
    if unknown := schema.keys() - _SCHEMA:
        return f'Invalid JSON payload received. Unknown name "{min(unknown)}" at {where}'
    if not isinstance(schema.get("type", ""), str):
        return f"Proto field is not repeating at {where}.type"
    if any(not isinstance(value, str) for value in schema.get("enum", ())):
        return f"Invalid value at {where}.enum (TYPE_STRING)"
    if schema.get("type") == "object" and not schema.get("properties"):
        return f"{where}.properties: should be non-empty for OBJECT type"
    if schema.get("type") == "array" and "items" not in schema:
        return f"{where}.items: missing field."
    inner = [*schema.get("properties", {}).items(), *enumerate(schema.get("anyOf", ()))]
    inner += [("items", schema["items"])] if "items" in schema else []
    return next((why for name, part in inner if (why := bad_schema(part, f"{where}.{name}"))), "")
