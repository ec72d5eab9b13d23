"""The official `anthropic` SDK reads our wire server, and its types accept what our adapter sends.

It is imported by the tests: whoever only collects them would wait for it.
"""

from typing import Any

import pytest

from planck.records import codec
from planck.records.messages import ToolCall
from tests.wire import samples
from tests.wire.anthropic import Anthropic
from tests.wire.known import KNOWN
from tests.wire.requests import exhaust, sent_by_our_adapter
from tests.wire.script import FAULTS, Answer, Fault, Step, play
from tests.wire.server import WireServer

pytestmark = pytest.mark.heavy  # the SDK takes a second to load, and it checks our doubles

ASK: dict[str, Any] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
}


async def message(step: Step, stream: bool = True) -> Any:
    import anthropic

    async with WireServer(play(Anthropic(), [step])) as server:
        client = anthropic.AsyncAnthropic(api_key="k", base_url=server.url, max_retries=0)
        async with client:
            if not stream:
                return await client.messages.create(**ASK)
            async with client.messages.stream(**ASK) as events:
                return await events.get_final_message()


@pytest.mark.parametrize("stream", [True, False])
async def test_text_and_usage(stream: bool) -> None:
    final = await message(samples.TEXT, stream)
    assert [(block.type, block.text) for block in final.content] == [("text", "Grüße, 世界 🎉!")]
    assert final.stop_reason == "end_turn"
    usage = final.usage
    counted = (usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens)
    assert counted == (120, 34, 80)
    assert usage.output_tokens_details.thinking_tokens == 12


@pytest.mark.parametrize("stream", [True, False])
async def test_thinking_with_its_signature(stream: bool) -> None:
    thinking, text = (await message(samples.THINKING, stream)).content
    assert (thinking.thinking, thinking.signature) == ("well, let me see", "c2lnbmVk")
    assert text.text == "It is 4."


@pytest.mark.parametrize("fragment", [1, 3, 1000])
async def test_parallel_calls(fragment: int) -> None:
    final = await message(Answer(samples.CALLS, samples.PARALLEL.stop, fragment=fragment))
    assert final.stop_reason == "tool_use"
    assert [(block.id, block.name, block.input) for block in final.content] == _calls(samples.CALLS)


def _calls(calls: tuple[ToolCall, ...]) -> list[tuple[str, str, Any]]:
    return [(call.provider_id, call.name, codec.decode(call.arguments)) for call in calls]


async def test_length_and_refusal() -> None:
    assert (await message(samples.LENGTH)).stop_reason == "max_tokens"
    assert (await message(samples.REFUSAL)).stop_reason == "refusal"


CLASSES = {
    "auth": "AuthenticationError",
    "forbidden": "PermissionDeniedError",
    "model": "NotFoundError",
    "rate": "RateLimitError",
    "quota": "BadRequestError",
    "server": "InternalServerError",
    "unavailable": "InternalServerError",
    "overloaded": "InternalServerError",
    "too_long": "BadRequestError",
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_errors(fault: str) -> None:
    import anthropic

    with pytest.raises(getattr(anthropic, CLASSES[fault])) as caught:
        await message(Fault(fault, retry_after="7"))
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.body["error"]["type"]


async def test_an_error_inside_the_stream() -> None:
    import anthropic

    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        await message(Fault("overloaded", after=3))


async def test_our_requests_are_of_the_sdks_types() -> None:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from pydantic import TypeAdapter

    params: Any = TypeAdapter(MessageCreateParamsStreaming)
    known = next(known for known in KNOWN if known.type == "anthropic")
    for body in await sent_by_our_adapter(known):
        exhaust(params.validate_python(body))
