"""Which models a local server has, with the context length that it really gives them."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any

from planck.http.transport import Transport, read_all
from planck.llm.endpoint import Endpoint, openai_root
from planck.llm.provider import ProviderError
from planck.records import codec
from planck.records.outcome import ErrorKind
from planck.records.specs import ModelSpec

_PATIENCE = 2.0
"""Seconds for all questions to one server: a local one answers in milliseconds or is not there."""
_LONG_PATIENCE = 15.0
"""For a server that the user named, which may be far away or busy: somebody waits for this one."""

_JSON = MappingProxyType({"content-type": "application/json"})
_MAX_ANSWER = 4_000_000
"""Bytes: a model's licence and template come along with its sizes."""


async def discover(
    transport: Transport, type: str, address: str, provider: str = "", problems: list[str] | None = None
) -> list[ModelSpec]:
    """The models of the server at an address; none where nobody answers.

    Appends to `problems` why the models of a server that lists them cannot be used. Another kind of server at
    that address is not worth a word.
    """
    root = address.removesuffix("/v1").rstrip("/")
    list_names, describe = (
        (_list_ollama, _describe_ollama) if type == "ollama" else (_list_llama_cpp, _describe_llama_cpp)
    )
    deadline = asyncio.get_running_loop().time() + _PATIENCE
    try:
        async with asyncio.timeout_at(deadline):
            names = await list_names(transport, root)
    except (ProviderError, TimeoutError, _Strange):
        return []
    try:
        async with asyncio.timeout_at(deadline):
            models = await describe(transport, root, provider or type, names)
        problem = "" if models else "but has no models. Load one first."
    except TimeoutError:
        models, problem = [], f"but did not describe its models within {_PATIENCE:g} s. Try again."
    except ProviderError as failure:
        models, problem = [], f"but its models cannot be used: {failure.err.full_message}"
    except _Strange as strange:
        models = []
        problem = (
            f"but its models cannot be used: {strange}. "
            f'Run "planck setup", choose another server, and enter {root}/v1.'
        )
    if problem and problems is not None:
        problems.append(f"The server at {root} answers, {problem}")
    return models


async def list_names(transport: Transport, endpoint: Endpoint) -> list[str]:
    """Returns the names of the models of a server with an OpenAI-compatible API; none where it lists none.

    Raises where the server cannot be reached, or refuses the key.
    """
    try:
        async with asyncio.timeout(_LONG_PATIENCE):
            root = openai_root(endpoint.base_url)
            listed = _objects(await _ask(transport, "GET", root, "/models", b"", endpoint.bearer), "data")
    except _Strange as strange:
        if strange.status in (401, 403):
            why = f"{endpoint.base_url} {'refused the key' if endpoint.key else 'needs a key'}"
            raise ProviderError(
                ErrorKind.NOT_AUTHENTICATED, f"{why}. {'Enter another key' if endpoint.key else 'Enter it'}."
            ) from None
        return []
    except TimeoutError:
        return []
    return [name for model in listed if isinstance(name := model.get("id"), str)]


class _Strange(Exception):
    """An answer is not what a server of this type gives; the text says which, and how."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


async def _list_ollama(transport: Transport, root: str) -> list[str]:
    tags = _objects(await _get(transport, root, "/api/tags"), "models")
    return [name for tag in tags if isinstance(name := tag.get("model") or tag.get("name"), str)]


async def _describe_ollama(
    transport: Transport, root: str, provider: str, names: list[str]
) -> list[ModelSpec]:
    return [await _ollama_model(transport, root, provider, name) for name in names]


async def _ollama_model(transport: Transport, root: str, provider: str, name: str) -> ModelSpec:
    shown = await _ask(transport, "POST", root, "/api/show", codec.encode({"model": name}))
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


async def _list_llama_cpp(transport: Transport, root: str) -> list[str]:
    listed = _objects(await _get(transport, root, "/v1/models"), "data")
    return [name for model in listed if isinstance(name := model.get("id"), str)]


async def _describe_llama_cpp(
    transport: Transport, root: str, provider: str, names: list[str]
) -> list[ModelSpec]:
    props = await _get(transport, root, "/props")
    settings = props.get("default_generation_settings")
    window = settings.get("n_ctx") if isinstance(settings, dict) else None
    if not isinstance(window, int):
        raise _Strange("GET /props does not give the context length (n_ctx)")
    images = isinstance(modes := props.get("modalities"), dict) and bool(modes.get("vision"))
    return [
        ModelSpec(provider=provider, model=name, context_window=window, base_url=root, images=images)
        for name in names
    ]


async def _get(transport: Transport, root: str, path: str) -> dict[str, Any]:
    return await _ask(transport, "GET", root, path, b"")


async def _ask(
    transport: Transport,
    method: str,
    root: str,
    path: str,
    body: bytes,
    headers: Mapping[str, str] = _JSON,
) -> dict[str, Any]:
    response = await transport.send(method, root + path, dict(headers), body)
    async with aclosing(response):
        answer = await read_all(response, _MAX_ANSWER)
    if response.status != 200:
        raise _Strange(f"{method} {path} returned status {response.status}", response.status)
    try:
        found = codec.decode(answer)
    except codec.DecodeError:
        found = None
    if not isinstance(found, dict):
        raise _Strange(f"{method} {path} did not return a JSON object")
    return found


def _objects(answer: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = answer.get(key)
    if not isinstance(found, list):
        raise _Strange(f"the answer has no list of {key!r}")
    return [entry for entry in found if isinstance(entry, dict)]
