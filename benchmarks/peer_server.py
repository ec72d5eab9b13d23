"""A model for other agents: `/t<N>` asks for N tool calls (`noop` or a shell), `/d<N>` streams N deltas.

It speaks Chat Completions and Responses, streamed or whole, as each agent asks.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Any

SHELLS = ("noop", "bash", "shell", "developer__shell", "shell_command", "exec_command")
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
RESPONSES_USAGE = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}


def _shell_call(body: dict[str, Any], number: int) -> tuple[str, str] | None:
    """The name and the arguments of a call that runs `true`; a number in it keeps the calls apart."""
    tools = {
        (tool.get("function") or tool).get("name"): tool.get("function") or tool for tool in body["tools"]
    }
    name = next((name for name in SHELLS if name in tools), None)
    if name is None:
        return None
    arguments: dict[str, Any] = {}
    for key, schema in (tools[name]["parameters"].get("properties") or {"n": {}}).items():
        if key in ("command", "cmd"):
            listed = schema.get("type") == "array"
            arguments[key] = ["bash", "-c", f"true {number}"] if listed else f"true {number}"
        elif key == "n":
            arguments[key] = number
        elif key in tools[name]["parameters"].get("required", ()):
            arguments[key] = "run it"
    return name, json.dumps(arguments)


def _results(body: dict[str, Any]) -> int:
    items = body.get("messages") or body.get("input") or []
    return sum(item.get("role") == "tool" or item.get("type") == "function_call_output" for item in items)


def _chat(call: tuple[str, str] | None, number: int, deltas: int) -> Iterator[tuple[dict[str, Any], int]]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}

    if call is None:
        yield chunk({"role": "assistant", "content": "word "}), 1
        yield chunk({"content": "word "}), deltas - 1
        yield chunk({}, "stop"), 1
    else:
        function = {"name": call[0], "arguments": call[1]}
        calls = [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
        yield chunk({"role": "assistant", "tool_calls": calls}), 1
        yield chunk({}, "tool_calls"), 1
    yield {**chunk({}), "choices": [], "usage": USAGE}, 1


def _responses(
    call: tuple[str, str] | None, number: int, deltas: int
) -> Iterator[tuple[dict[str, Any], int]]:
    identity = {"id": f"resp_{number}", "object": "response", "model": "m", "created_at": 1}
    yield {"type": "response.created", "response": {**identity, "status": "in_progress", "output": []}}, 1
    if call is None:
        item: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        yield {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}}, 1
        yield {"type": "response.output_text.delta", **place, "delta": "word "}, deltas
        item["content"] = [{"type": "output_text", "text": "word " * deltas, "annotations": []}]
    else:
        item = {"id": f"fc_{number}", "type": "function_call", "call_id": f"call_{number}"}
        item |= {"name": call[0], "arguments": call[1], "status": "completed"}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}, 1
    done = {**identity, "status": "completed", "output": [item], "usage": RESPONSES_USAGE}
    yield {"type": "response.completed", "response": done}, 1


def _answer(path: str, body: dict[str, Any]) -> bytes:
    kind, count = path[1], int(path[2:].partition("/")[0])
    number = _results(body)
    asks = kind == "t" and bool(body.get("tools")) and number < count
    call = _shell_call(body, number) if asks else None
    # A request without tools is one of the agent's own (a title, for example).
    deltas = count if kind == "d" and body.get("tools") is not None else 1
    if path.endswith("/responses"):
        rows = _responses(call, number, deltas)
        return b"".join(
            b"event: %s\ndata: %s\n\n" % (row["type"].encode(), json.dumps(row).encode()) * times
            for row, times in rows
        )
    rows = _chat(call, number, deltas)
    stream = b"".join(b"data: %s\n\n" % json.dumps(row).encode() * times for row, times in rows)
    return stream + b"data: [DONE]\n\n"


def _whole(body: dict[str, Any]) -> bytes:
    message = {"role": "assistant", "content": "a title"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    whole = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": choices,
        "usage": USAGE,
    }
    return json.dumps(whole).encode()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, path, _ = head.split(" ", 2)
            lengths = [line for line in head.lower().split("\r\n") if line.startswith("content-length")]
            body = json.loads(await reader.readexactly(int(lengths[0].split(":")[1]))) if lengths else {}
            kind = "application/json"
            if method == "GET":
                payload = b'{"object": "list", "data": [{"id": "m", "object": "model"}]}'
            elif body.get("stream"):
                kind, payload = "text/event-stream", _answer(path, body)
            else:
                payload = _whole(body)
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n"
                % (kind.encode(), len(payload))
                + payload
            )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=64 << 20, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(_main()))
