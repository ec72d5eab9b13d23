import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from planck.http.transport import HttpTransport
from planck.llm import catalog
from planck.llm.local import discover
from planck.records.specs import ModelSpec
from planck.records.usage import Usage
from tests.wire.server import Asked, Reply, WireServer, json_reply


def test_the_snapshot_is_small_dated_and_knows_the_vendors_models() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", catalog.snapshot_date())
    assert sum(len(catalog.models(provider)) for provider in ("anthropic", "openai", "google")) > 100
    sonnet = catalog.find("anthropic", "claude-sonnet-4-6")
    assert sonnet is not None
    assert sonnet.context_window >= 200_000
    assert (sonnet.images, sonnet.tools, sonnet.reasoning) == (True, True, True)


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google"])
def test_every_model_of_a_vendor_has_a_name_and_sane_figures(provider: str) -> None:
    for model in catalog.models(provider):
        assert model.name
        assert model.context_window > 1000
        assert [price.start for price in model.prices] == sorted({price.start for price in model.prices})
        assert all(price.input >= 0 and price.output >= 0 for price in model.prices)


def test_a_dated_version_is_found_as_its_family_and_a_stranger_is_not() -> None:
    family = catalog.find("anthropic", "claude-sonnet-4-6")
    assert catalog.find("anthropic", "claude-sonnet-4-6-20991231") == family
    assert catalog.find("google", "models/gemini-2.5-pro") == catalog.find("google", "gemini-2.5-pro")
    assert catalog.find("anthropic", "claude-nope") is None
    assert catalog.find("nobody", "claude-sonnet-4-6") is None


def test_a_compatible_vendor_is_found_by_its_address() -> None:
    found = catalog.find("mine", "deepseek-chat", "https://api.deepseek.com/")
    assert found is not None
    assert found.context_window > 1000


PRICED = catalog.CatalogModel(
    "m",
    "M",
    1000,
    0,
    False,
    False,
    False,
    (catalog.Price(0, 2.0, 10.0, 0.5, 4.0), catalog.Price(200_000, 4.0, 20.0, None, None)),
)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(1_000, 100), 0.002 + 0.001),
        (Usage(0, 0, cache_read_tokens=1_000, cache_write_tokens=1_000), 0.0005 + 0.004),
        (Usage(1_000, 100, reasoning_tokens=90), 0.002 + 0.001),
        (Usage(150_000, 1_000, cache_read_tokens=50_000), 0.6 + 0.02 + 0.2),
        (Usage(), 0.0),
    ],
)
def test_cost_counts_cache_and_thresholds_and_thinking_once(usage: Usage, cost: float) -> None:
    assert PRICED.cost_usd(usage) == pytest.approx(cost)


def test_cost_is_null_where_no_price_is_known() -> None:
    free = catalog.CatalogModel("m", "M", 1000, 0, False, False, False, ())
    assert free.cost_usd(Usage(10, 10)) is None


def test_importing_the_catalog_unpacks_nothing() -> None:
    program = "import sys, planck.llm.catalog; print('gzip' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.fixture
async def transport() -> AsyncIterator[HttpTransport]:
    transport = HttpTransport()
    yield transport
    await transport.aclose()


def ollama(asked: Asked) -> Reply:
    if asked.path == "/api/tags":
        return json_reply(
            {"models": [{"name": "qwen:7b", "model": "qwen:7b"}, {"name": "llava"}, {"name": "odd"}]}
        )
    shown: dict[str, Any] = {
        "qwen:7b": {
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
            "capabilities": ["completion", "tools", "thinking"],
        },
        "llava": {
            "parameters": 'stop  "x"\nnum_ctx                        16384',
            "model_info": {"llama.context_length": 131072},
            "capabilities": ["vision"],
        },
        "odd": {},
    }
    return json_reply(shown[asked.json["model"]])


async def test_ollama_tells_its_models_and_their_real_window(transport: HttpTransport) -> None:
    async with WireServer(ollama) as server:
        found = await discover(transport, "ollama", server.url)
        assert found == [
            ModelSpec("ollama", "qwen:7b", context_window=40960, base_url=server.url, reasoning=True),
            ModelSpec("ollama", "llava", context_window=16384, base_url=server.url, images=True),
            ModelSpec("ollama", "odd", context_window=4096, base_url=server.url),
        ]


def llama_cpp(asked: Asked) -> Reply:
    if asked.path == "/props":
        settings = {"n_ctx": 4096, "params": {}}
        return json_reply({"default_generation_settings": settings, "modalities": {"vision": True}})
    return json_reply({"object": "list", "data": [{"id": "smollm2", "meta": {"n_ctx_train": 8192}}]})


async def test_llama_cpp_tells_the_window_of_a_slot_and_not_of_the_training(transport: HttpTransport) -> None:
    async with WireServer(llama_cpp) as server:
        found = await discover(transport, "llama_cpp", f"{server.url}/v1", "here")
        assert found == [ModelSpec("here", "smollm2", context_window=4096, base_url=server.url, images=True)]


@pytest.mark.parametrize("type", ["ollama", "llama_cpp"])
@pytest.mark.parametrize(
    "script",
    [
        lambda asked: json_reply({"error": "no"}, 404),
        lambda asked: json_reply([1]),
        lambda asked: json_reply({"models": 3, "data": {}}),
        lambda asked: Reply([b"<html>\xff"]),
        lambda asked: Reply([b"{"], cut=True),
    ],
)
async def test_somebody_elses_server_has_no_models_for_us(
    transport: HttpTransport, type: str, script: Callable[[Asked], Reply]
) -> None:
    async with WireServer(script) as server:
        assert await discover(transport, type, server.url) == []


async def test_nobody_there_is_no_models(transport: HttpTransport) -> None:
    assert await discover(transport, "ollama", "http://127.0.0.1:9") == []
