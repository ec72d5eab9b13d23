"""Prompts that may be sent again, and prompts and interrupts for one member of a team."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from planck import ErrorKind, Planck
from planck.headless import OpenSession, Selection
from planck.records import codec
from planck.records.messages import Text, UserMessage
from planck.records.outcome import PlanckError
from planck.testing import Say, ScriptedProvider

TEAM = {
    "name": "pair",
    "members": [{"type": "orchestrator"}, {"type": "worker", "name": "builder"}, {"type": "tester"}],
}


def app(folder: Path, script: Any, config: dict[str, Any] | None = None) -> Planck:
    team = folder / "home/teams/pair"
    team.mkdir(parents=True, exist_ok=True)
    (team / "TEAM.json").write_text(json.dumps(TEAM))
    (folder / "home/config.json").write_text(json.dumps(config or {}))
    (folder / "work").mkdir(exist_ok=True)
    double = ScriptedProvider(script)
    flags = {"default_model": "double/m"}
    return Planck(folder / "home", folder / "work", environ={}, flags=flags, providers={"double": double})


def facts(session: OpenSession, type: str) -> list[dict[str, Any]]:
    found = [event for event in session.recorded() if event.type == type]
    return [{"agent_id": event.agent_id, "seq": event.seq, **codec.decode(event.data)} for event in found]


async def kind_of(work: Any) -> ErrorKind:
    with pytest.raises(PlanckError) as refused:
        await work
    return refused.value.err.kind


async def test_the_same_prompt_with_the_same_id_is_done_once_also_after_a_resume(tmp_path: Path) -> None:
    async with app(tmp_path, lambda request: "ok") as planck:
        session = await planck.start(name="mine")
        first = await session.prompt("go", id="key-1")
        again = await asyncio.gather(*(session.prompt("go", id="key-1") for _ in range(5)))
        assert set(map(tuple, again)) == {tuple(first)}
        assert await kind_of(session.prompt("stop", id="key-1")) is ErrorKind.NOT_UNIQUE
        assert await kind_of(session.prompt("go", id="key-1", steer=True)) is ErrorKind.NOT_UNIQUE
        assert await kind_of(session.prompt("go", id=first.message_id, agent="orchestrator"))
        other = await session.prompt("go")  # without an id each is a new one
        assert await kind_of(session.prompt("x", id=other.message_id)) is ErrorKind.NOT_UNIQUE
        await session.settled()
        messages = facts(session, "message")
        assert [(one["id"], one["seq"]) for one in messages] == [tuple(first), tuple(other)]
        assert messages[0]["request"]["key"] == "key-1"
        assert "request" not in messages[1]
        await session.aclose()
        resumed = await planck.resume("mine")
        assert await resumed.prompt("go", id="key-1") == first
        assert await kind_of(resumed.prompt("else", id="key-1")) is ErrorKind.NOT_UNIQUE
        assert (await resumed.prompt("go", id="key-2")).message_id == "key-2"
        await resumed.settled()
        assert len(facts(resumed, "message")) == 3


@pytest.mark.parametrize("key", ["a b", "x" * 129, "é", "a\n", "../x"])
async def test_what_is_no_key_is_refused_before_anything_happens(tmp_path: Path, key: str) -> None:
    async with app(tmp_path, lambda request: "ok") as planck:
        session = await planck.start()
        head = session.head
        assert await kind_of(session.prompt("go", id=key)) is ErrorKind.INVALID_ARGS
        assert session.head == head


@pytest.mark.parametrize("said", ["", " \n", UserMessage((Text("\t"),))], ids=["nothing", "blank", "message"])
async def test_an_empty_prompt_is_refused_as_by_every_frontend(
    tmp_path: Path, said: str | UserMessage
) -> None:
    async with app(tmp_path, lambda request: "ok") as planck:
        assert await kind_of(planck.start(max_steps=0)) is ErrorKind.INVALID_ARGS
        session = await planck.start()
        head = session.head
        assert await kind_of(session.run(said)) is ErrorKind.NO_PROMPT
        assert session.head == head


async def test_a_client_that_hangs_up_while_it_prompts_may_send_it_again(tmp_path: Path) -> None:
    async with app(tmp_path, lambda request: "ok") as planck:
        session = await planck.start()
        for steps in range(12):
            key = f"key-{steps}"
            sending = asyncio.ensure_future(session.prompt("go", id=key))
            waiting = asyncio.ensure_future(session.prompt("go", id=key))
            for _ in range(steps):
                await asyncio.sleep(0)
            sending.cancel()
            await asyncio.wait({sending})
            assert (await waiting).message_id == key
            assert await session.prompt("go", id=key) == await waiting
        await session.settled()
        assert [one["id"] for one in facts(session, "message")] == [f"key-{n}" for n in range(12)]


async def test_a_prompt_that_was_refused_may_be_sent_again(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with app(tmp_path, lambda request: Say(text="ok", wait=hold), {"limits": {"inbox": 1}}) as planck:
        session = await planck.start()
        await session.prompt("one")
        while not session.live():
            await asyncio.sleep(0)
        await session.prompt("two")
        assert await kind_of(session.prompt("three", id="k")) is ErrorKind.LIMIT_EXCEEDED
        hold.set()
        await session.settled()
        assert (await session.prompt("three", id="k")).message_id == "k"
        await session.settled()


async def test_a_prompt_to_a_member_is_that_member_s_turn_alone(tmp_path: Path) -> None:
    async with app(tmp_path, lambda request: f"heard {len(request.history.messages)}") as planck:
        session = await planck.start("pair")
        ids = {spec.name: spec.id for spec in session.members}
        taken = await session.prompt("you there", agent="builder", id="k")
        assert await session.prompt("you there", agent="builder", id="k") == taken
        assert await kind_of(session.prompt("you there", agent="tester", id="k")) is ErrorKind.NOT_UNIQUE
        await session.settled()
        await session.prompt("more", agent=ids["builder"], steer=True)
        await session.settled()
        starts = facts(session, "turn_start")
        assert [one["agent_id"] for one in starts] == [ids["builder"]] * 2
        assert [one["to"] for one in facts(session, "message")] == [ids["builder"]] * 2


async def test_who_is_no_member_is_told_with_what_was_probably_meant(tmp_path: Path) -> None:
    async with app(tmp_path, lambda request: "ok") as planck:
        session = await planck.start("pair")
        with pytest.raises(PlanckError) as unknown:
            await session.prompt("hi", agent="bilder")
        assert unknown.value.err.kind is ErrorKind.NOT_FOUND
        assert "Did you mean 'builder'?" in unknown.value.err.message
        with pytest.raises(PlanckError) as unknown:
            session.interrupt("nobody")
        assert unknown.value.err.kind is ErrorKind.NOT_FOUND
        assert facts(session, "message") == []


async def test_who_has_ended_is_detached(tmp_path: Path) -> None:
    end = ("destroy_agent", {"identifier": "builder", "identifier_type": "name"})
    script = [[end], "gone"]
    async with app(tmp_path, script) as planck:
        session = await planck.start("pair")
        await session.run("end it")
        assert await kind_of(session.prompt("hi", agent="builder")) is ErrorKind.DETACHED


async def test_an_interrupt_of_one_member_stops_that_one_and_is_recorded(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with app(tmp_path, lambda request: Say(text="at it", wait=hold)) as planck:
        session = await planck.start("pair")
        ids = {spec.name: spec.id for spec in session.members}
        await session.prompt("work", agent="builder")
        await session.prompt("work", agent="tester")
        while len(session.live()) < 2:
            await asyncio.sleep(0)
        session.interrupt("builder")
        while not facts(session, "turn_end"):
            await asyncio.sleep(0.001)
        hold.set()
        await session.settled()
        ends = {one["agent_id"]: one["status"] for one in facts(session, "turn_end")}
        assert ends == {ids["builder"]: "interrupted", ids["tester"]: "completed"}
        controls = [(one["action"], one["target"]) for one in facts(session, "control")]
        assert controls == [("interrupt", ids["builder"])]


async def test_a_session_is_renamed_while_it_is_open_and_found_by_that_name_later(tmp_path: Path) -> None:
    async with app(tmp_path, lambda request: "ok") as planck:
        other = await planck.start(name="other")
        session = await planck.start(name="before")
        await session.rename("after")
        assert session.name == "after"
        assert await kind_of(session.rename("other")) is ErrorKind.NOT_UNIQUE
        assert await kind_of(other.rename("after")) is ErrorKind.NOT_UNIQUE
        assert await kind_of(session.rename("no name!")) is ErrorKind.INVALID_ARGS
        await session.run("go")
        id = session.id
        await session.aclose()
        assert {info.name for info in planck.archive.sessions()} == {"after", "other"}
        resumed = await planck.resume("after")
        assert (resumed.id, resumed.name) == (id, "after")
        assert [one["name"] for one in facts(resumed, "renamed")] == ["after"]


async def test_changes_are_listed_by_agent_turn_and_call_also_those_that_were_undone(tmp_path: Path) -> None:
    script = [
        [("write", {"path": "a.txt", "content": "one\n"})],
        [("edit", {"path": "a.txt", "old_string": "one", "new_string": "two"})],
        "done",
        [("write", {"path": "b.txt", "content": "x\n"})],
        "done",
    ]
    async with app(tmp_path, script) as planck:
        session = await planck.start(mode="full")
        await session.run("first")
        await session.run("second")
        made, edited, other = session.changes()
        assert (made.path, made.turn, made.agent, made.added, made.removed) == (
            "a.txt",
            1,
            "orchestrator",
            1,
            0,
        )
        assert edited.diff == "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two"
        assert session.changes(Selection(turn=2)) == (other,)
        assert session.changes(Selection(call=edited.call_id)) == (edited,)
        assert session.changes(Selection(agent="orchestrator")) == (made, edited, other)
        assert await kind_of(_in_vain(session)) is ErrorKind.NOT_FOUND
        await session.undo(session.undo_plan(Selection(call=edited.call_id)))
        assert [(one.path, one.undone, one.undoes) for one in session.changes()] == [
            ("a.txt", False, ()),
            ("a.txt", True, ()),
            ("b.txt", False, ()),
            ("a.txt", False, (edited.call_id,)),
        ]


async def _in_vain(session: OpenSession) -> None:
    session.changes(Selection(agent="nobody"))
