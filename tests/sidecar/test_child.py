"""A sidecar's own process as clients see it: any client of MCP, one that is killed, and one that goes."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ToolListChangedNotification

from planck.mcp.peer import State
from planck.records.outcome import Ok
from tests.cli.test_imports import imports
from tests.command import PLAIN, WAIT, Bench, until
from tests.mcp.bench import names
from tests.sidecar.bench import HEAD, sidecar, write

TOOLS = (
    HEAD
    + '''
from pathlib import Path

known = []

@tool
def learn(name: str) -> str:
    """Add a tool."""
    known.append(Tool(name, "Learned.", {"type": "object"}, lambda agent, call, args: name))
    return "learned"

@tool
async def wait(mark: str, ctx: ToolContext) -> str:
    """Wait until it is cancelled."""
    ctx.progress("waiting\\n")
    try:
        await asyncio.sleep(3600)
    finally:
        Path(mark).write_text("cancelled")

@tool
async def thread(mark: str) -> str:
    """Wait in a thread of the loop's, which nothing can stop and Python waits for."""
    Path(mark).write_text(str(os.getpid()))
    await asyncio.to_thread(time.sleep, 120)

@tool
def loaded() -> str:
    """Name what was imported of the SDK."""
    return " ".join(sorted({"mcp", "mcp_types", "anyio", "pydantic"} & set(sys.modules)))

class Mine(Sidecar):
    def tools(self):
        return [learn, wait, thread, loaded, *known]
'''
)


class Session:
    """A client of plain lines, as any program in any language would write them."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def say(self, *messages: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        for one in messages:
            line = one if isinstance(one, bytes) else json.dumps({"jsonrpc": "2.0", **one}).encode()
            self.process.stdin.write(line + b"\n")
        await self.process.stdin.drain()

    async def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(WAIT):
            return dict(json.loads(await self.process.stdout.readline()))

    async def greet(self, version: str) -> dict[str, Any]:
        hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        await self.say({"id": 1, "method": "initialize", "params": hello})
        greeted = await self.hear()
        await self.say({"method": "notifications/initialized"})
        return dict(greeted["result"])

    async def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        async with asyncio.timeout(WAIT):
            return await self.process.wait()


async def start(folder: Path) -> Session:
    bench = Bench(folder, "http://127.0.0.1:9")
    write(bench.work / ".planck" / "sidecar", TOOLS)
    return Session(await bench.start("sidecar", "run"))


def call(id: int | str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


async def test_a_call_that_adds_a_tool_has_the_host_list_the_tools_again(tmp_path: Path) -> None:
    async with sidecar(write(tmp_path / "side", TOOLS)) as one:
        await one.until(State.CONNECTED)
        assert names(one.peer.tools) == ["learn", "wait", "thread", "loaded"]
        assert await one.peer.call("learn", {"name": "fly"}, timeout=WAIT) == Ok({"output": "learned"})
        await one.until_listed(2)
        assert names(one.peer.tools) == ["learn", "wait", "thread", "loaded", "fly"]
        assert await one.peer.call("fly", {}, timeout=WAIT) == Ok({"output": "fly"})
        assert (one.peer.starts, len(one.listings)) == (1, 2)


async def test_neither_side_of_a_sidecar_loads_the_sdk(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    write(bench.work / ".planck" / "sidecar", TOOLS)
    called = await bench.run("tools", "call", "loaded", "--trust")
    assert (called.code, called.out) == (0, "[no output]\n"), called.err
    host = await imports(bench, "sidecar", "status", "--trust")
    assert host & {"mcp", "mcp_types", "anyio", "pydantic"} == set()
    assert "planck.mcp.line_connection" in host


async def test_the_official_client_lists_calls_cancels_and_hears_of_new_tools(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    write(bench.work / ".planck" / "sidecar", TOOLS)
    changed, begun, mark = asyncio.Event(), anyio.Event(), tmp_path / "mark"

    async def hear(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed.set()

    async def hear_progress(progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "planck", "sidecar", "run"],
        cwd=bench.work,
        env={**PLAIN, "PLANCK_HOME": str(bench.home)},
    )
    async with Client(server, message_handler=hear) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed == ["learn", "wait", "thread", "loaded"]
        async with anyio.create_task_group() as group, asyncio.timeout(WAIT):

            async def wait() -> None:
                await client.call_tool("wait", {"mark": str(mark)}, progress_callback=hear_progress)

            group.start_soon(wait)
            await begun.wait()
            group.cancel_scope.cancel()
        await until(mark)
        learned = await client.call_tool("learn", {"name": "fly"})
        assert (learned.is_error, learned.content[0].text) == (False, "learned")  # type: ignore[union-attr]
        async with asyncio.timeout(WAIT):
            await changed.wait()
        assert [tool.name for tool in (await client.list_tools()).tools][-1] == "fly"
        unknown = await client.call_tool("nope", {})
        assert (unknown.is_error, unknown.content[0].text.split(":")[0]) == (True, "unknown_tool")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("2024-11-05", "2024-11-05"), ("1999-12-31", "2025-11-25")],
)
async def test_a_client_of_plain_lines_is_answered_whatever_it_says_besides(
    tmp_path: Path, asked: str, answered: str
) -> None:
    session = await start(tmp_path)
    greeted = await session.greet(asked)
    assert greeted["protocolVersion"] == answered
    assert greeted["capabilities"] == {"tools": {"listChanged": True}}
    await session.say(b"\xff\xfe not UTF-8", b"{half a line", {"id": "a", "method": "resources/list"})
    codes = [(await session.hear())["error"]["code"] for _ in range(3)]
    assert codes == [-32700, -32700, -32601]
    await session.say({"id": 7, "method": "tools/call", "params": {"arguments": {}}})
    assert (await session.hear())["error"]["code"] == -32602
    await session.say({"method": "notifications/cancelled", "params": {"requestId": 99}})
    await session.say(call("b", "loaded"), {"id": "c", "method": "ping"})
    answers = {answer["id"]: answer["result"] for answer in (await session.hear(), await session.hear())}
    assert answers["b"]["content"] == [{"type": "text", "text": "[no output]"}]
    assert answers["c"] == {}
    assert await session.close() == 0


async def test_a_cancelled_call_is_not_answered_and_ends_its_tool(tmp_path: Path) -> None:
    session, mark = await start(tmp_path), tmp_path / "mark"
    await session.greet("2025-11-25")
    asked = call(2, "wait", mark=str(mark))
    asked["params"]["_meta"] = {"progressToken": "p"}
    await session.say(asked)
    told = await session.hear()
    assert told["params"] == {"progressToken": "p", "progress": 1.0, "message": "waiting\n"}
    await session.say({"method": "notifications/cancelled", "params": {"requestId": 2}})
    await until(mark)
    await session.say(call(3, "loaded"))
    assert (await session.hear())["id"] == 3
    assert await session.close() == 0


async def test_a_client_that_goes_ends_the_process_whatever_still_runs_in_it(tmp_path: Path) -> None:
    session, mark = await start(tmp_path), tmp_path / "mark"
    await session.greet("2025-11-25")
    await session.say(call(2, "thread", mark=str(mark)))
    await until(mark)
    assert await session.close() == 0


async def test_kill_9_of_the_host_leaves_no_sidecar(tmp_path: Path) -> None:
    bench, mark = Bench(tmp_path, "http://127.0.0.1:9"), tmp_path / "mark"
    folder = write(bench.work / ".planck" / "sidecar", TOOLS)
    args = json.dumps({"mark": str(mark)})
    env = {"TMPDIR": str(tmp_path)}  # what a killed process leaves there
    host = await bench.start("tools", "call", "thread", "--trust", "--args", args, env=env)
    await until(mark)
    left = [os.pidfd_open(pid) for pid in running(folder)]
    assert left
    try:
        host.send_signal(signal.SIGKILL)
        await host.wait()
        loop = asyncio.get_running_loop()
        for one in left:
            gone = asyncio.Event()
            loop.add_reader(one, gone.set)
            async with asyncio.timeout(WAIT):
                await gone.wait()
            loop.remove_reader(one)
    finally:
        for one in left:
            os.close(one)
    assert running(folder) == []


def running(folder: Path) -> list[int]:
    """Every process that was started for the sidecar in this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"planck.sidecar.child" in words and str(folder).encode() in words:
                found.append(int(entry.name))
    return found
