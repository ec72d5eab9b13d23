"""`planck mcp serve`: what another agent gets of a workspace, and no more than the mode allows."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from tests.command import PLAIN, WAIT, Bench
from tests.wire import chat
from tests.wire.server import WireServer

KEY = "sk-planck-secret-1234567890"
SIDECAR = """
import asyncio
from planck import ToolContext, tool
from planck.sidecar import Sidecar

@tool
async def wait(ctx: ToolContext) -> str:
    "Waits until it is cancelled."
    ctx.progress("waiting")
    try:
        await asyncio.Event().wait()
    finally:
        open({mark!r}, "a").write("stopped")

@tool
def greet(name: str) -> str:
    "Greets."
    open({mark!r}, "a").write(name)
    return "hello " + name

class Own(Sidecar):
    def tools(self):
        return [greet, wait]
"""


@asynccontextmanager
async def serve(bench: Bench, *words: str) -> AsyncGenerator[Client, None]:
    argv = ["-m", "planck", "mcp", "serve", *words]
    environ = {**PLAIN, "PLANCK_HOME": str(bench.home), "HOME": str(bench.home), "OTHER_API_KEY": KEY}
    program = StdioServerParameters(command=sys.executable, args=argv, env=environ, cwd=bench.work)
    with open(os.devnull, "w") as nowhere:
        async with Client(stdio_client(program, errlog=nowhere)) as client:
            yield client


def workspace(tmp_path: Path, url: str = "http://127.0.0.1:9") -> tuple[Bench, Path]:
    bench, mark = Bench(tmp_path, url), tmp_path / "mark"
    folder = bench.work / ".planck/sidecar"
    folder.mkdir(parents=True)
    (folder / "sidecar.py").write_text(SIDECAR.format(mark=str(mark)))
    return bench, mark


def text(result: Any) -> str:
    return str(result.content[0].text)


@pytest.mark.parametrize("mode", ["full", "ask", "read-only"])
async def test_a_sidecar_is_offered_where_it_is_trusted_and_runs_where_the_mode_allows_it(
    tmp_path: Path, mode: str
) -> None:
    bench, mark = workspace(tmp_path)
    async with serve(bench, "--trust", "--permission-mode", mode) as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        said = await client.call_tool("greet", {"name": "Ada"})
        read = hints["read"], hints["greet"], hints["bash"]
        assert [hint is not None and hint.read_only_hint for hint in read] == [True, False, False]
    assert mark.exists() is (mode == "full"), text(said)  # in the sandbox, what it writes is its own


async def test_a_sidecar_of_a_folder_that_is_not_trusted_is_not_started(tmp_path: Path) -> None:
    bench, mark = workspace(tmp_path)
    async with serve(bench, "--permission-mode", "full") as client:
        assert "greet" not in [tool.name for tool in (await client.list_tools()).tools]
        assert (await client.call_tool("greet", {"name": "Ada"})).is_error
    assert not mark.exists()


async def test_results_of_this_workspace_are_resources_without_keys(tmp_path: Path) -> None:
    async with WireServer([chat.text(f"the key is {KEY}"), chat.text("elsewhere")]) as server:
        bench, _ = workspace(tmp_path, server.url)
        mine = await bench.run("run", "what is it?", "--output-format", "json")
        (tmp_path / "other").mkdir()
        other = await bench.run("run", "hi", "-C", str(tmp_path / "other"), "--output-format", "json")
    ids = [json.loads(done.out)["session_id"] for done in (mine, other)]
    async with serve(bench, "--permission-mode", "read-only") as client:
        (listed,) = (await client.list_resources()).resources
        assert str(listed.uri) == f"planck://sessions/{ids[0]}/result"
        assert "what is it?" in str(listed.description)
        (content,) = (await client.read_resource(str(listed.uri))).contents
        result = json.loads(content.text)  # type: ignore[union-attr]
        assert (result["status"], result["session_id"]) == ("completed", ids[0])
        assert "the key is" in result["text"]
        assert KEY not in result["text"]
        for uri in (
            f"planck://sessions/{ids[1]}/result",
            "planck://sessions/../x/result",
            "file:///etc/passwd",
        ):
            with pytest.raises(MCPError, match="unknown resource"):
                await client.read_resource(uri)


async def test_a_call_tells_its_progress_and_stops_when_the_client_cancels_it(tmp_path: Path) -> None:
    bench, mark = workspace(tmp_path)
    told: list[str | None] = []
    async with serve(bench, "--trust", "--permission-mode", "full") as client:
        with anyio.CancelScope() as scope:

            async def hear(progress: float, total: float | None, message: str | None) -> None:
                told.append(message)
                scope.cancel()

            async with asyncio.timeout(WAIT):
                await client.call_tool("wait", {}, progress_callback=hear)
        async with asyncio.timeout(WAIT):
            while not mark.exists():
                await asyncio.sleep(0.02)
        said = await client.call_tool("greet", {"name": "Ada"})
        assert text(said) == "hello Ada"
    assert told == ["waiting"]
    assert mark.read_text() == "stoppedAda"
