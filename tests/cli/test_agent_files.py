"""Agents and commands of files, in the shapes of other programs: called, granted, described, refused."""

import json
import os
from pathlib import Path
from typing import Any

from planck import Planck
from planck.llm.provider import Request
from planck.records.specs import AgentSpec, RunOptions
from planck.testing import Say, ScriptedProvider
from tests.command import Bench
from tests.wire import chat
from tests.wire.server import Asked, Reply, WireServer

REVIEWER = """---
name: reviewer
description: Reads a diff and says what is wrong with it.
tools: Read, Grep, Bash(git diff:*), WebSearch
model: sonnet
color: purple
---
You are a careful reviewer.
"""


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def open_planck(folder: Path, script: Any, **more: Any) -> Planck:
    (folder / "work").mkdir(exist_ok=True)
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    double = ScriptedProvider(script)
    return Planck(folder / "home", folder / "work", environ=environ, providers={"local": double}, **more)


def spec_of(specs: list[AgentSpec], name: str) -> AgentSpec:
    return next(spec for spec in specs if spec.name == name)


async def test_an_agent_file_is_whom_a_run_talks_to(tmp_path: Path) -> None:
    async with WireServer([chat.text("Looks good.")]) as server:
        bench = Bench(tmp_path, server.url)
        write(bench.work / ".claude/agents", "reviewer.md", REVIEWER)
        done = await bench.run("run", "review", "--agent", "reviewer")
        lost = await bench.run("run", "review", "--agent", "reviwer")
        both = await bench.run("run", "review", "--agent", "reviewer", "--team", "crew")
    assert done.code == 0, done.err
    (asked,) = server.asked
    assert asked.json["messages"][0]["content"].endswith("You are a careful reviewer.")
    tools = {tool["function"]["name"] for tool in asked.json["tools"]}
    assert {"read", "grep", "bash"} <= tools
    assert not {"write", "edit", "web_fetch", "glob"} & tools
    assert (lost.code, both.code) == (2, 2)
    assert "reviewer" in lost.err


async def test_a_type_that_a_file_describes_is_spawned_by_type_and_name_alone(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Reply:
        messages = asked.json["messages"]
        if messages[0]["content"].endswith("You are a careful reviewer.\n\nBe quick."):
            return chat.text("I see nothing wrong.")
        if len(messages) == 2:
            spawn = {"type": "reviewer", "name": "rita", "system_prompt": "Be quick."}
            return chat.calls(
                ("spawn_agent", spawn),
                ("spawn_agent", {"type": "unknown", "name": "una"}),
                ("ask_agent", {"identifier": "rita", "identifier_type": "name", "question": "?"}),
            )
        return chat.text("done")

    async with WireServer(answer) as server:
        bench = Bench(tmp_path, server.url)
        write(bench.work / ".agents/agents", "reviewer.md", REVIEWER)
        done = await bench.run("run", "go", "--output-format", "stream-json")
    (described,) = (
        tool["function"]
        for tool in server.asked[0].json["tools"]
        if tool["function"]["name"] == "spawn_agent"
    )
    assert "reviewer (Reads a diff and says what is wrong with it.)" in described["description"]
    ends = [line["data"] for line in done.lines if line["type"] == "tool_end"]
    made = json.loads(ends[0]["output"])
    assert {"read", "grep", "bash"} <= set(made["tools"])
    assert "edit" not in made["tools"]
    assert made["ignored"] == ["WebSearch"]
    assert ends[1]["error"]["kind"] == "invalid_args"
    assert ends[2]["output"] == "I see nothing wrong."


async def test_a_member_without_a_prompt_of_its_own_is_what_its_file_says(tmp_path: Path) -> None:
    write(tmp_path / ".claude/agents", "reviewer.md", REVIEWER)
    write(tmp_path / ".claude/agents", "helper.md", "---\ndescription: Does it all.\n---\nHelp.\n")
    members = [
        {"type": "orchestrator"},
        {"type": "reviewer"},
        {"type": "helper", "tools": ["read"]},
        {"type": "reviewer", "name": "other", "system_prompt": "Mine."},
    ]
    write(tmp_path / "home/teams/crew", "TEAM.json", json.dumps({"members": members}))
    async with open_planck(tmp_path, [Say(text="ok")]) as planck:
        session = await planck.start("crew", model="local/m", stored=False)
        reviewer, helper = spec_of(session.members, "reviewer"), spec_of(session.members, "helper")
        assert reviewer.system_prompt == "You are a careful reviewer."
        assert reviewer.tools == ("read", "grep", "bash", "WebSearch")
        assert (helper.system_prompt, helper.tools) == ("Help.", ("read",))
        assert spec_of(session.members, "other").system_prompt == "Mine."


async def test_a_model_of_a_file_is_one_of_the_users_or_nobodys(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    models = [{"id": "sonnet", "model": "big", "provider": "far"}]
    providers = {"far": {"type": "openai", "base_url": "http://127.0.0.1:9/v1"}}
    write(
        tmp_path / "home",
        "config.json",
        json.dumps({"default_model": "local/d", "models": models, "providers": providers}),
    )
    write(tmp_path / "home/agents", "mine.md", REVIEWER.replace("reviewer", "mine"))
    write(
        tmp_path / "home/agents", "odd.md", REVIEWER.replace("reviewer", "odd").replace("sonnet", "nonesuch")
    )
    write(tmp_path / "work/.claude/agents", "theirs.md", REVIEWER.replace("reviewer", "theirs"))
    async with open_planck(tmp_path, [Say(text="ok")]) as planck:
        labels = {}
        for name in ("mine", "odd", "theirs"):
            session = await planck.start(settings=RunOptions(agent=name), stored=False)
            labels[name] = session.orchestrator.model.label
        own = await planck.start(model="local/m", settings=RunOptions(agent="mine"), stored=False)
    assert labels == {"mine": "sonnet", "odd": "local/d", "theirs": "local/d"}
    assert own.orchestrator.model.label == "local/m"


async def test_what_is_no_agent_is_left_out_with_a_reason(tmp_path: Path) -> None:
    folder = tmp_path / "work/.claude/agents"
    write(folder, "README.md", "# About these agents")
    write(folder, "empty.md", "---\ncolor: red\n---\nText.")
    write(folder, "huge.md", REVIEWER + "x" * (10 << 20))
    write(folder, "shown.md", REVIEWER.replace("name: reviewer", "name: The Reviewer"))
    write(tmp_path, "secret.md", REVIEWER)
    os.symlink(tmp_path / "secret.md", folder / "link.md")
    os.mkfifo(folder / "pipe.md")
    async with open_planck(tmp_path, [Say(text="ok")]) as planck:
        found = planck.resources.agents()
    assert list(found.agents) == ["shown"]
    reasons = {file.name for file in found.problems}
    assert {"README.md", "empty.md", "huge.md", "link.md"} <= reasons


async def test_agents_that_would_take_too_much_of_the_window_are_only_named(tmp_path: Path) -> None:
    for number in range(300):
        text = REVIEWER.replace("reviewer", f"agent-{number:03}").replace("Reads", "Reads " * 30)
        write(tmp_path / "home/agents", f"{number}.md", text)
    seen: list[Request] = []

    def answer(request: Request) -> Say:
        seen.append(request)
        return Say(text="ok")

    async with open_planck(tmp_path, answer) as planck:
        session = await planck.start(model="local/m", stored=False)
        await session.run("hi")
    (spawn,) = (tool for tool in seen[0].tools if tool.name == "spawn_agent")
    assert "agent-299" in spawn.description
    assert len(spawn.description) < 6_000


async def test_a_command_of_a_file_is_run_with_its_arguments_and_files(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        write(
            bench.work / ".claude/commands",
            "fix.md",
            "---\ndescription: d\n---\nFix $1 as $ARGUMENTS, see @a.txt",
        )
        write(bench.work / ".claude/commands/git", "commit.md", "Commit.")
        write(
            bench.work / ".claude/commands", "self.md", "I am @.claude/commands/self.md and /self @../out.txt"
        )
        write(bench.work, "a.txt", "the rules")
        write(tmp_path, "out.txt", "outside!")
        done = await bench.run("run", "/fix 42 quickly")
        named = await bench.run("run", "/git:commit all of it", stdin=b"a diff")
        own = await bench.run("run", "/self")
        words = await bench.run("run", "/fix", "7", "very slowly", "--effort", "low")
        lost = await bench.run("run", "/fxi 42")
    assert (done.code, named.code, own.code, lost.code) == (0, 0, 0, 2), (done.err, own.err)
    first, second, third, fourth = (asked.json["messages"][-1]["content"] for asked in server.asked)
    said = "".join(part["text"] for part in first) if isinstance(first, list) else first
    assert said.startswith("Fix 42 as 42 quickly, see @a.txt")
    assert "the rules" in said
    assert second == "Commit.\n\nall of it\n\na diff"
    third = "".join(part["text"] for part in third) if isinstance(third, list) else third
    assert third.count("I am @") == 2
    assert "outside!" not in third
    fourth = "".join(part["text"] for part in fourth) if isinstance(fourth, list) else fourth
    assert (words.code, fourth.startswith("Fix 7 as 7 'very slowly', see")) == (0, True)


async def test_a_prompt_that_starts_with_a_space_is_text_and_not_a_command(tmp_path: Path) -> None:
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url)
        write(bench.work / ".claude/commands", "fix.md", "Fix it.")
        done = await bench.run("run", " /fix it")
        unknown = await bench.run("run", " /fxi it")
    assert (done.code, unknown.code) == (0, 0), (done.err, unknown.err)
    assert [asked.json["messages"][-1]["content"].strip() for asked in server.asked] == ["/fix it", "/fxi it"]


async def test_slash_agents_lists_the_files_and_what_is_wrong_with_them(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "http://127.0.0.1:9")
    none = await bench.run("chat", stdin=b"/agents\n")
    assert "No agent files found. Add one as .planck/agents/NAME.md." in none.out + none.err
    write(bench.work / ".claude/agents", "reviewer.md", REVIEWER)
    write(bench.work / ".claude/agents", "README.md", "About these files.\n")
    done = await bench.run("chat", stdin=b"/agents\n")
    said = done.out + done.err
    assert "reviewer  (project)  " in said
    assert "README.md: " in said
    assert "/team shows the agents at work." in said
