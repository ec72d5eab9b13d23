"""How long a context a local server really gives: asked, since a wrong guess is cut in silence."""

from contextlib import aclosing
from typing import Any

import msgspec

from planck.llm.endpoint import LLAMA_CPP_ROOT, OLLAMA_ROOT, Endpoint
from planck.llm.http_errors import refusal
from planck.llm.provider import ProviderError
from planck.llm.transport import Transport, read_all
from planck.records import codec
from planck.records.outcome import ErrorKind

_LARGEST = 4_000_000
"""Bytes of an answer that we read: `/api/show` lists every tensor."""


async def ollama_window(endpoint: Endpoint, model: str, transport: Transport) -> int:
    """The most that the model can take, from `/api/show`; what the server gives is set with each request."""
    url = f"{endpoint.base_url or OLLAMA_ROOT}/api/show"
    shown = await _ask(endpoint, transport, "POST", url, codec.encode({"model": model}))
    info = _decoded(shown, _Shown).model_info or {}
    lengths = [value for name, value in info.items() if name.endswith(".context_length")]
    return _whole(lengths[0] if lengths else None, endpoint)


async def llama_cpp_window(endpoint: Endpoint, transport: Transport) -> int:
    """What one slot of the running server holds, from `/props`."""
    root = (endpoint.base_url or LLAMA_CPP_ROOT).removesuffix("/v1")
    props = _decoded(await _ask(endpoint, transport, "GET", f"{root}/props"), _Props)
    settings = props.default_generation_settings or {}
    return _whole(settings.get("n_ctx"), endpoint)


class _Shown(msgspec.Struct):
    model_info: dict[str, Any] | None = None


class _Props(msgspec.Struct):
    default_generation_settings: dict[str, Any] | None = None


async def _ask(endpoint: Endpoint, transport: Transport, method: str, url: str, body: bytes = b"") -> bytes:
    headers = {"content-type": "application/json", **endpoint.headers}
    if endpoint.key:
        headers = {"authorization": f"Bearer {endpoint.key}", **headers}
    async with aclosing(await transport.send(method, url, headers, body)) as response:
        if response.status != 200:
            raise await refusal(response, endpoint)
        return await read_all(response, _LARGEST)


def _decoded(body: bytes, type_: type[codec.T]) -> codec.T:
    try:
        return codec.decode_as(body, type_)
    except (codec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProviderError(
            ErrorKind.INVALID_RESPONSE, f"the server's description of the model can't be read: {error}"
        ) from None


def _whole(length: Any, endpoint: Endpoint) -> int:
    if isinstance(length, int) and length > 0:
        return length
    raise ProviderError(
        ErrorKind.INVALID_RESPONSE, f"{endpoint.name!r} does not say how long a context it gives"
    )
