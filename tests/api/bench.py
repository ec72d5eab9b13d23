"""A server of `planck serve` to test: in this process with a scripted model, or a process of its own."""

import asyncio
import json
import signal
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planck.api.serve import Ready, ServerConfig, serve
from planck.client import Client
from planck.headless import Inbox, Planck
from planck.testing import ScriptedProvider
from planck.testing.scripted import Script
from tests.command import WAIT, Bench


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        return str(self.json["error"]["kind"])


@dataclass(frozen=True)
class Served:
    """Where it is, and requests by hand: whatever bytes a test likes."""

    url: str
    token: str
    token_file: Path
    pid: int
    page: str
    inbox: Inbox | None = None
    model: ScriptedProvider | None = None

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def client(self) -> Client:
        return Client(self.url, self.token)

    async def raw(self, request: bytes) -> bytes:
        """Sends the bytes, and returns all that comes until the server closes or the time is up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            with suppress(ConnectionError):
                writer.write(request)
            async with asyncio.timeout(WAIT):
                return await reader.read()
        finally:
            writer.close()

    async def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """One request on a connection of its own; with the token and the right Host unless told otherwise."""
        given = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Connection": "close",
            **({"Content-Type": "application/json", "Content-Length": str(len(body))} if body else {}),
            **(headers or {}),
        }
        lines = [f"{name}: {value}" for name, value in given.items() if value is not None]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines])
        return parse(await self.raw(head.encode("latin-1") + b"\r\n\r\n" + body))

    async def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
        return await self.send("POST", path, json.dumps(body).encode(), headers)


def parse(answer: bytes) -> Answer:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Answer(int(first.split(" ")[1]), headers, body)


@asynccontextmanager
async def serving(
    folder: Path,
    script: Script | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    of_user: bool = False,
    environ: Mapping[str, str] | None = None,
    **settings: Any,
) -> AsyncGenerator[Served, None]:
    """In this process; `script` is what the model `local/m` says. `of_user`: the folder is the user's home,
    and the workspace."""
    home, work = folder / "home", folder if of_user else folder / "work"
    environ = environ or ({"HOME": str(folder)} if of_user else {})
    home.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    written = {
        "default_model": "local/m",
        "providers": {"local": {"type": "openai", "base_url": "http://127.0.0.1:9"}},
        **(config or {}),
    }
    (home / "config.json").write_text(json.dumps(written))
    model, inbox = ScriptedProvider(script if script is not None else ["hello"]), Inbox()
    planck = Planck(home, work, environ=environ, providers={"local": model}, approver=inbox)
    ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
    running = asyncio.ensure_future(serve(planck, inbox, ServerConfig(port=0, **settings), ready.set_result))
    try:
        both: set[asyncio.Future[Any]] = {running, ready}
        await asyncio.wait(both, timeout=WAIT, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        told = ready.result()
        file = Path(told.token_file)
        yield Served(told.url, file.read_text(), file, told.pid, told.page, inbox, model)
    finally:
        # A node hands its work over only when it is told to stop. Of two servers in this process the second
        # took the signal's handler from the first, and left none.
        if (
            settings.get("store")
            and not running.done()
            and signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
        ):
            signal.raise_signal(signal.SIGTERM)
            await asyncio.wait({running}, timeout=WAIT)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@asynccontextmanager
async def served(
    bench: Bench, *args: str, env: dict[str, str] | None = None, before: tuple[str, ...] = ()
) -> AsyncGenerator[tuple[Served, asyncio.subprocess.Process], None]:
    """A process of its own, which is killed at the end if it still runs."""
    process = await bench.start("serve", "--port", "0", "--json", *args, env=env, before=before)
    assert process.stdout
    assert process.stderr
    try:
        async with asyncio.timeout(WAIT):
            line = await process.stdout.readline()
            assert line, (await process.stderr.read()).decode()
        told = json.loads(line)
        file = Path(told["token_file"])
        yield Served(told["url"], file.read_text(), file, told["pid"], told["page"]), process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
