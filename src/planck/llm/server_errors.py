"""A server's refusal -> `ProviderError`: one table of kinds for every dialect."""

import re
from collections.abc import Mapping
from typing import Any

from planck.http.retry_after import retry_after
from planck.http.transport import NOT_STARTED, Response, read_all
from planck.llm.endpoint import Endpoint
from planck.llm.provider import UNREAD_CALL, ProviderError
from planck.records import codec
from planck.records.outcome import ErrorKind
from planck.records.redact import redact


async def refusal(response: Response, endpoint: Endpoint) -> ProviderError:
    """The error for an answer that is no stream; reads a bounded part of its body."""
    try:
        body = await read_all(response)
    except ProviderError:
        body = b""
    headers = response.headers
    if "date" not in headers:  # it may name a point in time to come back at all the same: ours is as good
        from email.utils import formatdate  # 20 ms, for a failure only

        headers = {**headers, "date": formatdate(usegmt=True)}
    return provider_error(response.status, headers, body, endpoint)


def provider_error(status: int, headers: Mapping[str, str], body: bytes, endpoint: Endpoint) -> ProviderError:
    """`status` 0 is an error inside a stream that began well."""
    code, said = _parse_error(body)
    kind = _kind(status, code, said, passes=bool(_find_delay(body)) and b"PerDay" not in body)
    said = _printable(redact(said, endpoint.secrets)).rstrip(".") or "no reason given"
    where = f"{endpoint.name!r} {f'returned HTTP {status}' if status else 'stopped with an error'}"
    details: dict[str, Any] = {"provider": endpoint.name, "status": status}
    if code:
        details["code"] = _printable(redact(code, endpoint.secrets))
    if _matches(_UNREAD_CALL, f"{code} {said}"):
        details[UNREAD_CALL] = True
    hint = _HINTS.get(kind, "").format(provider=endpoint.name) or _hint(status)
    if kind is ErrorKind.NOT_AUTHENTICATED and endpoint.variable:  # a stored key would not be used
        hint = IN_VARIABLE.format(variable=endpoint.variable, provider=endpoint.name)
    why = f"{where}: {said}."
    asked = {"retry-after": delay, **headers} if (delay := _find_delay(body)) else headers
    return ProviderError(kind, f"{why} {hint}", details, retry_after=retry_after(asked), why=why)


_LATER = "Try again later, or choose another model."
_HINTS = {
    ErrorKind.NOT_AUTHENTICATED: 'Set its API key, or run "planck auth login {provider}".',
    ErrorKind.USAGE_LIMIT_REACHED: "Check your account's plan and credit.",
    ErrorKind.MODEL_NOT_SUPPORTED: 'Run "planck models list".',
    ErrorKind.CONTEXT_OVERFLOW: "Compact the conversation.",
    ErrorKind.RATE_LIMITED: _LATER,
    ErrorKind.OVERLOADED: _LATER,
}
IN_VARIABLE = 'Correct the key in {variable}, or unset it and run "planck auth login {provider}".'
_MAX_MESSAGE = 600


def _hint(status: int) -> str:
    later = status == 0 or status >= 500
    return _LATER if later else 'Check the model\'s settings with "planck models test".'


# Compiled when something fails: compiling all of them would be the most of this import.
_OVERFLOW = (
    r"context.?(length|window|size|limit)|maximum context|(prompt|input) is too long|too many (input )?tokens"
    r"|exceeds? the (available|maximum).{0,40}(context|tokens)|input token count.{0,40}exceed"
    r"|request.?too.?large|reduce the length"
)
_QUOTA = (
    r"insufficient.?(quota|funds|credit|balance)|exceeded your current quota|credit balance is too low"
    r"|billing|usage.?limit|out of credits|quota_exceeded|spending limit"
)
_NO_MODEL = (
    r"model.?not.?found|model .{0,200}(does not exist|not found|not supported|is not available|not a valid)"
    r"|not a valid model|(unknown|invalid|unsupported|no such) model|not_found_error model:"
    r"|models/.{0,200}is not found"
)
_BUSY = r"overloaded|server (is )?busy|at capacity|temporarily unavailable"
_RATE = r"rate.?limit|too many requests|resource.?exhausted"
_UNREAD_CALL = (
    r"model produced output that does not match the expected|tool_use_failed"
    r"|(error|failed).{0,20}pars.{0,20}(tool|function).?call"
)
"""As llama.cpp, Groq and Ollama say it."""
_AUTH = r"authentication_error|invalid.?api.?key|api.?key.?invalid|permission_error|unauthenticated"


def _kind(status: int, code: str, said: str, *, passes: bool = False) -> ErrorKind:
    """`passes`: it says when to come back, as Google does for a minute's quota, in the words for a day's."""
    text = f"{code} {said}"
    if status in (0, 400, 402, 429):
        if status == 402 or (_matches(_QUOTA, text) and not passes):
            return ErrorKind.USAGE_LIMIT_REACHED
        if status == 429 or (status == 0 and _matches(_RATE, text)):
            return ErrorKind.RATE_LIMITED
    if status in (401, 403) or (status in (0, 400) and _matches(_AUTH, code)):
        return ErrorKind.NOT_AUTHENTICATED
    if status in (503, 529) or (status in (0, 500) and _matches(_BUSY, text)):
        return ErrorKind.OVERLOADED
    if status == 413 or (status in (0, 400, 422, 500) and _matches(_OVERFLOW, text)):
        return ErrorKind.CONTEXT_OVERFLOW
    if status in (0, 400, 404, 422) and _matches(_NO_MODEL, text):
        return ErrorKind.MODEL_NOT_SUPPORTED
    return ErrorKind.PROVIDER_HTTP_ERROR


def _matches(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.I | re.S) is not None


def _parse_error(body: bytes) -> tuple[str, str]:
    """Code and message out of any vendor's error object; the body itself where it is none."""
    try:
        found = codec.decode(body)
    except codec.DecodeError:
        return "", body.decode("utf-8", "replace")
    if isinstance(found, list) and found:
        found = found[0]
    inner = found.get("error", found) if isinstance(found, dict) else found
    if not isinstance(inner, dict):
        return "", str(inner or "")
    codes = [inner.get(key) for key in ("code", "type", "status")] + _google_reasons(inner)
    code = " ".join(text for text in codes if isinstance(text, str) and text != "error")
    message = inner.get("message") or inner.get("detail") or found
    return code, message if isinstance(message, str) else codec.encode_str(message)


def _google_reasons(error: dict[str, Any]) -> list[Any]:
    details = error.get("details")
    found = details if isinstance(details, list) else []
    return [part.get("reason") for part in found if isinstance(part, dict)]


def _find_delay(body: bytes) -> str:
    """Google says in the body how long to wait: `"retryDelay": "31s"`."""
    found = re.search(_RETRY_DELAY, body)
    return found[1].decode() if found else ""


_RETRY_DELAY = rb'"retryDelay":\s*"([0-9.]{1,20}s)"'


def _printable(text: str) -> str:
    clean = "".join(c if c.isprintable() else " " for c in text[: 2 * _MAX_MESSAGE]).strip()
    return clean if len(clean) <= _MAX_MESSAGE else f"{clean[:_MAX_MESSAGE]}…"


_STARTS = {"ollama": "Start Ollama (`ollama serve`)", "llama_cpp": "Start llama.cpp (`llama-server -m FILE`)"}


def tell_what_to_start(error: ProviderError, endpoint: Endpoint) -> ProviderError:
    """Returns the error of a local server that does not run, with the program that is missing."""
    where, name = error.err.details[NOT_STARTED], f" for provider {endpoint.name!r}" if endpoint.name else ""
    start = _STARTS.get(endpoint.type, "Start that server")
    text = f"Nothing is listening at {where}{name}. {start}, or choose another model."
    return ProviderError(error.err.kind, text, error.err.details)
