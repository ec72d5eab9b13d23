"""A tool turn, and a delta, through the whole product with the log on, against the bare loop."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from benchmarks import bare
from benchmarks.jobs import NOOP, follow, open_planck
from benchmarks.model_server import model_server


def main() -> None:
    with model_server() as port:
        asyncio.run(_turns(port))
        asyncio.run(_deltas(port, "d", 20_000, "delta of many at once"))
        asyncio.run(_deltas(port, "p", 2_000, "delta that comes alone"))


Figures = tuple[float, float]
"""Seconds, and seconds of CPU, of one turn."""


async def _turns(port: int) -> None:
    per_turn: dict[int, float] = {}
    for turns in (50, 500):
        ours, cpu = await _best(partial(_planck_turns, port, turns))
        limit, limit_cpu = await _best(partial(_bare_turns, port, turns))
        per_turn[turns] = cpu
        aim = {50: 0.5, 500: 0.6}[turns]
        bare_loop = f"bare loop {limit * 1000:6.3f} ms (CPU {limit_cpu * 1000:.3f})"
        print(
            f"tool turn @{turns:<4} {ours * 1000:6.3f} ms (CPU {cpu * 1000:.3f}), {bare_loop}: "
            f"{ours / limit:4.1f} x  (aim <= {aim} ms)"
        )
    print(f"growth 50 -> 500  {per_turn[500] / per_turn[50]:.2f} x of CPU  (aim <= 1.3)")


async def _best(measure: Callable[[], Awaitable[Figures]]) -> Figures:
    """The least of each: others on the machine can only add to it."""
    rounds = [await measure() for _ in range(5)]
    return min(wall for wall, _ in rounds), min(cpu for _, cpu in rounds)


async def _planck_turns(port: int, turns: int) -> Figures:
    async with open_planck(port, f"t{turns}") as planck:
        session = await planck.start(model="bench/m", mode="full", max_steps=turns + 1)
        await session.add_tool(NOOP)
        began, cpu = time.perf_counter(), time.process_time()
        result = await session.run("go")
        spent = (time.perf_counter() - began) / turns, (time.process_time() - cpu) / turns
        assert result.steps == turns + 1, result
    return spent


async def _bare_turns(port: int, turns: int) -> Figures:
    began, cpu = time.perf_counter(), time.process_time()
    await bare.run_turns(port, turns)
    return (time.perf_counter() - began) / turns, (time.process_time() - cpu) / turns


async def _deltas(port: int, kind: str, count: int, what: str) -> None:
    ours, limit = [], []
    for _ in range(3):
        async with open_planck(port, f"{kind}{count}") as planck:
            session = await planck.start(model="bench/m", mode="full")
            watcher = asyncio.create_task(follow(session))
            await asyncio.sleep(0)
            began = time.process_time()
            await session.run("go")
            seen = await watcher
            ours.append((time.process_time() - began) / count)
            assert seen > count * 0.9, f"{seen} of {count} deltas reached the subscriber"
        began = time.process_time()
        await bare.stream(port, count, kind)
        limit.append((time.process_time() - began) / count)
    aim = "  (aim <= 6 us)" if kind == "d" else ""
    print(
        f"{what} {min(ours) * 1e6:5.1f} us CPU to the subscriber, bare loop {min(limit) * 1e6:4.1f} us: "
        f"{min(ours) / min(limit):4.1f} x{aim}"
    )
