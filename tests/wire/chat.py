"""Answers in the shape of OpenAI Chat Completions."""

from collections.abc import Mapping, Sequence
from typing import Any

from planck.records import codec
from tests.wire.server import Reply, json_reply

USAGE: dict[str, Any] = {
    "prompt_tokens": 12,
    "completion_tokens": 5,
    "total_tokens": 17,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def text(
    *words: str, finish: str = "stop", thinking: Sequence[str] = (), usage: Mapping[str, Any] = USAGE
) -> Reply:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": thought} for thought in thinking]
    deltas += [{"content": word} for word in words]
    return stream(deltas, finish, usage)


def calls(*wanted: tuple[str, Any], finish: str = "tool_calls", size: int = 7) -> Reply:
    """Each call in fragments of `size` characters, all calls interleaved."""
    deltas: list[dict[str, Any]] = []
    rest: list[str] = []
    for index, (name, arguments) in enumerate(wanted):
        function = {"name": name, "arguments": ""}
        call = {"index": index, "id": f"call_{name}_{index}", "type": "function", "function": function}
        deltas.append({"tool_calls": [call]})
        rest.append(arguments if isinstance(arguments, str) else codec.encode_str(arguments))
    while any(rest):
        for index, arguments in enumerate(rest):
            if arguments:
                fragment = {"index": index, "function": {"arguments": arguments[:size]}}
                deltas.append({"tool_calls": [fragment]})
                rest[index] = arguments[size:]
    return stream(deltas, finish)


def bash(*commands: str) -> Reply:
    """Commands, all called in one answer."""
    return calls(*(("bash", {"command": command}) for command in commands))


def stream(deltas: Sequence[Mapping[str, Any]], finish: str, usage: Mapping[str, Any] = USAGE) -> Reply:
    events = [chunk({"index": 0, "delta": delta, "finish_reason": None}) for delta in deltas]
    events.append(chunk({"index": 0, "delta": {}, "finish_reason": finish}))
    events.append(chunk(usage=usage))
    return Reply([sse(event) for event in events] + [b"data: [DONE]\n\n"])


def chunk(*choices: Mapping[str, Any], usage: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
        "usage": usage,
    }


def sse(event: Any) -> bytes:
    return b"data: " + codec.encode(event) + b"\n\n"


def error(
    status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None
) -> Reply:
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
    return json_reply(body, status, headers)
