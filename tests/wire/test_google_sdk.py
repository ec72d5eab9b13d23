"""The official `google-genai` SDK reads our wire server, and its types accept what our adapter sends."""

from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from planck.records import codec
from tests.wire import samples
from tests.wire.google import Google
from tests.wire.known import KNOWN
from tests.wire.requests import sent_by_our_adapter
from tests.wire.script import FAULTS, Fault, Step, play
from tests.wire.server import WireServer

pytestmark = [
    pytest.mark.heavy,  # the SDK takes a second to load, and it checks our doubles
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # the SDK's own, inside aiohttp
]


async def chunks(step: Step, stream: bool = True) -> list[Any]:
    async with WireServer(play(Google(), [step])) as server:
        options = types.HttpOptions(base_url=server.url, api_version="v1beta")
        client = genai.Client(api_key="k", http_options=options)
        try:
            asked: dict[str, Any] = {"model": "gemini-3-pro", "contents": "hi"}
            if not stream:
                return [await client.aio.models.generate_content(**asked)]
            return [chunk async for chunk in await client.aio.models.generate_content_stream(**asked)]
        finally:
            await client.aio.aclose()
            client.close()


def parts(found: list[Any]) -> list[Any]:
    contents = [chunk.candidates[0].content for chunk in found if chunk.candidates]
    return [part for content in contents for part in content.parts]


@pytest.mark.parametrize("stream", [True, False])
async def test_text_and_usage(stream: bool) -> None:
    found = await chunks(samples.TEXT, stream)
    assert "".join(part.text for part in parts(found)) == "Grüße, 世界 🎉!"
    assert found[-1].candidates[0].finish_reason == types.FinishReason.STOP
    usage = found[-1].usage_metadata
    assert (usage.prompt_token_count, usage.candidates_token_count) == (200, 22)
    assert (usage.cached_content_token_count, usage.thoughts_token_count) == (80, 12)


async def test_thinking_with_its_signature() -> None:
    thought, text, *_ = parts(await chunks(samples.THINKING))
    assert (thought.text, thought.thought, thought.thought_signature) == ("well, let me see", True, b"signed")
    assert text.thought is None


async def test_parallel_calls() -> None:
    calls = [part.function_call for part in parts(await chunks(samples.PARALLEL)) if part.function_call]
    assert [(call.id, call.name, call.args) for call in calls] == [
        (call.provider_id, call.name, codec.decode(call.arguments)) for call in samples.CALLS
    ]


async def test_length_and_filter() -> None:
    assert (await chunks(samples.LENGTH))[-1].candidates[0].finish_reason == types.FinishReason.MAX_TOKENS
    assert (await chunks(samples.REFUSAL))[-1].candidates[
        0
    ].finish_reason == types.FinishReason.PROHIBITED_CONTENT
    assert (await chunks(samples.FILTER))[-1].prompt_feedback.block_reason == types.BlockedReason.SAFETY


@pytest.mark.parametrize("fault", FAULTS)
async def test_errors(fault: str) -> None:
    status, body = Google().fault(fault)
    with pytest.raises(errors.APIError) as caught:
        await chunks(Fault(fault))
    assert (caught.value.code, caught.value.status) == (status, body["error"]["status"])
    assert isinstance(caught.value, errors.ClientError if status < 500 else errors.ServerError)


async def test_our_requests_are_of_the_sdks_types() -> None:
    known = next(known for known in KNOWN if known.type == "google")
    for body in await sent_by_our_adapter(known):
        for content in body["contents"]:
            types.Content.model_validate(content)
        for tool in body["tools"]:
            types.Tool.model_validate(tool)
        types.Content.model_validate(body["systemInstruction"])
        types.GenerationConfig.model_validate(body.get("generationConfig", {}))
        types.ToolConfig.model_validate(body.get("toolConfig", {}))
