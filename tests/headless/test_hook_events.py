"""Hooks at what happens to a team, and one that says no in the user's place."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.llm.provider import Request
from planck.records.approval import Answer, Question
from planck.records.outcome import PlanckError
from planck.records.specs import Limits
from planck.testing import Say, ScriptedProvider
from tests.command import until
from tests.teams import facts


def open_planck(folder: Path, script: Any, hooks: dict[str, Any], approver: Any = None) -> Planck:
    (folder / "work").mkdir()
    (folder / "home").mkdir()
    (folder / "home" / "config.json").write_text(json.dumps({"hooks": hooks}))
    return Planck(
        folder / "home",
        folder / "work",
        environ={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        providers={"local": ScriptedProvider(script)},
        approver=approver,
    )


def keep(file: Path) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": f"cat >> {file}"}]}


def told(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


class Person:
    def __init__(self) -> None:
        self.asked: list[Question] = []

    async def decide(self, question: Question) -> Answer:
        self.asked.append(question)
        return Answer(question.id, question.digest, True)


async def test_hooks_hear_of_workers_and_of_questions_in_order(tmp_path: Path) -> None:
    log = tmp_path / "log"
    spawn = {
        **{"type": "helper", "name": "hal", "description": "d", "system_prompt": "Help."},
        **{"provider": "local", "model_id": "m", "base_url": ""},
    }

    def answer(request: Request) -> Say:
        if "You are hal" in request.system:
            return Say(text="Done so.")
        spoken = sum(message.__class__.__name__ == "AssistantMessage" for message in request.history.messages)
        if spoken == 0:
            return Say(calls=[("spawn_agent", spawn)])
        if spoken == 1:
            ask = {"identifier": "hal", "identifier_type": "name", "question": "?"}
            return Say(calls=[("ask_agent", ask), ("write", {"path": "a.txt", "content": "x"})])
        return Say(text="ok")

    events = ("SubagentStart", "SubagentStop", "Notification")
    person = Person()
    async with open_planck(tmp_path, answer, {name: [keep(log)] for name in events}, person) as planck:
        session = await planck.start(model="local/m", mode="ask", stored=False)
        await session.run("go")
    heard = told(log)
    assert sorted(one["hook_event_name"] for one in heard) == sorted(events)
    by_name = {one["hook_event_name"]: one for one in heard}
    assert by_name["SubagentStart"]["agent_type"] == "helper"
    assert by_name["SubagentStop"]["last_assistant_message"] == "Done so."
    assert by_name["Notification"]["notification_type"] == "permission_prompt"
    assert len(person.asked) == 1


async def test_a_hook_says_no_in_the_users_place_and_never_yes(tmp_path: Path) -> None:
    said = {
        "no": '{"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "not on a Monday"}}}',
        "yes": '{"hookSpecificOutput": {"decision": {"behavior": "allow"}}}',
    }
    calls = [("write", {"path": f"{name}.txt", "content": "x"}) for name in ("no", "yes")]
    script = [Say(calls=calls), Say(text="ok")]
    files = {name: tmp_path / f"{name}.json" for name in said}
    for name, text in said.items():
        files[name].write_text(text)
    command = f'case "$(cat)" in *no.txt*) cat {files["no"]} ;; *) cat {files["yes"]} ;; esac'
    hook = {"matcher": "Write", "hooks": [{"type": "command", "command": command}]}
    person = Person()
    async with open_planck(tmp_path, script, {"PermissionRequest": [hook]}, person) as planck:
        session = await planck.start(model="local/m", mode="ask", stored=False)
        result = await session.run("go")
    assert not (tmp_path / "work/no.txt").exists()
    assert (tmp_path / "work/yes.txt").exists()
    assert len(person.asked) == 1
    assert "not on a Monday" in result.denials[0]["reason"]


async def test_hooks_hear_that_a_history_was_made_shorter(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = [Say(text="word_" * 4_000) for _ in range(6)] + [Say(text="A summary."), Say(text="end")]
    events = ("PreCompact", "PostCompact")
    async with open_planck(tmp_path, script, {name: [keep(log)] for name in events}) as planck:
        session = await planck.start(model="local/m", stored=False)
        for number in range(4):
            await session.run(f"say it {number}")
        assert await session.compact() is not None
    heard = [(one["hook_event_name"], one["trigger"]) for one in told(log)]
    assert heard == [("PreCompact", "manual"), ("PostCompact", "manual")]


async def test_a_guard_in_claudes_shape_keeps_rm_and_env_away(tmp_path: Path) -> None:
    guard = tmp_path / "guard.py"
    guard.write_text(
        "import json, sys\n"
        "call = json.load(sys.stdin)\n"
        "given = call['tool_input']\n"
        "if call['tool_name'] == 'Bash' and 'rm -rf' in given.get('command', ''):\n"
        "    print('BLOCKED: rm -rf', file=sys.stderr); sys.exit(2)\n"
        "if call['tool_name'] in ('Read', 'Edit', 'Write') and given.get('file_path', '').endswith('.env'):\n"
        "    print('BLOCKED: .env', file=sys.stderr); sys.exit(2)\n"
    )
    hook = {
        "matcher": "Bash|Read|Edit|MultiEdit|Write",
        "hooks": [{"type": "command", "command": f"/usr/bin/env python3 {guard}"}],
    }
    script = [
        Say(
            calls=[
                ("bash", {"command": "rm -rf kept"}),
                ("read", {"path": ".env"}),
                ("write", {"path": ".env", "content": "x"}),
                ("bash", {"command": "echo fine"}),
            ]
        ),
        Say(text="ok"),
    ]
    async with open_planck(tmp_path, script, {"PreToolUse": [hook]}) as planck:
        (tmp_path / "work/kept").mkdir()
        (tmp_path / "work/.env").write_text("KEY=1")
        session = await planck.start(model="local/m", mode="full", stored=False)
        result = await session.run("go")
    assert sorted(denial["tool"] for denial in result.denials) == ["bash", "read", "write"]
    assert (tmp_path / "work/kept").is_dir()
    assert (tmp_path / "work/.env").read_text() == "KEY=1"


def at_once(command: str) -> list[dict[str, Any]]:
    return [{"hooks": [{"type": "command", "command": command}]}]


@pytest.mark.parametrize("lost", ["refused", "too long", "cancelled", "cancelled at the start"])
async def test_what_a_session_start_hook_says_reaches_the_first_prompt_that_is_taken(
    tmp_path: Path, lost: str
) -> None:
    """A prompt that is refused, by a hook or as too long, or cancelled while a hook runs, leaves it there."""
    held = tmp_path / "held"
    stall = f"test -e {held} || {{ touch {held}; sleep 60; }}"
    start = stall if lost.endswith("start") else "true"
    submit = {"refused": "exit 2", "cancelled": stall}.get(lost, "true")
    hooks = {
        "SessionStart": at_once(f"{start}; echo x >> {tmp_path}/started; echo it is Monday"),
        "UserPromptSubmit": at_once(f"case $(cat) in *lost*) {submit};; esac; echo hello"),
    }
    async with open_planck(tmp_path, ["ok", "ok"], hooks) as app:
        session = await app.start(model="local/m")
        words = "lost" + "x" * Limits().envelope_bytes if lost == "too long" else "lost"
        sending = asyncio.create_task(session.prompt(words))
        if lost.startswith("cancelled"):
            await until(held)
            sending.cancel()
        await asyncio.wait({sending})
        assert sending.cancelled() or isinstance(sending.exception(), PlanckError)
        await session.run("go")
        await session.run("next")
        said = [data["text"] for type, data in await facts(session) if type == "message"]
    assert said == ["go\n\nHook: it is Monday\n\nHook: hello", "next\n\nHook: hello"]
    assert (tmp_path / "started").read_text() == "x\n", "the hook ran once"
