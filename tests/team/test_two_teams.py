from planck.llm.provider import Request
from planck.records.events import ToolEnd
from planck.records.messages import AssistantMessage
from planck.testing.scripted import Say
from tests.teams import Crew
from tests.virtual_time import run_virtual


def test_an_agent_of_another_team_cannot_be_reached_by_its_id() -> None:
    """A11."""
    run_virtual(_across())


async def _across() -> None:
    def script(request: Request) -> Say | str:
        if any(isinstance(message, AssistantMessage) for message in request.history.messages):
            return "ok"
        there = {"identifier": "bob", "identifier_type": "id"}
        return Say(
            calls=[
                ("ask_agent", {**there, "question": "?"}),
                ("delegate_task", {**there, "task": "?"}),
                ("interrupt_agent", there),
                ("destroy_agent", there),
            ]
        )

    ours, theirs = Crew(script, "ann"), Crew(script, "bob")
    for crew in (ours, theirs):
        await crew.start()
    await ours.run()
    ends = [fact for fact in ours.recorded("tool_end") if isinstance(fact, ToolEnd)]
    assert [end.output for end in ends] == ["not_found: Agent not found."] * 4
    assert theirs.team.member("bob") is not None
    assert theirs.recorded("message") == []
    for crew in (ours, theirs):
        await crew.aclose()
