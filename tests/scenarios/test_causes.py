"""What caused what is in the log: the call, the user's message at the root, and whose words a text is."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.records.outcome import PlanckError
from tests.headless.test_hooks import hooked, on
from tests.teams import Brains, ask, delegate, facts, open_planck, spawned, write_team
from tests.wire import chat
from tests.wire.server import Reply, WireServer

STALLED = (chat.sse(chat.chunk({"index": 0, "delta": {"content": "hm"}})),)
MEMBERS = ({"type": "orchestrator", "name": "lead"}, {"type": "builder", "name": "bob"})


async def test_each_message_wait_answer_and_start_names_its_call_and_the_users_message(
    tmp_path: Path,
) -> None:
    script = {
        "lead": [
            chat.calls(spawned("eve"), ask("bob"), delegate("bob", "build")),
            chat.calls(ask("eve")),
            chat.text("waiting"),
            chat.text("thanks"),
        ],
        "bob": [
            chat.calls(("send_response", {"response": "42"})),
            chat.text("answered"),
            chat.calls(("send_response", {"response": "built"})),
            chat.text("reported"),
        ],
        "eve": [chat.text("my last words are the answer")],
    }
    async with (
        WireServer(Brains(script)) as server,
        open_planck(tmp_path, server.url) as planck,
        asyncio.timeout(30),
    ):
        session = await planck.start(team=write_team(tmp_path / "team", *MEMBERS))
        await session.run("hello")
        log = await facts(session)
    calls = _calls(log)
    prompt, *others = _messages(log)
    assert (prompt["from"], prompt["root"], prompt["origin"], prompt["call_id"]) == (
        "user",
        prompt["id"],
        "user",
        None,
    )
    assert {m["root"] for m in others} == {prompt["id"]}
    assert {(m["from"] == "user", m["origin"]) for m in others} == {(False, "agent"), (True, "planck")}
    by_call = {m["call_id"]: m["kind"] for m in others}
    assert by_call == {
        calls["spawn_agent"][0]: "response",  # to who was there before: that there is one more
        calls["ask_agent"][0]: "ask",
        calls["delegate_task"][0]: "task",
        calls["ask_agent"][1]: "ask",
        calls["send_response"][1]: "response",
    }
    assert [d["call_id"] for type, d in log if type == "wait"] == calls["ask_agent"]
    answered = [d.get("call_id") for type, d in log if type == "delivery" and d["state"] == "answered"]
    assert answered.count(calls["send_response"][0]) == 1
    assert None in answered, "the end of eve's turn answered: no call did"
    started = [d.get("call_id") for type, d in log if type == "agent_started"]
    assert started == [None, None, *calls["spawn_agent"]]


async def test_a_final_text_that_is_sent_as_a_report_has_the_root_of_its_task_and_no_call(
    tmp_path: Path,
) -> None:
    """Also where the user has said something else meanwhile."""

    def lead(messages: list[dict[str, Any]]) -> Reply:
        said = str(messages[-1]["content"])
        return chat.calls(delegate("bob")) if said == "one" else chat.text("noted")

    async with (
        WireServer(Brains({"lead": lead, "bob": [chat.text("built")]})) as server,
        open_planck(tmp_path, server.url) as planck,
        asyncio.timeout(30),
    ):
        session = await planck.start(team=write_team(tmp_path / "team", *MEMBERS))
        await session.prompt("one")
        await session.prompt("two")
        await session.settled()
        log = await facts(session)
    by_text = {message["text"]: message for message in _messages(log)}
    one, two, task, report = (by_text[text] for text in ("one", "two", "work", "built"))
    assert (one["root"], two["root"]) == (one["id"], two["id"])
    assert (task["root"], report["root"]) == (one["id"], one["id"])
    assert (report["call_id"], report["origin"]) == (None, "agent")
    assert (report["cause"], report["outcome"]) == ("turn_end", "completed")


async def test_a_stop_hooks_words_are_not_recorded_as_the_users(tmp_path: Path) -> None:
    command = "test -e once || { touch once; echo write the changelog >&2; exit 2; }"
    bench, done, _ = await hooked(tmp_path, on("Stop", command), chat.text("first"), chat.text("second"))
    exported = await bench.run("sessions", "export", done.result["session_id"])
    messages = [event["data"] for event in exported.lines if event["type"] == "message"]
    assert [(m["from"], m["origin"]) for m in messages] == [("user", "user"), ("user", "hook")]
    assert messages[1]["root"] == messages[0]["id"], "it goes on with what the user asked"
    page = await bench.run("sessions", "export", done.result["session_id"], "--format", "markdown")
    assert "## Hook to orchestrator (prompt)" in page.out
    assert "## User to orchestrator (prompt)" in page.out


def _read_log(planck: Planck, id: str) -> list[tuple[str, dict[str, Any]]]:
    events = [json.loads(line) for line in planck.archive.events(id)]
    return [(event["type"], event["data"]) for event in events if event.get("seq")]


def _messages(log: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    return [data for type, data in log if type == "message"]


def _calls(log: list[tuple[str, dict[str, Any]]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for type, data in log:
        if type == "tool_start":
            found.setdefault(data["name"], []).append(data["id"])
    return found


@pytest.mark.parametrize(
    ("end", "control"),
    [
        ("interrupt", ("interrupt", "orchestrator", "interrupted")),
        ("stop", ("halt", "session", "interrupted")),
        ("timeout", ("halt", "session", "timed_out")),
        ("close", ("halt", "session", "interrupted")),
    ],
)
async def test_however_the_user_ends_a_turn_it_is_a_fact_before_the_turns_end(
    tmp_path: Path, end: str, control: tuple[str, str, str]
) -> None:
    async with WireServer([Reply([*STALLED, asyncio.Event()])]) as server:
        async with open_planck(tmp_path, server.url) as planck, asyncio.timeout(30):
            session = await planck.start()
            ids = {"orchestrator": session.orchestrator.id, "session": session.id}
            run = asyncio.ensure_future(session.run("go", timeout=0.5 if end == "timeout" else None))
            async for event in session.events():
                if event.type in ("text_delta", "control"):
                    break
            if end == "interrupt":
                session.interrupt()
            elif end == "stop":
                await session.stop()
            elif end == "close":
                await session.aclose()
            with suppress(PlanckError):  # whoever closes it under a run has it say so
                await run
        async with open_planck(tmp_path, server.url) as planck, asyncio.timeout(30):
            log = _read_log(planck, session.id)
    types = [type for type, _ in log]
    action, target, status = control
    assert [data for type, data in log if type == "control"] == [
        {"action": action, "target": ids[target], "status": status}
    ]
    if end != "timeout" or "turn_end" in types:  # on a busy machine that may come before the turn
        assert types.index("control") < types.index("turn_end")
        assert log[types.index("turn_end")][1]["status"] == status


async def test_an_interrupt_of_an_idle_session_is_a_fact_and_its_close_is_none(tmp_path: Path) -> None:
    async with WireServer([chat.text("hi")]) as server, open_planck(tmp_path, server.url) as planck:
        session = await planck.start()
        await session.run("go")
        session.interrupt()
        await session.settled()
        await session.aclose()
        log = _read_log(planck, session.id)
    assert log[-1] == (
        "control",
        {"action": "interrupt", "target": session.orchestrator.id, "status": "interrupted"},
    )
