"""Mode `plan`: nothing can be changed, the turn's final text is the plan, and accepted it is carried out."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from planck import ErrorKind, Planck
from planck.headless import OpenSession
from planck.records import codec
from planck.records.outcome import PlanckError
from planck.testing import Say, ScriptedProvider
from tests.command import Bench
from tests.wire import chat
from tests.wire.server import WireServer

WRITE = [("write", {"path": "a.txt", "content": "1"})]
RUN = [("bash", {"command": "touch b.txt"})]


def app(folder: Path, double: ScriptedProvider, mode: str = "") -> Planck:
    flags: dict[str, Any] = {"default_model": "double/m"}
    if mode:
        flags["permissions"] = {"mode": mode}
    work = folder / "work"  # not around the home: file tools would ask there
    work.mkdir()
    return Planck(folder / "home", work, environ={}, flags=flags, providers={"double": double})


def facts(session: OpenSession, type: str) -> list[dict[str, Any]]:
    found = [event for event in session.recorded() if event.type == type]
    return [codec.decode(event.data) for event in found]


@pytest.mark.parametrize("before", ["workspace", "full"])
async def test_a_plan_changes_nothing_and_accepted_it_is_carried_out_in_the_mode_before(
    tmp_path: Path, before: str
) -> None:
    double = ScriptedProvider([WRITE, RUN, "First a.txt.", WRITE, "It is written."])
    async with app(tmp_path, double) as planck:
        session = await planck.start(mode=before)
        await session.change_mode("plan")
        result = await session.run("How would you do it?")
        assert (result.status, result.text) == ("completed", "First a.txt.")
        assert not (tmp_path / "work/a.txt").exists()
        assert not (tmp_path / "work/b.txt").exists()
        assert "end your turn with a plan" in str(double.asked[0].messages)
        accepted = await session.accept_plan()
        await session.settled()
        assert (tmp_path / "work/a.txt").read_text() == "1"
        sent = next(one for one in facts(session, "message") if one["id"] == accepted.message_id)
        assert (sent["text"], sent["origin"]) == ("Go on with the plan.", "planck")
        modes = [(one["before"], one["mode"]) for one in facts(session, "mode_changed")]
        assert modes == [(before, "plan"), ("plan", before)]


@pytest.mark.parametrize(("configured", "after"), [("workspace", "workspace"), ("plan", "ask"), ("", "ask")])
async def test_a_session_that_began_with_plan_goes_on_in_the_configured_mode(
    tmp_path: Path, configured: str, after: str
) -> None:
    async with app(tmp_path, ScriptedProvider(["the plan", "done"]), configured) as planck:
        session = await planck.start(mode="plan")
        await session.run("plan it")
        await session.accept_plan()
        await session.settled()
        assert [(one["before"], one["mode"]) for one in facts(session, "mode_changed")] == [("plan", after)]


async def test_the_mode_before_is_known_after_a_resume(tmp_path: Path) -> None:
    async with app(tmp_path, ScriptedProvider(["the plan", "done"])) as planck:
        session = await planck.start(mode="full", name="mine")
        await session.change_mode("plan")
        await session.run("plan it")
        await session.aclose()
        session = await planck.resume("mine", mode="plan")
        await session.accept_plan()
        await session.settled()
        assert facts(session, "mode_changed")[-1] == {"mode": "full", "before": "plan"}


async def test_only_a_finished_plan_can_be_accepted(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with app(tmp_path, ScriptedProvider(lambda request: Say(text="hm", wait=hold))) as planck:
        session = await planck.start(mode="ask")
        with pytest.raises(PlanckError) as refused:
            await session.accept_plan()
        assert refused.value.err.kind is ErrorKind.INVALID_ARGS
        await session.change_mode("plan")
        await session.prompt("plan it")
        with pytest.raises(PlanckError) as refused:
            await session.accept_plan()
        assert refused.value.err.kind is ErrorKind.INVALID_ARGS
        hold.set()
        await session.settled()
        await session.accept_plan()
        await session.settled()


async def test_a_run_in_plan_mode_prints_the_plan_and_exits_zero(tmp_path: Path) -> None:
    script = [chat.calls(*WRITE), chat.text("Plan: write a.txt.")]
    async with WireServer(script) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run("run", "how?", "--permission-mode", "plan")
    assert (done.code, done.out) == (0, "Plan: write a.txt.\n")
    assert not (bench.work / "a.txt").exists()
