"""The table of tools (records/tools) against the tools themselves, and the page's copy of it."""

import json
import re
from pathlib import Path

import pytest

import planck
from planck.context.plan import make_plan_tool
from planck.context.skill_tools import Skills, make_skill_tools
from planck.records.tools import (
    EXTERNAL_TOOLS,
    ORCHESTRATOR_TOOLS,
    PLAN,
    SUBJECT,
    SUBJECTS,
    TEAM_TOOLS,
    TOOLS,
    find_row,
    find_subject,
)
from planck.toolkit.tool import Effect, Tool
from scripts.make_page import list_known
from tests.tools.room import Room

EFFECTS = {"files": Effect.FILES, "anything": Effect.COMMAND}


class NoSkills:
    def skills_for(self, agent_id: str) -> Skills:
        return {}


@pytest.fixture
def made(tmp_path: Path) -> dict[str, Tool]:
    """Every tool that we make, by its name, in the order in which a model is told of them."""
    tools = [
        *Room(tmp_path, []).builtin(),
        *make_skill_tools(NoSkills()),
        make_plan_tool(),
        *planck.worker_tools("t", None),
        *planck.orchestrator_tools("s", "t", []),
    ]
    return {tool.name: tool for tool in tools}


def test_every_tool_has_a_row_and_every_row_a_tool(made: dict[str, Tool]) -> None:
    assert [*made, *EXTERNAL_TOOLS] == [*TOOLS]


def test_a_row_says_what_its_tool_does(made: dict[str, Tool]) -> None:
    for name, tool in made.items():
        row, arguments = find_row(name), tool.parameters["properties"]
        team = name in (*TEAM_TOOLS, *ORCHESTRATOR_TOOLS)
        if not (team and row.changes == "nothing"):
            assert tool.effect is EFFECTS.get(row.changes, Effect.NONE), name
        assert {*row.keys, row.subject} <= {*arguments, ""}, name
        assert ("command" in arguments) is (row.rule == "command"), name
        assert row.rule != "host" or "url" in arguments, name
        assert row.shown != "diff" or row.changes == "files", name


def test_a_small_window_loses_the_team_first_and_never_what_work_needs() -> None:
    ranks = [find_row(name).left_out for name in ("list_team", "web_fetch", PLAN, "list_dir", "glob", "grep")]
    assert ranks == sorted(set(ranks))
    assert {find_row(name).left_out for name in (*TEAM_TOOLS, *ORCHESTRATOR_TOOLS)} == {ranks[0]}
    assert [find_row(name).left_out for name in ("read", "write", "edit", "bash")] == [0] * 4


def test_a_line_shows_the_subject_of_a_tool_else_the_first_usual_argument() -> None:
    assert find_subject("spawn_agent", {"path": "p", "name": "ada"}) == "ada"
    assert find_subject("glob", {"pattern": "*.py"}) == "*.py"
    assert find_subject("bash", {"command": "x" * 300}) == "x" * SUBJECT
    assert find_subject("mcp__search", {"query": "x" * 300, "path": 3}) == "x" * SUBJECT
    assert find_subject("mcp__search", {"name": "ada", "path": "p"}) == "p"
    assert [find_subject("bash", args) for args in ({"command": 3}, {}, "make", None)] == [""] * 4


def test_the_page_has_the_same_table() -> None:
    written = re.findall(r"^export \w+ (\w+) = (.*);$", list_known()["tools.js"], re.M)
    assert {name: json.loads(value) for name, value in written} == {
        "ASK": "ask_agent",
        "PLAN": "update_plan",
        "COMMANDS": [name for name in TOOLS if find_row(name).rule == "command"],
        "SUBJECT": SUBJECT,
        "SUBJECTS": [*SUBJECTS],
        "SUBJECT_OF": {name: row.subject for name, row in TOOLS.items() if row.subject},
        "SHOWN_OF": {name: row.shown for name, row in TOOLS.items() if row.shown != "end"},
    }
