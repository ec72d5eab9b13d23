"""What a log says of how a session ran: its options, what its models saw, what was paid for in vain."""

import asyncio
import json
import sqlite3
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from planck import Planck, Tool
from planck.archive.archive import Archive
from planck.headless import OpenSession
from planck.llm.provider import Item, ProviderError, Request
from planck.llm.retry import Retrying
from planck.peers.handout import Handout
from planck.peers.sessions import Sessions
from planck.records.events import ToolsChanged, UsageDelta, view
from planck.records.messages import AssistantMessage, StopReason, Text
from planck.records.outcome import ErrorKind
from planck.records.specs import Limits
from planck.records.usage import Usage
from planck.session.bus import Bus
from planck.session.journal import SessionJournal
from planck.store.memory import MemoryStore
from planck.store.store import StoreError
from planck.testing.scripted import Scripted, ScriptedProvider
from planck.toolkit.scribe import Scribe
from planck.toolkit.toolset import ToolSet
from tests.ports import FixedClock
from tests.recorded import recorded

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def nothing(agent_id: str, call_id: str, args: dict[str, Any]) -> str:
    return "x"


def open_planck(tmp_path: Path, script: Any, **more: Any) -> Planck:
    (tmp_path / "work").mkdir(exist_ok=True)
    providers = {"double": ScriptedProvider(script)}
    return Planck(tmp_path / "home", tmp_path / "work", **{"environ": {}, "providers": providers, **more})


async def data_of(session: OpenSession, type: str) -> list[dict[str, Any]]:
    return [event["data"] for event in await recorded(session) if event["type"] == type]


async def test_the_log_says_with_which_options_a_session_was_started_and_resumed(tmp_path: Path) -> None:
    flags = {"permissions": {"rules": [{"tool": "bash", "decision": "deny"}]}, "limits": {"inbox": 7}}
    options: dict[str, Any] = {"max_steps": 5, "max_budget_usd": 1.5, "max_tokens": 9_000, "dry_run": True}
    async with open_planck(tmp_path, ["hello"], flags={**flags, "budget": {"usd": 4, "steps": 40}}) as p:
        session = await p.start(model="double/m", mode="read-only", **options)
        (started,) = await data_of(session, "session_started")
        await session.aclose()
        again = await p.resume(session.id, mode="full")
        (resumed,) = await data_of(again, "session_resumed")
        catalog = p.catalog_date
    first, second = started["options"], resumed["options"]
    rules, sandbox, usual = first.pop("rules"), first.pop("sandbox"), msgspec.to_builtins(Limits())
    assert first == {
        "mode": "read-only",
        "max_steps": 5,
        "dry_run": True,
        "budget": 1.5,
        "limits": {**{key: value for key, value in usual.items() if key != "providers"}, "inbox": 7},
        "catalog": catalog,
        "person": False,
        "max_tokens": 9_000,
        "session_budget": {"usd": 4.0, "steps": 40},
    }
    assert sandbox in ("bubblewrap", "landlock", "none")
    assert (second["mode"], second["max_steps"], second["budget"]) == ("full", 5, 1.5)
    assert (second["dry_run"], second["sandbox"], second["rules"]) == (True, "off", rules)
    assert (second.get("max_tokens"), second["session_budget"]["usd"]) == (9_000, 4.0)


@pytest.mark.parametrize("change", [{"decision": "ask"}, {"tool": "write"}, {"command": "git push"}])
async def test_other_rules_have_another_digest(tmp_path: Path, change: dict[str, str]) -> None:
    digests = []
    for rule in ({"tool": "bash", "decision": "deny"}, {"tool": "bash", "decision": "deny"} | change):
        async with open_planck(tmp_path, [], flags={"permissions": {"rules": [rule]}}) as p:
            (started,) = await data_of(await p.start(model="double/m"), "session_started")
            digests.append(started["options"]["rules"])
    assert digests[0] != digests[1]


async def test_the_log_keeps_what_the_model_saw_at_each_call(tmp_path: Path) -> None:
    """Also when its tools change within a turn: the newest names before an answer are those of its call."""

    async def more(agent_id: str, call_id: str, args: dict[str, Any]) -> str:
        await session.add_tool(Tool("late", "Comes late.", NOTHING, nothing))
        await session.remove_tool("glob")
        return "ok"

    script: list[Scripted] = [[("more", {})], "with another tool", "and again"]
    double = ScriptedProvider(script)
    async with open_planck(tmp_path, [], providers={"double": double}) as p:
        (tmp_path / "work" / "AGENTS.md").write_text("Be kind.")
        session = await p.start(model="double/m", mode="full")
        await session.add_tool(Tool("more", "Gives more.", NOTHING, more))
        await session.run("one")
        (tmp_path / "work" / "AGENTS.md").write_text("Be kinder.")
        await session.run("two")
        events = await recorded(session)
        seen, system, tools = [], "", ""
        for event in events:
            system = event["data"].get("system") or system
            if event["type"] in ("turn_start", "tools_changed"):
                tools = event["data"]["tools"]
            if event["type"] == "assistant_message":
                names = [spec["name"] for spec in json.loads(p.archive.blob(session.id, tools))]
                seen.append((p.archive.blob(session.id, system).decode(), tuple(names)))
    assert seen == [(asked.system, asked.tools) for asked in double.asked]
    assert ["late" in names for _, names in seen] == [False, True, True]
    assert ["kinder" in text for text, _ in seen] == [False, False, True]


async def test_a_peer_s_tool_that_changes_under_its_name_is_a_change_and_an_equal_one_is_none() -> None:
    store = MemoryStore()
    scribe = Scribe(SessionJournal(store, Bus(), FixedClock()), "a")
    old, equal, new = (Tool("t", text, NOTHING, nothing) for text in ("one", "one", "two"))
    peer: Any = SimpleNamespace(component="mcp", name="p", tools={"t": old})
    tools, sessions = ToolSet(), Sessions()
    handout = Handout(SimpleNamespace(wait_for=None), sessions)
    handout.attach(tools, ["t"], scribe, [peer], 128_000)
    scribe.keep_tools(tools.specs)
    handout.replace(peer, {"t": old}, {"t": equal})
    handout.replace(peer, {"t": equal}, {"t": new})
    await sessions.aclose()
    (changed,) = [view(event) for event in store.read()]
    assert isinstance(changed, ToolsChanged)
    assert (changed.added, changed.removed) == ((), ())
    assert [spec["description"] for spec in json.loads(store.blob(changed.tools))] == ["two"]


async def test_a_system_prompt_and_its_tools_are_stored_once(tmp_path: Path) -> None:
    await _run_turns(tmp_path, 100)


@pytest.mark.soak
async def test_a_system_prompt_and_its_tools_are_stored_once_in_1000_turns(tmp_path: Path) -> None:
    await _run_turns(tmp_path, 1000)


async def _run_turns(tmp_path: Path, count: int) -> None:
    async with open_planck(tmp_path, lambda request: "yes") as p:
        session = await p.start(model="double/m", mode="full")
        for number in range(count):
            if number == count // 2:
                await session.aclose()
                session = await p.resume(session.id)
            await session.run("again")
        starts = await data_of(session, "turn_start")
        kept = [line for line in p.archive.events(session.id) if json.loads(line)["type"] == "blob"]
    assert len(starts) == count
    assert len({(start["system"], start["tools"]) for start in starts}) == 1
    assert len(kept) == 2
    assert {len(start["system"]) + len(start["tools"]) for start in starts} == {64}


async def test_no_known_key_is_in_what_is_kept_of_a_prompt_or_a_tool(tmp_path: Path) -> None:
    environ = {"ANTHROPIC_API_KEY": "sk-c4n4ry-0123456789", "OPENAI_API_KEY": 'quo"ted-c4n4ry-99'}
    double = ScriptedProvider(["hello"])
    async with open_planck(tmp_path, [], environ=environ, providers={"double": double}) as p:
        (tmp_path / "work" / "AGENTS.md").write_text('Use sk-c4n4ry-0123456789 and quo"ted-c4n4ry-99.')
        session = await p.start(model="double/m", mode="full")
        await session.add_tool(Tool("t", 'Takes quo"ted-c4n4ry-99.', NOTHING, nothing))
        await session.run("hi")
        (start,) = await data_of(session, "turn_start")
        assert "Use [redacted] and [redacted]." in p.archive.blob(session.id, start["system"]).decode()
        exported = b"".join(p.archive.events(session.id))
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert [path for path in files if b"c4n4ry" in path.read_bytes()] == []
    assert b64encode(b"c4n4ry") not in exported
    assert "c4n4ry" in double.asked[0].system


async def test_exports_imports_and_forks_carry_the_blobs_that_they_need(tmp_path: Path) -> None:
    async with open_planck(tmp_path, lambda request: "yes") as p:
        session = await p.start(model="double/m", mode="full")
        await session.run("one")
        first = session.head
        (tmp_path / "work" / "AGENTS.md").write_text("Later words.")
        await session.run("two")
        starts = await data_of(session, "turn_start")
        await session.aclose()
        whole = tmp_path / "whole.ndjson"
        whole.write_bytes(b"".join(p.archive.events(session.id)))
        names = {name for start in starts for name in (start["system"], start["tools"])}
        kept = {name: p.archive.blob(session.id, name) for name in names}
        there = Archive(tmp_path / "there", tmp_path / "work")
        await there.import_session(whole)
        fork = await there.fork(session.id, at=first)
        assert {name: there.blob(session.id, name) for name in names} == kept
        assert there.blob(fork.id, starts[0]["system"]) == kept[starts[0]["system"]]
        with pytest.raises(StoreError) as caught:
            there.blob(fork.id, starts[1]["system"])
        assert caught.value.err.kind is ErrorKind.RESOURCE_MISSING
        assert b"".join(there.events(session.id)) == whole.read_bytes()


async def test_a_damaged_blob_keeps_no_event_back(tmp_path: Path) -> None:
    async with open_planck(tmp_path, ["yes", "go on"]) as p:
        session = await p.start(model="double/m", mode="full")
        await session.run("one")
        (start,) = await data_of(session, "turn_start")
        head = session.head
        await session.aclose()
        (path,) = (tmp_path / "home" / "sessions").glob("*.db")
        with closing(sqlite3.connect(path)) as db:
            db.execute("UPDATE blobs SET bytes = x'00' WHERE hash IN (SELECT max(hash) FROM blobs)")
            db.commit()
        types = [json.loads(line)["type"] for line in p.archive.events(session.id)]
        assert (types.count("blob"), len(types)) == (1, head + 2)
        fork = await p.archive.fork(session.id)
        assert (await (await p.resume(fork.id)).run("two")).text == "go on"
        assert start["system"] != start["tools"]


class Counting:
    """A model that says what it has counted, and then breaks, stalls, or answers."""

    def __init__(self, *ends: str) -> None:
        self._ends = iter(ends)
        self.stalled = asyncio.Event()

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        yield UsageDelta(usage=Usage(100))
        yield UsageDelta(usage=Usage(100, 7))
        match next(self._ends):
            case "breaks":
                raise ProviderError(ErrorKind.STREAM_CUT, "cut off")
            case "fails":
                raise ProviderError(ErrorKind.PROVIDER_HTTP_ERROR, "no", {"status": 400})
            case "stalls":
                self.stalled.set()
                await asyncio.Event().wait()
            case text:
                yield AssistantMessage((Text(text),), "x", "m", StopReason.END, Usage(200, 20))


async def spent(session: OpenSession) -> list[tuple[str, int, int]]:
    return [
        (data.get("outcome", ""), data["usage"]["input_tokens"], data["usage"]["output_tokens"])
        for data in await data_of(session, "usage")
    ]


async def test_what_an_attempt_used_that_was_cut_and_tried_again_is_recorded(tmp_path: Path) -> None:
    provider = Retrying(Counting("breaks", "breaks", "there"), lambda: 0.0)
    async with open_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.start(model="double/m")
        result = await session.run("go")
        assert await spent(session) == [("cut", 100, 7), ("cut", 100, 7), ("", 200, 20)]
        (end,) = await data_of(session, "turn_end")
    assert (result.text, result.usage) == ("there", Usage(400, 34))
    assert end["usage"]["input_tokens"] == 400


async def test_what_a_call_used_that_failed_or_was_interrupted_is_recorded_and_outlives_a_resume(
    tmp_path: Path,
) -> None:
    provider = Counting("fails", "stalls", "there")
    async with open_planck(tmp_path, [], providers={"double": provider}) as p:
        session = await p.start(model="double/m")
        assert (await session.run("go")).status == "failed"
        await session.prompt("go on")
        await provider.stalled.wait()
        session.interrupt()
        await session.settled()
        await session.run("and now?")
        assert await spent(session) == [("cut", 100, 7), ("cut", 100, 7), ("", 200, 20)]
        ends = await data_of(session, "turn_end")
        assert [end["usage"]["input_tokens"] for end in ends] == [100, 100, 200]
        await session.aclose()
    script: list[Scripted] = [[("list_team", {})], "done"]
    async with open_planck(tmp_path, script) as p:
        again = await p.resume(session.id)
        await again.run("who?")
        (row,) = json.loads((await data_of(again, "tool_end"))[-1]["output"])
    assert (row["usage"]["input_tokens"], row["usage"]["output_tokens"]) == (400 + 10, 34 + 5)


SMALL = {
    "models": [{"id": "small", "model": "m", "provider": "double", "context_window": 30_000}],
    "providers": {"double": {"type": "openai", "base_url": "http://127.0.0.1:9"}},
}


async def test_a_summary_that_was_paid_for_and_did_not_help_is_recorded(tmp_path: Path) -> None:
    def answer(request: Request) -> Scripted:
        return "A summary." if "memory of a coding agent" in request.system else "word " * 300

    async with open_planck(tmp_path, answer, flags=SMALL) as p:
        session = await p.start(model="small", mode="full")
        await session.run("short")
        await session.run("and again")
        before = await spent(session)
        result = await session.run("x" * 120_000)
        assert result.errors[0]["kind"] == "context_overflow"
        assert (await spent(session))[len(before) :] == [("cut", 10, 5)]
