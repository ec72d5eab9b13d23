"""A tool turn, and a delta, through the whole product with the log on, against the bare loop."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import bare
from benchmarks.model_server import model_server
from planck.headless.open_session import OpenSession
from planck.headless.planck import Planck
from planck.records.outcome import Ok
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext

DELTAS = 20_000


def _noop(args: dict[str, int], ctx: ToolContext) -> Outcome:
    return Ok({"output": f"ok {args['n']}"})


async def _noop_async(args: dict[str, int], ctx: ToolContext) -> Outcome:
    return _noop(args, ctx)


NOOP = Tool(
    "noop",
    "does nothing",
    {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    _noop_async,
    effect=Effect.NONE,
)


def main() -> None:
    with model_server() as port:
        asyncio.run(_turns(port))
        asyncio.run(_deltas(port))


async def _turns(port: int) -> None:
    per_turn: dict[int, float] = {}
    for turns in (50, 500):
        ours = await _best(partial(_planck_turns, port, turns))
        limit = await _best(partial(_bare_turns, port, turns))
        per_turn[turns] = ours
        aim = {50: 1.0, 500: 1.5}[turns]
        print(
            f"tool turn @{turns:<4} {ours * 1000:6.3f} ms, bare loop {limit * 1000:6.3f} ms: "
            f"{ours / limit:4.1f} x  (aim <= {aim} ms)"
        )
    print(f"growth 50 -> 500  {per_turn[500] / per_turn[50]:.2f} x  (aim <= 1.5)")


async def _best(measure: Callable[[], Awaitable[float]]) -> float:
    return min([await measure() for _ in range(3)])


async def _planck_turns(port: int, turns: int) -> float:
    async with open_planck(port, f"t{turns}") as planck:
        session = await planck.start(model="bench/m", mode="full", max_steps=turns + 1)
        await session.add_tool(NOOP)
        began = time.perf_counter()
        result = await session.run("go")
        spent = time.perf_counter() - began
        assert result.steps == turns + 1, result
    return spent / turns


async def _bare_turns(port: int, turns: int) -> float:
    began = time.perf_counter()
    await bare.run_turns(port, turns)
    return (time.perf_counter() - began) / turns


async def _deltas(port: int) -> None:
    ours, limit = [], []
    for _ in range(3):
        async with open_planck(port, f"d{DELTAS}") as planck:
            session = await planck.start(model="bench/m", mode="full")
            watcher = asyncio.create_task(_watch(session))
            await asyncio.sleep(0)
            began = time.process_time()
            await session.run("go")
            seen = await watcher
            ours.append((time.process_time() - began) / DELTAS)
            assert seen > DELTAS * 0.9, f"{seen} of {DELTAS} deltas reached the subscriber"
        began = time.process_time()
        await bare.stream(port, DELTAS)
        limit.append((time.process_time() - began) / DELTAS)
    print(
        f"delta to the subscriber {min(ours) * 1e6:5.1f} us CPU, bare loop {min(limit) * 1e6:4.1f} us: "
        f"{min(ours) / min(limit):4.1f} x  (aim <= 10 us)"
    )


async def _watch(session: OpenSession) -> int:
    seen = 0
    async with aclosing(session.events()) as events:
        async for event in events:
            seen += event.type == "text_delta"
            if event.type == "turn_end":
                break
    return seen


def open_planck(port: int, path: str, **flags: Any) -> Planck:
    folder = Path(tempfile.mkdtemp(prefix="planck-bench-"))
    (folder / "work").mkdir()
    return Planck(
        home=folder / "home",
        workspace=folder / "work",
        environ={},
        flags={
            "providers": {"bench": {"type": "openai", "base_url": f"http://127.0.0.1:{port}/{path}/v1"}},
            **flags,
        },
    )
