"""While a model writes the arguments of a call, the sign of life says of which, and how much there is."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any, ClassVar

import pytest

from planck.llm.dialects.parts import read_begun
from planck.llm.dialects.table import open_provider
from planck.llm.endpoint import Endpoint
from planck.llm.provider import Item
from planck.records import codec
from planck.records.events import Status
from planck.records.messages import AssistantMessage, StopReason, Text, ToolCall
from planck.records.specs import ModelSpec
from tests.virtual_time import run_virtual
from tests.wire.anthropic import Anthropic
from tests.wire.google import Google
from tests.wire.known import request
from tests.wire.ollama import Ollama
from tests.wire.openai_chat import OpenAIChat
from tests.wire.openai_responses import OpenAIResponses
from tests.wire.script import Answer

WIRES: dict[str, Any] = {
    "anthropic": Anthropic(),
    "openai": OpenAIChat(),
    "openai_responses": OpenAIResponses(),
    "google": Google(),
    "ollama": Ollama(),
}
STREAMING = ("anthropic", "openai", "openai_responses")
"""The others send a call whole."""
CONTENT = "x = 1\n" * 400


class SlowFrames:
    """A transport whose answer comes frame by frame, one every two seconds."""

    status = 200
    headers: ClassVar[dict[str, str]] = {}

    def __init__(self, frames: Sequence[bytes]) -> None:
        self._frames = frames

    async def send(self, method: str, url: str, *request: object) -> "SlowFrames":
        return SlowFrames([b"{}"]) if url.endswith("/api/show") else self

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for frame in self._frames:
            await asyncio.sleep(2)
            yield frame

    def release(self) -> None: ...

    async def aclose(self) -> None: ...


def listen(dialect: str, *calls: tuple[str, dict[str, Any]]) -> list[Item]:
    parts = tuple(
        ToolCall("", f"call_{number}", name, codec.encode_str(args))
        for number, (name, args) in enumerate(calls)
    )
    frames = WIRES[dialect].frames(
        Answer((Text("I write."), *parts), StopReason.TOOL_CALLS, fragment=300), "m"
    )
    return receive(dialect, frames)


def receive(dialect: str, frames: Sequence[bytes]) -> list[Item]:
    vendor, _, api = dialect.partition("_")
    endpoint = Endpoint("x", vendor, api, base_url="http://x")
    model = open_provider(endpoint, ModelSpec("x", "m"), SlowFrames(frames))

    async def collect() -> list[Item]:
        return [item async for item in model.stream(request())]

    return run_virtual(collect())


@pytest.mark.parametrize("dialect", WIRES)
def test_the_sign_of_life_names_the_call_its_path_and_how_much_is_written(dialect: str) -> None:
    calls = ("write", {"path": "src/x.py", "content": CONTENT}), ("bash", {"command": "ls " + "-l " * 300})
    items = listen(dialect, *calls)
    assert isinstance(items[-1], AssistantMessage)
    assert [call.name for call in items[-1].tool_calls] == ["write", "bash"]
    signs = [item for item in items if isinstance(item, Status) and item.name]
    assert bool(signs) is (dialect in STREAMING)
    written = [sign for sign in signs if sign.name == "write"]
    assert {sign.subject for sign in written} <= {"", "src/x.py"}
    assert [sign.size for sign in written] == sorted({sign.size for sign in written})
    if signs:
        assert written[-1].subject == "src/x.py"
        assert 2_400 < written[-1].size <= len(codec.encode_str(calls[0][1]))
        assert {sign.state for sign in signs} == {"working"}
        assert {sign.name for sign in signs} == {"write", "bash"}


@pytest.mark.parametrize(
    ("begun", "found"),
    [
        ("", {}),
        ("{", {}),
        ('{"path": "src/x', {}),
        ('{"path": "src/x.py"', {"path": "src/x.py"}),
        ('{"path": "a \\"b\\" \\u00e9.py", "content": "half', {"path": 'a "b" é.py'}),
        ('{"content": "\\"path\\": \\"no\\"", "path": "yes"', {"content": '"path": "no"', "path": "yes"}),
        ('{"content": "\\"path\\": \\"no\\"', {}),
        ('{"n": 1, "path": "x"', {}),
        ('{"a": "\\ud800", "path": "x"}', {}),
        ("[1, 2", {}),
        ("not json", {}),
    ],
)
def test_only_whole_texts_of_begun_arguments_are_read(begun: str, found: dict[str, str]) -> None:
    assert read_begun(begun) == found


@pytest.mark.parametrize(
    "item", [b"null", b"3", b'{"type": 3}', b"[]", b'{"type": "function_call", "name": 7}']
)
def test_an_item_that_begins_in_an_odd_shape_is_no_reason_to_lose_the_answer(item: bytes) -> None:
    frames = OpenAIResponses().frames(Answer((Text("all of it"),)), "m")
    odd = b'data: {"type": "response.output_item.added", "output_index": 0, "item": ' + item + b"}\n\n"
    last = receive("openai_responses", [frames[0], odd, *frames[1:]])[-1]
    assert isinstance(last, AssistantMessage)
    assert last.text == "all of it"
