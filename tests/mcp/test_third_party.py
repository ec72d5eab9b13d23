"""MCP servers that we did not write, from the registries: listed and called, two of Python, two of npm."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from planck.mcp.peer import State
from planck.peers.server import ServerLaunch, read_server, tool_prefix
from planck.records.outcome import Err, ErrorKind, Ok
from tests.mcp.bench import WAIT, watched
from tests.published import install_npm, install_pypi

pytestmark = pytest.mark.heavy  # it installs them from the registries

PYTHON_SERVERS = ("mcp-server-time", "mcp-server-git")
NPM_SERVERS = tuple(f"@modelcontextprotocol/server-{name}" for name in ("everything", "filesystem"))


@pytest.fixture(scope="session")
def python_bin() -> Path:
    return install_pypi("mcp-pypi", PYTHON_SERVERS) / "bin"


@pytest.fixture(scope="session")
def node_modules() -> Path:
    return install_npm("mcp-npm", NPM_SERVERS)


def _server(name: str, workspace: Path, **entry: Any) -> Any:
    spec = read_server(name, entry, os.environ)
    launch = ServerLaunch(name, spec, workspace, os.environ)
    return watched(name, launch, prefix=tool_prefix(name))


async def test_mcp_server_time(python_bin: Path, tmp_path: Path) -> None:
    async with _server("time", tmp_path, command=str(python_bin / "mcp-server-time")) as one:
        await one.until(State.CONNECTED)
        found = await one.peer.call("get_current_time", {"timezone": "UTC"}, timeout=WAIT)
        wrong = await one.peer.call("get_current_time", {"timezone": "Nowhere/None"}, timeout=WAIT)
    assert isinstance(found, Ok)
    assert json.loads(found.value["output"])["timezone"] == "UTC"
    assert isinstance(wrong, Err)
    assert wrong.kind is ErrorKind.COMMAND_FAILED


async def test_mcp_server_git(python_bin: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(tmp_path)], check=True)
    async with _server("git", tmp_path, command=str(python_bin / "mcp-server-git")) as one:
        await one.until(State.CONNECTED)
        found = await one.peer.call("git_status", {"repo_path": str(tmp_path)}, timeout=WAIT)
    assert isinstance(found, Ok)
    assert "On branch trunk" in found.value["output"]


async def test_server_everything_over_stdio(node_modules: Path, tmp_path: Path) -> None:
    script = str(node_modules / NPM_SERVERS[0] / "dist" / "index.js")
    heard: list[str] = []
    async with _server("everything", tmp_path, command="node", args=[script, "stdio"]) as one:
        await one.until(State.CONNECTED)
        echo = await one.peer.call("echo", {"message": "hi"}, timeout=WAIT)
        picture = await one.peer.call("get-tiny-image", {}, timeout=WAIT)
        long = {"duration": 0.2, "steps": 2}
        await one.peer.call("trigger-long-running-operation", long, timeout=WAIT, progress=heard.append)
    assert echo == Ok({"output": "Echo: hi"})
    assert isinstance(picture, Ok)
    assert picture.value["images"][0].media_type == "image/png"
    assert heard == ["1/2", "2/2"]


async def test_server_filesystem(node_modules: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha")
    script = str(node_modules / NPM_SERVERS[1] / "dist" / "index.js")
    async with _server("files", tmp_path, command="node", args=[script, str(tmp_path)]) as one:
        await one.until(State.CONNECTED)
        found = await one.peer.call("read_text_file", {"path": str(tmp_path / "a.txt")}, timeout=WAIT)
        outside = await one.peer.call("read_text_file", {"path": "/etc/passwd"}, timeout=WAIT)
    assert found == Ok({"output": "alpha"})
    assert isinstance(outside, Err)


async def test_server_everything_over_streamable_http_and_its_end_is_noticed(
    node_modules: Path, tmp_path: Path
) -> None:
    port = _free_port()
    script = str(node_modules / NPM_SERVERS[0] / "dist" / "index.js")
    process = await asyncio.create_subprocess_exec(
        "node", script, "streamableHttp", env={**os.environ, "PORT": str(port)}, stdout=-3, stderr=-3
    )
    try:
        await _listening(port)
        url = f"http://127.0.0.1:{port}/mcp"
        async with _server("web", tmp_path, url=url, headers={"X-Mine": "${HOME}"}) as one:
            await one.until(State.CONNECTED)
            assert await one.peer.call("echo", {"message": "hi"}, timeout=WAIT) == Ok({"output": "Echo: hi"})
            process.kill()
            await process.wait()
            gone = await one.peer.call("echo", {"message": "hi"}, timeout=WAIT)
            assert isinstance(gone, Err)
            assert gone.kind is ErrorKind.PEER_FAILED
            await one.until(State.DISCONNECTED)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _listening(port: int) -> None:
    async with asyncio.timeout(WAIT):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return
