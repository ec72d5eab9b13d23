"""The official `ollama` client reads our wire server."""

from typing import Any

import ollama
import pytest

from planck.records import codec
from tests.wire import samples
from tests.wire.ollama import Ollama
from tests.wire.script import FAULTS, Fault, Step, play
from tests.wire.server import WireServer

pytestmark = pytest.mark.heavy  # the SDK takes a second to load, and it checks our doubles


async def chunks(step: Step, stream: bool = True) -> list[Any]:
    async with WireServer(play(Ollama(), [step])) as server:
        client = ollama.AsyncClient(host=server.url)
        asked: dict[str, Any] = {"model": "smollm2", "messages": [{"role": "user", "content": "hi"}]}
        try:
            if not stream:
                return [await client.chat(**asked)]
            return [chunk async for chunk in await client.chat(**asked, stream=True)]
        finally:
            await client._client.aclose()


@pytest.mark.parametrize("stream", [True, False])
async def test_text_and_usage(stream: bool) -> None:
    found = await chunks(samples.TEXT, stream)
    assert "".join(chunk.message.content for chunk in found) == "Grüße, 世界 🎉!"
    assert (found[-1].done_reason, found[-1].prompt_eval_count, found[-1].eval_count) == ("stop", 120, 34)


async def test_thinking_and_parallel_calls() -> None:
    found = await chunks(samples.THINKING)
    assert "".join(chunk.message.thinking or "" for chunk in found) == "well, let me see"
    calls = [call for chunk in await chunks(samples.PARALLEL) for call in chunk.message.tool_calls or ()]
    assert [(call.function.name, call.function.arguments) for call in calls] == [
        (call.name, codec.decode(call.arguments)) for call in samples.CALLS
    ]


async def test_length() -> None:
    assert (await chunks(samples.LENGTH))[-1].done_reason == "length"


@pytest.mark.parametrize("fault", FAULTS)
async def test_errors(fault: str) -> None:
    status, body = Ollama().fault(fault)
    with pytest.raises(ollama.ResponseError) as caught:
        await chunks(Fault(fault))
    assert (caught.value.status_code, caught.value.error) == (status, body["error"])
