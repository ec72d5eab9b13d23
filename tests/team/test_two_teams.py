import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from planck import Err, ErrorKind, Ok, Tool, ToolContext, orchestrator_tools, worker_tools
from planck.llm.provider import Request
from planck.records.events import ToolEnd
from planck.records.messages import AssistantMessage
from planck.testing.scripted import Say
from planck.toolkit.tool import Outcome
from tests.teams import Brains, Crew, delegate, facts, open_planck, write_team
from tests.virtual_time import run_virtual
from tests.wire import chat
from tests.wire.server import Reply, WireServer

MEMBERS = ({"type": "orchestrator", "name": "lead"}, {"type": "builder", "name": "bob"})
GONE = Err(ErrorKind.NOT_FOUND, "Agent not found.")


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
    known = "not_found: Agent not found. The team has ann; use `list_team` to see what they do."
    assert [end.output for end in ends] == [known] * 4
    assert theirs.team.member("bob") is not None
    assert theirs.recorded("message") == []
    for crew in (ours, theirs):
        await crew.aclose()


@pytest.mark.parametrize("by_id", [False, True], ids=["own tools", "tools by the team's id"])
async def test_a_report_in_a_fork_lands_in_the_fork_while_the_original_is_open(
    tmp_path: Path, by_id: bool
) -> None:
    """Both have agents of the same ids, in one process."""

    def bob(messages: list[dict[str, Any]]) -> Reply:
        if messages[-1]["role"] == "tool":
            return chat.text("reported")
        return chat.calls(("send_response", {"response": "from the fork"}))

    def lead(messages: list[dict[str, Any]]) -> Reply:
        prompted = str(messages[-1]["content"]).endswith("delegate it")
        return chat.calls(delegate("bob")) if prompted else chat.text("noted")

    async with (
        WireServer(Brains({"lead": lead, "bob": bob})) as server,
        open_planck(tmp_path, server.url) as planck,
        asyncio.timeout(30),
    ):
        original = await planck.start(team=write_team(tmp_path / "team", *MEMBERS))
        await original.run("hello")
        before = await facts(original)
        fork = await planck.resume((await planck.archive.fork(original.id)).id)
        if by_id:
            await fork.remove_tool("send_response", agent="bob")
            own = {tool.name: tool for tool in worker_tools(fork.id, fork.orchestrator.id)}
            await fork.add_tool(own["send_response"], agent="bob")
        await fork.run("delegate it")
        assert [spec.id for spec in fork.members] == [spec.id for spec in original.members]
        reports = [
            data["text"]
            for type, data in await facts(fork)
            if type == "message" and data["kind"] == "response"
        ]
        assert reports == ["from the fork"]
        assert await facts(original) == before


async def test_a_tool_by_the_teams_id_that_a_program_calls_itself_answers_as_in_a_turn(
    tmp_path: Path,
) -> None:
    async with open_planck(tmp_path, "http://127.0.0.1:1") as planck:
        session = await planck.start(team=write_team(tmp_path / "team", *MEMBERS))
        ctx = ToolContext(session.id, session.orchestrator.id, "c", tmp_path)
        roster, interrupt, models = (
            {tool.name: tool for tool in worker_tools(session.id, None)}["list_team"],
            *orchestrator_tools(session.id, session.id, [session.orchestrator.model])[2:],
        )
        bob = {"identifier": "bob", "identifier_type": "name"}
        assert await run(interrupt, bob, ctx) == Ok({"output": "Agent interrupted."})
        hint = {"hint": "The team has bob; use `list_team` to see what they do."}
        assert await run(interrupt, {**bob, "identifier": "eve"}, ctx) == replace(GONE, details=hint)
        assert '"current":true' in str(await run(models, {}, ctx))
        assert '"name":"bob"' in str(await run(roster, {}, ctx))
        await session.aclose()
        assert await run(roster, {}, ctx) == GONE


async def run(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Outcome:
    outcome = tool.execute(args, ctx)
    assert not isinstance(outcome, Ok | Err)
    return await outcome
