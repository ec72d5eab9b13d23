"""`planck permissions`: the same judgement as in a run, told."""

import json
from pathlib import Path

import pytest

from tests.command import Bench

RULES = [
    {"tool": "bash", "command": "git status", "decision": "allow"},
    {"tool": "bash", "command": "git push", "decision": "deny"},
]


def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path, "http://127.0.0.1:9", permissions={"mode": "ask", "rules": RULES})
    team = made.work / ".planck/teams/pair"
    team.mkdir(parents=True)
    member = {"provider": "local", "model_id": "m"}
    members = [
        {**member, "type": "orchestrator", "tools": ["bash"]},
        {**member, "type": "reviewer", "name": "Rita", "tools": ["read"]},
    ]
    (team / "TEAM.json").write_text(json.dumps({"name": "pair", "description": "", "members": members}))
    return made


@pytest.mark.parametrize(
    ("args", "decision", "why"),
    [
        (["bash", "git push"], "deny", "deny 'bash git push' ({home}/config.json, rule 2)"),
        (["bash", "git status; git push"], "deny", "deny 'bash git push' ({home}/config.json, rule 2)"),
        (["bash", "git status"], "allow", "allow 'bash git status' ({home}/config.json, rule 1)"),
        (["bash", "git commit"], "ask", "mode 'ask' requires approval"),
        (["bash", "x", "--permission-mode", "full"], "allow", "mode 'full' allows it"),
        (["write", "--permission-mode", "read-only"], "deny", "mode 'read-only' allows no changes"),
        (["read", "{}"], "allow", "mode 'ask' allows it"),
        (["mcp__x__y"], "ask", "mode 'ask' requires approval"),
        (["bash", "ls", "--team", "pair", "--agent", "Rita"], "deny", "'bash' was not granted to this agent"),
        (["read", "--team", "pair", "--agent", "reviewer"], "allow", "mode 'ask' allows it"),
        (["read", "prices.py"], "allow", "mode 'ask' allows it"),
    ],
)
async def test_the_deciding_rule_and_its_source_are_told(
    tmp_path: Path, args: list[str], decision: str, why: str
) -> None:
    here = bench(tmp_path)
    done = await here.run("permissions", "explain", *args, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["decision"], found["why"]) == (decision, why.format(home=here.home))


async def test_for_people_it_is_a_few_lines(tmp_path: Path) -> None:
    here = bench(tmp_path)
    done = await here.run("permissions", "explain", "--agent", "orchestrator", "bash", "git push")
    assert done.out.splitlines()[:3] == [
        f"deny: deny 'bash git push' ({here.home}/config.json, rule 2)",
        "  agent    orchestrator (orchestrator): all tools",
        f"  mode     ask (from {here.home}/config.json)",
    ]


async def test_who_and_what_is_not_there_is_told(tmp_path: Path) -> None:
    here = bench(tmp_path)
    nobody = await here.run("permissions", "explain", "--agent", "nobody", "bash", "x")
    nothing = await here.run("permissions", "explain", "bashh", "x")
    torn = await here.run("permissions", "explain", "edit", "{path: x}")
    assert (nobody.code, nothing.code, torn.code) == (1, 1, 2)
    assert """'{"path": "value"}'""" in torn.err
    assert "This team has: orchestrator. " in nobody.err
    assert "unknown_tool" in nothing.err


async def test_trust_is_given_for_what_was_listed_and_taken_back(tmp_path: Path) -> None:
    here = bench(tmp_path)
    tool = here.work / ".planck/tools/lint/TOOL.json"
    tool.parent.mkdir(parents=True)
    tool.write_text(
        '{"name": "lint", "description": "d", "command": "true", "parameters": {"type": "object"}}'
    )
    refused = await here.run("permissions", "trust")
    assert refused.code == 2
    given = await here.run("permissions", "trust", "-y")
    assert "tool lint (.planck/tools/lint/TOOL.json): true" in given.out
    assert (await here.run("tools", "call", "lint", "--args", "{}")).code == 0
    tool.write_text(tool.read_text().replace("true", "false"))
    assert (await here.run("tools", "call", "lint", "--args", "{}")).code == 1
    assert "no longer trusted" in (await here.run("permissions", "untrust")).out


async def test_explain_says_that_an_address_of_nobody_s_is_asked_about(tmp_path: Path) -> None:
    made = bench(tmp_path)
    for address, decision in (
        (
            "http://h.example:1",
            "ask: 'http://h.example:1' is not the address of a configured provider or of a running local ",
        ),
        ("http://LOCALHOST:9", "allow: "),
    ):
        args = json.dumps({"provider": "ollama", "model_id": "m", "base_url": address})
        explain = ("permissions", "explain", "--permission-mode", "full", "spawn_agent", args)
        done = await made.run(*explain, env={"OLLAMA_HOST": ""})
        assert done.out.startswith(decision), done
