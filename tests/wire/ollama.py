"""Ollama's native `/api/chat` as a script plays it: one JSON object a line, calls whole."""

from collections.abc import Mapping
from typing import Any

from planck.records import codec
from planck.records.messages import StopReason, Text, Thinking, ToolCall
from tests.wire.script import Answer, pieces

_FAULTS = {
    "auth": (401, "unauthorized"),
    "forbidden": (403, "forbidden"),
    "model": (404, "model 'nope' not found"),
    "rate": (429, "too many requests"),
    "quota": (429, "you've reached your usage limit, please upgrade to continue"),
    "server": (500, "llama runner process has terminated: exit status 2"),
    "unavailable": (503, "server busy, please try again. maximum pending requests exceeded"),
    "overloaded": (503, "server busy, please try again. maximum pending requests exceeded"),
    "too_long": (400, "the prompt exceeds the available context size"),
}


class Ollama:
    name = "ollama"

    def streams(self, path: str, body: Any) -> bool:
        return bool(body.get("stream", True))

    def refuse(self, path: str, headers: Mapping[str, str], body: Any) -> str:
        if path != "/api/chat":
            return f"no route {path}"
        for message in body.get("messages") or ():
            if not isinstance(message.get("content", ""), str):
                return "json: cannot unmarshal array into Go struct field .messages.content of type string"
            for call in message.get("tool_calls", ()):
                if not isinstance(call["function"]["arguments"], dict):
                    return "json: cannot unmarshal string into Go struct field .arguments"
        return "" if body.get("messages") else "messages: required"

    def frames(self, answer: Answer, model: str) -> list[bytes]:
        said: list[dict[str, Any]] = []
        for part in answer.parts:
            match part:
                case Text():
                    said += [{"content": piece} for piece in pieces(part.text, answer.fragment)]
                case Thinking():
                    said += [
                        {"content": "", "thinking": piece} for piece in pieces(part.text, answer.fragment)
                    ]
                case ToolCall():
                    said.append({"content": "", "tool_calls": [_call(part)]})
        lines = [_line(model, {"role": "assistant", **message}) for message in said]
        return [codec.encode(line) + b"\n" for line in [*lines, self._last(answer, model, {})]]

    def whole(self, answer: Answer, model: str) -> Any:
        text = "".join(part.text for part in answer.parts if isinstance(part, Text))
        thinking = "".join(part.text for part in answer.parts if isinstance(part, Thinking))
        calls = [_call(part) for part in answer.parts if isinstance(part, ToolCall)]
        message: dict[str, Any] = {"content": text}
        message |= {"thinking": thinking} if thinking else {}
        return self._last(answer, model, message | ({"tool_calls": calls} if calls else {}))

    def _last(self, answer: Answer, model: str, message: dict[str, Any]) -> dict[str, Any]:
        return {
            **_line(model, {"role": "assistant", "content": "", **message}),
            "done": True,
            "done_reason": "length" if answer.stop is StopReason.LENGTH else "stop",
            "total_duration": 5,
            "prompt_eval_count": answer.usage.input_tokens,
            "eval_count": answer.usage.output_tokens,
        }

    def fault(self, name: str) -> tuple[int, Any]:
        status, message = _FAULTS[name]
        return status, {"error": message}

    def fault_frame(self, name: str) -> bytes:
        return codec.encode({"error": _FAULTS[name][1]}) + b"\n"


def _line(model: str, message: dict[str, Any]) -> dict[str, Any]:
    return {"model": model, "created_at": "2026-11-15T12:00:00Z", "message": message, "done": False}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"function": {"name": call.name, "arguments": codec.decode(call.arguments)}}
