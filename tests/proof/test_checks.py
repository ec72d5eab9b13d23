"""Checks: commands that the runtime runs before a run or a task counts as done."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck.records import codec
from planck.records.events import Event, TurnStatus
from planck.records.specs import RunOptions
from planck.session.result import Exit, RunTally
from tests.command import Bench
from tests.proof.crew import Script, bash, delegate, facts, open_planck, reports, respond, write
from tests.teams import write_team
from tests.wire import chat
from tests.wire.server import WireServer


def list_processes(words: str) -> list[str]:
    """The processes of this machine with exactly these words."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(line.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip())
    return [one for one in found if one == words]


CHECK = "grep -q fixed code.txt"


async def test_a_run_whose_check_passes_is_done(tmp_path: Path) -> None:
    async with open_planck(tmp_path, {"orchestrator": [write("code.txt", "fixed"), "done"]}) as planck:
        session = await planck.start(settings=RunOptions(checks=(CHECK,)))
        result = await session.run("fix it")
        assert (result.status, result.exit_code) == (TurnStatus.COMPLETED, Exit.DONE)
        [row] = result.checks
        assert (row.command, row.ok, row.exit_code, row.attempts, row.base_ok) == (CHECK, True, 0, 1, None)
        [checked] = facts(session, "checked")
        assert {key: checked[key] for key in ("scope", "command", "exit_code", "ok", "attempt")} == {
            "scope": "run",
            "command": CHECK,
            "exit_code": 0,
            "ok": True,
            "attempt": 1,
        }


async def test_a_red_check_sends_the_orchestrator_back_with_its_output(tmp_path: Path) -> None:
    script = Script(
        {"orchestrator": [write("code.txt", "broken"), "done", write("code.txt", "fixed"), "now it is"]}
    )
    async with open_planck(tmp_path, script) as planck:
        session = await planck.start(settings=RunOptions(checks=(f"cat code.txt; {CHECK}",)))
        result = await session.run("fix it")
        assert (result.exit_code, result.text) == (Exit.DONE, "now it is")
        [row] = result.checks
        assert (row.ok, row.attempts) == (True, 2)
        told = facts(session, "message")[1]
        assert (told["origin"], told["from"]) == ("planck", "user")
        assert told["text"].startswith("[planck: Not done yet: the check `cat code.txt; ")
        assert "ended with exit code 1 (attempt 1 of 3)" in told["text"]
        assert "\nbroken\n" in told["text"]


async def test_a_check_that_stays_red_fails_the_run_with_exit_7(tmp_path: Path) -> None:
    lines = [
        write("code.txt", "one"),
        "done",
        write("code.txt", "two"),
        "done",
        write("code.txt", "3"),
        "done",
    ]
    async with open_planck(tmp_path, {"orchestrator": lines}) as planck:
        session = await planck.start(settings=RunOptions(checks=(CHECK,)))
        result = await session.run("fix it")
        assert (result.status, result.exit_code) == (TurnStatus.FAILED, Exit.UNPROVEN)
        assert [error["kind"] for error in result.errors] == ["command_failed"]
        assert [one["attempt"] for one in facts(session, "checked")] == [1, 2, 3]


async def test_a_check_is_not_run_again_while_nothing_has_changed(tmp_path: Path) -> None:
    async with open_planck(tmp_path, {"orchestrator": ["done", bash("ls"), "done all the same"]}) as planck:
        session = await planck.start(settings=RunOptions(checks=("exit 3",)))
        result = await session.run("fix it")
        assert result.exit_code == Exit.UNPROVEN
        [row] = result.checks
        assert (row.exit_code, row.attempts, row.base_ok) == (3, 1, False)
        assert "It was red before your work, too" in facts(session, "message")[1]["text"]
        assert len(facts(session, "turn_end")) == 2


async def test_each_red_check_is_told_and_a_green_one_runs_again_after_a_change(tmp_path: Path) -> None:
    lines = [write("a.txt", "x"), "done", write("code.txt", "fixed"), "done"]
    async with open_planck(tmp_path, {"orchestrator": lines}) as planck:
        session = await planck.start(settings=RunOptions(checks=("test -f a.txt", CHECK)))
        result = await session.run("fix it")
        assert result.exit_code == Exit.DONE
        assert [(row.ok, row.attempts) for row in result.checks] == [(True, 2), (True, 2)]


async def test_a_task_is_reported_once_its_check_has_passed(tmp_path: Path) -> None:
    script = Script(
        {
            "lead": [delegate(done_when=[CHECK]), "waiting", "all good"],
            "builder": [write("code.txt", "broken"), "I fixed it", write("code.txt", "fixed"), "now I did"],
        }
    )
    async with open_planck(tmp_path, script) as planck:
        session = await planck.start("pair")
        result = await session.run("have it fixed")
        assert (result.exit_code, result.checks) == (Exit.DONE, ())
        [report] = reports(session)
        assert (report["text"], report["origin"], report["outcome"]) == ("now I did", "agent", "completed")
        assert report["cause"] == "turn_end"
        assert 'check "grep -q fixed code.txt" passed' in report["facts"]
        checks = facts(session, "checked")
        assert [(one["scope"], one["ok"], one["attempt"]) for one in checks] == [
            ("task", False, 1),
            ("task", True, 2),
        ]
        task = next(one for one in facts(session, "message") if one["kind"] == "task")
        assert {one["task_id"] for one in checks} == {task["id"]} == {report["correlation_id"]}
        assert len([end for end in facts(session, "turn_end") if end["agent_id"] == report["from"]]) == 1


async def test_a_task_whose_check_stays_red_is_reported_as_not_done(tmp_path: Path) -> None:
    script = Script(
        {
            "lead": [delegate(done_when=["echo why; exit 4"]), "waiting", "I see"],
            "builder": [write("code.txt", "x"), "all tests pass!", "it is done, believe me"],
        }
    )
    async with open_planck(tmp_path, script) as planck:
        session = await planck.start("pair")
        await session.run("have it fixed")
        [report] = reports(session)
        assert (report["origin"], report["outcome"]) == ("planck", "not finished: a check stayed red")
        assert report["text"].startswith("The task is not done: The check `echo why; exit 4` ended with exit")
        shown = next(text for name, text in reversed(script.shown) if name == "lead")
        assert "[planck: response" in shown
        assert "instead of one from agent builder" in shown


async def test_a_response_before_the_checks_is_work_in_progress(tmp_path: Path) -> None:
    script = Script(
        {
            "lead": [delegate(done_when=["exit 4"]), "waiting", "I see", "I see"],
            "builder": [respond("done, all green"), "finished", "finished"],
        }
    )
    async with open_planck(tmp_path, script) as planck:
        session = await planck.start("pair")
        await session.run("have it fixed")
        early = next(one for one in facts(session, "message") if one["text"] == "done, all green")
        assert early["outcome"] == "in progress"
        assert [one["outcome"] for one in reports(session)] == ["not finished: a check stayed red"]


async def test_a_members_own_checks_count_for_each_of_its_tasks(tmp_path: Path) -> None:
    script: dict[str, Any] = {
        "lead": [delegate(), "waiting", "ok"],
        "builder": [write("code.txt", "fixed"), "done"],
    }
    async with open_planck(tmp_path, script, builder={"done_when": [CHECK]}) as planck:
        session = await planck.start("pair")
        await session.run("go")
        assert [one["ok"] for one in facts(session, "checked")] == [True]


async def test_an_interrupt_ends_a_check_and_what_it_started(tmp_path: Path) -> None:
    async with open_planck(tmp_path, {"orchestrator": ["done"]}) as planck:
        nap = "sleep 600.0417"
        command = f"touch begun; {nap}; true"
        session = await planck.start(settings=RunOptions(checks=(command,)))
        running = asyncio.ensure_future(session.run("go"))
        async with asyncio.timeout(30):
            while not list_processes(nap):
                await asyncio.sleep(0.01)
            session.interrupt()
            result = await running
        assert (result.status, result.exit_code) == (TurnStatus.INTERRUPTED, Exit.SIGINT)
        assert list_processes(nap) == []


async def test_a_timeout_ends_a_check(tmp_path: Path) -> None:
    async with open_planck(tmp_path, {"orchestrator": ["done"]}) as planck:
        session = await planck.start(settings=RunOptions(checks=("sleep 600",)))
        result = await session.run("go", timeout=1.5)
        assert (result.status, result.exit_code) == (TurnStatus.TIMED_OUT, Exit.TIMEOUT)


async def test_a_check_that_takes_too_long_is_red_without_an_exit_code(tmp_path: Path) -> None:
    limits = {"check_ms": 200, "check_attempts": 1}
    async with open_planck(tmp_path, {"orchestrator": ["done"]}, limits=limits) as planck:
        session = await planck.start(settings=RunOptions(checks=("sleep 600",)))
        result = await session.run("go")
        assert result.exit_code == Exit.UNPROVEN
        [checked] = facts(session, "checked")
        assert (checked["exit_code"], checked["ok"], checked["refused"]) == (None, False, False)


@pytest.mark.parametrize("mode", ["read-only", "ask"])
async def test_a_users_check_changes_nothing_in_a_mode_that_would_ask(tmp_path: Path, mode: str) -> None:
    async with open_planck(tmp_path, {"orchestrator": ["done", "done"]}, mode=mode) as planck:
        session = await planck.start(settings=RunOptions(checks=("echo x > made.txt",)))
        result = await session.run("go")
        assert result.exit_code == Exit.UNPROVEN
        assert not (tmp_path / "work/made.txt").exists()
        assert facts(session, "permission_request") == []


async def test_a_models_check_has_the_rights_of_its_delegator_and_no_more(tmp_path: Path) -> None:
    rules = {"mode": "full", "rules": [{"tool": "bash", "command": "touch", "decision": "deny"}]}
    script: dict[str, Any] = {
        "lead": [delegate(done_when=["touch made.txt"]), "waiting", "ok"],
        "builder": ["done", "done"],
    }
    async with open_planck(tmp_path, script, permissions=rules) as planck:
        session = await planck.start("pair")
        await session.run("go")
        assert not (tmp_path / "work/made.txt").exists()
        [checked] = facts(session, "checked")
        assert (checked["refused"], checked["ok"], checked["exit_code"]) == (True, False, None)
        [report] = reports(session)
        assert report["text"].startswith("The task is not done: The check `touch made.txt` could not be run")


async def test_a_models_check_that_needs_a_yes_is_not_run_without_one(tmp_path: Path) -> None:
    script: dict[str, Any] = {
        "lead": [delegate(done_when=["touch made.txt"]), "waiting", "ok"],
        "builder": ["done", "done"],
    }
    async with open_planck(tmp_path, script, mode="ask") as planck:
        session = await planck.start("pair")
        await session.run("go")
        assert not (tmp_path / "work/made.txt").exists()
        [checked] = facts(session, "checked")
        assert (checked["refused"], checked["exit_code"]) == (True, None)
        [denied] = facts(session, "permission_decision")
        lead = session.orchestrator.id
        assert (denied["agent_id"], denied["decision"], denied["by"]) == (lead, "deny", "nobody")


async def test_a_budget_that_runs_out_ends_a_run_with_a_red_check_as_capped(tmp_path: Path) -> None:
    async with open_planck(tmp_path, {"orchestrator": lambda request: "done"}) as planck:
        session = await planck.start(settings=RunOptions(checks=("exit 1",), max_tokens=20))
        result = await session.run("go")
        assert result.exit_code == Exit.CAPPED


async def test_the_checks_of_an_untrusted_projects_team_never_run(tmp_path: Path) -> None:
    async with WireServer([chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        member = {"type": "orchestrator", "done_when": ["touch made.txt"]}
        folder = bench.work / ".planck/teams/crew"
        write_team(folder, member)
        words = ("run", "go", "--team", "crew", "--permission-mode", "full")
        done = await bench.run(*words)
        assert (done.code, done.out) == (0, "done\n")
        assert not (bench.work / "made.txt").exists()
        told = [line for line in done.err.splitlines() if "done_when" in line]
        assert len(told) == 1
        assert "does not run" in told[0]
        trusted = await bench.run(*words, "--trust")
        assert trusted.code == 0
        assert (bench.work / "made.txt").exists()


async def test_the_command_line_takes_checks_and_tells_how_they_ended(tmp_path: Path) -> None:
    async with WireServer([chat.text("done")] * 4) as server:
        bench = Bench(tmp_path, server.url)
        red = await bench.run("run", "go", "--check", "true", "--check", "exit 3", "--output-format", "json")
        assert red.code == Exit.UNPROVEN
        assert [(row["command"], row["ok"], row["exit_code"]) for row in red.result["checks"]] == [
            ("true", True, 0),
            ("exit 3", False, 3),
        ]
        assert red.result["status"] == "failed"
        assert red.err == "error: The check `exit 3` ended with exit code 3. [command_failed]\n"
        plain = await bench.run("run", "go", "--check", "true")
        assert (plain.code, plain.out) == (0, "done\n")


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ({"status": TurnStatus.INTERRUPTED}, Exit.SIGINT),
        ({"status": TurnStatus.TIMED_OUT}, Exit.TIMEOUT),
        ({"status": TurnStatus.CAPPED}, Exit.CAPPED),
        ({"status": TurnStatus.FAILED, "kind": "rate_limited"}, Exit.TRANSIENT),
        ({"status": TurnStatus.FAILED, "kind": "permission_denied"}, Exit.DENIED),
        ({"status": TurnStatus.COMPLETED, "text": "", "denied": True}, Exit.DENIED),
        ({"status": TurnStatus.FAILED, "kind": "not_found"}, Exit.UNPROVEN),
        ({"status": TurnStatus.COMPLETED, "text": ""}, Exit.UNPROVEN),
        ({"status": TurnStatus.COMPLETED, "text": "x"}, Exit.UNPROVEN),
    ],
)
def test_a_red_check_yields_to_what_weighs_more_and_to_nothing_else(
    result: dict[str, Any], code: Exit
) -> None:
    made: list[tuple[str, str | None, dict[str, Any]]] = [
        ("turn_start", "o", {"kind": "prompt", "message_id": "m"})
    ]
    if result.get("denied"):
        denied = {"call_id": "c", "tool": "bash", "decision": "deny", "reason": "no"}
        made.append(("permission_decision", "o", denied))
    if kind := result.get("kind"):
        made.append(("error", "o", {"kind": kind, "message": "", "details": {}}))
    end = {"status": result["status"], "text": result.get("text", ""), "usage": {}}
    made.append(("turn_end", "o", end))
    check = {"id": "k", "scope": "run", "command": "c", "exit_code": 1, "ok": False, "attempt": 1}
    made.append(("checked", None, {**check, "duration_ms": 1, "output": ""}))
    events = [
        Event(seq, "", agent, 1, type, msgspec.Raw(codec.encode(data)))
        for seq, (type, agent, data) in enumerate(made, 1)
    ]
    tally = RunTally("o")
    for event in events:
        tally.add(event)
    found = tally.summarise(names={"o": "o"}, session_id="", session_name="", checks=["c"])
    assert found.exit_code == code
    assert found.status is not TurnStatus.COMPLETED


async def test_a_resumed_session_keeps_its_checks_and_an_imported_one_runs_none(tmp_path: Path) -> None:
    async with open_planck(tmp_path, {"orchestrator": lambda request: "done"}) as planck:
        session = await planck.start(settings=RunOptions(checks=("exit 3",)), name="mine")
        await session.run("go")
        log = tmp_path / "mine.ndjson"
        log.write_bytes(b"".join(planck.archive.events("mine")))
        await session.aclose()
        again = await planck.resume("mine")
        assert (await again.run("again")).exit_code == Exit.UNPROVEN
        await again.aclose()
        planck.archive.delete("mine")
        taken = await planck.archive.import_session(log)
        other = await planck.resume(taken.id)
        assert (await other.run("again")).exit_code == Exit.DONE


async def test_an_agent_is_told_how_its_background_command_ended(tmp_path: Path) -> None:
    ended = tmp_path / "work/ended"

    def say(request: Any) -> Any:
        steps = len([one for one in request.history.messages if type(one).__name__ == "AssistantMessage"])
        if steps == 0:
            return bash("touch ended; exit 7", background=True)
        return "done" if any("bg_" in str(one) for one in request.history.messages[2:]) else bash("true")

    async with open_planck(tmp_path, {"orchestrator": say}) as planck:
        session = await planck.start()
        await session.run("go")
        async with asyncio.timeout(30):
            while not ended.exists() or session.commands()[0].running:
                await asyncio.sleep(0.01)
        await session.run("and now")
        told = [one["text"] for one in facts(session, "message") if one["text"].startswith("[planck: bg_")]
        assert len(told) == 1
        assert "ended with exit code 7: touch ended; exit 7. Its output: read path output:" in told[0]
