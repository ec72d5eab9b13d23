"""The wait-for graph against a brute-force oracle, and rings of agents in random schedules."""

import asyncio
import random

import pytest

from planck.llm.provider import Request
from planck.records.events import ToolEnd
from planck.records.messages import AssistantMessage
from planck.team.waits import find_ring
from planck.testing.scripted import Say
from tests.teams import Crew, ask
from tests.virtual_time import run_virtual


def _reaches(edges: set[tuple[str, str]], start: str, goal: str) -> bool:
    seen, frontier = {start}, {start}
    while frontier:
        frontier = {b for a, b in edges if a in frontier} - seen
        seen |= frontier
    return goal in seen


def test_an_edge_is_refused_exactly_when_it_would_close_a_ring() -> None:
    choose = random.Random(7)
    edges = list[tuple[str, str]]()
    for _ in range(20_000):
        if edges and choose.random() < 0.45:
            edges.pop(choose.randrange(len(edges)))
            continue
        waiter, on = (str(choose.randrange(9)) for _ in range(2))
        ring = find_ring(edges, waiter, on)
        assert bool(ring) is (waiter == on or _reaches(set(edges), on, waiter))
        if ring:
            assert ring[0] == ring[-1] == waiter
            assert ring[1] == on
        else:
            edges.append((waiter, on))


def test_parallel_asks_of_one_agent_are_edges_of_their_own() -> None:
    edges = [("a", "b"), ("a", "c"), ("a", "b")]
    assert find_ring(edges[1:], "b", "a") == ("b", "a", "b")
    assert find_ring(edges[1:], "c", "a") == ("c", "a", "c")
    assert find_ring(edges[1:], "a", "b") == ()


@pytest.mark.parametrize("seeds", [20, pytest.param(223, marks=pytest.mark.soak)])
@pytest.mark.parametrize("size", range(2, 11))
def test_a_ring_of_asks_is_refused_at_one_edge_and_hangs_nobody(size: int, seeds: int) -> None:
    for seed in range(seeds):
        deadlocks, left = run_virtual(_ring(size, seed), seed=seed)
        assert (deadlocks, left) == (1, 0), f"ring of {size}, seed {seed}"


async def _ring(size: int, seed: int) -> tuple[int, int]:
    """Every worker is told at once to ask the next one; each waits a random while first."""
    choose = random.Random(seed)
    delays = [choose.random() for _ in range(size)]
    names = [f"w{n}" for n in range(size)]

    async def script(request: Request) -> Say | str:
        if request.agent_id == "lead":
            return "ok"
        said = sum(isinstance(message, AssistantMessage) for message in request.history.messages)
        number = int(request.agent_id[1:])
        if said == 0:
            await asyncio.sleep(delays[number])
            return Say(calls=[ask(names[(number + 1) % size])])
        return f"{request.agent_id} is done"

    crew = Crew(script, *names)
    await crew.start()
    lead = crew.team.orchestrator
    members = [member for member in crew.team.members if member is not lead]
    await asyncio.gather(*(crew.team.mail.delegate(lead, member, "ask the next one") for member in members))
    await crew.team.wait_until_settled()
    ends = [fact for fact in crew.recorded("tool_end") if isinstance(fact, ToolEnd)]
    left = len(crew.team.mail.asks)
    await crew.aclose()
    assert len(ends) == size
    return sum(end.error is not None and end.error.kind == "deadlock" for end in ends), left
