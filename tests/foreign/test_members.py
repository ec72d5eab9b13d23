"""A member that is another program works in a team like any other: its turn is one prompt of ACP."""

import sys
from pathlib import Path

import pytest

from tests.foreign.crew import crew, foreign, outputs, plain, recorded
from tests.teams import ask
from tests.wire import chat

pytestmark = pytest.mark.heavy


async def test_it_is_asked_like_any_other_member(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!say forty\n!say -two")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain()) as session:
        result = await session.run("go")
        assert result.text == "done"
        assert await outputs(session) == ["forty-two"]


async def test_it_asks_a_member_of_ours_by_an_mcp_server_of_the_team(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!tools\n!ask bob what is 6*7?")), chat.text("done")]
    bob = [chat.text("42")]
    member = {"type": "bob", "name": "bob"}
    async with crew(tmp_path, {"lead": lead, "bob": bob}, plain(), member) as session:
        await session.run("go")
        assert await outputs(session) == ["42", "bob said: 42"]
        first = next(
            m for m in await recorded(session, "assistant_message") if m["message"]["dialect"] == "acp"
        )
        said = first["message"]["parts"][-1]["text"]
        assert said == "ask_agent delegate_task send_response list_team"
        starts = await recorded(session, "tool_start")
        assert [one.get("foreign", False) for one in starts if one["name"] == "ask_agent"] == [False, True]


async def test_it_may_start_the_teams_server_again_and_again(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!clients 10")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain()) as session:
        await session.run("go")
        assert await outputs(session) == [" ".join(["ask_agent"] * 10)]


async def test_a_ring_through_it_is_refused(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "!ask lead who are you?")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain()) as session:
        await session.run("go")
        inner, outer = await outputs(session)
        assert inner.startswith("deadlock: ")
        assert "guest" in inner
        assert outer == f"lead said: {inner}"


async def test_what_it_says_and_does_are_events_like_ours(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    script = "!think hm\n!say first \n!run echo hi\n!plan mend it\n!two\n!say last"
    lead = [chat.calls(ask("guest", script)), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain()) as session:
        await session.run("go")
        assert await outputs(session) == ["between last"]
        mine = [one for one in await recorded(session, "tool_start") if one.get("foreign")]
        assert [one["name"] for one in mine] == ["acp_execute", "update_plan", "acp_read", "acp_read"]
        assert mine[0]["args"] == {
            "title": "echo hi",
            "command": "echo hi",
            "input": {"command": "echo hi"},
        }
        ends = {one["id"]: one for one in await recorded(session, "tool_end")}
        assert [ends[one["id"]]["ok"] for one in mine] == [True] * 4
        assert ends[mine[0]["id"]]["output"] == "hi\n"
        said = [
            "".join(part.get("text", "") for part in one["message"]["parts"])
            for one in await recorded(session, "assistant_message")
            if one["message"]["dialect"] == "acp"
        ]
        assert said == ["hmfirst ", "between last"]


async def test_a_call_that_is_told_in_pieces_is_recorded_with_its_command(tmp_path: Path) -> None:
    """As opencode tells of one: first where it will be, then what."""
    lead = [chat.calls(ask("guest", "!slow make test\n!say over")), chat.text("done")]
    async with crew(tmp_path, {"lead": lead}, plain()) as session:
        await session.run("go")
        [start] = [one for one in await recorded(session, "tool_start") if one.get("foreign")]
        assert (start["args"]["title"], start["args"]["command"]) == ("make test", "make test")


async def test_an_agent_on_the_protocols_own_sdk_is_understood(tmp_path: Path) -> None:
    lead = [chat.calls(ask("guest", "Review it.")), chat.text("done")]
    member = foreign(sys.executable, str(Path(__file__).with_name("sdk_agent.py")))
    async with crew(tmp_path, {"lead": lead}, member) as session:
        await session.run("go")
        assert await outputs(session) == ["yes; terminal: False; planck"]
        starts = [one["name"] for one in await recorded(session, "tool_start") if one.get("foreign")]
        assert starts == ["update_plan", "acp_edit"]
        [changed] = await recorded(session, "file_changed")
        assert (changed["path"], changed["before"], changed.get("undoable")) == ("review.txt", None, None)
    assert (tmp_path / "work" / "review.txt").read_text() == "fine\n"
