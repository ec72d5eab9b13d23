"""`uv tool install` of the wheel by nobody, on a machine without bubblewrap: what works then."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wire import chat
from tests.wire.server import WireServer

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root to become nobody"
    ),
]

ROOT = Path(__file__).parents[2]
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
HIDDEN = (
    'for one in /usr/bin/bwrap /bin/bwrap; do [ -e $one ] && mount --bind /dev/null $one; done; exec "$@"'
)
PATIENCE = 170


def do(*command: str, env: dict[str, str] | None = None, cwd: str = "/") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=env, cwd=cwd)


class Stranger:
    """Nobody, with an empty home, where nothing but what uv brings is installed."""

    def __init__(self, home: Path) -> None:
        self.home = home
        index = do(sys.executable, "-m", "pip", "config", "get", "global.index-url").stdout.strip()
        self.environ = {
            "PATH": f"{home}/.local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "OLLAMA_HOST": "",
            "LLAMA_CPP_HOST": "",
            "UV_CACHE_DIR": f"{home}/cache",
            "UV_NO_CONFIG": "1",
            **({"UV_DEFAULT_INDEX": index} if index else {}),
            **({"SSL_CERT_FILE": cert} if (cert := os.environ.get("SSL_CERT_FILE")) else {}),
        }

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        hiding = ("unshare", "-m", "sh", "-c", HIDDEN, "sh", *NOBODY, *command)
        return do(*hiding, env=self.environ, cwd=str(self.home / "work"))


def find_python() -> str:
    check = "import sys; sys.exit(sys.version_info < (3, 11))"
    for program in ("/usr/bin/python3", os.path.realpath(sys.executable)):
        if os.path.exists(program) and do(*NOBODY, program, "-c", check).returncode == 0:
            return program
    pytest.skip("no python that nobody can run")


@pytest.fixture(scope="module")
def stranger() -> Iterator[Stranger]:
    folder = Path("/tmp") / f"planck-uv-{os.getpid()}"
    home = folder / "home"
    (home / "work").mkdir(parents=True)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    got = do(*pip, "install", "--target", str(folder / "uv"), "uv")
    if got.returncode:
        pytest.skip(f"the package registry can't be reached: {got.stderr[-200:]}")
    assert do(*pip, "wheel", "--no-deps", "-w", str(folder), str(ROOT)).returncode == 0
    (wheel,) = folder.glob("planck_agents-*.whl")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    found = Stranger(home)
    python = find_python()
    tool = (str(folder / "uv/bin/uv"), "tool", "install", "--quiet", "--python", python)
    done = found.run(*tool, f"planck-agents[sandbox] @ file://{wheel}")
    if done.returncode and any(
        words in done.stderr for words in ("error sending request", "No solution found", "dns")
    ):
        pytest.skip(f"the package registry can't be reached: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    yield found
    shutil.rmtree(folder, ignore_errors=True)


def test_the_demo_runs_in_an_empty_home(stranger: Stranger) -> None:
    done = stranger.run("planck", "demo")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Fixed." in done.stdout + done.stderr


def test_update_names_uv(stranger: Stranger) -> None:
    assert "uv tool upgrade planck-agents" in stranger.run("planck", "update").stdout


async def test_a_command_runs_in_the_sandbox_that_came_along(stranger: Stranger) -> None:
    command = "echo in > inside.txt; echo out > $HOME/outside.txt; cat inside.txt"
    said = [chat.text("ok"), chat.calls(("bash", {"command": command})), chat.text("done")]  # first to doctor
    async with WireServer(said) as server:
        config = stranger.home / ".planck/config.json"
        config.parent.mkdir(exist_ok=True)
        provider = {"type": "openai", "base_url": server.url}
        config.write_text(json.dumps({"default_model": "local/m", "providers": {"local": provider}}))
        for path in (config.parent, config):
            os.chown(path, 65534, 65534)
        doctor = await asyncio.to_thread(stranger.run, "planck", "doctor")
        done = await asyncio.to_thread(
            stranger.run,
            "planck",
            "run",
            "go",
            "--permission-mode",
            "workspace",
            "--output-format",
            "stream-json",
        )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "bubblewrap" in doctor.stdout
    assert (stranger.home / "work/inside.txt").read_text() == "in\n"
    assert not (stranger.home / "outside.txt").exists()
