"""Many agents at once against one budget: what is held before a request leaves is what keeps it."""

import asyncio
import json
import random
from contextlib import aclosing
from pathlib import Path

import pytest

from planck import Planck
from planck.headless.open_session import OpenSession
from planck.llm.provider import Request
from planck.records.usage import Usage
from planck.testing.scripted import Say, ScriptedProvider
from tests.command import WAIT

MEMBERS = 63
PRICED = {"id": "dear", "model": "m", "provider": "local", "max_output": 5, "context_window": 200_000}
PRICED["price"] = {"input": 0.0, "output": 20_000.0}
"""Ten cents for the five tokens of an answer: all of them together would take $6.40."""
FLAGS = {
    "providers": {"local": {"type": "openai", "base_url": "http://127.0.0.1:9"}},
    "models": [PRICED],
    "default_model": "dear",
    "limits": {"live_agents": 64, "total_agents": 64},
}


async def crowd(folder: Path, seed: int) -> tuple[float, int, int]:
    """Returns what was spent, how many requests were in flight together, and how many were answered."""
    chance = random.Random(seed)
    flying = [0, 0]

    async def answer(request: Request) -> Say:
        flying[0] += 1
        flying[1] = max(flying)
        for _ in range(chance.randint(1, 40)):
            await asyncio.sleep(0)
        flying[0] -= 1
        return Say(text="ok", usage=Usage(input_tokens=10, output_tokens=5))

    folder.mkdir(exist_ok=True)
    lead = {"type": "orchestrator", "name": "lead"}
    members = [{"type": "w", "name": f"w{number}"} for number in range(MEMBERS)]
    (folder / "team").mkdir(exist_ok=True)
    (folder / "team" / "TEAM.json").write_text(json.dumps({"name": "t", "members": [lead, *members]}))
    double = ScriptedProvider(answer)
    async with Planck(
        folder / "home", folder, environ={}, flags=FLAGS, providers={"local": double}
    ) as planck:
        session = await planck.start(team=str(folder / "team"), max_budget_usd=1.0, mode="full", stored=False)
        names = ["", *(spec.name for spec in session.members[1:])]
        chance.shuffle(names)
        async with asyncio.timeout(4 * WAIT):
            await asyncio.gather(*(session.prompt("go", agent=name) for name in names))
            await wait_for_turns(session, len(names))
        result = session.result(0)
        assert result.budget
        assert result.cost_usd is not None
        assert round(result.budget.spent_usd, 6) == round(result.cost_usd, 6)
        assert round(session.costs().cost_usd or 0.0, 6) == round(result.cost_usd, 6)
        return result.cost_usd, flying[1], len(double.asked)


async def wait_for_turns(session: OpenSession, count: int) -> None:
    async with aclosing(session.events()) as events:
        async for event in events:
            count -= event.type == "turn_end"
            if not count:
                return


async def test_64_agents_at_once_spend_no_more_than_a_dollar(tmp_path: Path, seed: int) -> None:
    spent, together, asked = await crowd(tmp_path, seed)
    assert spent <= 1.0 + 1e-9
    assert spent >= 0.5  # it was worth something
    assert together > 1  # at once, or this shows nothing
    assert asked <= 10


@pytest.mark.soak
async def test_64_agents_at_once_100_times(tmp_path: Path, seed: int) -> None:
    most = [await crowd(tmp_path / str(number), seed + number) for number in range(100)]
    print(f"spent at most ${max(spent for spent, _, _ in most):.2f}, {max(one[1] for one in most)} at once")
    assert all(spent <= 1.0 + 1e-9 and together > 1 for spent, together, _ in most)
