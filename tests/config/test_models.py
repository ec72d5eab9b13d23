"""Which model a name means, what it costs, and what `planck models` shows."""

import json
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.config.keys.credentials import CredentialFile, Keyring
from planck.config.models import ModelError, find_local_models
from planck.config.project import Project
from planck.config.schema import Config, ModelEntry, ProviderEntry
from planck.records.messages import Text
from planck.records.outcome import ErrorKind, PlanckError
from planck.toolkit.clock import SystemClock
from tests.command import Bench
from tests.wire.anthropic import Anthropic
from tests.wire.memory import MemoryTransport
from tests.wire.openai_chat import OpenAIChat
from tests.wire.script import Answer, Fault, play, reply
from tests.wire.server import Asked, Reply, WireServer, json_reply


def opened(folder: Path, environ: dict[str, str] | None = None, **config: Any) -> Planck:
    (folder / "home").mkdir(exist_ok=True)
    (folder / "home" / "config.json").write_text(json.dumps(config))
    return Planck(folder / "home", folder, environ=environ or {})


async def test_a_vendors_model_brings_what_the_catalog_knows(tmp_path: Path) -> None:
    async with opened(tmp_path) as planck:
        sonnet = await planck.model("anthropic/claude-sonnet-4-6")
        assert sonnet.context_window >= 200_000
        assert (sonnet.images, sonnet.reasoning, sonnet.max_output) == (True, True, 32_000)
        assert (await planck.model("openai/gpt-5")).max_output == 0


async def test_what_the_user_says_of_a_model_comes_first(tmp_path: Path) -> None:
    entry = {"id": "mine", "model": "claude-sonnet-4-6", "provider": "anthropic", "context_window": 9000}
    async with opened(tmp_path, models=[entry], default_model="mine") as planck:
        for name in ("", "mine", "anthropic/claude-sonnet-4-6"):
            model = await planck.model(name)
            assert (model.label, model.context_window, model.images) == ("mine", 9000, True)


PROVIDERS = {"local": {"type": "openai", "base_url": "http://127.0.0.1:9"}}


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("anthropic/claude-nope", ErrorKind.NOT_FOUND, "Model not found."),
        ("nope", ErrorKind.NOT_FOUND, "Model not found."),
        ("local/", ErrorKind.NOT_FOUND, "Model not found."),
        ("nobody/x", ErrorKind.INVALID_ARGS, "Unknown provider: nobody."),
    ],
)
async def test_a_name_that_means_nothing_says_so(
    tmp_path: Path, name: str, kind: ErrorKind, text: str
) -> None:
    async with opened(tmp_path, providers=PROVIDERS) as planck:
        with pytest.raises(ModelError) as caught:
            await planck.model(name)
        assert caught.value.err.kind == kind
        assert caught.value.err.message == text
        hint = caught.value.err.details.get("hint", "")
        assert str(caught.value) == f"{kind}: {text}{hint and ' ' + hint}"


async def test_a_mode_that_there_is_not_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    async with opened(tmp_path, providers=PROVIDERS) as planck:
        with pytest.raises(
            PlanckError, match=r"invalid_args: 'bogus' .* read-only, plan, ask, workspace, full"
        ):
            await planck.start(mode="bogus")


async def test_a_window_that_nobody_knows_is_guessed_small_where_it_costs_the_users_memory(
    tmp_path: Path,
) -> None:
    providers = {"lab": {"type": "openai", "base_url": "http://127.0.0.1:9"}, "mine": {"type": "ollama"}}
    async with opened(tmp_path, providers=providers) as planck:
        names = ("ollama/qwen:7b", "mine/qwen:7b", "llama_cpp/x", "lab/x")
        windows = [(await planck.model(name)).context_window for name in names]
    assert windows == [32_768, 32_768, 32_768, 128_000]


@pytest.mark.parametrize("name", ["local/anything", "ollama/qwen:7b", "llama_cpp/x"])
async def test_a_name_that_the_catalog_does_not_know_is_taken_where_there_is_an_address(
    tmp_path: Path, name: str
) -> None:
    async with opened(tmp_path, providers=PROVIDERS) as planck:
        assert (await planck.model(name)).label == name


async def test_a_run_knows_its_cost_where_the_price_is_known(tmp_path: Path) -> None:
    """A gateway bills for the vendor's model that it names; a name that no vendor has is without a price."""
    async with WireServer(play(OpenAIChat(), [Answer((Text("hi"),))])) as server:
        providers = {"openai": {"type": "openai", "base_url": server.url}}
        async with opened(tmp_path, providers=providers) as planck:
            known = await (await planck.start(model="openai/gpt-5", stored=False)).run("hello")
            unknown = await (await planck.start(model="openai/mine", stored=False)).run("hello")
    assert known.cost_usd is not None
    assert known.cost_usd > 0
    assert unknown.cost_usd is None


async def test_list_shows_what_is_configured_and_what_a_key_opens(tmp_path: Path) -> None:
    entry = {"id": "mine", "model": "m-1", "provider": "local"}
    bench = Bench(tmp_path, "http://127.0.0.1:9", models=[entry], default_model="mine")
    plain = await bench.run("models", "list", "--json")
    keyed = await bench.run("models", "list", "--json", env={"ANTHROPIC_API_KEY": "sk-secret"})
    everything = await bench.run("models", "list", "--all", "--json")
    rows = json.loads(plain.out)["models"]
    assert [(row["id"], row["source"], row["current"]) for row in rows] == [("mine", "config", True)]
    assert {row["provider"] for row in json.loads(keyed.out)["models"]} == {"local", "anthropic"}
    listed = {row["provider"]: row for row in json.loads(everything.out)["models"]}
    assert set(listed) == {"local", "anthropic", "openai", "google"}
    assert listed["google"]["has_key"] is False
    assert "secret" not in keyed.out + keyed.err


def local_server(asked: Asked) -> Reply:
    if asked.path == "/v1/models":
        return json_reply({"data": [{"id": "smollm2"}]})
    if asked.path == "/props":
        return json_reply({"default_generation_settings": {"n_ctx": 4096}})
    return reply(OpenAIChat(), Answer((Text("ok"),)), asked)


async def test_list_asks_a_configured_local_server_for_its_models(tmp_path: Path) -> None:
    async with WireServer(local_server) as server:
        providers = {"box": {"type": "llama_cpp", "base_url": server.url}}
        done = await Bench(tmp_path, server.url, providers=providers).run("models", "list", "--json")
    (row,) = json.loads(done.out)["models"]
    assert (row["provider"], row["id"], row["context_window"], row["source"]) == (
        "box",
        "smollm2",
        4096,
        "local",
    )


async def test_test_asks_the_model_once_and_says_how_it_went(tmp_path: Path) -> None:
    async with WireServer(play(OpenAIChat(), [Answer((Text("ok"),)), Fault("auth")])) as server:
        bench = Bench(tmp_path, server.url)
        good = await bench.run("models", "test", "--json")
        bad = await bench.run("models", "test", "local/m")
    assert (good.code, bad.code) == (0, 1)
    tested = json.loads(good.out)
    assert (tested["model"], tested["ok"], tested["text"]) == ("local/m", True, "ok")
    assert "not_authenticated" in bad.err
    assert bad.out == ""


async def test_no_known_key_gets_into_the_log(tmp_path: Path) -> None:
    """Neither one from the environment nor one from the file, whoever says it: here the model itself."""
    said = Text("your keys are sk-from-environment and sk-from-file")
    async with WireServer(play(OpenAIChat(), [Answer((said,))])) as server:
        providers = {"local": {"type": "openai", "base_url": server.url}}
        async with opened(tmp_path, {"OTHER_API_KEY": "sk-from-environment"}, providers=providers) as planck:
            planck.auth.store_key("local", "sk-from-file")
            session = await planck.start(model="local/m")
            await session.run("what are my keys? sk-from-file?")
        assert server.asked[0].headers["authorization"] == "Bearer sk-from-file"
    (log,) = (tmp_path / "home" / "sessions").glob("*.db")
    stored = b"".join(path.read_bytes() for path in log.parent.glob("*.db*"))
    assert b"[redacted]" in stored
    assert b"sk-from" not in stored


def on_default_ports(asked: Asked) -> Reply:
    if asked.path == "/api/tags":
        return json_reply({"models": [{"model": "qwen:7b"}]})
    if asked.path == "/api/show":
        return json_reply({"model_info": {"qwen3.context_length": 40960}})
    return local_server(asked) if asked.path in ("/v1/models", "/props") else json_reply({}, 404)


@pytest.mark.parametrize(
    ("config", "environ", "asks"),
    [
        (Config(), {}, True),
        (Config(default_model="x"), {}, False),
        (Config(providers={"mine": ProviderEntry("openai", base_url="http://here")}), {}, False),
        (Config(models=[ModelEntry("a", "m", "openai")]), {}, False),
        (Config(), {"GEMINI_API_KEY": "k"}, False),
    ],
)
async def test_default_ports_are_asked_only_when_nothing_else_is_configured(
    tmp_path: Path, config: Config, environ: dict[str, str], asks: bool
) -> None:
    transport = MemoryTransport(on_default_ports)
    ring = Keyring(CredentialFile(tmp_path), environ, SystemClock())
    found = await find_local_models(config, ring, transport)
    assert [(model.label, model.context_window) for model in found] == (
        [("llama_cpp/smollm2", 4096), ("ollama/qwen:7b", 40960)] if asks else []
    )
    assert bool(transport.asked) is asks


@pytest.mark.parametrize(
    ("environ", "asked"),
    [
        ({}, {"http://127.0.0.1:8080", "http://127.0.0.1:11434"}),
        ({"OLLAMA_HOST": ""}, {"http://127.0.0.1:8080"}),
        ({"OLLAMA_HOST": "", "LLAMA_CPP_HOST": " "}, set()),
        ({"OLLAMA_HOST": "0.0.0.0", "LLAMA_CPP_HOST": ""}, {"http://127.0.0.1:11434"}),
        ({"OLLAMA_HOST": "box:9", "LLAMA_CPP_HOST": ""}, {"http://box:9"}),
        ({"OLLAMA_HOST": ":9", "LLAMA_CPP_HOST": ""}, {"http://127.0.0.1:9"}),
        ({"OLLAMA_HOST": "https://box/under/", "LLAMA_CPP_HOST": ""}, {"https://box:443/under"}),
        ({"OLLAMA_HOST": "http://box", "LLAMA_CPP_HOST": ""}, {"http://box:80"}),
        ({"OLLAMA_HOST": "::1", "LLAMA_CPP_HOST": "[::]:9"}, {"http://[::1]:11434", "http://[::1]:9"}),
    ],
)
async def test_local_servers_are_asked_where_the_environment_says(
    tmp_path: Path, environ: dict[str, str], asked: set[str]
) -> None:
    transport = MemoryTransport(on_default_ports)
    project = Project(tmp_path / "home", tmp_path, environ)
    ring = Keyring(CredentialFile(tmp_path), environ, SystemClock())
    await find_local_models(project.config, ring, transport)
    lists = ("/v1/models", "/api/tags")
    assert {
        url.removesuffix(end) for url in transport.addresses for end in lists if url.endswith(end)
    } == asked


async def test_a_vendor_is_asked_at_the_address_of_the_environment(tmp_path: Path) -> None:
    async with WireServer(play(Anthropic(), [Answer((Text("from afar"),))])) as server:
        environ = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-mine"}
        bench = Bench(tmp_path, "http://127.0.0.1:9")
        done = await bench.run("run", "hello", "-m", "anthropic/claude-sonnet-4-6", env=environ)
    assert (done.code, done.out) == (0, "from afar\n")
    assert server.asked[0].headers["x-api-key"] == "sk-mine"
