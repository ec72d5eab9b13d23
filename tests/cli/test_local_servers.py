"""A local model server that answers and cannot be used is named, with the reason."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from planck import Planck
from planck.records.outcome import PlanckError
from tests.command import Bench
from tests.terminal import on_terminal
from tests.wire.server import Asked, Reply, WireServer, json_reply

LISTED = {"/v1/models": {"data": [{"id": "m"}]}, "/api/tags": {"models": [{"model": "m"}]}}
USABLE = {"/props": {"default_generation_settings": {"n_ctx": 4096}}, "/api/show": {}}


def lists(rest: Callable[[], Reply]) -> Callable[[Asked], Reply]:
    """A server that lists a model, and answers everything else in one way."""
    return lambda asked: json_reply(LISTED[asked.path]) if asked.path in LISTED else rest()


WAYS = {
    "not found": (lists(lambda: json_reply({"error": "no"}, 404)), "returned status 404"),
    "unauthorized": (lists(lambda: json_reply({"error": "key"}, 401)), "returned status 401"),
    "no object": (lists(lambda: json_reply([1])), "did not return a JSON object"),
    "no JSON": (lists(lambda: Reply([b"<html>\xff"])), "did not return a JSON object"),
    "cut off": (lists(lambda: Reply([b"{"], cut=True)), "cannot be used"),
    "no models": (lambda asked: json_reply({"data": [], "models": [], **USABLE["/props"]}), "has no models"),
}
NO_WINDOW = (lists(lambda: json_reply({"default_generation_settings": {}})), "n_ctx")
CASES = [
    *((variable, *way) for way in WAYS.values() for variable in ("LLAMA_CPP_HOST", "OLLAMA_HOST")),
    ("LLAMA_CPP_HOST", *NO_WINDOW),
]


def make_bench(folder: Path) -> Bench:
    bench = Bench(folder, "")
    (bench.home / "config.json").write_text("{}")
    return bench


async def explain(folder: Path, **environ: str) -> str:
    """Why there is no default model."""
    environ = {"OLLAMA_HOST": "", "LLAMA_CPP_HOST": "", "HOME": str(folder), **environ}
    async with Planck(folder / "home", folder, environ=environ) as app:
        with pytest.raises(PlanckError) as failure:
            await app.default_model()
    return failure.value.err.full_message


@pytest.mark.parametrize(("variable", "script", "why"), CASES)
async def test_a_server_that_lists_models_and_cannot_be_used_is_named(
    tmp_path: Path, variable: str, script: Callable[[Asked], Reply], why: str
) -> None:
    async with WireServer(script) as server:
        said = await explain(tmp_path, **{variable: server.url})
    assert f"The server at {server.url} answers, but" in said
    assert why in said


async def test_a_run_and_doctor_say_so(tmp_path: Path) -> None:
    async with WireServer(WAYS["not found"][0]) as server:
        bench = make_bench(tmp_path)
        done = await bench.run("run", "go", env={"LLAMA_CPP_HOST": server.url})
        doctor = await bench.run("doctor", "--json", env={"LLAMA_CPP_HOST": server.url})
    assert done.code == 2
    for step in ("GET /props returned status 404. ", f"choose another server, and enter {server.url}/v1."):
        assert step in done.err
        assert step in doctor.out


async def test_setup_says_so_and_asks_again(tmp_path: Path) -> None:
    async with WireServer(WAYS["not found"][0]) as server:
        bench = make_bench(tmp_path)
        environ = {"LLAMA_CPP_HOST": server.url}
        run = await on_terminal("setup", home=bench.home, work=bench.work, env=environ, columns=200)
        at = await run.until("(empty to quit): ")
        run.type("4\n")
        at = await run.until(f"The server at {server.url} answers, but", at)
        at = await run.until("(empty to quit): ", at)
        run.type("\n")
        assert await run.end() == 1
    assert "No local server answers" not in run.text


async def test_doctor_names_it_also_where_another_server_is_used(tmp_path: Path) -> None:
    script, why = WAYS["not found"]
    async with (
        WireServer(script) as strange,
        WireServer(lambda asked: json_reply({**LISTED, **USABLE}[asked.path])) as good,
    ):
        environ = {"LLAMA_CPP_HOST": strange.url, "OLLAMA_HOST": good.url}
        done = await make_bench(tmp_path).run("doctor", "--json", env=environ)
    checks = {one["name"]: one for one in json.loads(done.out)["checks"]}
    assert (checks["model"]["state"], checks["local server"]["state"]) == ("ok", "warning")
    assert why in checks["local server"]["detail"]


@pytest.mark.parametrize("variable", ["LLAMA_CPP_HOST", "OLLAMA_HOST"])
async def test_another_kind_of_server_is_not_worth_a_word(tmp_path: Path, variable: str) -> None:
    async with WireServer(lambda asked: json_reply({"error": "no"}, 404)) as server:
        said = await explain(tmp_path, **{variable: server.url})
    assert said.startswith('No model is configured. Run "planck setup"')
    assert server.url not in said
