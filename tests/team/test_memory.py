"""What a session keeps does not grow beyond its history: tasks, edges, descriptors, memory."""

import asyncio
import gc
import os
from pathlib import Path

import pytest

from planck.llm.provider import Request
from planck.records.messages import AssistantMessage
from planck.testing.scripted import Say
from tests.teams import Crew, ask

OUTPUT = "x" * 2_000


@pytest.mark.parametrize("turns", [400, pytest.param(5_000, marks=pytest.mark.soak)])
async def test_thousands_of_turns_leave_nothing_behind_but_their_history(turns: int) -> None:
    def script(request: Request) -> Say | str:
        last = request.history.messages[-1]
        if request.agent_id == "lead" and not isinstance(last, AssistantMessage) and _from_user(request):
            return Say(calls=[ask("bob")])
        return OUTPUT if request.agent_id == "bob" else "ok"

    crew = Crew(script, "bob")
    await crew.start()
    sizes: list[int] = []
    tasks, descriptors = 0, 0
    every = turns // 10
    for turn in range(turns // 2):  # each is two turns: the lead's, and bob's answer
        await crew.run(f"turn {turn}")
        crew.provider.asked.clear()
        if turn == turns // 8:
            tasks, descriptors = len(asyncio.all_tasks()), _descriptors()
        if turn % every == every - 1:
            gc.collect()
            sizes.append(_rss())
    assert len(asyncio.all_tasks()) == tasks
    assert _descriptors() == descriptors
    assert not crew.team.mail.asks
    assert not crew.team.mail.sent.tasks
    half = len(sizes) // 2
    slope = (sizes[-1] - sizes[half]) / ((len(sizes) - 1 - half) * every * 2)
    # A log in memory holds each text four times (said, turn's end, response, tool's end), the asker's history
    # once: 2.5 a turn, and one more for all the rest.
    assert slope < 4 * len(OUTPUT), f"{slope:.0f} bytes a turn"
    await crew.aclose()


def _from_user(request: Request) -> bool:
    return request.history.messages[-1].__class__.__name__ == "UserMessage"


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _rss() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
