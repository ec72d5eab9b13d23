"""A model server for the programs of this folder: OpenAI's two wires, and answers to a few prompts.

Each library offers its own tools: the model calls the first of those it is offered that a prompt names.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from planck.records.messages import Part, StopReason, Text, ToolCall
from tests.wire.openai_chat import OpenAIChat
from tests.wire.openai_responses import OpenAIResponses
from tests.wire.script import Answer
from tests.wire.server import Asked, Reply, json_reply

_OWES = "What does Ada owe?"
_DONE = {"item": "tea", "count": 3}
CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "umbrella": [("weather", {"city": "Bonn"})],
    "Three cups": [("final_result", _DONE)],
    _OWES: [
        ("invoices", {"customer": "Ada"}),
        ("ask_billing", {"question": _OWES, "input": _OWES}),
        ("ask_agent", {"identifier": "billing", "identifier_type": "type", "question": _OWES}),
    ],
    "Is there tea": [("count", {"item": "tea"})],
    "Refund order 7": [("refund", {"order": 7})],
    "Greet Ada": [("greet", {"name": "Ada"}), ("mcp__greeter__greet", {"name": "Ada"})],
    "Write notes.md": [("write", {"path": "notes.md", "content": "one\n"})],
}
TEXTS = {
    "Three cups": json.dumps(_DONE),
    "a line about rain": "The rain that falls on Bonn is soft and grey.",
    "Say hello": "Hello.",
    "Name two cities": '["Bonn", "Rome"]',
    "capital of France": "Paris",
    "capital of Italy": "Rome",
    "capital of Japan": "Tokyo",
}


def answer(asked: Asked) -> Reply:
    """A script for `WireServer`."""
    dialect = OpenAIResponses() if asked.path.endswith("/responses") else OpenAIChat()
    body = asked.json
    said = Answer(*_think(body))
    if dialect.streams(asked.path, body):
        return Reply(dialect.frames(said, body["model"]))
    return json_reply(dialect.whole(said, body["model"]))


def _think(body: dict[str, Any]) -> tuple[tuple[Part, ...], StopReason]:
    messages = body.get("input") or body["messages"]
    messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    prompt = next(text for role, text in reversed([*_read(messages)]) if role == "user")
    role, last = [*_read(messages)][-1]
    if role == "tool":
        return (Text(f"I found: {last}"),), StopReason.END
    if "What is my name" in prompt:
        names = re.findall("My name is ([A-Z][a-z]+)", json.dumps(messages))
        return (Text(f"Your name is {names[0]}." if names else "I do not know."),), StopReason.END
    offered = {tool["name"]: tool["parameters"] for tool in _list_tools(body)}
    for words, calls in CALLS.items():
        for name, arguments in calls:
            if words in prompt and name in offered:
                fits = {key: one for key, one in arguments.items() if key in offered[name]["properties"]}
                call = ToolCall("", f"call_{len(messages)}", name, json.dumps(fits))
                return (call,), StopReason.TOOL_CALLS
    return (Text(next((text for words, text in TEXTS.items() if words in prompt), "Noted.")),), StopReason.END


def _list_tools(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [tool.get("function", tool) for tool in body.get("tools") or ()]


def _read(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yields the role and the text of each message of either wire."""
    for message in messages:
        content = message.get("output") if "output" in message else message.get("content")
        role = "tool" if "output" in message else message.get("role", "assistant")
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or ()]
        yield role, "".join(parts)
