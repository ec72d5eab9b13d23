"""The command line as a user runs it: a process of its own, with a home and a workspace of its own."""

import asyncio
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WAIT = 30.0
PLAIN = {"PATH": "/usr/bin:/bin", "OLLAMA_HOST": "", "LLAMA_CPP_HOST": ""}
"""What a process of a test is given: a model server that runs on this machine is none of its business."""


FULL = ("--permission-mode", "full")


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def error_kind(self) -> str:
        """The kind at the end of the first line of stderr, if that has the form of an error."""
        found = re.match(r"error: \S.*\S \[([a-z_]+)\]\n", self.err)
        return found[1] if found else ""

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def result(self) -> dict[str, Any]:
        """The payload of `json`, or of the last line of `stream-json`."""
        last: dict[str, Any] = self.lines[-1]
        payload: dict[str, Any] = last["data"] if last.get("type") == "result" else last
        return payload


class Bench:
    """A home with one configured provider, and an empty workspace."""

    def __init__(self, folder: Path, url: str, **config: Any) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        providers = {"local": {"type": "openai", "base_url": url}}
        settings = {"default_model": "local/m", "providers": providers, **config}
        (self.home / "config.json").write_text(json.dumps(settings))

    async def start(
        self,
        *args: str,
        env: dict[str, str] | None = None,
        before: tuple[str, ...] = (),
        cwd: Path | None = None,
    ) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *before,
            sys.executable,
            "-m",
            "planck",
            *args,
            cwd=cwd or self.work,
            env={**PLAIN, "PLANCK_HOME": str(self.home), **(env or {})},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def run(
        self,
        *args: str,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        before: tuple[str, ...] = (),
        cwd: Path | None = None,
    ) -> Done:
        return await finish(await self.start(*args, env=env, before=before, cwd=cwd), stdin)


async def finish(process: asyncio.subprocess.Process, stdin: bytes = b"") -> Done:
    try:
        async with asyncio.timeout(WAIT):
            out, err = await process.communicate(stdin)
    except TimeoutError:
        process.kill()  # a test that fails leaves nothing behind either
        await process.communicate()
        raise
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


async def until(path: Path) -> None:
    """Wait until a file appears."""
    async with asyncio.timeout(WAIT):
        while not path.exists():
            await asyncio.sleep(0.01)
