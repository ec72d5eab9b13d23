"""What a new user does first: trust a folder, name a file, ask the doctor, meet a server that is off."""

import json
import os
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.records.outcome import ErrorKind, PlanckError
from planck.testing.scripted import ScriptedProvider
from tests.command import Bench
from tests.terminal import TerminalRun, leave, on_terminal, talk
from tests.tools.external_bench import write_tool
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer, json_reply


def echo(asked: Asked) -> Reply:
    return chat.text(f"heard {asked.json['messages'][-1]['content']!r}")


def make_bench(folder: Path, url: str = "http://127.0.0.1:9", **config: Any) -> Bench:
    """A workspace with a tool of its own, which runs once the folder is trusted."""
    bench = Bench(folder, url, **config)
    write_tool(bench.work / ".planck" / "tools", "echo own", name="own")
    return bench


def is_trusted(bench: Bench) -> bool:
    file = bench.home / "trust.json"
    return file.exists() and str(bench.work) in json.loads(file.read_text())


async def start(
    bench: Bench, *, columns: int = 80, term: str = "xterm-256color", typed: str = ""
) -> TerminalRun:
    env = {"TERM": term}
    return await on_terminal(home=bench.home, work=bench.work, columns=columns, env=env, typed=typed)


@pytest.mark.parametrize(
    ("key", "trusted", "kept", "columns"),
    [("y", "yes", True, 40), ("o", "yes", False, 80), ("n", "no", False, 140)],
)
async def test_trust_is_one_question_at_the_start(
    tmp_path: Path, key: str, trusted: str, kept: bool, columns: int
) -> None:
    bench = make_bench(tmp_path)
    run = await start(bench, columns=columns)
    at = await run.until("n no")
    assert "echo own" in run.text
    await run.until_seen(lambda rows: any(row.startswith(">") for row in rows))
    run.type(key)
    at = await run.until("? keys", at)
    run.type("/status\r")
    at = await run.until(f"trusted   {trusted}", at)
    await leave(run)
    assert is_trusted(bench) is kept


async def test_trust_is_asked_by_a_line_where_nothing_can_be_painted(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    run = await start(bench, term="dumb")
    at = await run.until("n no: ")
    run.type("y\n")
    at = await run.until("/help", at)
    run.type("/trust\n")
    await run.until("already trusted", at)
    run.type("/exit\n")
    assert await run.end() == 0
    assert is_trusted(bench)


@pytest.mark.parametrize(
    ("term", "typed"), [("xterm-256color", "y"), ("xterm-256color", "yes\n"), ("dumb", "y\n")]
)
async def test_what_was_typed_ahead_trusts_nothing(tmp_path: Path, term: str, typed: str) -> None:
    bench = make_bench(tmp_path)
    run = await start(bench, term=term, typed=typed)
    await run.until("n no")
    run.hang_up()
    await run.process.wait()
    assert not is_trusted(bench)


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
async def test_ctrl_c_at_the_trust_question_leaves(tmp_path: Path, term: str) -> None:
    bench = make_bench(tmp_path)
    run = await start(bench, term=term)
    await run.until("n no")
    run.type("\x03")
    assert await run.end() == 130
    assert not is_trusted(bench)


async def test_a_file_that_changes_while_the_question_is_open_is_not_trusted(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    run = await start(bench)
    at = await run.until("n no")
    write_tool(bench.work / ".planck" / "tools", "echo other", name="own")
    run.type("y")
    at = await run.until("? keys", at)
    run.type("/status\r")
    await run.until("trusted   no", at)
    await leave(run)


@pytest.mark.parametrize(("term", "enter"), [("xterm-256color", ""), ("dumb", "\n")])
async def test_a_no_to_a_folders_files_holds_until_one_of_them_changes(
    tmp_path: Path, term: str, enter: str
) -> None:
    bench = make_bench(tmp_path)
    run = await start(bench, term=term)
    await run.until("n no")
    run.type(f"n{enter}")
    at = await run.until("/trust asks again")
    at = await run.until("/help", at)
    run.type("\x04")
    assert await run.end() == 0
    run = await start(bench, term=term)
    await run.until("/help")
    assert "Trust them?" not in run.text
    assert "/trust asks again" in run.text
    run.type("\x04")
    assert await run.end() == 0
    assert not is_trusted(bench)
    write_tool(bench.work / ".planck" / "tools", "echo other", name="own")
    run = await start(bench, term=term)
    await run.until("n no")
    run.hang_up()
    await run.process.wait()


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
async def test_a_session_in_which_nothing_happened_is_not_said_to_be_saved(tmp_path: Path, term: str) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        for said in ("", "hello"):
            run = await start(bench, term=term)
            at = await run.until("/help")
            if said:
                run.type(f"{said}\r")
                await run.until("Completed", at)
            run.type("\x04")
            assert await run.end() == 0
            assert ("Resume with: planck -r" in run.text) is bool(said)


async def test_without_a_terminal_nobody_is_asked_and_nothing_is_trusted(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = make_bench(tmp_path, server.url)
        done = await bench.run("chat", stdin=b"/trust\n/trust no\nhi\n")
    assert "heard" in done.out + done.err
    assert "Send /trust yes" in done.out + done.err
    assert not is_trusted(bench)


async def test_slash_trust_lists_the_files_and_a_yes_holds_at_once(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    run = await start(bench)
    at = await run.until("n no")
    run.type("n")
    at = await run.until("? keys", at)
    run.type("/trust\r")
    at = await run.until("echo own", at)
    at = await run.until("n no", at)
    run.type("y")
    at = await run.until("Trusted, until one of these files changes", at)
    await leave(run)
    assert is_trusted(bench)


async def test_slash_commands_show_the_place(tmp_path: Path) -> None:
    hooks = {"PreToolUse": [{"matcher": "bash", "hooks": [{"type": "command", "command": "echo guard"}]}]}
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url, hooks=hooks)
        (tmp_path / "beside").mkdir()
        lines = [
            "/add-dir ../beside",
            "/add-dir",
            f"/add-dir {bench.home}",
            "/hooks",
            "/config",
            "/config limits.steps",
            "/doctor",
            "/login",
            "/login nobody",
            "/login anthropic",
        ]
        done = await bench.run("chat", stdin="\n".join(lines).encode() + b"\n", env={"HOME": str(tmp_path)})
    said = done.out + done.err
    for words in (
        f"Added for this session: {tmp_path / 'beside'}",
        f"{bench.work}  (workspace)",
        "Cannot add",
        "PreToolUse bash: echo guard",
        'default_model = "local/m"',
        "limits.steps = 100",
        "model answer: local/m answered",
        "anthropic  no key",
        "Unknown provider 'nobody'",
        'Run "planck auth login anthropic"',
    ):
        assert words in said


async def test_a_key_is_entered_without_being_shown(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    run = await talk(bench)
    run.type("/login anthropic\r")
    at = await run.until("empty to cancel): ")
    run.type("sk-very-secret\r")
    at = await run.until("Signed in to anthropic", at)
    assert "very-secret" not in run.text
    run.type("/login openai\r")
    at = await run.until("empty to cancel): ", at)
    run.type("\x03")
    at = await run.until("Nothing was stored", at)
    await leave(run)
    assert list(json.loads((bench.home / "credentials.json").read_text())["providers"]) == ["anthropic"]


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("provider", ["mine", "ollama"], ids=["configured", "built in"])
async def test_login_says_that_a_provider_needs_no_key(tmp_path: Path, provider: str, columns: int) -> None:
    entry = {"type": "openai", "base_url": "http://127.0.0.1:9", "has_api_key": False}
    run = await talk(
        Bench(tmp_path, "", default_model="mine/m", providers={"mine": entry}), columns=columns, ready="> "
    )
    run.type(f"/login {provider}\r")
    await run.until_seen(lambda rows: f"Provider {provider} needs no key" in " ".join(rows))
    run.type("/login nobody\r")
    await run.until("Unknown provider 'nobody'")
    assert f"Unknown provider '{provider}'" not in run.text
    await leave(run)


async def test_config_prints_only_the_fields_that_are_set(tmp_path: Path) -> None:
    models = [{"id": "big", "model": "m2", "provider": "mine", "price": {"input": 1, "output": 2}}]
    entry = {"type": "openai", "base_url": "http://127.0.0.1:9", "has_api_key": False}
    quotas = {"*": {"usd_per_day": 0}}
    bench = Bench(
        tmp_path, "", default_model="mine/m", providers={"mine": entry}, models=models, quotas=quotas
    )
    run = await talk(bench, columns=400)
    run.type("/config\r")
    await run.until("/config KEY explains")
    assert 'price": {"input": 1.0, "output": 2.0}}]  (from' in run.text
    said = [row for row in run.seen if " = " in row]
    await leave(run)
    explained = await bench.run("config", "explain", "providers.mine")
    for row in (*said, explained.out):
        assert not re.search(r'": (""|null|\{\}|\[\])', row), row
    for row in (
        f"providers.mine = {json.dumps(entry)}",
        'models = [{"id": "big", "model": "m2", "provider": "mine", "price": ',
        f"quotas = {json.dumps({'*': {'usd_per_day': 0.0}})}",
    ):
        assert any(one.startswith(row) for one in said), (row, said)
    assert f"providers.mine = {json.dumps(entry)}" in explained.out
    whole = json.loads((await bench.run("config", "explain", "providers.mine", "--json")).out)
    assert whole[0]["value"]["oauth"] is None  # programs get every field


async def test_a_named_file_is_one_line_and_not_the_title(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "big.py").write_text("inside = 1\n" * 50)
        run = await talk(bench, "look at @big.py")
        await run.until("Completed")
        before = run.text.split("heard")[0]
        assert "attached big.py" in before
        assert "inside" not in before
        await leave(run)
        one = await bench.run("run", "see @big.py", "--name", "second")
        assert one.code == 0
        listed = json.loads((await bench.run("sessions", "list", "--json")).out)
        assert [row["first_prompt"] for row in listed] == ["see @big.py", "look at @big.py"]
        assert "inside = 1" in str(server.asked[0].json["messages"][-1])


def find_closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.mark.parametrize(
    ("type", "words"),
    [("ollama", "ollama serve"), ("llama_cpp", "llama-server"), ("openai", "Start that server")],
)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_server_of_this_machine_that_is_off_is_told_at_once(
    tmp_path: Path, type: str, words: str, host: str
) -> None:
    providers = {"near": {"type": type, "base_url": f"http://{host}:{find_closed_port()}"}}
    bench = Bench(tmp_path, "", providers=providers)
    done = await bench.run("run", "hi", "-m", "near/m", "--output-format", "stream-json")
    assert (done.code, done.result["errors"][0]["kind"]) == (75, ErrorKind.NETWORK)
    assert words in done.result["errors"][0]["message"]
    assert "retrying" not in done.out


async def test_a_run_that_fails_says_so_in_its_error_and_its_last_line(tmp_path: Path) -> None:
    bench = Bench(tmp_path, f"http://127.0.0.1:{find_closed_port()}")
    run = await on_terminal("run", "hi", home=bench.home, work=bench.work, columns=200)
    assert await run.end() == 75
    error, saved, last = filter(None, run.seen)
    assert error.startswith("error: Nothing is listening at")
    assert "Resume with: planck run -r" in saved
    assert last.startswith("Failed before the first response was complete")


async def test_a_server_that_answered_before_is_tried_again(tmp_path: Path) -> None:
    """It may be starting again."""
    from planck.http.transport import NOT_STARTED, HttpTransport
    from planck.llm.provider import ProviderError

    transport = HttpTransport()
    async with WireServer([json_reply({})]) as server:
        response = await transport.send("POST", server.url, {})
        await response.aclose()
    with pytest.raises(ProviderError) as failure:
        await transport.send("POST", server.url, {})
    await transport.aclose()
    assert failure.value.err.kind is ErrorKind.NETWORK
    assert NOT_STARTED not in failure.value.err.details


@pytest.mark.parametrize(
    ("answer", "state", "code"),
    [(echo, "ok", 0), (lambda asked: json_reply({"error": {"message": "bad key"}}, 401), "error", 1)],
)
async def test_doctor_asks_the_model(tmp_path: Path, answer: Any, state: str, code: int) -> None:
    async with WireServer(answer) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("doctor", "--json", env={"HOME": str(tmp_path)})
    found = {check["name"]: check["state"] for check in json.loads(done.out)["checks"]}
    assert (found["model answer"], done.code) == (state, code)


async def test_a_worker_gets_the_model_that_its_spawner_has_now(tmp_path: Path) -> None:
    spawn = {"type": "helper", "name": "ann", "description": "d", "system_prompt": "p"}
    double = ScriptedProvider([[("spawn_agent", spawn)], "done"])
    async with Planck(
        tmp_path / "home", tmp_path, environ={"HOME": str(tmp_path)}, providers={"double": double}
    ) as app:
        session = await app.start(model="double/first", mode="full")
        await session.change_model("double/second")
        await session.run("go")
        (ann,) = [spec for spec in session.members if spec.name == "ann"]
    assert ann.model.model == "second"


async def test_a_server_is_added_to_the_project_and_removed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    (bench.work / ".mcp.json").write_text('{"mcpServers": {"old": {"command": "x"}}, "other": 1}')
    done = await bench.run("mcp", "add", "--project", "time", "--", "uvx", "mcp-server-time")
    assert done.code == 0
    assert "planck permissions trust" in done.err
    entry = {"command": "uvx", "args": ["mcp-server-time"]}
    assert json.loads((bench.work / ".mcp.json").read_text()) == {
        "mcpServers": {"old": {"command": "x"}, "time": entry},
        "other": 1,
    }
    assert "mcpServers" not in (bench.home / "config.json").read_text()
    again = await bench.run("mcp", "add", "--project", "time", "--", "uvx")
    assert "planck mcp remove --project time" in again.err
    assert (await bench.run("mcp", "remove", "--project", "time")).code == 0
    assert "time" not in (bench.work / ".mcp.json").read_text()


async def test_a_link_in_the_place_of_the_projects_servers_is_not_followed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    target = tmp_path / "settings.json"
    target.write_text("{}")
    (bench.work / ".mcp.json").symlink_to(target)
    await bench.run("mcp", "add", "--project", "time", "--", "uvx")
    assert target.read_text() == "{}"


async def test_an_export_is_written_to_a_file(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        await bench.run("run", "hi", "--name", "calm-fox")
        printed = (await bench.run("sessions", "export", "calm-fox")).out
        saved = await bench.run("sessions", "export", "calm-fox", "-o", "log.ndjson")
        assert (saved.code, saved.out) == (0, "")
        assert (bench.work / "log.ndjson").read_text() == printed
        os.symlink(tmp_path / "target", bench.work / "link")
        for name in ("link", ".planck/x", "no/such/folder"):
            assert (await bench.run("sessions", "export", "calm-fox", "-o", name)).code == 2
        assert (await bench.run("sessions", "export", "nobody", "-o", "log.ndjson")).code != 0
        assert (bench.work / "log.ndjson").read_text() == printed
        assert not (tmp_path / "target").exists()
        names = await bench.run("completion", "--sessions")
        assert names.out == "calm-fox\n"


async def test_lists_have_heads_for_a_person_alone(tmp_path: Path) -> None:
    async with WireServer(echo) as server:
        bench = Bench(tmp_path, server.url)
        await bench.run("run", "hi", "--name", "calm-fox")
    heads = {
        ("sessions", "list"): "NAME ",
        ("sessions", "tree"): "NAME ",
        ("tools", "list"): "TOOL ",
        ("models", "list"): "  MODEL ",
        ("auth", "status"): "PROVIDER ",
    }
    for words, head in heads.items():
        piped = await bench.run(*words)
        assert not piped.out.startswith(head)
        run = await on_terminal(*words, home=bench.home, work=bench.work, columns=100)
        assert await run.end() == 0
        assert head.strip() in "\n".join(run.seen)


def test_a_private_folder_says_why_it_cannot_be_added(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / "work").mkdir()
    planck_ = Planck(tmp_path / "home", tmp_path / "work", environ={"HOME": str(tmp_path)})
    with pytest.raises(PlanckError, match="private"):
        planck_.project.find_folder("~/.ssh")


@pytest.mark.parametrize("place", ["/usr/include/stdio.h", "/etc/hostname", "/usr", "/bin/sh"])
def test_nobody_is_asked_to_add_a_folder_of_the_system(tmp_path: Path, place: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "lib").mkdir()
    planck_ = Planck(tmp_path / "home", tmp_path / "work", environ={"HOME": str(tmp_path / "me")})
    assert planck_.project.find_outside(os.path.realpath(place)) is None
    assert planck_.project.find_outside(str(tmp_path / "lib")) is not None
