"""A question that waits when its process is killed is asked again by whoever resumes the session."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from planck.headless import Inbox, OpenSession
from planck.llm.provider import Request
from planck.records.messages import AssistantMessage
from planck.testing import Say, ScriptedProvider
from tests.killed_asking import NAME, WRITES, open_planck, wait_for_questions
from tests.teams import ask, delegate, facts, write_team

UNKNOWN = "interrupted"


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A session that was killed at its questions, and a copy of it for the next test."""
    place = tmp_path_factory.mktemp("killed") / "place"
    place.mkdir()
    command = [sys.executable, "-m", "tests.killed_asking", str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    shutil.copytree(place, place.parent / "copy")
    return place, place.parent / "copy"


@pytest.fixture
def place(killed: tuple[Path, Path]) -> Path:
    here, copy = killed
    shutil.rmtree(here)
    shutil.copytree(copy, here)
    return here


def written(place: Path) -> dict[str, str]:
    return {
        name: (place / "work" / f"{name}.txt").read_text()
        for name in "bc"
        if (place / "work" / f"{name}.txt").exists()
    }


async def go_on(session: OpenSession) -> None:
    await session.go_on()


async def prompt(session: OpenSession) -> None:
    await session.run("and another thing")


async def wait(session: OpenSession) -> None:
    await session.settled()


async def answer(inbox: Inbox, said: dict[str, bool]) -> None:
    """Says yes or no to each question, by the file that it is about."""
    await wait_for_questions(inbox, 2)
    for question in inbox.pending():
        allow = next(allow for name, allow in said.items() if f"{name}.txt" in question.text)
        assert inbox.answer(question.id, question.digest, allow) is None


def describe(events: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, str]]:
    """Returns how each call ended, in order."""
    ends = [data for type, data in events if type == "tool_end"]
    return [(end["name"], end["error"]["kind"] if end.get("error") else "") for end in ends]


@pytest.mark.parametrize("door", [go_on, prompt, wait])
@pytest.mark.parametrize("c", [True, False], ids=["yes to c", "no to c"])
@pytest.mark.parametrize("b", [True, False], ids=["yes to b", "no to b"])
async def test_each_call_is_asked_about_again_and_runs_or_is_denied_once(
    place: Path, b: bool, c: bool, door: Callable[[OpenSession], Awaitable[None]]
) -> None:
    inbox, model = Inbox(), ScriptedProvider(["it is done", "well"])
    async with open_planck(place, model, inbox) as planck, asyncio.timeout(30):
        session = await planck.resume(NAME, tools=[])
        before = session.opened_at
        working = asyncio.ensure_future(door(session))
        await answer(inbox, {"b": b, "c": c})
        await working
        events = await facts(session)
        old = {event.seq: event.type for event in session.recorded() if (event.seq or 0) <= before}
        result = session.result(before)
    says = {True: "", False: "permission_denied"}
    assert describe(events) == [("read", ""), ("write", says[b]), ("hang", UNKNOWN), ("write", says[c])]
    assert written(place) == {name: "by the agent\n" for name, yes in {"b": b, "c": c}.items() if yes}
    asked = [data for type, data in events if type == "permission_request"]
    assert [one["id"] for one in asked[2:]] == [one["id"] for one in asked[:2]]
    assert [one["digest"] for one in asked[2:]] == [one["digest"] for one in asked[:2]]
    decided = [data for type, data in events if type == "permission_decision"]
    assert [one["decision"] for one in decided] == ["allow" if yes else "deny" for yes in (b, c)]
    assert [one["request_id"] for one in decided] == [one["id"] for one in asked[:2]]
    turns = [type for type, _ in events if type in ("turn_start", "turn_end")]
    assert turns == ["turn_start", "turn_end"] * (2 if door is prompt else 1)
    said = [data["text"] for type, data in events if type == "message"]
    assert said == ["write them"] + ["and another thing"] * (door is prompt)
    (resumed,) = [data for type, data in events if type == "session_resumed"]
    calls = [data["id"] for type, data in events if type == "tool_start"]
    assert resumed["interrupted"] == [calls[2]]
    assert (result.status, result.text) == ("completed", "well" if door is prompt else "it is done")
    assert len(old) == before
    ends = [data for type, data in events if type == "turn_end"]
    assert ends[0]["usage"]["input_tokens"] == 20  # of both processes


@pytest.mark.parametrize(("mode", "kind"), [("full", ""), ("read-only", "permission_denied")])
async def test_a_mode_that_decides_by_now_decides(place: Path, mode: str, kind: str) -> None:
    inbox, model = Inbox(), ScriptedProvider(["it is done"])
    async with open_planck(place, model, inbox, mode) as planck, asyncio.timeout(30):
        session = await planck.resume(NAME, tools=[])
        await session.go_on()
        events = await facts(session)
    assert describe(events) == [("read", ""), ("write", kind), ("hang", UNKNOWN), ("write", kind)]
    asked = [data["id"] for type, data in events if type == "permission_request"]
    decided = [data["request_id"] for type, data in events if type == "permission_decision"]
    assert len(asked) == 2
    assert decided == asked


async def test_where_nobody_can_be_asked_nothing_runs_and_the_turn_is_interrupted(place: Path) -> None:
    model = ScriptedProvider(["it is done"])
    async with open_planck(place, model, None) as planck, asyncio.timeout(30):
        session = await planck.resume(NAME, tools=[])
        await session.go_on()
        events = await facts(session)
    denied = "permission_denied"
    assert describe(events) == [("read", ""), ("write", denied), ("hang", UNKNOWN), ("write", denied)]
    assert written(place) == {}
    statuses = [data["status"] for type, data in events if type == "turn_end"]
    assert statuses == ["interrupted", "completed"]


async def test_a_file_that_changed_since_is_shown_as_it_is_now(place: Path) -> None:
    (place / "work" / "b.txt").write_text("by the user\n")
    inbox, model = Inbox(), ScriptedProvider(["it is done"])
    async with open_planck(place, model, inbox) as planck, asyncio.timeout(30):
        session = await planck.resume(NAME, tools=[])
        await wait_for_questions(inbox, 2)
        before = next(data for type, data in await facts(session) if type == "permission_request")
        question = inbox.pending()[0]
        assert "-by the user" in question.preview
        late = inbox.answer(question.id, before["digest"], True)
        assert late is not None
        assert late.kind == "writer_conflict"
        await asyncio.gather(answer(inbox, {"b": True, "c": True}), session.settled())
    assert written(place) == {"b": "by the agent\n", "c": "by the agent\n"}


async def test_a_session_that_is_killed_again_asks_again(place: Path) -> None:
    command = [sys.executable, "-c", _RESUME, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=os.getcwd()) as process:
        assert process.stdout
        assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    inbox, model = Inbox(), ScriptedProvider(["it is done"])
    async with open_planck(place, model, inbox) as planck, asyncio.timeout(30):
        session = await planck.resume(NAME, tools=[])
        await asyncio.gather(answer(inbox, {"b": True, "c": False}), session.settled())
        events = await facts(session)
    assert describe(events) == [
        ("read", ""),
        ("write", ""),
        ("hang", UNKNOWN),
        ("write", "permission_denied"),
    ]
    assert len({data["id"] for type, data in events if type == "permission_request"}) == 2


_RESUME = """
import asyncio, sys
from pathlib import Path
from planck.headless import Inbox
from planck.testing import ScriptedProvider
from tests.killed_asking import NAME, open_planck, wait_for_questions

async def main():
    inbox = Inbox()
    async with open_planck(Path(sys.argv[1]), ScriptedProvider([]), inbox) as planck:
        await planck.resume(NAME, tools=[])
        await wait_for_questions(inbox, 2)
        print("asked", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_a_fork_denies_what_its_original_still_asks(place: Path) -> None:
    inbox, model = Inbox(), ScriptedProvider(["it is done"])
    async with open_planck(place, model, inbox) as planck, asyncio.timeout(30):
        copy = await planck.archive.fork(NAME, name="copy")
        forked = await planck.resume(copy.id, tools=[])
        kinds = [kind for tool, kind in describe(await facts(forked)) if tool == "write"]
        assert kinds == ["permission_denied"] * 2
        session = await planck.resume(NAME, tools=[])
        await asyncio.gather(answer(inbox, {"b": True, "c": True}), session.settled())
    assert written(place) == {"b": "by the agent\n", "c": "by the agent\n"}


async def test_an_interrupt_withdraws_the_question_for_good(place: Path) -> None:
    inbox, model = Inbox(), ScriptedProvider(["it is done"])
    async with open_planck(place, model, inbox) as planck, asyncio.timeout(30):
        session = await planck.resume(NAME, tools=[])
        await wait_for_questions(inbox, 2)
        session.interrupt()
        await session.settled()
        assert inbox.pending() == ()
        await session.aclose()
        session = await planck.resume(NAME, tools=[])
        await session.go_on()
        events = await facts(session)
    assert len(describe(events)) == 4
    assert written(place) == {}


@pytest.mark.parametrize("how", [ask, delegate], ids=["asked", "given a task"])
async def test_a_worker_asks_again_and_its_report_arrives(tmp_path: Path, how: Callable[[str], Any]) -> None:
    """Its orchestrator's own turn, if that waited for the worker, is interrupted as before."""
    place, killed = tmp_path / "place", tmp_path / "killed"
    place.mkdir()
    members: list[dict[str, Any]] = [
        {"type": "orchestrator", "name": "lead"},
        {"type": "dev", "name": "ben", "tools": ["write"]},
    ]
    team = write_team(place / "team", *members)

    def script(request: Request) -> Say | str:
        said = any(isinstance(message, AssistantMessage) for message in request.history.messages)
        if any(tool.name == "write" for tool in request.tools):
            return "written" if said else Say(calls=[WRITES[0]])
        return "thanks" if said else Say(calls=[how("ben")])

    inbox = Inbox()
    async with open_planck(place, ScriptedProvider(script), inbox) as planck, asyncio.timeout(30):
        session = await planck.start(model="local/m", name=NAME, team=team)
        await session.prompt("go")
        await wait_for_questions(inbox, 1)
        shutil.copytree(place, killed)  # what a kill would leave
        before = inbox.pending()[0].id
        await session.aclose()
    shutil.rmtree(place)
    killed.rename(place)
    inbox = Inbox()
    async with open_planck(place, ScriptedProvider(script), inbox) as planck, asyncio.timeout(30):
        session = await planck.resume(NAME, tools=[])
        await wait_for_questions(inbox, 1)
        (question,) = inbox.pending()
        assert question.id == before
        assert inbox.answer(question.id, question.digest, True) is None
        await session.settled()
        events = await facts(session)
    assert written(place) == {"b": "by the agent\n"}
    reports = [data["text"] for type, data in events if type == "message" and data["kind"] == "response"]
    ends = [data["status"] for type, data in events if type == "turn_end"]
    if how is delegate:
        assert (reports, ends) == (["written"], ["completed"] * 3)
    else:
        assert (reports, ends) == ([], ["interrupted", "completed"])
