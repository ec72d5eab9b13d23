"""MCP, judged by the conformance suite of its makers: as a client, and as a server."""

import asyncio
import itertools
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.command import Bench
from tests.standards.judges import MCP_VERSION, NOT_APPLICABLE
from tests.standards.mcp_client import Scene, play
from tests.wire import chat
from tests.wire.server import WireServer

pytestmark = [pytest.mark.heavy, pytest.mark.standards]
CLIENT = Path(__file__).parent / "mcp_client.py"
WAIT = 120
AT_ONCE = 2


def list_client_scenarios(env: dict[str, str]) -> list[str]:
    argv = ("conformance", "list", "--client", "--spec-version", MCP_VERSION)
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=WAIT, check=True)
    listed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("  - ")]
    return [name for name in listed if name not in NOT_APPLICABLE["conformance client"]]


@asynccontextmanager
async def playing(folder: Path) -> AsyncGenerator[str, None]:
    """A socket that answers a scene with what its commands said, and the worst of their exit codes."""
    count = itertools.count()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        scene = Scene(*json.loads(await reader.readline()))
        home = folder / str(next(count))
        home.mkdir()
        code, said = await asyncio.to_thread(play, scene, home)
        writer.write(json.dumps({"code": code, "said": "\n".join(said)}).encode() + b"\n")
        await writer.drain()
        writer.close()

    with TemporaryDirectory(
        prefix="mcp-"
    ) as short:  # a test's own folder can be too long a name for a socket
        door = f"{short}/door"
        async with await asyncio.start_unix_server(serve, door, limit=1 << 24):
            yield door


async def test_a_client_passes_every_scenario_of_the_suite(npm_env: dict[str, str], tmp_path: Path) -> None:
    scenarios = list_client_scenarios(npm_env)
    assert len(scenarios) >= 32
    free = asyncio.Semaphore(AT_ONCE)

    async def run(scenario: str, command: str) -> str:
        argv = ["conformance", "client", "--command", command, "--scenario", scenario]
        argv += ["--spec-version", MCP_VERSION, "--timeout", str(WAIT * 1000)]
        async with free:
            done = await asyncio.create_subprocess_exec(
                *argv,
                cwd=tmp_path,
                env=npm_env,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            said = (await done.communicate())[0].decode(errors="replace")
        print(scenario, *said.splitlines()[-5:], sep="\n")
        return f"{scenario}:\n{said}" if done.returncode else ""

    async with playing(tmp_path) as door:
        command = f"{sys.executable} -S -E {CLIENT} --play {door}"
        failed = await asyncio.gather(*(run(scenario, command) for scenario in scenarios))
    assert [said for said in failed if said] == []


@asynccontextmanager
async def signed(port: int, token: str) -> AsyncGenerator[int, None]:
    """A door to a server of ours for the suite, which can send no token: it adds that, and its own port."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while some := await reader.read(1 << 16):
                writer.write(some)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()
            return
        head = re.sub(
            rb"(?im)^((?:host|origin): \S*(?:localhost|127\.0\.0\.1):)\d+", rb"\g<1>%d" % port, head
        )
        head = re.sub(rb"(?im)^connection: .*\r\n", b"", head)
        there, back = await asyncio.open_connection("127.0.0.1", port)
        back.write(head[:-2] + f"Connection: close\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        await asyncio.gather(pump(reader, back), pump(there, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as door:
        yield door.sockets[0].getsockname()[1]


async def judge(env: dict[str, str], bench: Bench, *command: str) -> dict[str, str]:
    """Returns what did not pass of the whole suite, by check, against a command that serves over HTTP."""
    process = await bench.start(*command, "--http", "0", "--token", "t0ken")
    results = bench.work.parent / "results"
    try:
        assert process.stderr is not None
        async with asyncio.timeout(WAIT):
            while not (
                found := re.search(rb"http://127\.0\.0\.1:(\d+)", line := await process.stderr.readline())
            ):
                assert line, "it ended"
        async with signed(int(found[1]), "t0ken") as port:
            argv = ["conformance", "server", "--url", f"http://127.0.0.1:{port}/mcp", "--suite", "all"]
            argv += ["--spec-version", MCP_VERSION, "--timeout", str(WAIT * 1000), "-o", str(results)]
            said = await asyncio.to_thread(
                subprocess.run, argv, env=env, capture_output=True, text=True, timeout=WAIT
            )
    finally:
        process.send_signal(signal.SIGINT)
        await process.wait()
    print(*said.stdout.splitlines()[-60:], sep="\n")
    checks = [json.loads(file.read_text()) for file in results.glob("*/checks.json")]
    assert len(checks) >= 40, said
    return {
        check["id"]: f"{check['status']}: {check.get('errorMessage', '')}"
        for check in itertools.chain.from_iterable(checks)
        if check["status"] in ("FAILURE", "WARNING")
    }


async def test_a_sidecar_passes_all_of_what_it_can_offer(npm_env: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "fixtures"
    folder.mkdir()
    shutil.copy(CLIENT.with_name("mcp_sidecar.py"), folder / "sidecar.py")
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    failed = await judge(npm_env, bench, "sidecar", "run", str(folder))
    assert failed.keys() == NOT_APPLICABLE["conformance server: planck sidecar run"].keys(), failed


async def test_a_workspace_passes_all_of_what_it_can_offer(npm_env: dict[str, str], tmp_path: Path) -> None:
    async with WireServer([chat.text("hi")]) as server:
        bench = Bench(tmp_path, server.url)
        assert (await bench.run("run", "hi")).code == 0  # a session, whose result is a resource
    own = bench.work / ".planck"
    (own / "sidecar").mkdir(parents=True)
    shutil.copy(CLIENT.with_name("mcp_sidecar.py"), own / "sidecar/sidecar.py")
    (own / "commands").mkdir()
    (own / "commands/test_simple_prompt.md").write_text("This is a simple prompt for testing.")
    failed = await judge(npm_env, bench, "mcp", "serve", "--trust", "--permission-mode", "full")
    assert failed.keys() == NOT_APPLICABLE["conformance server: planck mcp serve"].keys(), failed
