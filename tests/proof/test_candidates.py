"""Checks of work in a view: they run on what the workspace would be, and before it is that."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from planck.records.specs import RunOptions
from planck.session.result import Exit
from tests.proof.crew import Script, bash, delegate, facts, open_planck, reports, respond, write
from tests.proof.test_checks import list_processes

CHECK = "grep -q fixed code.txt"
LEAD = [delegate(done_when=[CHECK]), "waiting", "the end"]


def order(session: Any) -> list[str]:
    wanted = ("checked", "landing_refused", "landing_started", "landing_finished", "message")
    return [event.type for event in session.recorded() if event.type in wanted]


async def test_work_in_a_view_lands_once_its_check_has_passed_in_the_candidate(tmp_path: Path) -> None:
    check = f"pwd; ls; touch left.txt; {CHECK}"
    script = Script(
        {
            "lead": [delegate(done_when=[check]), "waiting", "the end"],
            "builder": [write("code.txt", "broken"), "I fixed it", write("code.txt", "fixed"), "now I did"],
        }
    )
    async with open_planck(tmp_path, script, builder={"workspace": "own"}) as planck:
        (tmp_path / "work/other.txt").write_text("the user's")
        session = await planck.start("pair")
        assert (await session.run("have it fixed")).exit_code == Exit.DONE
        red, base, green = facts(session, "checked")
        assert [red["scope"], base["scope"], green["scope"]] == ["task", "base", "task"]
        assert f"{tmp_path}/work\ncode.txt\nother.txt" in red["output"]
        [refused] = facts(session, "landing_refused")
        assert (refused["landing"], refused["why"], refused["exit_code"]) == (red["landing"], "check", 1)
        [landed] = facts(session, "landing_finished")
        assert landed["landing"] == green["landing"]
        assert green["seq"] < facts(session, "landing_started")[0]["seq"]
        told = next(one for one in facts(session, "message") if "Not done yet" in one["text"])
        assert told["origin"] == "planck"
        assert f"`{check}` ended with exit code 1 (attempt 1 of 3). Nothing landed." in told["text"]
        [report] = reports(session)
        assert (report["text"], report["outcome"]) == ("now I did", "completed")
        assert (tmp_path / "work/code.txt").read_text() == "fixed"
        assert not (tmp_path / "work/left.txt").exists()
        # What the check left is nobody's change, and the green check is of the files as they are.
        assert {one["path"] for one in facts(session, "file_changed")} == {"code.txt"}
        assert [run.fresh for run in session.result(0).evidence.commands] == [False, False, True]
    assert not [*(tmp_path / "home/views").glob("*/v*")]


async def test_work_whose_check_stays_red_never_lands(tmp_path: Path) -> None:
    lines = [step for text in "abc" for step in (write("code.txt", text), f"done {text}")]
    async with open_planck(
        tmp_path, {"lead": LEAD, "builder": lines}, builder={"workspace": "own"}
    ) as planck:
        session = await planck.start("pair")
        await session.run("have it fixed")
        checks = [one for one in facts(session, "checked") if one["scope"] == "task"]
        assert [one["attempt"] for one in checks] == [1, 2, 3]
        assert [one["why"] for one in facts(session, "landing_refused")] == ["check"] * 3
        [report] = reports(session)
        assert report["outcome"] == "not finished: a check stayed red"
        assert "did not land, and are still in its own view" in report["text"]
        assert not (tmp_path / "work/code.txt").exists()


async def test_a_red_check_is_not_run_again_where_the_agent_changed_nothing(tmp_path: Path) -> None:
    lines = [write("code.txt", "broken"), "done", "done all the same"]
    async with open_planck(
        tmp_path, {"lead": LEAD, "builder": lines}, builder={"workspace": "own"}
    ) as planck:
        session = await planck.start("pair")
        await session.run("have it fixed")
        assert [one["scope"] for one in facts(session, "checked")] == ["task", "base"]
        assert [one["outcome"] for one in reports(session)] == ["not finished: a check stayed red"]


async def test_the_check_sees_what_others_changed_in_the_workspace_meanwhile(tmp_path: Path) -> None:
    def later(request: Any) -> Any:
        (tmp_path / "work/other.txt").write_text("the user broke it")
        return "done"

    lines = iter([write("code.txt", "fixed"), later])

    def builder(request: Any) -> Any:
        said = next(lines, "done")
        return said(request) if callable(said) else said

    lead = [delegate(done_when=["! test -e other.txt"]), "waiting", "the end"]
    script = Script({"lead": lead, "builder": builder})
    async with open_planck(tmp_path, script, builder={"workspace": "own"}) as planck:
        session = await planck.start("pair")
        await session.run("have it fixed")
        assert [one["ok"] for one in facts(session, "checked")] == [False, True]
        assert not (tmp_path / "work/code.txt").exists()


async def test_a_response_within_a_task_with_checks_lands_nothing_yet(tmp_path: Path) -> None:
    lines = [write("code.txt", "broken"), respond("all done"), "done", write("code.txt", "fixed"), "done"]
    async with open_planck(
        tmp_path, {"lead": LEAD, "builder": lines}, builder={"workspace": "own"}
    ) as planck:
        session = await planck.start("pair")
        await session.run("have it fixed")
        sent = next(one for one in facts(session, "message") if one["text"] == "all done")
        assert sent["outcome"] == "in progress"
        assert len(facts(session, "landing_started")) == 1
        assert (tmp_path / "work/code.txt").read_text() == "fixed"


async def test_a_task_that_changed_nothing_is_checked_in_a_tree_of_its_own(tmp_path: Path) -> None:
    lead = [delegate(done_when=["touch left.txt"]), "waiting", "the end"]
    async with open_planck(
        tmp_path, {"lead": lead, "builder": ["done"]}, builder={"workspace": "own"}
    ) as planck:
        session = await planck.start("pair")
        await session.run("have it fixed")
        [checked] = facts(session, "checked")
        assert (checked["ok"], "landing" in checked) == (True, False)
        assert [one["outcome"] for one in reports(session)] == ["completed"]
        assert not (tmp_path / "work/left.txt").exists()


@pytest.mark.parametrize("passed", [True, False])
async def test_the_check_of_an_isolated_run_runs_in_the_candidate_and_once_on_the_base(
    tmp_path: Path, *, passed: bool
) -> None:
    lines = [write("code.txt", "broken"), "done", write("code.txt", "fixed" if passed else "no"), "done"]
    check = f"touch left.txt; {CHECK}"
    async with open_planck(tmp_path, {"orchestrator": lines}) as planck:
        session = await planck.start(settings=RunOptions(checks=(check,), isolated=True))
        result = await session.run("fix it")
        assert result.exit_code == (Exit.DONE if passed else Exit.UNPROVEN)
        [row] = result.checks
        assert (row.ok, row.base_ok) == (passed, False)
        scopes = [one["scope"] for one in facts(session, "checked")]
        assert scopes[:3] == ["run", "base", "run"]
        assert scopes.count("base") == 1
        assert all(one["landing"] for one in facts(session, "checked") if one["scope"] == "run")
        told = next(one for one in facts(session, "message") if "Not done yet" in one["text"])
        assert "It was red before your work, too" in told["text"]
        assert not [*(tmp_path / "work").iterdir()]
        assert {one["path"] for one in facts(session, "file_changed")} == {"code.txt"}


async def test_an_interrupt_ends_a_check_in_a_candidate_and_lands_nothing(tmp_path: Path) -> None:
    nap = "sleep 600.0827"
    lead = [delegate(done_when=[f"{nap}; true"]), "waiting", "the end"]
    lines = [write("code.txt", "fixed"), "done"]
    async with open_planck(
        tmp_path, {"lead": lead, "builder": lines}, builder={"workspace": "own"}
    ) as planck:
        session = await planck.start("pair")
        running = asyncio.ensure_future(session.run("have it fixed"))
        async with asyncio.timeout(30):
            while not list_processes(nap):
                await asyncio.sleep(0.01)
            session.interrupt()
            await running
        assert list_processes(nap) == []
        assert not facts(session, "landing_started")
        assert not (tmp_path / "work/code.txt").exists()
        # The work is in the agent's view still, and the candidate is gone.
        assert len([*(tmp_path / "home/views").glob("*/v*")]) == 1


async def test_no_trick_in_a_view_changes_what_the_runtime_runs(tmp_path: Path) -> None:
    """A model that makes the check's program a no-op for itself: the runtime starts the real one."""
    trick = "mkdir -p bin; printf '#!/bin/sh\\nexit 0\\n' > bin/grep; chmod +x bin/grep; alias grep=true"
    lines = [bash(f"{trick}; export PATH=$PWD/bin:$PATH; echo 'PATH=bin' > .env"), "done", "still done"]
    async with open_planck(
        tmp_path, {"lead": LEAD, "builder": lines}, builder={"workspace": "own"}
    ) as planck:
        session = await planck.start("pair")
        await session.run("have it fixed")
        assert not any(one["ok"] for one in facts(session, "checked"))
        assert not facts(session, "landing_started")
        assert [one["outcome"] for one in reports(session)] == ["not finished: a check stayed red"]
