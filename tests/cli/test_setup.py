"""`planck setup` and a first run: from nothing to an answer, and nothing written that does not work."""

import json
import os
from pathlib import Path

import pytest

from planck.records.messages import Text
from tests.command import Bench
from tests.terminal import on_terminal
from tests.wire import chat
from tests.wire.anthropic import Anthropic
from tests.wire.openai_chat import OpenAIChat
from tests.wire.script import Answer, Fault, Step, play
from tests.wire.server import Asked, Reply, WireServer, json_reply

KEY = "sk-ant-right"


def vendor(asked: Asked) -> Step:
    right = asked.headers.get("x-api-key") == KEY
    return Answer((Text("I am here."),)) if right else Fault("auth")


def bare(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    (bench.home / "config.json").unlink()
    return bench


async def test_a_vendors_key_is_enough(tmp_path: Path) -> None:
    bench = bare(tmp_path)
    async with WireServer(play(Anthropic(), vendor)) as server:
        environ = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": "other"}
        done = await bench.run("run", "are you there?", env=environ)
        doctor = await bench.run("doctor", env=environ)
        listed = await bench.run("models", "list", "--json", env=environ)
    assert (done.code, done.out) == (0, "I am here.\n")
    asked = json.loads(server.asked[0].body)["model"]
    assert f"anthropic/{asked}" in doctor.out
    assert "a key from ANTHROPIC_API_KEY" in doctor.out
    assert [row["model"] for row in json.loads(listed.out)["models"] if row["current"]] == [asked]


async def test_a_model_is_taken_by_the_name_that_the_list_shows(tmp_path: Path) -> None:
    fast = {"id": "fast", "model": "big-1", "provider": "local"}
    async with WireServer([chat.text("here")] * 3) as server:
        bench = Bench(tmp_path, server.url, models=[fast, {**fast, "id": "big-2", "model": "big-2"}])
        listed = await bench.run("models", "list")
        names = [line.removeprefix("*").split()[0] for line in listed.out.splitlines()]
        codes = [(await bench.run("run", "hi", "-m", name)).code for name in names]
    assert (names, codes) == (["local/m", "fast", "local/big-2"], [0, 0, 0])


async def test_a_refused_key_names_the_command_that_takes_another(tmp_path: Path) -> None:
    async with WireServer(play(OpenAIChat(), lambda asked: Fault("auth"))) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "hi")
        hint = done.err.split('"')[1]
        assert hint == "planck auth login local"
    assert (await bench.run(*hint.split()[1:], stdin=b"sk-another-key")).code == 0


async def test_a_server_lists_its_models_and_the_answers_survive_an_empty_one(tmp_path: Path) -> None:
    bench = bare(tmp_path)

    def answer(asked: Asked) -> Reply:
        if asked.path == "/v1/models":
            body = json.dumps({"data": [{"id": "small"}, {"id": "large"}, {"no": "id"}]}).encode()
            return Reply((body,), headers={"content-type": "application/json"})
        return chat.text("I am here.")

    async with WireServer(answer) as server:
        run = await on_terminal("setup", home=bench.home, work=bench.work)
        at = await run.until("empty to quit")
        run.type("5\n")
        at = await run.until("Address", at)
        run.type(f"127.0.0.1:{server.port}\n")
        at = await run.until(f"Using {server.url}", at)
        at = await run.until("API key", at)
        run.type("\n")
        at = await run.until("2  large", at)
        at = await run.until("by number or name: ", at)
        run.type("\n")
        at = await run.until("No model was entered", at)
        run.type("5\n")
        at = await run.until(f"Address [{server.url}]: ", at)
        run.type("\n")
        at = await run.until("API key", at)
        run.type("\n")
        at = await run.until("by number or name: ", at)
        run.type("2\n")
        await run.until("works. Start a conversation: planck", at)
        assert await run.end() == 0
        done = await bench.run("run", "and now?")
    assert (done.code, done.out) == (0, "I am here.\n")
    assert json.loads((bench.home / "config.json").read_text())["default_model"] == "other/large"
    status = await bench.run("auth", "status")
    assert "other  openai  needs no key" in status.out


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("wrong", "refused the key. Enter another key."),
        ("", "needs a key. Enter it."),
    ],
)
async def test_a_server_that_refuses_the_key_is_told_before_the_model_is_asked_for(
    tmp_path: Path, key: str, said: str
) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.headers.get("authorization") != "Bearer sk-right":
            return json_reply({"error": {"message": "no"}}, status=401)
        return json_reply({"data": [{"id": "only"}]})

    async with WireServer(answer) as server:
        run = await on_terminal("setup", home=bare(tmp_path).home, work=tmp_path)
        at = await run.until("empty to quit): ")
        run.type("7\n")
        at = await run.until("Enter a number from 1 to 5.", at)
        at = await run.until("empty to quit): ", at)
        run.type("5\n")
        at = await run.until("localhost:8000/v1): ", at)
        run.type(f"{server.url}\n")
        at = await run.until("if none is needed): ", at)
        run.type(f"{key}\n")
        at = await run.until(said, at)
        at = await run.until("empty to quit): ", at)
        run.type("5\n")
        at = await run.until(f"Address [{server.url}]: ", at)
        run.type("\n")
        at = await run.until("if none is needed): ", at)
        run.type("sk-right\n")
        at = await run.until("[only]: ", at)
        run.type("\x03")
        assert await run.end() == 130


async def test_a_server_that_is_off_is_told_before_the_model_is_asked_for(tmp_path: Path) -> None:
    run = await on_terminal("setup", home=bare(tmp_path).home, work=tmp_path)
    at = await run.until("empty to quit): ")
    run.type("5\n")
    at = await run.until("localhost:8000/v1): ", at)
    run.type("localhost:9\n")
    at = await run.until("if none is needed): ", at)
    run.type("\n")
    at = await run.until("Nothing is listening at http://localhost:9. Start the server", at)
    await run.until("empty to quit): ", at)
    run.type("\n")
    assert await run.end() == 1


@pytest.mark.parametrize(
    ("typed", "used"),
    [
        ("localhost:1/v1", "http://localhost:1/v1"),
        ("[::1]:9", "http://[::1]:9"),
        ("box:80", "http://box:80"),
        ("models.example.invalid/v1", "https://models.example.invalid/v1"),
    ],
)
async def test_an_address_gets_the_scheme_that_it_lacks(tmp_path: Path, typed: str, used: str) -> None:
    bench = bare(tmp_path)
    run = await on_terminal("setup", home=bench.home, work=bench.work)
    at = await run.until("empty to quit")
    run.type("5\n")
    at = await run.until("Address", at)
    run.type(f"{typed}\n")
    at = await run.until(f"Using {used}\r", at)
    await run.until("if none is needed): ", at)
    run.type("\x03")
    assert await run.end() == 130
    assert os.listdir(bench.home) == []


async def test_a_refused_key_from_a_variable_is_told_with_its_name(tmp_path: Path) -> None:
    bench = bare(tmp_path)
    async with WireServer(play(Anthropic(), vendor)) as server:
        environ = {"ANTHROPIC_BASE_URL": server.url}
        wrong = {**environ, "ANTHROPIC_API_KEY": "sk-ant-wrong"}
        done = await bench.run("run", "hi", env=wrong)
        assert 'Correct the key in ANTHROPIC_API_KEY, or unset it and run "planck auth login' in done.err
        hint = done.err.split('"')[1]
        stored = await bench.run(*hint.split()[1:], stdin=KEY.encode(), env=wrong)
        assert "ANTHROPIC_API_KEY is set and is used instead. Unset it" in stored.err
        assert (await bench.run("run", "hi", env=wrong)).code != 0
        assert (await bench.run("run", "hi", env=environ)).code == 0, "as both lines say"


async def test_a_wrong_key_is_told_and_not_written_and_the_right_one_leads_to_an_answer(
    tmp_path: Path,
) -> None:
    bench = bare(tmp_path)
    async with WireServer(play(Anthropic(), vendor)) as server:
        environ = {"ANTHROPIC_BASE_URL": server.url}
        run = await on_terminal("setup", home=bench.home, work=bench.work, env=environ)
        at = await run.until("empty to quit")
        run.type("1\n")
        at = await run.until("hidden", at)
        run.type("sk-ant-wrong\n")
        at = await run.until("Model [", at)
        run.type("\n")
        at = await run.until("Enter another key.\r\n[not_authenticated]", at)
        assert os.listdir(bench.home) == []
        at = await run.until("empty to quit", at)
        run.type("1\n")
        at = await run.until("hidden", at)
        run.type(f"{KEY}\n")
        at = await run.until("Model [", at)
        run.type("\n")
        await run.until(" works. Start a conversation: planck", at)
        assert await run.end() == 0
        done = await bench.run("run", "and now?", env=environ)
    assert (done.code, done.out) == (0, "I am here.\n")
    assert json.loads((bench.home / "config.json").read_text())["default_model"].startswith("anthropic/")
    assert KEY not in (bench.home / "config.json").read_text()


async def test_a_conversation_without_a_model_begins_with_the_questions(tmp_path: Path) -> None:
    bench = bare(tmp_path)
    run = await on_terminal(home=bench.home, work=bench.work)
    at = await run.until("No model is configured")
    at = await run.until("Where is your model?", at)
    run.type("\n")
    await run.until("Nothing was saved", at)
    assert await run.end() == 2


async def test_a_home_that_is_a_file_is_told_before_the_questions(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "home").write_text("no folder")
    run = await on_terminal("setup", home=tmp_path / "home", work=tmp_path / "work", columns=200)
    await run.until("Fix its permissions, or set PLANCK_HOME. [write_failed]")
    assert await run.end() == 2


async def test_without_a_terminal_the_other_ways_are_told(tmp_path: Path) -> None:
    done = await bare(tmp_path).run("setup")
    assert done.code == 2
    assert "planck config set default_model" in done.err


async def test_one_value_is_set_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    bench = bare(tmp_path)
    file = bench.home / "config.json"
    file.write_text(
        '{\n  // mine\n  "default_model": "local/m", // "no comment"\n  "limits": {"steps": 9,},\n}\n'
    )
    for key, value in (("limits.calls", "5"), ("default_model", "a/b"), ("permissions.mode", "workspace")):
        done = await bench.run("config", "set", key, value)
        assert (done.code, done.out) == (0, "")
    written = json.loads(file.read_text())
    assert written == {
        "default_model": "a/b",
        "limits": {"steps": 9, "calls": 5},
        "permissions": {"mode": "workspace"},
    }
    assert "// mine" in (bench.home / "config.json.bak").read_text()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("defualt_model", "x", "Did you mean 'default_model'?"),
        ("permissions.mode", "yolo", "Allowed: ask, full, plan, read-only, workspace."),
        ("limits.setps", "1", "Unknown configuration key 'limits.setps'."),
        ("limits.steps", "many", "`limits.steps`"),
        ("default_model.x", "1", "is not a map. Set all of 'default_model' instead."),
    ],
)
async def test_a_wrong_value_is_told_and_changes_nothing(
    tmp_path: Path, key: str, value: str, said: str
) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    before = (bench.home / "config.json").read_bytes()
    done = await bench.run("config", "set", key, value)
    assert done.code == 2
    assert said in done.err
    assert (bench.home / "config.json").read_bytes() == before
