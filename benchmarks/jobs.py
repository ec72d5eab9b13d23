"""Six small jobs through the whole product, each as often as asked: what `guard` counts and others time."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from planck.headless.open_session import OpenSession
from planck.headless.planck import Planck
from planck.records.outcome import Ok
from planck.records.specs import AgentSpec
from planck.team.member import Member
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext

LIMITS = {
    "live_agents": 5000,
    "total_agents": 5000,
    "inbox": 5000,
    "messages": 5000,
    "hops": 10_000,
    "steps": 10_000,
}
DELTAS = 100
"""One alone would be lost in what a read of the socket costs: so many are one time of their job."""
KEY = "sk-bench-000000000000"


async def answer(port: int, times: int) -> None:
    """A prompt and its answer, in memory."""
    async with _start(port, "d1") as session:
        for _ in range(times):
            assert (await session.run("go")).text


async def delta(port: int, times: int) -> None:
    """A hundred deltas to somebody who follows the session, where a key is known."""
    async with _start(port, f"d{times * DELTAS}") as session:
        following = asyncio.create_task(follow(session))
        await asyncio.sleep(0)
        await session.run("go")
        assert await following == times * DELTAS


async def turn(port: int, times: int) -> None:
    """A tool turn with the log on."""
    async with _start(port, f"t{times}", stored=True) as session:
        await session.add_tool(NOOP)
        assert (await session.run("go")).steps == times + 1


async def ask(port: int, times: int) -> None:
    """One agent asks another, which answers."""
    async with _start(port, "d1", stored=True) as session:
        asker, target = [await add_worker(session, number) for number in range(2)]
        for _ in range(times):
            assert (await session._team.mail.ask(asker, target, "?", 30.0)).ok


async def session(port: int, times: int) -> None:
    """A stored session: start, one answer, close."""
    async with open_planck(port, "d1") as planck:
        for _ in range(times):
            opened = await planck.start(model="bench/m", mode="full")
            assert (await opened.run("go")).text
            await opened.aclose()


async def resume(port: int, times: int) -> None:
    """A stored session with three answers is opened again, and closed."""
    async with open_planck(port, "d1") as planck:
        opened = await planck.start(model="bench/m", mode="full")
        for _ in range(3):
            await opened.run("go")
        await opened.aclose()
        for _ in range(times):
            await (await planck.resume(opened.id)).aclose()


Job = Callable[[int, int], Coroutine[Any, Any, None]]
JOBS: dict[str, Job] = {
    "answer": answer,
    "delta": delta,
    "turn": turn,
    "ask": ask,
    "session": session,
    "resume": resume,
}
"""Each takes the port of `model_server`, and how often."""


@asynccontextmanager
async def _start(port: int, path: str, *, stored: bool = False) -> AsyncIterator[OpenSession]:
    async with open_planck(port, path, key=KEY, limits=LIMITS) as planck:
        yield await planck.start(model="bench/m", mode="full", stored=stored)


def open_planck(port: int, path: str, *, key: str = "", **flags: Any) -> Planck:
    """`key`: one that is known, so that nothing may show it."""
    folder = Path(tempfile.mkdtemp(prefix="planck-bench-"))
    (folder / "work").mkdir()
    return Planck(
        home=folder / "home",
        workspace=folder / "work",
        environ={"BENCH_API_KEY": key} if key else {},
        flags={
            "providers": {"bench": {"type": "openai", "base_url": f"http://127.0.0.1:{port}/{path}/v1"}},
            **flags,
        },
    )


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


async def follow(session: OpenSession) -> int:
    """Returns how many deltas of text reach somebody who follows one turn."""
    seen = 0
    async with aclosing(session.events()) as events:
        async for event in events:
            seen += event.type == "text_delta"
            if event.type == "turn_end":
                break
    return seen


async def add_worker(session: OpenSession, number: int) -> Member:
    team = session._team
    spec = AgentSpec(
        id=f"{number:016x}",
        type=f"worker{number}",
        name=f"worker{number}",
        role="worker",
        model=session.orchestrator.model,
        delegator_id=session.orchestrator.id,
    )
    member = await team.add(spec, depth=1)
    member.actor.agent.tools.add(NOOP)
    return member
