"""Many agents in one session with the log on, an idle agent's memory, and one agent asking another."""

import asyncio
import gc
import resource
import time
from pathlib import Path

from benchmarks import bare
from benchmarks.jobs import LIMITS, add_worker, open_planck
from benchmarks.model_server import model_server
from planck.cli.main import COLLECTOR

AGENTS = 1000
TURNS = 5
ASKS = 200


def main() -> None:
    with model_server() as port:
        idle = asyncio.run(_crowd(port, "in a program of yours"))
        print(f"idle agent {idle / 1024:5.1f} KB  (aim <= 15)")
        usual = gc.get_threshold()
        gc.set_threshold(*COLLECTOR)
        asyncio.run(_crowd(port, "as the CLI sets the collector"))
        gc.set_threshold(*usual)
        asyncio.run(_asks(port))


async def _crowd(port: int, how: str) -> float:
    """The bytes that an idle agent takes; told by the first crowd of a process only."""
    async with open_planck(port, f"t{TURNS}", limits=LIMITS) as planck:
        session = await planck.start(model="bench/m", mode="full")
        before = _rss()
        workers = [await add_worker(session, number) for number in range(AGENTS)]
        gc.collect()
        idle = (_rss() - before) / AGENTS
        team = session._team
        began = time.perf_counter()
        await asyncio.gather(*(team.mail.delegate(team.orchestrator, worker, "go") for worker in workers))
        while any(not worker.actor.idle for worker in workers):
            await asyncio.sleep(0.01)
        spent = time.perf_counter() - began
        steps = sum(worker.actor.agent.usage.output_tokens for worker in workers) // 5
        assert steps == AGENTS * (TURNS + 1), steps
    began = time.perf_counter()
    await asyncio.gather(*(bare.run_turns(port, TURNS) for _ in range(AGENTS)))
    limit = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{AGENTS} agents x {TURNS} turns {spent:5.2f} s, bare loop {limit:4.2f} s: {spent / limit:4.1f} x  "
        f"(aim <= 5 x), peak {peak:.0f} MiB (aim <= 120); {how}"
    )
    return idle


async def _asks(port: int) -> None:
    """One worker asks another again and again; the model's part is measured in the same run and taken off."""
    async with open_planck(port, "d1", limits=LIMITS) as planck:
        session = await planck.start(model="bench/m", mode="full")
        asker, target = [await add_worker(session, number) for number in range(2)]
        mail = session._team.mail
        times = []
        for _ in range(ASKS):
            began = time.perf_counter()
            answer = await mail.ask(asker, target, "?", 30.0)
            times.append(time.perf_counter() - began)
            assert answer.ok, answer
        connection = await bare.connect(port)
        calls = []
        for _ in range(ASKS):
            began = time.perf_counter()
            await connection.post("/d1/v1/chat/completions", b'{"messages":[]}')
            calls.append(time.perf_counter() - began)
        connection.transport.close()
    ours, model = sorted(times)[ASKS // 2], sorted(calls)[ASKS // 2]
    print(
        f"ask and answer {ours * 1000:.2f} ms, of which a bare model call {model * 1000:.2f} ms: "
        f"beyond it {(ours - model) * 1000:.2f} ms  (aim <= 1)"
    )


def _rss() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
