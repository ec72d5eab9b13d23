"""The stream of a four-agent team, pinned field by field: contract.md §4 and §5."""

import re
from pathlib import Path
from typing import Any

from tests.command import Bench
from tests.teams import Brains, write_team
from tests.wire import chat
from tests.wire.server import WireServer

FRAME = ["seq", "ts", "session_id", "agent_id", "turn", "type", "data"]
USAGE = {"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"}
RESULT = {
    "status",
    "text",
    "session_id",
    "session_name",
    "usage",
    "cost_usd",
    "duration_ms",
    "changes",
    "steps",
    "denials",
    "errors",
    "exit_code",
    "agents",
}
DATA: dict[str, tuple[set[str], set[str]]] = {
    "session_started": ({"id", "name", "workspace", "version", "options"}, {"team"}),
    "agent_started": ({"agent"}, {"call_id"}),
    "command_recorded": ({"call_id"}, {"view", "changed", "skipped", "partial", "running"}),
    "message": (
        {"id", "kind", "from", "to", "text", "correlation_id", "deadline", "hops", "root", "origin"},
        {"from_name", "call_id", "cause", "outcome", "facts"},
    ),
    "delivery": ({"ids", "state"}, {"call_id"}),
    "wait": ({"on", "message_id", "deadline", "call_id"}, set()),
    "turn_start": ({"kind", "message_id", "system", "tools"}, set()),
    "assistant_message": ({"message"}, set()),
    "usage": ({"model", "usage", "cost_usd"}, set()),
    "tool_start": ({"id", "name", "args"}, set()),
    "tool_end": ({"id", "name", "ok", "output", "duration_ms"}, {"error", "exit_code", "notice"}),
    "turn_end": ({"status", "text", "usage"}, set()),
    "text_delta": ({"text"}, set()),
    "usage_delta": ({"usage"}, set()),
    "tool_progress": ({"id", "text"}, set()),
    "permission_decision": ({"call_id", "tool", "decision", "reason"}, {"request_id", "scope"}),
}
"""What each type's data must have, and what it may have besides."""


def to(name: str, **more: str) -> dict[str, str]:
    return {"identifier": name, "identifier_type": "name", **more}


async def test_a_team_of_four_streams_every_event_of_every_agent(tmp_path: Path) -> None:
    brains = Brains(
        {
            "lead": [
                chat.calls(("ask_agent", to("bob", question="ready?")), ("nonsense", {})),
                chat.calls(("delegate_task", to("ann", task="write it"))),
                chat.text("Waiting."),
                chat.text("All ", "done."),
            ],
            "ann": [chat.calls(("bash", {"command": "echo made; exit 3"})), chat.text("It is written.")],
            "bob": [chat.calls(("ask_agent", to("cid", question="and you?"))), chat.text("Both ready.")],
            "cid": [chat.text("Yes.")],
        }
    )
    members: list[dict[str, Any]] = [
        {"type": "orchestrator", "name": "lead"},
        {"type": "ann", "tools": ["bash"]},
        {"type": "bob"},
        {"type": "cid"},
    ]
    async with WireServer(brains) as server:
        bench = Bench(tmp_path, server.url)
        team = write_team(tmp_path / "team", *members)
        done = await bench.run(
            "run",
            "go",
            "--team",
            team,
            "--permission-mode",
            "full",
            "--output-format",
            "stream-json",
            "--name",
            "four",
        )
    assert done.code == 0, done.err
    lines = done.lines
    assert all(list(line) == FRAME for line in lines)
    assert len({line["session_id"] for line in lines}) == 1
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["ts"]) for line in lines)
    first, last = lines[0], lines[-1]
    assert (first["type"], last["type"]) == ("init", "result")
    assert (
        [line["type"] for line in lines].count("init")
        == [line["type"] for line in lines].count("result")
        == 1
    )
    init = first["data"]
    names = {agent["id"]: agent["name"] for agent in init["agents"]}
    assert sorted(names.values()) == ["ann", "bob", "cid", "lead"]
    assert {"session_id", "session_name", "model", "tools", "workspace", "version"} <= set(init)
    for line in lines[1:-1]:
        must, may = DATA[line["type"]]
        assert must <= set(line["data"]) <= must | may, line
        deltas = ("text_delta", "tool_progress", "usage_delta")
        assert (line["seq"] is None) is (line["type"] in deltas)
        assert line["agent_id"] in names or line["type"] == "session_started"
    seqs = [line["seq"] for line in lines if line["seq"] is not None]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    _result(last["data"])
    _turns(lines, names)
    _calls(lines, names)
    kinds = [(names.get(m["from"], m["from"]), m["kind"], names[m["to"]]) for m in _data(lines, "message")]
    assert sorted(kinds) == [
        ("ann", "response", "lead"),
        ("bob", "ask", "cid"),
        ("lead", "ask", "bob"),
        ("lead", "task", "ann"),
        ("user", "prompt", "lead"),
    ]


def _result(result: dict[str, Any]) -> None:
    assert set(result) == RESULT
    assert set(result["usage"]) == USAGE
    expected: tuple[Any, ...] = ("completed", "All done.", "four", 0, [], [])
    keys = ("status", "text", "session_name", "exit_code", "denials", "errors")
    assert tuple(result[key] for key in keys) == expected
    assert result["cost_usd"] is None
    assert result["steps"] == 9


def _turns(lines: list[dict[str, Any]], names: dict[str, str]) -> None:
    ends = [
        (names[line["agent_id"]], line["turn"], line["data"]["status"]) for line in _of(lines, "turn_end")
    ]
    assert sorted(ends) == [
        ("ann", 1, "completed"),
        ("bob", 1, "completed"),
        ("cid", 1, "completed"),
        ("lead", 1, "completed"),
        ("lead", 2, "completed"),
    ]
    assert all(set(end["usage"]) == USAGE for end in _data(lines, "turn_end"))


def _calls(lines: list[dict[str, Any]], names: dict[str, str]) -> None:
    starts, ends = _data(lines, "tool_start"), _data(lines, "tool_end")
    assert len({start["id"] for start in starts}) == len(starts) == len(ends)
    assert sorted(start["id"] for start in starts) == sorted(end["id"] for end in ends)
    by_name = {end["name"]: end for end in ends if end["name"] != "ask_agent"}
    assert by_name["nonsense"]["error"]["kind"] == "unknown_tool"
    assert set(by_name["nonsense"]["error"]) == {"kind", "message", "details"}
    assert (by_name["bash"]["ok"], by_name["bash"]["exit_code"]) == (False, 3)
    assert "error" not in by_name["bash"]
    lead = [line["data"]["name"] for line in _of(lines, "tool_end") if names[line["agent_id"]] == "lead"]
    assert lead == ["ask_agent", "nonsense", "delegate_task"]


def _of(lines: list[dict[str, Any]], type: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["type"] == type]


def _data(lines: list[dict[str, Any]], type: str) -> list[dict[str, Any]]:
    return [line["data"] for line in _of(lines, type)]
