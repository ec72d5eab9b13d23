"""MCP, judged by the conformance suite of its makers: as a client, and as a server."""

import asyncio
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.command import Bench

pytestmark = [pytest.mark.heavy, pytest.mark.standards]
CLIENT = Path(__file__).parent / "mcp_client.py"
VERSION = "2026-07-28"
WAIT = 120
AT_ONCE = 2

_NO_TOOL = "our tools return text and pictures, and ask nobody"
_ROUNDS = dict.fromkeys(
    (
        "basic-elicitation",
        "basic-sampling",
        "basic-list-roots",
        "request-state",
        "multiple-input-requests",
        "multi-round",
        "non-tool-request",
        "result-type",
        "tampered-state",
        "capability-check",
    ),
    _NO_TOOL,
)
_BOTH = {
    "server-stateless": "two of its checks want a tool that needs sampling; the others pass",
    "completion-complete": "nothing that we offer has values to complete",
    **dict.fromkeys(
        ("tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content"), _NO_TOOL
    ),
    **{f"input-required-result-{name}": why for name, why in _ROUNDS.items()},
}
_OWN_PROMPTS = "a prompt of ours is a command or a skill: it takes one text, and says one"
_RESULTS = "its resources are the results of sessions, and not those of the fixture"
NOT_APPLICABLE: dict[str, dict[str, str]] = {
    "client": {},
    "sidecar": {
        **_BOTH,
        **dict.fromkeys(
            ("resources-list", "resources-read-text", "resources-read-binary", "resources-templates-read"),
            "a sidecar has no resources",
        ),
        **dict.fromkeys(
            (
                "prompts-list",
                "prompts-get-simple",
                "prompts-get-with-args",
                "prompts-get-embedded-resource",
                "prompts-get-with-image",
            ),
            "a sidecar has no prompts",
        ),
        "caching": "three of its checks want prompts and resources; the others pass",
    },
    "mcp": {
        **_BOTH,
        **dict.fromkeys(
            ("prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image"), _OWN_PROMPTS
        ),
        **dict.fromkeys(
            ("resources-read-text", "resources-read-binary", "resources-templates-read"), _RESULTS
        ),
    },
}
"""By command, the scenarios that are not run, and why: of the client side all are."""


def list_scenarios(env: dict[str, str], side: str, left_out: Collection[str]) -> list[str]:
    argv = ("conformance", "list", side, "--spec-version", VERSION)
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=WAIT, check=True)
    listed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("  - ")]
    return [name for name in listed if name not in left_out]


async def test_a_client_passes_every_scenario_of_the_suite(npm_env: dict[str, str], tmp_path: Path) -> None:
    scenarios = list_scenarios(npm_env, "--client", NOT_APPLICABLE["client"])
    assert len(scenarios) >= 32
    free = asyncio.Semaphore(AT_ONCE)

    async def play(scenario: str) -> str:
        argv = ["conformance", "client", "--command", f"{sys.executable} {CLIENT}", "--scenario", scenario]
        argv += ["--spec-version", VERSION, "--timeout", str(WAIT * 1000)]
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

    assert [said for said in await asyncio.gather(*map(play, scenarios)) if said] == []


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


@pytest.fixture
def served_scenarios(npm_env: dict[str, str], tmp_path: Path) -> "Served":
    return Served(npm_env, tmp_path)


class Served:
    """The scenarios of the suite against a command of ours that serves over HTTP."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self._env, self._folder = env, folder

    async def fail(self, bench: Bench, *command: str) -> list[str]:
        """Returns what failed, whole."""
        process = await bench.start(*command, "--http", "0", "--token", "t0ken")
        try:
            assert process.stderr is not None
            async with asyncio.timeout(WAIT):
                while not (
                    found := re.search(rb"http://127\.0\.0\.1:(\d+)", line := await process.stderr.readline())
                ):
                    assert line, "it ended"
            async with signed(int(found[1]), "t0ken") as port:
                names = list_scenarios(self._env, "--server", NOT_APPLICABLE[command[0]])
                free = asyncio.Semaphore(AT_ONCE)

                async def play(scenario: str) -> str:
                    async with free:
                        return await self._play(port, scenario)

                return [said for said in await asyncio.gather(*map(play, names)) if said]
        finally:
            process.send_signal(signal.SIGINT)
            await process.wait()

    async def _play(self, port: int, scenario: str) -> str:
        argv = ["conformance", "server", "--url", f"http://127.0.0.1:{port}/mcp"]
        done = await asyncio.create_subprocess_exec(
            *(*argv, "--scenario", scenario, "--spec-version", VERSION),
            cwd=self._folder,
            env=self._env,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said = (await done.communicate())[0].decode(errors="replace")
        print(scenario, *said.splitlines()[-5:], sep="\n")
        return f"{scenario}:\n{said}" if done.returncode else ""


async def test_a_sidecar_passes_the_scenarios_of_what_it_can_offer(
    served_scenarios: Served, tmp_path: Path
) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    folder = tmp_path / "fixtures"
    folder.mkdir()
    shutil.copy(CLIENT.with_name("mcp_sidecar.py"), folder / "sidecar.py")
    failed = await served_scenarios.fail(bench, "sidecar", "run", str(folder))
    assert failed == [], "".join(failed)


async def test_a_workspace_passes_the_scenarios_of_what_it_can_offer(
    served_scenarios: Served, tmp_path: Path
) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    own = bench.work / ".planck"
    (own / "sidecar").mkdir(parents=True)
    shutil.copy(CLIENT.with_name("mcp_sidecar.py"), own / "sidecar/sidecar.py")
    (own / "commands").mkdir()
    (own / "commands/test_simple_prompt.md").write_text("This is a simple prompt for testing.")
    failed = await served_scenarios.fail(bench, "mcp", "serve", "--trust", "--permission-mode", "full")
    assert failed == [], "".join(failed)
