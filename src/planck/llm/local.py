"""Which models a local server has, with the context length that it really gives them."""

import asyncio
from contextlib import aclosing
from typing import Any

from planck.http.transport import Transport, read_all
from planck.llm.provider import ProviderError
from planck.records import codec
from planck.records.specs import ModelSpec

_PATIENCE = 2.0
"""Seconds for all questions to one server: a local one answers in milliseconds or is not there."""

_MAX_ANSWER = 4_000_000
"""Bytes: a model's licence and template come along with its sizes."""


async def discover(transport: Transport, type: str, address: str, provider: str = "") -> list[ModelSpec]:
    """The models of the server at an address; none where nobody answers."""
    root = address.removesuffix("/v1").rstrip("/")
    ask = _ollama if type == "ollama" else _llama_cpp
    try:
        async with asyncio.timeout(_PATIENCE):
            return await ask(transport, root, provider or type)
    except (ProviderError, TimeoutError, codec.DecodeError, _Strange):
        return []


class _Strange(Exception):
    """Somebody else's server: its answers are not what this type gives."""


async def _ollama(transport: Transport, root: str, provider: str) -> list[ModelSpec]:
    tags = _objects(await _get(transport, f"{root}/api/tags"), "models")
    names = [name for tag in tags if isinstance(name := tag.get("model") or tag.get("name"), str)]
    return [await _ollama_model(transport, root, provider, name) for name in names]


async def _ollama_model(transport: Transport, root: str, provider: str, name: str) -> ModelSpec:
    shown = await _ask(transport, "POST", f"{root}/api/show", codec.encode({"model": name}))
    can = shown.get("capabilities")
    abilities = can if isinstance(can, list) else []
    return ModelSpec(
        provider=provider,
        model=name,
        context_window=_ollama_window(shown),
        base_url=root,
        images="vision" in abilities,
        reasoning="thinking" in abilities,
    )


def _ollama_window(shown: dict[str, Any]) -> int:
    """What the model's file sets, else what the model was trained for."""
    lines = str(shown.get("parameters") or "").splitlines()
    words = next((line.split() for line in lines if line.startswith("num_ctx")), [])
    if len(words) == 2 and words[1].isdigit():
        return int(words[1])
    info = shown.get("model_info")
    sizes = info.items() if isinstance(info, dict) else ()
    return next((n for key, n in sizes if key.endswith(".context_length") and isinstance(n, int)), _UNKNOWN)


_UNKNOWN = 4096
"""What Ollama gives a model of which it says nothing."""


async def _llama_cpp(transport: Transport, root: str, provider: str) -> list[ModelSpec]:
    listed = _objects(await _get(transport, f"{root}/v1/models"), "data")
    props = await _get(transport, f"{root}/props")
    settings = props.get("default_generation_settings")
    window = settings.get("n_ctx") if isinstance(settings, dict) else None
    if not isinstance(window, int):
        raise _Strange
    images = isinstance(modes := props.get("modalities"), dict) and bool(modes.get("vision"))
    return [
        ModelSpec(provider=provider, model=name, context_window=window, base_url=root, images=images)
        for model in listed
        if isinstance(name := model.get("id"), str)
    ]


async def _get(transport: Transport, url: str) -> dict[str, Any]:
    return await _ask(transport, "GET", url, b"")


async def _ask(transport: Transport, method: str, url: str, body: bytes) -> dict[str, Any]:
    response = await transport.send(method, url, {"content-type": "application/json"}, body)
    async with aclosing(response):
        answer = await read_all(response, _MAX_ANSWER)
    found = codec.decode(answer) if response.status == 200 else None
    if not isinstance(found, dict):
        raise _Strange
    return found


def _objects(answer: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = answer.get(key)
    if not isinstance(found, list):
        raise _Strange
    return [entry for entry in found if isinstance(entry, dict)]
