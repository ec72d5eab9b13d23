"""Keys: known once they are stored, by whomever; in no log, no spill file, and on no screen."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.config.keys.secrets import hide, hide_in_text
from planck.peers.tokens import TokenFile
from planck.testing.scripted import ScriptedProvider
from tests.command import Bench, Done

KEY = "sk-ant-0123456789-abcdefghij"


def bash(command: str, **more: Any) -> list[Any]:
    return [("bash", {"command": command, **more})]


async def run(planck: Planck, *prompts: str) -> str:
    """Everything that watchers saw, and every byte that is now in the home but for the keys' own file."""
    session = await planck.start(model="lead/m", mode="full")
    for prompt in prompts:
        await session.run(prompt)
    seen = []
    async for event in session.events():
        seen.append(event.frame().decode())
        if event.seq == session.head:
            break
    await session.aclose()
    files = [path for path in planck.home.rglob("*") if path.is_file() and path.name != "credentials.json"]
    return "\n".join([*seen, *(path.read_bytes().decode("latin-1") for path in files)])


def open_planck(tmp_path: Path, script: ScriptedProvider) -> Planck:
    (tmp_path / "work").mkdir(exist_ok=True)
    environ = {"PATH": "/usr/bin:/bin", "OLLAMA_HOST": "", "LLAMA_CPP_HOST": ""}
    return Planck(tmp_path / "home", tmp_path / "work", environ=environ, providers={"lead": script})


async def test_a_key_that_another_process_stores_is_known_at_once(tmp_path: Path) -> None:
    script = ScriptedProvider([bash("cat k"), "no key yet", bash("cat k"), f"it is {KEY}"])
    async with open_planck(tmp_path, script) as planck:
        (planck.workspace / "k").write_text("nothing")
        session = await planck.start(model="lead/m", mode="full")
        await session.run("first")
        (planck.workspace / "k").write_text(KEY)
        open_planck(tmp_path, script).auth.store_key("anthropic", KEY)
        result = await session.run("second")
        told = [event.frame().decode() async for event in _recorded(session)]
        assert result.text == "it is [redacted]"
        await session.aclose()
    assert not [frame for frame in told if KEY in frame]
    (log,) = (tmp_path / "home" / "sessions").glob("*.db")
    assert KEY.encode() not in log.read_bytes()


@pytest.mark.parametrize("kind", ["access_token", "refresh_token", "client_secret"])
async def test_what_the_user_signed_in_with_at_a_server_is_a_key_too(tmp_path: Path, kind: str) -> None:
    """By another process, in mid-session, and of a server that this session does not even speak to."""
    secret = f"mcp-{kind}-0123456789abcdef"
    script = ScriptedProvider([bash("cat k"), "none yet", bash("cat k"), f"it is {secret}"])
    async with open_planck(tmp_path, script) as planck:
        (planck.workspace / "k").write_text("nothing")
        session = await planck.start(model="lead/m", mode="full")
        await session.run("first")
        (planck.workspace / "k").write_text(secret)
        TokenFile(planck.home, "issues", "https://issues.example/mcp").update(
            "client" if kind == "client_secret" else "tokens", {kind: secret, "token_type": "Bearer"}
        )
        result = await session.run("second")
        told = [event.frame().decode() async for event in _recorded(session)]
        assert result.text == "it is [redacted]"
        await session.aclose()
    assert not [frame for frame in told if secret in frame]
    (log,) = (tmp_path / "home" / "sessions").glob("*.db")
    assert secret.encode() not in log.read_bytes()


async def _recorded(session: Any) -> Any:
    async for event in session.events():
        yield event
        if event.seq == session.head:
            return


async def test_a_key_that_was_taken_back_stays_unspoken(tmp_path: Path) -> None:
    script = ScriptedProvider([bash(f"echo {KEY}"), "ok", bash(f"echo {KEY}"), "ok"])
    async with open_planck(tmp_path, script) as planck:
        planck.auth.store_key("anthropic", KEY)
        session = await planck.start(model="lead/m", mode="full")
        await session.run("first")
        assert open_planck(tmp_path, script).auth.forget("anthropic")
        await session.run("second")
        told = [event.frame().decode() async for event in _recorded(session)]
    assert not [frame for frame in told if KEY in frame]


@pytest.mark.parametrize(
    "command",
    [
        # in the middle of a large output, in pieces that arrive apart, at the very end, and begun only
        f"head -c 30000 /dev/zero | tr '\\0' x; echo {KEY}; head -c 30000 /dev/zero | tr '\\0' y",
        f"head -c 20000 /dev/zero | tr '\\0' x; for c in {' '.join(KEY)}; do printf %s $c; sleep 0.005; done",
        f"head -c 20000 /dev/zero | tr '\\0' x; printf %s {KEY}",
        # where the head ends that the model is shown
        f"head -c 7990 /dev/zero | tr '\\0' x; printf %s {KEY}; head -c 30000 /dev/zero | tr '\\0' y",
    ],
)
async def test_no_spill_file_holds_a_key(tmp_path: Path, command: str) -> None:
    async with open_planck(tmp_path, ScriptedProvider([bash(command), "ok"])) as planck:
        planck.auth.store_key("anthropic", KEY)
        everything = await run(planck, "go")
        (spilled,) = filter(Path.is_file, planck.sessions_dir.glob("*.output/*"))
        text = spilled.read_bytes()
    assert KEY[:12] not in everything.replace(json.dumps(command)[1:-1], "")
    assert b"[redacted]" in text
    assert text.startswith(b"x" * 7990)
    assert text.rstrip(b"\n").endswith((b"[redacted]", b"y" * 30000))


async def test_what_only_begins_like_a_key_is_kept_whole(tmp_path: Path) -> None:
    command = f"head -c 20000 /dev/zero | tr '\\0' x; printf %s {KEY[:20]}"
    async with open_planck(tmp_path, ScriptedProvider([bash(command), "ok"])) as planck:
        planck.auth.store_key("anthropic", KEY)
        await run(planck, "go")
        (spilled,) = filter(Path.is_file, planck.sessions_dir.glob("*.output/*"))
        assert spilled.read_bytes() == b"x" * 20000 + KEY[:20].encode()


HIDDEN_TEXTS = [
    "postgresql://planck:hunter2hunter2@db.example/x",
    "https://hunter2hunter2@h.example/v1",
    "http://h.example/mcp?api_key=hunter2hunter2&x=1",
    "server --api-key hunter2hunter2 --port 1",
    "server --token=hunter2hunter2",
    "server -H 'Authorization: Bearer hunter2hunter2'",
    "server -H 'Authorization: Token hunter2hunter2'",
    "server --passphrase hunter2hunter2",
    "server --pass hunter2hunter2",
    "server --pat=hunter2hunter2",
    "https://h.example/x?sig=hunter2hunter2",
    "https://hooks.example/services/T000/B000/hunter2hunter2ABCdefG",
    "https://api.example/bot123456:hunter2hunter2-ABCdef/x",
    "curl -ume:hunter2hunter2 h.example",
    "server hunter2hunter2/ABCDEFGHIJKLMNOPQRSTUVWXY",
    "PASSWORD=hunter2hunter2 server",
    "curl -u me:hunter2hunter2 h.example",
    "server sk-hunter2hunter2",
    "server ghp_hunter2hunter2abc",
    'X-Api-Key: "hunter2hunter2"',
]


@pytest.mark.parametrize("text", HIDDEN_TEXTS)
def test_no_text_of_a_configuration_is_shown_with_its_secret(text: str) -> None:
    assert "hunter2hunter2" not in hide_in_text(text)
    assert "hunter2hunter2" not in json.dumps(
        hide({"command": text, "args": text.split(), "x": [{"y": text}]})
    )


@pytest.mark.parametrize(
    "text",
    [
        "npx -y @modelcontextprotocol/server-filesystem /home/me/project",
        "http://localhost:11434/v1",
        "uvx mcp-server-git --repository /work/repo",
        "docker run --rm -i image@sha256",
        "/usr/lib/python3/dist-packages/server_2024.py",
        "claude-sonnet-4-6",
        "docker run -p 8080:80 --path x --compass north image",
        "https://github.com/Owner/some-long-repository-name-2024/tree/main",
    ],
)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert hide_in_text(text) == text


async def run_all(bench: Bench, commands: Sequence[str]) -> list[Done]:
    return await asyncio.gather(*(bench.run(*command.split()) for command in commands))


async def test_no_command_prints_a_secret_of_the_configuration(tmp_path: Path) -> None:
    secret = "hunter2hunter2"
    servers = {
        "one": {
            "command": "server",
            "args": ["--token", secret, f"--password={secret}"],
            "env": {"A": secret},
        },
        "two": {"url": f"https://u:{secret}@h.example/?key={secret}", "headers": {"x": secret}},
    }
    hooks = {"Stop": [{"command": f"curl -H 'Authorization: Bearer {secret}' h.example"}]}
    bench = Bench(tmp_path, f"http://u:{secret}@127.0.0.1:9", mcpServers=servers, hooks=hooks)
    config = json.loads((bench.home / "config.json").read_text())
    config["providers"]["local"]["headers"] = {"x-api-key": secret}
    config["models"] = [{"id": "m", "model": "m", "provider": "local"}]
    (bench.home / "config.json").write_text(json.dumps(config))
    commands = ("config show", "config explain", "config explain --json", "mcp list", "mcp list --json")
    more = ("doctor", "doctor --json", "models list --json", "auth status --json")
    every = (*commands, *more)
    for command, done in zip(every, await run_all(bench, every), strict=True):
        assert secret not in done.out + done.err, command
        assert done.out, command
    done = await bench.run("config", "show", env={"PLANCK_PROVIDERS": f"{{broken {secret}"})
    assert done.code == 2
    assert secret not in done.out + done.err


async def test_a_file_s_text_does_not_act_on_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b1m\u202e"
    folder = tmp_path / f"a{evil}b"  # a folder's name is somebody's text too
    folder.mkdir()
    bench = Bench(folder, "http://127.0.0.1:9", **{f"no{evil}key": 1, "default_team": f"team{evil}"})
    every = ("config show", "config explain", "config explain --json", "doctor", "doctor --json")
    for command, done in zip(every, await run_all(bench, every), strict=True):
        printed = done.out + done.err
        assert printed, command
        assert not {char for char in printed if char in "\x1b\x07\x9b\u202e"}, command
        if command.endswith(("--json", "show")):
            assert json.loads(done.out)
    shown = json.loads((await bench.run("config", "show")).out)
    assert shown["default_team"] == f"team{evil}"
