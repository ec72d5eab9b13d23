"""A step that is stopped in the middle: what its calls had done by then is known, and said."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from planck import Planck, Tool, ToolContext
from planck.testing import Say, ScriptedProvider
from tests.headless.test_hooks import on
from tests.teams import facts

SCHEMA = {"type": "object", "properties": {}}
INTERRUPTED = ("slow", False, "interrupted")


class Bench:
    """One call that ends at once, and one that never does."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.tools = [Tool("quick", "", SCHEMA, self.end), Tool("slow", "", SCHEMA, self.stay)]

    async def end(self, args: dict[str, Any], ctx: ToolContext) -> str:
        self.ended.set()
        return "written"

    async def stay(self, args: dict[str, Any], ctx: ToolContext) -> str:
        await asyncio.Event().wait()
        return ""


async def cut(folder: Path, calls: list[str], **flags: Any) -> list[tuple[str, bool, str]]:
    """Interrupts a step once its quick call has ended; returns what is recorded of each call, in order."""
    bench = Bench()
    script = ScriptedProvider([Say(calls=[(name, {}) for name in calls]), "done"])
    (folder / "work").mkdir(exist_ok=True)
    flags = {"permissions": {"mode": "full"}, **flags}
    async with (
        Planck(folder / "home", folder / "work", environ={}, flags=flags, providers={"double": script}) as p,
        asyncio.timeout(30),
    ):
        session = await p.start(model="double/m", tools=bench.tools)
        run = asyncio.ensure_future(session.run("go"))
        await bench.ended.wait()
        if flags.get("hooks"):
            await asyncio.to_thread((folder / "work" / "hooked").read_bytes)  # a FIFO: until the hook runs
        for _ in range(50):  # steps of the loop: its result is there, and waits for the call before it
            await asyncio.sleep(0)
        session.interrupt()
        await run
        ends = [data for type, data in await facts(session) if type == "tool_end"]
    return [
        (end["name"], end["ok"], end["error"]["kind"] if "error" in end else end["output"]) for end in ends
    ]


@pytest.mark.parametrize(
    "calls",
    [["slow", "quick"], ["quick", "slow"], ["slow", "quick", "slow"], ["quick", "slow", "quick"]],
    ids="-".join,
)
async def test_a_call_that_had_ended_keeps_its_result_where_another_is_cut(
    tmp_path: Path, calls: list[str]
) -> None:
    said = {"slow": INTERRUPTED, "quick": ("quick", True, "written")}
    assert await cut(tmp_path, calls) == [said[name] for name in calls]


@pytest.mark.parametrize("calls", [["quick"], ["quick", "quick"]], ids="-".join)
async def test_a_call_that_had_ended_keeps_its_result_where_the_hook_behind_it_is_cut(
    tmp_path: Path, calls: list[str]
) -> None:
    (tmp_path / "work").mkdir(exist_ok=True)
    os.mkfifo(tmp_path / "work" / "hooked")
    hooks = on("PostToolUse", "echo > hooked; sleep 60")
    assert await cut(tmp_path, calls, hooks=hooks) == [("quick", True, "written")] * len(calls)
