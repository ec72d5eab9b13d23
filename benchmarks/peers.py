"""An echo tool in process, in a sidecar, and under the bare SDK on both sides, in one run."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from planck.mcp.instances import Instances
from planck.mcp.listing import Listing
from planck.records.messages import ToolCall
from planck.records.outcome import Ok
from planck.sidecar.host import SidecarLaunch, SidecarTool
from planck.toolkit.clock import SystemClock
from planck.toolkit.journal import Unrecorded
from planck.toolkit.permit import Allowed
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Outcome, Tool, ToolContext
from planck.toolkit.toolset import ToolSet
from planck.tools.executor import Executor, Site, read_calls

CALLS = 300
ROUNDS = 5
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

SIDECAR = """
from planck import Ok, Tool
from planck.sidecar import Sidecar

async def echo(args, ctx):
    return Ok({"output": args["text"]})

class Bench(Sidecar):
    def tools(self):
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        return [Tool("echo", "", schema, echo)]
"""

BARE_SERVER = """
import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

async def list_tools(ctx, params):
    return ListToolsResult(tools=[Tool(name="echo", input_schema=schema)])

async def call_tool(ctx, params):
    return CallToolResult(content=[TextContent(type="text", text=params.arguments["text"])])

async def main():
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="planck-bench-") as folder:
        asyncio.run(_measure(Path(folder)))


class _Quiet:
    """Hears a peer and says nothing."""

    def hear_build(self, text: str) -> None: ...
    def changed_state(self, state: str, detail: str) -> None: ...
    def listed_tools(self, listing: Listing) -> None: ...
    def failed_in_sandbox(self) -> None: ...


async def _measure(folder: Path) -> None:
    import mcp  # noqa: F401  the bare side's client: its import is not counted

    (folder / "sidecar.py").write_text(SIDECAR)
    (folder / "bare.py").write_text(BARE_SERVER)
    own = _executor(Tool("echo", "", SCHEMA, _echo))
    in_process = await _best(lambda: _each(own))

    began = time.perf_counter()
    quiet = _Quiet()
    cache, environ = folder / "cache", dict(os.environ)
    launch = SidecarLaunch("bench", folder / "sidecar.py", folder, cache, environ, quiet.hear_build)
    instances = Instances(launch, SystemClock(), quiet)
    instances.own.start()
    await instances.own.settle()
    theirs = _executor(SidecarTool(instances.own.tools.tools[0], instances))
    await theirs(1)
    cold = time.perf_counter() - began
    try:
        from mcp import Client, StdioServerParameters

        began = time.perf_counter()
        bare = StdioServerParameters(command=sys.executable, args=[str(folder / "bare.py")])
        async with Client(bare) as client:

            async def call(count: int) -> None:
                result = await client.call_tool("echo", {"text": str(count)})
                assert result.content[0].text == str(count)  # type: ignore[union-attr]

            await call(1)
            bare_cold = time.perf_counter() - began
            # Turn by turn, so that a busy moment of the machine hits both.
            sidecar, limit, many, bare_many = [], [], [], []
            cpu, bare_cpu = 0.0, 0.0
            for _ in range(ROUNDS):
                before = _cpu()
                sidecar.append(await _each(theirs))
                many.append(await _together(theirs))
                between = _cpu()
                limit.append(await _each(call))
                bare_many.append(await _together(call))
                cpu += between - before
                bare_cpu += _cpu() - between
    finally:
        await instances.aclose()

    print(f"echo in process          {in_process * 1e6:8.0f} us")
    print(_line("echo in a sidecar", min(sidecar), min(limit), "aim <= 1.3"))
    print(_line("100 concurrent calls", min(many), min(bare_many), "aim <= 1.3"))
    calls = ROUNDS * (CALLS + 100)
    print(_line("CPU of both sides a call", cpu / calls, bare_cpu / calls, "less noise on a busy machine"))
    print(_line("cold start to first call", cold, bare_cold, "no SDK in ours; the bare client's is loaded"))


def _line(what: str, ours: float, bare: float, note: str) -> str:
    return f"{what:<24} {ours * 1e6:8.0f} us, bare SDK {bare * 1e6:8.0f} us: {ours / bare:4.2f} x  ({note})"


def _cpu() -> float:
    """Seconds of this process and of all that live below it."""
    spent, parents = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            spent[int(entry.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    family = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(spent[pid] for pid in family if pid in spent)


async def _echo(args: dict[str, Any], ctx: ToolContext) -> Outcome:
    return Ok({"output": args["text"]})


def _executor(tool: Tool) -> Callable[[int], Awaitable[None]]:
    tools = ToolSet([tool])
    scribe = Scribe(Unrecorded(), "a")
    executor = Executor(tools, Site("s", Path("/")), permit=Allowed(), scribe=scribe, clock=SystemClock())

    async def call(count: int) -> None:
        async with aclosing(
            executor.run(read_calls(tools, [ToolCall(str(count), "", "echo", f'{{"text":"{count}"}}')]))
        ) as results:
            async for finished in results:
                assert finished.output == str(count), finished

    return call


async def _each(call: Callable[[int], Awaitable[None]]) -> float:
    began = time.perf_counter()
    for count in range(CALLS):
        await call(count)
    return (time.perf_counter() - began) / CALLS


async def _together(call: Callable[[int], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await asyncio.gather(*(call(count) for count in range(100)))
    return time.perf_counter() - began


async def _best(measure: Callable[[], Awaitable[float]]) -> float:
    return min([await measure() for _ in range(ROUNDS)])
