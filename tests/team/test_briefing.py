import asyncio

from planck.llm.provider import Request
from planck.records.messages import ToolMessage
from planck.team.briefing import Briefing
from planck.testing.scripted import Say, Scripted
from tests.teams import Crew, delegate
from tests.virtual_time import run_virtual


async def _delegated() -> tuple[str, str, str]:
    at_work, finish = asyncio.Event(), asyncio.Event()

    def answer(request: Request) -> Scripted:
        if request.agent_id == "lead" and not isinstance(request.history.messages[-1], ToolMessage):
            return [delegate("w", "count the files")]
        if request.agent_id == "w":
            at_work.set()
            return Say(text="seven", wait=finish)
        return "done"

    crew = Crew(answer, "w")
    await crew.start()
    running = asyncio.ensure_future(crew.run("go"))
    await at_work.wait()
    during = Briefing(crew.team).brief("lead"), Briefing(crew.team).brief("w")
    crew.team.orchestrator.actor.agent.history.plan = "[>] wait for w"
    finish.set()
    await running
    after = Briefing(crew.team).brief("lead")
    await crew.aclose()
    return (*during, after)


def test_an_agent_is_told_who_is_there_and_what_is_open() -> None:
    lead, worker, after = run_virtual(_delegated())
    assert "lead (type lead, id lead), w (type w, id w)" in lead
    assert "Sent by you, not answered yet:" in lead
    assert "from lead to w: count the files" in lead
    assert "Sent to you, not answered yet:" in worker
    assert "count the files" not in after
    assert "Your plan" not in lead + worker
    assert after.endswith("\nYour plan:\n[>] wait for w")
