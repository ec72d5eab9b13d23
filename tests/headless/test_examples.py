"""Folders as the guides of Planck lay them out: config, TEAM.json, prompts in files, SKILL.md, TOOL.json."""

import json
from pathlib import Path
from typing import Any

from planck import Planck
from tests.command import Bench
from tests.teams import Brains
from tests.wire import chat
from tests.wire.server import WireServer


def put(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))


def example(work: Path, url: str) -> None:
    planck = work / ".planck"
    put(
        planck / "config.json",
        {
            "default_model": "sonnet",
            "sessions_dir": ".planck/sessions",
            "skills_dirs": [".planck/skills", "~/.planck/skills"],
            "teams_dirs": [".planck/teams", "~/.planck/teams"],
            "sidecar": ".planck/sidecar",
            "locale": "en",
            "providers": {
                "anthropic": {"type": "anthropic"},
                "openai": {"type": "openai"},
                "cloud": {"type": "openai", "base_url": "https://cloud.invalid/v1", "identifier": "CLOUD"},
                "near": {"type": "openai", "base_url": url, "has_api_key": False},
            },
            "models": [
                {"id": "sonnet", "model": "claude-sonnet-4-6", "provider": "anthropic"},
                {"id": "small", "model": "m", "provider": "near", "params": {"temperature": 0.6}},
            ],
        },
    )
    member = {"provider": "near", "model_id": "small"}
    put(
        planck / "teams" / "build-team" / "TEAM.json",
        {
            "name": "build-team",
            "members": [
                {
                    "type": "orchestrator",
                    **member,
                    "system_prompt": "prompts/orchestrator.md",
                    "tools": ["read"],
                },
                {
                    "type": "builder",
                    "name": "Builder",
                    "description": "Implements tasks",
                    **member,
                    "system_prompt": "prompts/builder.md",
                    "tools": ["read", "write", "edit", "bash", "check_size"],
                    "skills": ["code_review"],
                    "opts": {"temperature": 0.7},
                },
            ],
        },
    )
    put(planck / "teams" / "build-team" / "prompts" / "orchestrator.md", "You delegate.\n")
    put(planck / "teams" / "build-team" / "prompts" / "builder.md", "You build.\n")
    head = "---\nname: code_review\ndescription: Reviews code.\nalways_present: true\n---\n"
    put(planck / "skills" / "code_review" / "SKILL.md", f"{head}\nSee references/rubric.md.\n")
    put(planck / "skills" / "code_review" / "references" / "rubric.md", "Be kind.\n")
    put(
        planck / "tools" / "check_size" / "TOOL.json",
        {
            "name": "check_size",
            "description": "Count the bytes of a file.",
            "command": "wc -c < {{path}}",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string", "description": "File to look at"}},
                "required": ["path"],
            },
        },
    )
    put(work / "AGENTS.md", "House rules.\n")


async def test_an_example_folder_loads_and_works_unchanged(tmp_path: Path) -> None:
    task = {"identifier": "builder", "identifier_type": "type", "task": "look"}
    calls = chat.calls(
        ("check_size", {"path": "AGENTS.md"}),
        ("load_skill", {"name": "code_review", "resource": "references/rubric.md"}),
    )
    brains = Brains(
        {
            "orchestrator": [
                chat.calls(("delegate_task", task)),
                chat.text("Waiting."),
                chat.text("Done."),
            ],
            "Builder": [calls, chat.text("13 bytes, and kind.")],
        }
    )
    async with WireServer(brains) as server:
        bench = Bench(tmp_path, server.url)
        (bench.home / "config.json").unlink()
        example(bench.work, server.url)
        done = await bench.run(
            "run",
            "go",
            "--team",
            "build-team",
            "--trust",
            "--permission-mode",
            "full",
            "--output-format",
            "json",
            env={"HOME": str(bench.home), "OPENAI_API_KEY": "canary"},
        )
        heads = [asked.headers for asked in server.asked]
    assert (done.code, done.err, done.result["text"]) == (0, "", "Done.")
    outputs = [m["content"] for m in brains.last("Builder") if m["role"] == "tool"]
    assert [output.strip() for output in outputs] == ["13", "Be kind."]
    assert not [head for head in heads if "canary" in str(head)]
    systems = [asked.json["messages"][0]["content"] for asked in server.asked]
    builder = next(system for system in systems if "You build." in system)
    assert (
        builder.index("House rules.") < builder.index("You build.") < builder.index("- code_review (project)")
    )
    assert not any("code_review" in system for system in systems if "You delegate." in system)
    assert list((bench.work / ".planck" / "sessions").glob("*.db"))


async def test_nothing_of_it_is_unknown(tmp_path: Path) -> None:
    example(tmp_path / "work", "http://127.0.0.1:9")
    planck = Planck(tmp_path / "home", tmp_path / "work", environ={"HOME": str(tmp_path)}, trust=True)
    assert [notice for notice in planck.notices if "unknown" in notice] == []
    assert list(planck.resources.skills().skills) == ["code_review"]
