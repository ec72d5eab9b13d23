"""A tool turn, and a delta, through the whole product with the log on, against the bare loop."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from benchmarks import bare
from benchmarks.jobs import NOOP, follow, open_planck
from benchmarks.model_server import model_server

DELTAS = 20_000


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
        aim = {50: 0.5, 500: 0.6}[turns]
        print(
            f"tool turn @{turns:<4} {ours * 1000:6.3f} ms, bare loop {limit * 1000:6.3f} ms: "
            f"{ours / limit:4.1f} x  (aim <= {aim} ms)"
        )
    print(f"growth 50 -> 500  {per_turn[500] / per_turn[50]:.2f} x  (aim <= 1.3)")


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
            watcher = asyncio.create_task(follow(session))
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
