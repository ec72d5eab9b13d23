"""A first model by the API: tried before it is kept, and its key is never answered."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from planck.api.operations import OPERATIONS
from planck.client import ClientError
from planck.config.load import ConfigError
from planck.headless.planck import Planck
from planck.headless.services.setup import Candidate, Setup
from tests.api.bench import serving
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

KEY = "sk-very-secret-0123456789"


def vendor(asked: Asked) -> Reply:
    if asked.headers.get("authorization") != f"Bearer {KEY}":
        return Reply([b'{"error": {"message": "wrong key"}}'], status=401)
    return chat.text("I am here.")


async def test_a_model_is_kept_only_once_it_has_answered(tmp_path: Path) -> None:
    config, home = tmp_path / "home" / "config.json", tmp_path / "home"
    async with (
        WireServer(vendor) as model,
        serving(tmp_path) as server,
        server.client() as client,
    ):
        before = config.read_text()
        asked = {"provider": "mine", "model": "m1", "base_url": model.url}
        wrong = (await client.ask("POST", "/setup", {**asked, "key": "sk-wrong-0123456789"})).data
        assert (wrong["ok"], wrong["error"]["kind"]) == (False, "not_authenticated")
        assert config.read_text() == before
        assert not [path for path in home.rglob("*") if path.is_file() and b"sk-wrong" in path.read_bytes()]

        right = await client.ask("POST", "/setup", {**asked, "key": KEY})
        assert right.data == {"ok": True, "model": "mine/m1", "error": None}
        assert json.loads(config.read_text())["default_model"] == "mine/m1"
        assert KEY not in config.read_text()
        (kept,) = [path for path in home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600

        listed = (await client.ask("GET", "/models")).data["items"]
        assert [(row["provider"], row["model"], row["current"]) for row in listed] == [("mine", "m1", True)]
        session = await client.start()  # without a restart
        assert (await session.run("are you there?"))["text"] == "I am here."
        for path in ("/config", "/config/origins", "/models", "/doctor", "/me", "/notices", "/metrics"):
            answer = await server.send("GET", f"/api/v1{path}")
            assert (answer.status, KEY.encode() in answer.body) == (200, False), path
        origins = (await client.ask("GET", "/config/origins")).data["items"]
        (default,) = [one for one in origins if one["key"] == "default_model"]
        assert default["value"] == "mine/m1"


SENSELESS: list[dict[str, Any]] = [
    {"provider": "anthropic", "base_url": "http://127.0.0.1:9", "key": KEY},
    {"provider": "mine", "model": "m", "key": KEY},
    {"provider": "mine", "base_url": "http://127.0.0.1:9", "key": KEY},
    {"provider": "mine", "model": "m", "base_url": "file:///etc/passwd"},
    {"provider": "mine", "model": "m", "base_url": "http://user:secret@127.0.0.1:9"},
    {"provider": "mine", "model": "m", "base_url": "http://127.0.0.1:9", "key": "a\r\nx: y"},
    {"provider": "a/b", "model": "m", "base_url": "http://127.0.0.1:9"},
    {"provider": "", "model": "m"},
    {"provider": "openai", "keys": KEY},
]


async def test_what_makes_no_sense_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    async with serving(tmp_path) as server, server.client() as client:
        before = (tmp_path / "home" / "config.json").read_text()
        for body in SENSELESS:
            with pytest.raises(ClientError) as caught:
                await client.ask("POST", "/setup", body)
            assert (caught.value.status, caught.value.err.kind) == (400, "invalid_args"), body
            assert KEY not in caught.value.err.message
        assert (tmp_path / "home" / "config.json").read_text() == before


async def test_h15_no_route_fetches_an_address_but_the_set_up_which_follows_no_redirect(
    tmp_path: Path,
) -> None:
    named = {
        (operation.name, field)
        for operation in OPERATIONS
        for shape in (operation.query, operation.body)
        for field in (shape.__struct_fields__ if shape else ())
        if any(word in field for word in ("url", "uri", "address", "host", "repo", "link"))
    }
    assert named == {("set_up", "base_url"), ("submit_work", "repo")}
    async with (
        WireServer(vendor) as elsewhere,
        WireServer(lambda asked: Reply([], status=307, headers={"location": elsewhere.url})) as model,
        serving(tmp_path) as server,
        server.client() as client,
    ):
        asked = {"provider": "mine", "model": "m1", "base_url": model.url, "key": KEY}
        answer = (await client.ask("POST", "/setup", asked)).data
        assert (answer["ok"], len(model.asked), elsewhere.asked) == (False, 1, [])
        with pytest.raises(ClientError, match="provider"):  # a model is named, never addressed
            await client.ask("POST", "/models/test", {"model": "http://169.254.169.254/latest"})


async def test_a_key_that_was_kept_for_one_address_goes_to_no_other(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": "sk-of-the-vendor-0123", "MINE_API_KEY": "sk-of-somebody-0123"}
    async with (
        WireServer(lambda asked: chat.text("I am here.")) as one,
        WireServer(lambda asked: chat.text("I am here.")) as two,
    ):
        home = tmp_path / "home"
        home.mkdir()
        async with Setup(home, environ) as setup:
            kept = Candidate("mine", "m", one.url, KEY)
            assert (await setup.test(kept)).error is None
            assert len([*setup.keep(kept)]) == 2
        async with Setup(home, environ) as setup:
            assert (await setup.test(Candidate("mine", "m", one.url))).error is None
            with pytest.raises(ConfigError, match="belongs to another address"):
                await setup.test(Candidate("mine", "m", two.url))
            bare = Candidate("OpenAI", "m", two.url)
            assert [*setup.keep(bare)] == [home / "config.json"]
        work = tmp_path / "work"
        work.mkdir()
        async with Planck(home=home, workspace=work, environ=environ) as planck:
            for label in ("mine/m", "OpenAI/m"):
                assert (await planck.try_model(label)).error is None
        assert {asked.headers.get("authorization") for asked in one.asked} == {f"Bearer {KEY}"}
        assert [asked.headers.get("authorization") for asked in two.asked] == [None]


async def test_a_model_that_nobody_has_is_refused_with_a_status_of_the_document(tmp_path: Path) -> None:
    asked = {"provider": "anthropic", "model": "\x1f", "key": KEY}
    async with serving(tmp_path) as server:
        refused = await server.post("/api/v1/setup", asked)
        document = json.loads((await server.send("GET", "/api/v1/openapi.json")).body)
    assert (refused.status, json.loads(refused.body)["error"]["kind"]) == (404, "not_found")
    assert str(refused.status) in document["paths"]["/api/v1/setup"]["post"]["responses"]
