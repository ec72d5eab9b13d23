"""The official `openai` SDK reads our two wire servers, and its types accept what our adapters send."""

from typing import Any

import openai
import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from planck.records import codec
from tests.wire import samples
from tests.wire.known import KNOWN
from tests.wire.openai_chat import OpenAIChat
from tests.wire.openai_responses import OpenAIResponses
from tests.wire.requests import exhaust, sent_by_our_adapter
from tests.wire.script import FAULTS, Answer, Dialect, Fault, Step, play
from tests.wire.server import WireServer

pytestmark = pytest.mark.heavy  # the SDK takes a second to load, and it checks our doubles

HELLO: list[Any] = [{"role": "user", "content": "hi"}]
CALLED = [(call.provider_id, call.name, codec.decode(call.arguments)) for call in samples.CALLS]


def client(server: WireServer) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0)


async def completion(step: Step, stream: bool = True) -> Any:
    async with WireServer(play(OpenAIChat(), [step])) as server, client(server) as sdk:
        if not stream:
            return await sdk.chat.completions.create(model="gpt-5", messages=HELLO)
        options: Any = {"include_usage": True}
        async with sdk.chat.completions.stream(model="gpt-5", messages=HELLO, stream_options=options) as it:
            return await it.get_final_completion()


async def response(step: Step, stream: bool = True) -> Any:
    async with WireServer(play(OpenAIResponses(), [step])) as server, client(server) as sdk:
        if not stream:
            return await sdk.responses.create(model="gpt-5", input=HELLO, store=False)
        last = None
        text = ""
        async for event in await sdk.responses.create(model="gpt-5", input=HELLO, store=False, stream=True):
            last = event
            if event.type == "error":
                raise AssertionError(event.message)
            text += event.delta if event.type == "response.output_text.delta" else ""
        assert last is not None
        assert last.type in ("response.completed", "response.incomplete")
        assert text == last.response.output_text
        return last.response


@pytest.mark.parametrize("stream", [True, False])
async def test_chat_text_and_usage(stream: bool) -> None:
    final = await completion(samples.TEXT, stream)
    assert final.choices[0].message.content == "Grüße, 世界 🎉!"
    assert final.choices[0].finish_reason == "stop"
    usage = final.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (200, 34)
    assert usage.prompt_tokens_details.cached_tokens == 80
    assert usage.completion_tokens_details.reasoning_tokens == 12


@pytest.mark.parametrize("fragment", [1, 3, 1000])
async def test_chat_parallel_calls(fragment: int) -> None:
    final = await completion(Answer(samples.CALLS, samples.PARALLEL.stop, fragment=fragment))
    calls = final.choices[0].message.tool_calls
    assert [(c.id, c.function.name, codec.decode(c.function.arguments)) for c in calls] == CALLED


async def test_chat_length_refusal_and_filter() -> None:
    with pytest.raises(openai.LengthFinishReasonError):
        await completion(samples.LENGTH)
    with pytest.raises(openai.ContentFilterFinishReasonError):
        await completion(samples.FILTER)
    assert (await completion(samples.REFUSAL)).choices[0].message.refusal == "I can't help with that."


@pytest.mark.parametrize("stream", [True, False])
async def test_responses_text_and_usage(stream: bool) -> None:
    final = await response(samples.TEXT, stream)
    assert (final.output_text, final.status) == ("Grüße, 世界 🎉!", "completed")
    usage = final.usage
    assert (usage.input_tokens, usage.output_tokens) == (200, 34)
    assert usage.input_tokens_details.cached_tokens == 80
    assert usage.output_tokens_details.reasoning_tokens == 12


async def test_responses_thinking_and_parallel_calls() -> None:
    reasoning, message = (await response(samples.THINKING)).output
    assert (reasoning.type, reasoning.summary[0].text) == ("reasoning", "well, let me see")
    assert message.content[0].text == "It is 4."
    _, *calls = (await response(samples.PARALLEL)).output
    assert [(c.call_id, c.name, codec.decode(c.arguments)) for c in calls] == CALLED


async def test_responses_length_refusal_and_filter() -> None:
    assert (await response(samples.LENGTH)).incomplete_details.reason == "max_output_tokens"
    assert (await response(samples.FILTER)).incomplete_details.reason == "content_filter"
    refused = (await response(samples.REFUSAL)).output[0]
    assert refused.content[0].refusal == "I can't help with that."


CLASSES: dict[str, type[Exception]] = {
    "auth": openai.AuthenticationError,
    "forbidden": openai.PermissionDeniedError,
    "model": openai.NotFoundError,
    "rate": openai.RateLimitError,
    "quota": openai.RateLimitError,
    "server": openai.InternalServerError,
    "unavailable": openai.InternalServerError,
    "overloaded": openai.InternalServerError,
    "too_long": openai.BadRequestError,
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_errors(fault: str) -> None:
    for ask in (completion, response):
        with pytest.raises(CLASSES[fault]) as caught:
            await ask(Fault(fault, retry_after="7"))
        assert caught.value.response.headers["retry-after"] == "7"  # type: ignore[attr-defined]


async def test_an_error_inside_the_stream() -> None:
    with pytest.raises(openai.APIError, match="overloaded"):
        await completion(Fault("overloaded", after=2))
    with pytest.raises((openai.APIError, AssertionError), match="overloaded"):
        await response(Fault("overloaded", after=2))


@pytest.mark.parametrize(
    ("dialect", "params"),
    [(OpenAIChat, CompletionCreateParamsStreaming), (OpenAIResponses, ResponseCreateParamsStreaming)],
)
async def test_our_requests_are_of_the_sdks_types(dialect: type[Dialect], params: Any) -> None:
    adapter = TypeAdapter(params)
    for known in KNOWN:
        if isinstance(known.server, dialect):
            for body in await sent_by_our_adapter(known):
                exhaust(adapter.validate_python(body))
