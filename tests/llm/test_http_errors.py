"""Refusals as vendors and compatible servers word them, and the one kind that each has here."""

import time
from email.utils import formatdate
from typing import Any

import pytest

from planck.llm.dialects.table import open_provider
from planck.llm.endpoint import Endpoint
from planck.llm.provider import ProviderError
from planck.llm.server_errors import provider_error
from planck.records import codec
from planck.records.outcome import ErrorKind as K
from planck.records.specs import ModelSpec
from tests.wire.known import request
from tests.wire.memory import MemoryTransport
from tests.wire.server import json_reply

KEY = "sk-very-secret-key"
HERE = Endpoint("here", "openai", key=KEY)


def error(message: str, code: str | None = None, type: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": type, "code": code}}


def quota(id: str) -> dict[str, Any]:
    """Google's words are the same for a minute's quota and for a day's; both say when to come back."""
    violation = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": id}]}
    wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}
    said = "You exceeded your current quota, please check your plan and billing details."
    return {
        "error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": said, "details": [violation, wait]}
    }


CASES: list[tuple[int, Any, K]] = [
    (401, error(f"Incorrect API key provided: {KEY}."), K.NOT_AUTHENTICATED),
    (403, {"error": "forbidden"}, K.NOT_AUTHENTICATED),
    (
        400,
        {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid."}},
        K.PROVIDER_HTTP_ERROR,
    ),
    (402, error("Insufficient Balance"), K.USAGE_LIMIT_REACHED),
    (429, error("Rate limit reached for gpt-5 in organization on tokens per min"), K.RATE_LIMITED),
    (429, error("You exceeded your current quota", "insufficient_quota"), K.USAGE_LIMIT_REACHED),
    (429, quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), K.RATE_LIMITED),
    (429, quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), K.USAGE_LIMIT_REACHED),
    (400, error("Your credit balance is too low to access the Anthropic API."), K.USAGE_LIMIT_REACHED),
    (429, b"", K.RATE_LIMITED),
    (503, error("Service unavailable."), K.OVERLOADED),
    (503, b"<html>503 Service Temporarily Unavailable</html>", K.OVERLOADED),
    (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, K.OVERLOADED),
    (
        404,
        error("The model `gpt-9` does not exist or you do not have access", "model_not_found"),
        K.MODEL_NOT_SUPPORTED,
    ),
    (404, {"error": "model 'llama9' not found"}, K.MODEL_NOT_SUPPORTED),
    (400, error("Invalid model name passed in model=foo. No such model"), K.MODEL_NOT_SUPPORTED),
    (400, error("acme/gpt-9 is not a valid model ID"), K.MODEL_NOT_SUPPORTED),
    (404, b"404 page not found", K.PROVIDER_HTTP_ERROR),
    (
        413,
        {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds 32 MB"}},
        K.CONTEXT_OVERFLOW,
    ),
    (400, error("This model's maximum context length is 8192 tokens."), K.CONTEXT_OVERFLOW),
    (400, error("prompt is too long: 210000 tokens > 200000 maximum"), K.CONTEXT_OVERFLOW),
    (
        400,
        error("the request exceeds the available context size", None, "exceed_context_size_error"),
        K.CONTEXT_OVERFLOW,
    ),
    (
        400,
        {"error": {"message": "The input token count (1200000) exceeds the maximum number of tokens"}},
        K.CONTEXT_OVERFLOW,
    ),
    (
        400,
        {"object": "error", "message": "max_tokens must be at least 1", "code": 400},
        K.PROVIDER_HTTP_ERROR,
    ),
    (400, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}, K.PROVIDER_HTTP_ERROR),
    (500, error("The server had an error while processing your request"), K.PROVIDER_HTTP_ERROR),
    (502, b"\xff\xfe\x00 not text \x1b[31m", K.PROVIDER_HTTP_ERROR),
    (500, [{"error": {"message": "oops"}}], K.PROVIDER_HTTP_ERROR),
    (400, None, K.PROVIDER_HTTP_ERROR),
    (0, error("Overloaded", None, "overloaded_error"), K.OVERLOADED),
    (0, error("rate limit", "rate_limit_exceeded"), K.RATE_LIMITED),
    (0, error("context length exceeded", "context_length_exceeded"), K.CONTEXT_OVERFLOW),
]


@pytest.mark.parametrize(("status", "body", "kind"), CASES)
def test_each_refusal_has_one_kind(status: int, body: Any, kind: K) -> None:
    raw = body if isinstance(body, bytes) else codec.encode(body)
    failure = provider_error(status, {}, raw, HERE)
    assert failure.err.kind is kind
    assert failure.err.details["status"] == status
    shown = f"{failure.err.message} {failure.err.details}"
    assert KEY not in shown
    assert shown.isprintable()
    assert failure.err.message.rpartition(". ")[2].startswith(("Set ", "Check ", "Run ", "Try ", "Compact "))


def test_a_flood_of_words_is_cut_and_a_key_at_the_cut_is_still_hidden() -> None:
    for at in range(560, 640):
        failure = provider_error(500, {}, codec.encode(error("x" * at + KEY + "y" * 9_000)), HERE)
        assert len(failure.err.message) < 800
        assert KEY[:10] not in failure.err.message


def test_deep_nesting_is_just_text() -> None:
    assert provider_error(500, {}, b"[" * 60_000, HERE).err.kind is K.PROVIDER_HTTP_ERROR


async def test_a_server_that_tells_no_date_may_still_name_a_point_in_time() -> None:
    later = {"retry-after": formatdate(time.time() + 1000, usegmt=True)}
    transport = MemoryTransport(lambda asked: json_reply(error("slow down"), 429, later))
    provider = open_provider(HERE, ModelSpec(provider="here", model="m"), transport)
    with pytest.raises(ProviderError) as caught:
        assert [item async for item in provider.stream(request())]
    assert 900 < (caught.value.retry_after or 0) <= 1000


def test_a_body_without_a_message_is_the_explanation() -> None:
    failure = provider_error(400, {}, b'{"errors":[{"message":"no such thing"}]}', HERE)
    assert "no such thing" in failure.err.message
