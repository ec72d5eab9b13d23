"""Sidecars and MCP servers under the modes: a confined call runs in the sandbox, or is asked about."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.mcp.http import serve_http
from planck.testing.scripted import ScriptedProvider
from planck.workspace.sandbox.sandbox import find
from tests.mcp.bench import FAKE, descendants
from tests.mcp.test_http import Up
from tests.recorded import recorded
from tests.sidecar.bench import HEAD, write

sandbox = find().sandbox
pytestmark = [
    pytest.mark.skipif(sandbox is None or not sandbox.writes, reason="bubblewrap is not installed"),
]

TOOLS = (
    HEAD
    + """
import socket

@tool
def put(path: str) -> str:
    '''Write a file.'''
    with open(path, "a") as file:
        file.write("x")
    return "written"

@tool
def dial(port: int) -> str:
    '''Open a connection.'''
    socket.create_connection(("127.0.0.1", port), 5).close()
    return "connected"

@tool
def count() -> str:
    '''How often it was called.'''
    Mine.calls += 1
    return str(Mine.calls)

class Mine(Sidecar):
    calls = 0
    def tools(self):
        return [put, dial, count]
"""
)


class Ran:
    def __init__(self, result: Any, ends: list[dict[str, Any]]) -> None:
        self.ok = [end["ok"] for end in ends]
        self.outputs = [end["output"] for end in ends]
        self.kinds = [end.get("error", {}).get("kind", "") for end in ends]
        self.denied = [denial["tool"] for denial in result.denials]


async def ran(
    folder: Path, mode: str, calls: list[tuple[str, dict[str, Any]]], *, trust: bool = False, **config: Any
) -> Ran:
    """Each call in a step of its own; the sidecar and what it needs lie outside the workspace."""
    before = descendants()
    (folder / "work").mkdir(exist_ok=True)
    script = ScriptedProvider([*([call] for call in calls), "done"])
    app = Planck(
        folder / "home",
        folder / "work",
        environ={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        flags={"default_model": "double/m", **config},
        providers={"double": script},
        trust=trust,
    )
    async with app:
        session = await app.start(mode=mode)
        result = await session.run("go")
        ends = [event.data for event in await recorded(session) if event.type == "tool_end"]
    assert descendants() - before == set()
    return Ran(result, ends)


async def test_in_workspace_a_sidecar_s_call_runs_in_the_sandbox_without_a_question(tmp_path: Path) -> None:
    side, work = str(write(tmp_path / "side", TOOLS)), tmp_path / "work"
    paths = ["new.txt", str(tmp_path / "outside.txt"), ".planck/config.json", ".mcp.json"]
    calls = [("put", {"path": path}) for path in paths]
    done = await ran(tmp_path, "workspace", [*calls, ("count", {}), ("count", {})], sidecar=side)
    assert done.ok == [True, True, False, False, True, True]  # a private /tmp is what it wrote to
    assert done.denied == []
    assert done.outputs[-2:] == ["1", "2"]  # one life for all calls
    assert (work / "new.txt").read_text() == "x"
    assert not (tmp_path / "outside.txt").exists()
    assert [path.name for path in work.glob(".*")] == []  # what protects absent names goes with it


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_what_protects_absent_names_meanwhile_is_no_change_of_what_is_trusted(tmp_path: Path) -> None:
    project = tmp_path / "work" / ".planck"
    write(project / "sidecar", TOOLS)
    (project / "tools" / "hi").mkdir(parents=True)
    (project / "tools" / "hi" / "TOOL.json").write_text(
        json.dumps({"name": "hi", "description": "", "command": "echo hi", "parameters": {"type": "object"}})
    )
    done = await ran(tmp_path, "workspace", [("count", {}), ("hi", {}), ("count", {})], trust=True)
    assert done.ok == [True, True, True], done.outputs
    left = tmp_path / "work" / ".mcp.json"
    for leave, remove in ((left.touch, left.unlink), (left.mkdir, left.rmdir)):  # as a killed runtime may
        leave()
        app = Planck(tmp_path / "home", tmp_path / "work", environ={}, trust=True)
        assert not any(".mcp.json" in notice for notice in app.notices)
        remove()


async def test_in_read_only_it_can_change_nothing(tmp_path: Path) -> None:
    side = str(write(tmp_path / "side", TOOLS))
    done = await ran(tmp_path, "read-only", [("put", {"path": "new.txt"}), ("count", {})], sidecar=side)
    assert done.ok == [False, True]
    assert "Read-only file system" in done.outputs[0]
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_a_rule_gives_the_network_or_lets_it_out(tmp_path: Path, unused_tcp_port: int) -> None:
    side = str(write(tmp_path / "side", TOOLS))
    dial, out = ("dial", {"port": unused_tcp_port}), ("put", {"path": str(tmp_path / "outside.txt")})
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", unused_tcp_port)
    async with server:
        plain = await ran(tmp_path, "workspace", [dial, out], sidecar=side)
        assert plain.ok == [False, True]
        assert not (tmp_path / "outside.txt").exists()
        rules = [
            {"tool": "dial", "decision": "allow", "network": True},
            {"tool": "put", "decision": "allow", "unconfined": True},
        ]
        ruled = await ran(tmp_path, "workspace", [dial, out], sidecar=side, permissions={"rules": rules})
    assert ruled.ok == [True, True], ruled.outputs
    assert (tmp_path / "outside.txt").exists()


async def test_a_server_of_the_configuration_runs_there_too_and_an_address_is_asked_about(
    tmp_path: Path,
) -> None:
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve_http("up", Up(), 0, "t0ken", ready.set_result))
    servers = {
        "fake": {"command": sys.executable, "args": ["-S", "-E", str(FAKE)]},
        "web": {"url": await ready, "headers": {"Authorization": "Bearer t0ken"}},
    }
    calls: list[tuple[str, dict[str, Any]]] = [("mcp__fake__echo", {"n": 1}), ("mcp__web__up", {"t": "abc"})]
    done = await ran(tmp_path, "workspace", calls, mcpServers=servers)
    serving.cancel()
    await asyncio.wait({serving})
    assert (done.ok, done.denied) == ([True, False], ["mcp__web__up"])
    assert done.outputs[0] == json.dumps({"n": 1})


async def test_a_server_with_an_environment_of_its_own_in_a_private_place_runs_there(tmp_path: Path) -> None:
    making = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")
    )
    assert await making.wait() == 0
    script = tmp_path / "server.py"
    script.write_text(FAKE.read_text())
    entry = {"command": str(tmp_path / "env" / "bin" / "python"), "args": ["-S", "-E", str(script)]}
    done = await ran(tmp_path, "workspace", [("mcp__fake__echo", {"n": 2})], mcpServers={"fake": entry})
    assert done.outputs == [json.dumps({"n": 2})]


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_one_that_does_not_start_in_the_sandbox_is_asked_about_from_then_on(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    text = f"import socket\nsocket.create_connection(('127.0.0.1', {unused_tcp_port}))\n" + TOOLS
    side = str(write(tmp_path / "side", text))
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", unused_tcp_port)
    async with server:
        done = await ran(tmp_path, "workspace", [("count", {}), ("count", {})], sidecar=side)
    assert done.kinds == ["sandbox_unavailable", "permission_denied"]
    assert "cannot run in the sandbox for mode 'workspace'" in done.outputs[0]
    assert "ConnectionRefusedError" in done.outputs[0]
    assert done.denied == ["count"]


@pytest.mark.parametrize("how", ["script", "link", "module"])
async def test_a_server_that_a_command_could_replace_never_runs_with_the_users_rights(
    tmp_path: Path, how: str
) -> None:
    """Not even the first one, which says what tools there are; wherever it is started from."""
    work, escaped = tmp_path / "work", tmp_path / "escaped"
    work.mkdir()
    eager = f"try:\n    open({str(escaped)!r}, 'w')\nexcept OSError:\n    pass\n"
    (work / "server.py").write_text(eager + FAKE.read_text())
    (tmp_path / "link.py").symlink_to(work / "server.py")
    args = {"script": ["server.py"], "link": [str(tmp_path / "link.py")], "module": ["-m", "server"]}[how]
    entry = {"command": sys.executable, "args": args, "cwd": str(work)}
    done = await ran(
        tmp_path, "workspace", [("mcp__fake__echo", {"n": 2})], trust=True, mcpServers={"fake": entry}
    )
    assert not escaped.exists()
    assert done.ok == [True], done.outputs


async def test_one_that_takes_orders_from_its_folder_runs_elsewhere(tmp_path: Path) -> None:
    """`npx` runs what the folder's `node_modules` has of that name, and python imports what lies there."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "json.py").write_text(f"open({str(tmp_path / 'escaped')!r}, 'w')\n")
    code = f"import json, runpy; runpy.run_path({str(FAKE)!r}, run_name='__main__')"
    servers = {"fake": {"command": sys.executable, "args": ["-c", code]}}
    done = await ran(tmp_path, "full", [("mcp__fake__echo", {"n": 2})], trust=True, mcpServers=servers)
    assert (done.ok, (tmp_path / "escaped").exists()) == ([True], False), done.outputs


@pytest.mark.heavy  # it starts the SDK, a second of processor time each time
async def test_a_sidecar_in_the_open_workspace_runs_in_the_sandbox_and_one_of_ours_does_not(
    tmp_path: Path,
) -> None:
    escaped = tmp_path / "escaped"
    eager = f"open({str(escaped)!r}, 'w')\n{TOOLS}"
    open_one = str(write(tmp_path / "work" / "side", eager))
    done = await ran(tmp_path, "workspace", [("count", {})], trust=True, sidecar=open_one)
    assert (done.ok, escaped.exists()) == ([True], False)
    write(tmp_path / "work" / ".planck" / "sidecar", eager)
    done = await ran(tmp_path, "workspace", [("count", {})], trust=True)
    assert (done.ok, escaped.exists()) == ([True], True)
