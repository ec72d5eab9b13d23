"""Hooks through the command line: JSON on stdin, exit 2 blocks, stderr goes to the model."""

import json
from pathlib import Path
from typing import Any

import pytest

from planck.workspace.sandbox.sandbox import find
from tests.command import FULL, Bench, Done
from tests.wire import chat
from tests.wire.server import Reply, WireServer

BASH = chat.calls(("bash", {"command": "touch ran"}))


async def hooked(
    tmp_path: Path, hooks: dict[str, Any], *script: Reply, args: tuple[str, ...] = FULL
) -> tuple[Bench, Done, list[Any]]:
    async with WireServer(list(script)) as server:
        tmp_path.mkdir(exist_ok=True)
        bench = Bench(tmp_path, server.url, hooks=hooks)
        done = await bench.run("run", "go", *args, "--output-format", "json")
    return bench, done, [asked.json["messages"] for asked in server.asked]


def on(event: str, command: str, **more: Any) -> dict[str, Any]:
    return {
        event: [
            {"matcher": more.pop("matcher", ""), "hooks": [{"type": "command", "command": command, **more}]}
        ]
    }


async def test_a_hook_gets_the_call_as_json_and_exit_2_blocks_it(tmp_path: Path) -> None:
    hooks = on("PreToolUse", "cat > seen.json; echo not this one >&2; exit 2", matcher="Bash|Write")
    bench, done, asked = await hooked(tmp_path, hooks, BASH, chat.text("I see."))
    assert (done.code, (bench.work / "ran").exists()) == (0, False)
    seen = json.loads((bench.work / "seen.json").read_text())
    assert (seen["hook_event_name"], seen["tool_name"], seen["tool_input"], seen["cwd"], seen["agent"]) == (
        "PreToolUse",
        "Bash",
        {"command": "touch ran"},
        str(bench.work),
        "orchestrator",
    )
    assert asked[1][-1]["content"].startswith(
        "permission_denied: bash was not run: a PreToolUse hook blocked it: not this one. "
        "Follow the hook's reason, or continue without this call."
    )
    assert [denial["tool"] for denial in done.result["denials"]] == ["bash"]


async def test_a_matcher_lets_other_tools_pass(tmp_path: Path) -> None:
    bench, _, _ = await hooked(tmp_path, on("PreToolUse", "exit 2", matcher="write"), BASH, chat.text("ok"))
    assert (bench.work / "ran").exists()


@pytest.mark.parametrize("command", ["exit 1", "exit 127", "sleep 60", "/no/such/program"])
async def test_any_other_failure_is_a_warning_and_the_call_goes_on(tmp_path: Path, command: str) -> None:
    hooks = on("PreToolUse", command, timeout=0.3)
    async with WireServer([BASH, chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url, hooks=hooks)
        done = await bench.run("run", "go", *FULL, "--output-format", "stream-json")
    assert (done.code, (bench.work / "ran").exists()) == (0, True)
    warned = [line["data"] for line in done.lines if line["type"] == "status"]
    assert [(w["component"], w["name"], w["state"]) for w in warned] == [("hook", "PreToolUse", "failed")]


@pytest.mark.parametrize(
    ("answer", "runs"),
    [
        ({"decision": "block", "reason": "no"}, False),
        ({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}}, False),
        ({"hookSpecificOutput": {"permissionDecision": "allow"}}, True),
    ],
)
async def test_a_decision_may_come_as_json(tmp_path: Path, answer: dict[str, Any], runs: bool) -> None:
    hooks = on("PreToolUse", f"echo '{json.dumps(answer)}'")
    bench, _, _ = await hooked(tmp_path, hooks, BASH, chat.text("ok"))
    assert (bench.work / "ran").exists() is runs


async def test_a_hook_can_not_allow_what_the_mode_denies(tmp_path: Path) -> None:
    hooks = on("PreToolUse", """echo '{"hookSpecificOutput": {"permissionDecision": "allow"}}'""")
    bench, done, _ = await hooked(tmp_path, hooks, BASH, chat.text("ok"), args=())
    assert not (bench.work / "ran").exists()
    assert len(done.result["denials"]) == 1


async def test_what_a_post_hook_objects_to_reaches_the_model(tmp_path: Path) -> None:
    hooks = on("PostToolUse", "cat > seen.json; echo run the formatter >&2; exit 2")
    bench, _, asked = await hooked(tmp_path, hooks, BASH, chat.text("ok"))
    assert (bench.work / "ran").exists()
    assert json.loads((bench.work / "seen.json").read_text())["tool_response"]["ok"] is True
    assert asked[1][-1]["content"].endswith("Hook: run the formatter")


async def test_a_prompt_can_be_refused_or_added_to(tmp_path: Path) -> None:
    _, refused, asked = await hooked(tmp_path / "a", on("UserPromptSubmit", "echo no secrets >&2; exit 2"))
    assert (refused.code, asked) == (3, [])
    assert "no secrets" in refused.err
    hooks = on("UserPromptSubmit", "echo branch: main") | on("SessionStart", "echo it is Monday")
    _, done, asked = await hooked(tmp_path / "b", hooks, chat.text("ok"))
    assert done.code == 0
    assert asked[0][-1]["content"] == "go\n\nHook: it is Monday\n\nHook: branch: main"


@pytest.mark.parametrize("said", ['{"hookSpecificOutput": "x"}', '{"hookSpecificOutput": [1]}', "{}", "{"])
async def test_a_hook_that_says_something_odd_decides_nothing(tmp_path: Path, said: str) -> None:
    hooks = on("UserPromptSubmit", f"echo '{said}'") | on("PreToolUse", f"echo '{said}'")
    _, done, _ = await hooked(tmp_path, hooks, BASH, chat.text("ok"))
    assert (done.code, done.result["text"], done.result["denials"]) == (0, "ok", [])


async def test_a_stop_hook_sends_the_work_on_until_it_agrees(tmp_path: Path) -> None:
    command = "test -e once || { touch once; echo write the changelog >&2; exit 2; }"
    _, done, asked = await hooked(tmp_path, on("Stop", command), chat.text("first"), chat.text("second"))
    assert (done.code, done.result["text"], len(asked)) == (0, "second", 2)
    assert asked[1][-1]["content"] == "A Stop hook asks you to continue: write the changelog"


async def test_a_stop_hook_that_never_agrees_does_not_hold_it_for_ever(tmp_path: Path) -> None:
    answers = [chat.text(f"again {number}") for number in range(9)]
    _, done, asked = await hooked(tmp_path, on("Stop", "exit 2"), *answers)
    assert (done.code, len(asked)) == (0, 6)


async def test_a_dry_run_and_an_untrusted_project_run_no_hook(tmp_path: Path) -> None:
    hooks = on("PreToolUse", "touch hooked") | on("UserPromptSubmit", "touch hooked")
    bench, _, _ = await hooked(tmp_path / "a", hooks, BASH, chat.text("ok"), args=(*FULL, "--dry-run"))
    assert not (bench.work / "hooked").exists()
    async with WireServer([chat.text("ok")]) as server:
        (tmp_path / "b").mkdir()
        bench = Bench(tmp_path / "b", server.url)
        (bench.work / ".planck").mkdir()
        (bench.work / ".planck" / "config.json").write_text(json.dumps({"hooks": hooks}))
        await bench.run("run", "go", *FULL)
        assert not (bench.work / "hooked").exists()
        await bench.run("run", "go", *FULL, "--trust")
        assert (bench.work / "hooked").exists()


async def test_a_hook_sees_no_key_and_nothing_of_it_survives(tmp_path: Path) -> None:
    hooks = on("SessionStart", "env > env.txt; (setsid sleep 600; echo > late) & echo ok")
    async with WireServer([chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url, hooks=hooks)
        await bench.run("run", "go", env={"OPENAI_API_KEY": "canary"})
    assert "canary" not in (bench.work / "env.txt").read_text()
    assert "PLANCK_PROJECT_DIR" in (bench.work / "env.txt").read_text()


async def test_a_hook_that_can_not_be_understood_is_told(tmp_path: Path) -> None:
    hooks = {"PreToolUze": [], "Stop": [{"hooks": [{"command": ""}]}]}
    _, done, _ = await hooked(tmp_path, hooks, chat.text("ok"))
    assert done.code == 0
    assert "Did you mean 'PreToolUse'?" in done.err
    assert "`command` is missing" in done.err


@pytest.mark.parametrize(
    "how", ["./hook.sh", "sh hook.sh", '"$CLAUDE_PROJECT_DIR"/hook.sh', "cd sub; ../hook.sh"]
)
async def test_a_hook_that_a_command_could_replace_runs_in_the_sandbox_and_says_so(
    tmp_path: Path, how: str
) -> None:
    if find().sandbox is None:
        pytest.skip("bubblewrap is not installed: apt-get install bubblewrap")
    async with WireServer([BASH, chat.text("ok")]) as server:
        bench = Bench(tmp_path, server.url, hooks=on("PreToolUse", how))
        (bench.work / "sub").mkdir(parents=True)
        hook = bench.work / "hook.sh"
        hook.write_text(f"#!/bin/sh\ncd {bench.work}; touch inside; touch {tmp_path}/escaped; exit 0\n")
        hook.chmod(0o755)
        mode = ("--permission-mode", "workspace")
        done = await bench.run("run", "go", *mode, "--output-format", "stream-json")
    assert (done.code, (bench.work / "inside").exists(), (tmp_path / "escaped").exists()) == (0, True, False)
    told = [line["data"] for line in done.lines if line["type"] == "status"]
    assert [(one["component"], one["state"]) for one in told] == [("hook", "confined")]
    assert "an agent could replace" in told[0]["detail"]
