"""Checks and evidence through HTTP and ACP."""

from pathlib import Path
from typing import Any

from planck.records.specs import RunOptions
from planck.session.result import Exit
from tests.api.bench import serving
from tests.proof.crew import bash, write


async def test_a_server_runs_the_checks_of_a_session_and_waits_for_them(tmp_path: Path) -> None:
    script: list[Any] = [write("a.py", "x"), bash("python3 -m unittest"), "done", "done all the same"]
    async with serving(tmp_path, script) as served:
        body = {"prompt": "go", "mode": "full", "checks": ["exit 3"], "require_proof": True}
        made = await served.post("/api/v1/sessions", body)
        assert made.status == 201, made.json
        id = made.json["id"]
        answer = await served.send("GET", f"/api/v1/sessions/{id}/result?after=0")
        result = answer.json
        assert (result["status"], result["exit_code"]) == ("failed", int(Exit.UNPROVEN))
        [check] = result["checks"]
        assert (check["command"], check["ok"], check["exit_code"], check["attempts"]) == (
            "exit 3",
            False,
            3,
            1,
        )
        assert result["evidence"]["files_changed"] == ["a.py"]
        assert [one["kind"] for one in result["evidence"]["commands"]] == ["test", "other"]


async def test_a_server_takes_no_check_that_is_not_a_text(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        for checks in ([""], [1], "make", ["x" * 70_000]):
            answer = await served.post("/api/v1/sessions", {"prompt": "go", "checks": checks})
            assert answer.status == 400, checks


def test_options_without_checks_are_as_before() -> None:
    assert RunOptions().checks == ()
    assert RunOptions().require_proof is False
