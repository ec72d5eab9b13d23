"""Nodes of a pool as processes of their own: each with a home, all on one database and one scripted model."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planck.client import Client
from tests.command import PLAIN, Done, finish

_START = 120.0
"""Seconds for a process to serve, where ten others begin at once."""


@dataclass
class Machine:
    """One node that runs, and where it answers."""

    name: str
    home: Path
    told: dict[str, Any] = field(default_factory=dict)
    process: asyncio.subprocess.Process = field(init=False)

    async def start(self, program: tuple[str, ...], store: str, config: dict[str, Any], *args: str) -> None:
        """Returns once it serves, in a folder of its own below its home."""
        work = self.home / "here"
        work.mkdir(parents=True, exist_ok=True)
        (self.home / "config.json").write_text(json.dumps(config))
        with (self.home / "stderr").open("ab") as errors:
            self.process = await asyncio.create_subprocess_exec(
                *(*program, "--debug", "serve", "--store", store),
                *("--name", self.name, "--port", "0", "--json", "-C", str(work), *args),
                env={**PLAIN, "PLANCK_HOME": str(self.home), "HOME": str(self.home)},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        assert self.process.stdout
        async with asyncio.timeout(_START):
            line = await self.process.stdout.readline()
        assert line, (self.home / "stderr").read_text()[-2000:]
        self.told = json.loads(line)

    async def end(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    @property
    def token(self) -> str:
        return Path(self.told["token_file"]).read_text()

    def client(self) -> Client:
        return Client(self.told["url"], self.token)

    def kill(self) -> None:
        """With all that it has started, as a machine that loses its power."""
        self.process.send_signal(signal.SIGKILL)

    async def planck(self, *args: str) -> Done:
        """A command of whoever sits at this machine."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "planck", *args),
            env={**PLAIN, "PLANCK_HOME": str(self.home)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.home,
        )
        return await finish(process)


class Hall:
    """Starts nodes, and sees to it that none is left."""

    def __init__(self, folder: Path, database: str, model: str, **config: Any) -> None:
        self.folder = folder
        self._database = database
        self._config = {
            "default_model": "local/m",
            "providers": {"local": {"type": "openai", "base_url": model}},
            "cluster": {"lease_s": 6, "beat_s": 1},
            "permissions": {"mode": "full"},
            "node": {"accept": ["*"]},
            **config,
        }
        self.machines: list[Machine] = []

    async def start(
        self, name: str, *args: str, hours_off: int = 0, host: str = "", home: str = "", **config: Any
    ) -> Machine:
        """`hours_off`: its clock shows another time. `host`: the machine has that name (takes root)."""
        return await self._start(home or name, name, args, _choose_program(hours_off, host), config)

    async def _start(
        self, place: str, name: str, args: tuple[str, ...], program: tuple[str, ...], config: dict[str, Any]
    ) -> Machine:
        machine = Machine(name, self.folder / place)
        self.machines.append(machine)
        await machine.start(program, self._database, {**self._config, **config}, *args)
        return machine

    async def close(self) -> None:
        for machine in self.machines:
            await machine.end()


_LATE = (
    "import time, runpy, sys; real = time.time_ns; time.time_ns = lambda: real() + {} * 3600 * 10**9; "
    "sys.argv[0] = 'planck'; runpy.run_module('planck', run_name='__main__')"
)


def _choose_program(hours_off: int, host: str) -> tuple[str, ...]:
    python = (
        (sys.executable, "-c", _LATE.format(hours_off)) if hours_off else (sys.executable, "-m", "planck")
    )
    if not host:
        return python
    return ("unshare", "--uts", "sh", "-c", f'hostname {host}; exec "$@"', "sh", *python)


@asynccontextmanager
async def hall(folder: Path, database: str, model: str, **config: Any) -> AsyncGenerator[Hall, None]:
    made = Hall(folder, database, model, **config)
    try:
        yield made
    finally:
        await made.close()


async def until(condition: Callable[[], Any], what: str, patience: float = 60.0) -> Any:
    """Asks again and again; what a loaded machine takes longer for is no failure."""
    try:
        async with asyncio.timeout(patience):
            while not (found := await condition()):
                await asyncio.sleep(0.05)
            return found
    except TimeoutError:
        raise AssertionError(f"not within {patience:.0f} s: {what}") from None


def make_repository(folder: Path) -> Path:
    import subprocess

    folder.mkdir()
    (folder / "prices.py").write_text("total = 1\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, env=environment)
    return folder
