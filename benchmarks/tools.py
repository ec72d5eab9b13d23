"""The executor over a no-op tool, `bash true` over a bare spawn, `grep` over ripgrep itself."""

import asyncio
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from planck.records.messages import ToolCall
from planck.records.outcome import Ok
from planck.toolkit.clock import SystemClock
from planck.toolkit.journal import Unrecorded
from planck.toolkit.permit import Allowed
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Outcome, Tool, ToolContext
from planck.toolkit.toolset import ToolSet
from planck.tools.builtin.catalog import builtin_tools
from planck.tools.builtin.search import Engine
from planck.tools.executor import Executor, Site, read_calls
from planck.workspace.paths.paths import Root
from planck.workspace.process.containment import Containment, containment
from planck.workspace.process.environment import allowed
from planck.workspace.process.process import Command, run, shell

Work = Callable[[], Awaitable[None]]

CALLS = 3_000
SPAWNS = 150
FILES = 50_000
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
    "required": ["path"],
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_executor(Path(folder)))
        asyncio.run(_bash(Path(folder)))
        asyncio.run(_grep(Path(folder)))


async def _executor(folder: Path) -> None:
    executor, tools = _for(folder, [Tool("noop", "Nothing.", SCHEMA, _noop)])
    call = ToolCall(id="c", provider_id="p", name="noop", arguments='{"path": "src/a.py", "limit": 3}')
    ctx = ToolContext("s", "a", "c", folder)

    async def through() -> None:
        async for _ in executor.run(read_calls(tools, [call])):
            pass

    async def bare() -> None:
        await _noop(json.loads(call.arguments), ctx)

    bare_us, through_us = [min([await _cpu(each) for _ in range(5)]) for each in (bare, through)]
    print(f"no-op tool, bare call        {bare_us:7.1f} us")
    print(f"no-op tool, through executor {through_us:7.1f} us  {_verdict(through_us, 60, 'us')}")


async def _bash(folder: Path) -> None:
    env = allowed({"PATH": os.environ["PATH"]})
    executor, tools = _for(folder, builtin_tools(folder, spill=folder / "spill", environment=env))
    call = ToolCall(id="c", provider_id="p", name="bash", arguments='{"command": "true"}')

    async def bare() -> None:
        process = await asyncio.create_subprocess_exec("bash", "-c", "true", stdin=subprocess.DEVNULL)
        await process.wait()

    async def popen() -> None:
        subprocess.run(["bash", "-c", "true"], stdin=subprocess.DEVNULL, check=True)

    async def group() -> None:
        await run(Command(shell("true"), folder, env, level=Containment.PROCESS_GROUP), timeout=9)

    async def tool() -> None:
        async for finished in executor.run(read_calls(tools, [call])):
            assert finished.ok

    names = {
        "bare subprocess.run": popen,
        "bare asyncio": bare,
        "process group": group,
        "the bash tool": tool,
    }
    times = await _best(names, SPAWNS)
    base = times["bare asyncio"]
    for name, ms in times.items():
        print(f"bash true, {name:<20} {ms:6.2f} ms  {ms / base:5.2f} x")
    print(f"bash true, contained by {containment()}: {_verdict(times['the bash tool'] - base, 5, 'ms more')}")


async def _grep(folder: Path) -> None:
    tree = folder / "tree"
    _plant(tree)
    env = {"PATH": os.environ["PATH"]}
    engine = Engine(Root(tree), env)
    executor, tools = _for(tree, builtin_tools(tree, spill=folder / "spill", environment=env))
    searches = {"few hits": "needle_[0-9]+", "none": "nothing like this", "more than fit": "return"}
    rg = engine.program
    for name, pattern in searches.items():
        call = ToolCall(id="c", provider_id="p", name="grep", arguments=json.dumps({"pattern": pattern}))

        async def ours(call: ToolCall = call) -> None:
            async for finished in executor.run(read_calls(tools, [call])):
                assert finished.ok, finished.output

        async def theirs(pattern: str = pattern) -> None:
            assert rg is not None
            command = [rg, "-n", "--no-config", "-e", pattern, "."]
            subprocess.run(command, cwd=tree, stdout=subprocess.DEVNULL, check=False)

        rows: dict[str, Work] = {"grep": ours} if rg is None else {"rg": theirs, "grep": ours}
        times = await _best(rows, 5)
        ratio = f"{times['grep'] / times['rg']:5.2f} x" if rg else "no ripgrep here"
        shown = "  ".join(f"{who} {ms:7.1f} ms" for who, ms in times.items())
        print(f"{FILES} files, {name:<14} {shown}  {ratio}")


def _plant(tree: Path) -> None:
    for number in range(FILES):
        path = tree / f"p{number % 50}" / f"q{number % 1000}" / f"file{number}.py"
        if number < 1000:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"def f{number}(x):\n    y = x + {number}\n    return y\n"
            + (f"# needle_{number}\n" if number % 5000 == 0 else "")
        )


def _for(folder: Path, tools: list[Tool]) -> tuple[Executor, ToolSet]:
    held = ToolSet(tools)
    scribe = Scribe(Unrecorded(), "a")
    return Executor(held, Site("s", folder), permit=Allowed(), scribe=scribe, clock=SystemClock()), held


async def _noop(args: dict[str, Any], ctx: ToolContext) -> Outcome:
    return Ok({"output": "done"})


async def _cpu(work: Work) -> float:
    """Microseconds of CPU: the wall clock would measure who else is busy."""
    began = time.process_time()
    for _ in range(CALLS):
        await work()
    return (time.process_time() - began) / CALLS * 1e6


async def _best(work: Mapping[str, Work], rounds: int) -> dict[str, float]:
    """Milliseconds, the best of interleaved rounds: a busy machine triples the median of a spawn."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, each in work.items():
            began = time.perf_counter()
            await each()
            times[name].append((time.perf_counter() - began) * 1000)
    return {name: min(values) for name, values in times.items()}


def _verdict(value: float, aim: float, unit: str) -> str:
    return f"{value:.1f} {unit}, aim <= {aim:g}: {'met' if value <= aim else 'MISSED'}"
