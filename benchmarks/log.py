"""The log against bare `sqlite3` doing the same commits; resume of a long session; the fold's cost."""

import asyncio
import gc
import hashlib
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from planck.records import codec
from planck.records.events import (
    AgentStarted,
    AssistantSaid,
    Compacted,
    Delivery,
    Draft,
    Envelope,
    Event,
    Kind,
    SessionStarted,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnStart,
    TurnStatus,
    UsageSpent,
    View,
)
from planck.records.history import History
from planck.records.messages import AssistantMessage, Message, StopReason, Text, ToolCall, user_text
from planck.records.specs import AgentSpec, ModelSpec
from planck.records.usage import Usage
from planck.store.sqlite.store import SqliteStore

TS = "2026-01-01T00:00:00.000Z"
COMMITS = 2000
EVENTS = 100_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _commits(Path(folder))
        _resume(Path(folder))
    _fold()


def _commits(folder: Path) -> None:
    drafts = [_draft(fact) for fact in _step(1)[:3]]
    ours, bare = _best_of(
        lambda n: asyncio.run(_ours(folder / "ours" / f"{n}.db", drafts)),
        lambda n: _bare(folder / f"{n}.db", drafts),
    )
    rate = COMMITS * len(drafts)
    print(
        f"durable events     {rate / ours:8.0f}/s, bare sqlite3 {rate / bare:8.0f}/s: "
        f"{bare / ours:4.2f} of it (aim >= 0.8)"
    )
    print(f"durable step       {ours / COMMITS * 1000:8.3f} ms (aim about 0.12)")


async def _ours(path: Path, drafts: list[Draft]) -> float:
    store = SqliteStore.create(path, {})
    began = time.process_time()
    for _ in range(COMMITS):
        await store.append(drafts)
    spent = time.process_time() - began
    store.close()
    return spent


def _bare(path: Path, drafts: list[Draft]) -> float:
    """The same numbered bytes, chain and commits, by hand: no loop, no queue, no epoch, nobody to tell."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, bytes BLOB, hash BLOB)")
    seq, previous = 0, bytes(32)
    began = time.process_time()
    for _ in range(COMMITS):
        rows = []
        for draft in drafts:
            seq += 1
            data = codec.encode(Event(seq, draft.ts, draft.agent_id, draft.turn, draft.type, draft.data))
            previous = hashlib.sha256(previous + data).digest()
            rows.append((seq, data, previous))
        db.execute("BEGIN IMMEDIATE")
        db.executemany("INSERT INTO events VALUES (?, ?, ?)", rows)
        db.execute("COMMIT")
    spent = time.process_time() - began
    db.close()
    return spent


def _best_of(*measures: Callable[[int], float]) -> list[float]:
    """In turns, against drift."""
    rounds = [[measure(n) for measure in measures] for n in range(9)]
    return [min(times) for times in zip(*rounds, strict=True)]


def _resume(folder: Path) -> None:
    """In a process of its own, for an honest figure of its memory."""
    home = folder / "home"
    (folder / "work").mkdir()
    asyncio.run(_long_session(home / "sessions" / "abc_long-one.db", folder / "work"))
    out = subprocess.run(
        [sys.executable, "-c", _RESUME, str(home), str(folder / "work")],
        capture_output=True,
        text=True,
        check=True,
    )
    spent, kilobytes, idle = out.stdout.split()
    print(
        f"resume of {EVENTS} events {float(spent):5.2f} s of CPU (aim <= 1), {int(kilobytes) // 1024} MB, "
        f"of which {int(idle) // 1024} MB before (aim <= 100)"
    )


_RESUME = """
import asyncio, resource, sys, time
from planck import Planck
from planck.testing.scripted import ScriptedProvider
async def main():
    async with Planck(sys.argv[1], sys.argv[2], environ={}, providers={"double": ScriptedProvider([])}) as p:
        idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.process_time()
        session = await p.resume("long-one")
        print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, idle)
asyncio.run(main())
"""


async def _long_session(path: Path, work: Path) -> None:
    meta = {"id": "abc", "name": "long-one", "workspace": str(work), "created": TS}
    store = SqliteStore.create(path, meta)
    spec = AgentSpec(
        id="a", type="orchestrator", name="orchestrator", role="orchestrator", model=ModelSpec("double", "m")
    )
    started = SessionStarted(id="abc", name="long-one", workspace=str(work), version="1")
    await store.append(
        [
            Draft(TS, None, 0, started.type, msgspec.Raw(codec.encode(started))),
            _draft(AgentStarted(agent=spec)),
        ]
    )
    number = 0
    while store.head < EVENTS:
        number += 1
        facts = _turn(number)
        if number % 100 == 0:
            kept: tuple[Message, ...] = (
                user_text("question 1"),
                user_text("what happened " * 100, "summary"),
            )
            facts.append(
                Compacted(messages=kept, turn_at=1, tokens_before=90_000, tokens_after=900, how="summarised")
            )
        await store.append([_draft(fact) for fact in facts])
    store.close()


def _turn(number: int) -> list[View]:
    id = f"e{number}"
    return [
        Envelope(id=id, kind=Kind.PROMPT, sender="user", receiver="a", text=f"question {number}"),
        TurnStart(kind=Kind.PROMPT, message_id=id),
        Delivery(ids=(id,), state="delivered"),
        *_step(number),
        TurnEnd(status=TurnStatus.COMPLETED, text="", usage=Usage()),
    ]


def _step(number: int) -> list[View]:
    call = ToolCall(f"t{number}", f"call_{number}", "read", '{"path":"src/planck/store/sqlite/store.py"}')
    message = AssistantMessage((Text("I look at the store."), call), "double", "m", StopReason.TOOL_CALLS)
    return [
        AssistantSaid(message=message),
        UsageSpent(model="double/m", usage=Usage(1000, 50)),
        ToolStart(id=call.id, name="read", args={"path": "src/planck/store/sqlite/store.py"}),
        ToolEnd(id=call.id, name="read", ok=True, output="a line of code\n" * 20, duration_ms=1),
    ]


def _draft(fact: View) -> Draft:
    return Draft(TS, "a", 1, fact.type, msgspec.Raw(codec.encode(fact)))


def _fold() -> None:
    """Facts and bytes of one step, on a history of so many messages; measured in turns, against drift."""
    cost: dict[int, list[float]] = {100: [], 10_000: []}
    for _ in range(7):
        for size, spent in cost.items():
            spent.append(_steps_at(size))
    short, long = min(cost[100]), min(cost[10_000])
    print(
        f"step of the fold   {short * 1e6:5.1f} us at 100 messages, {long * 1e6:5.1f} us at 10,000: "
        f"{long / short:4.2f} x (aim 0.8 to 1.2)"
    )


def _steps_at(size: int, steps: int = 300) -> float:
    history = History()
    for number in range(size // 2):
        for fact in _step(number):
            history.apply(fact)
    history.wire("x", codec.encode)
    made = [_step(size + number) for number in range(steps)]
    gc.collect()
    gc.disable()
    began = time.process_time()
    for facts in made:
        for fact in facts:
            history.apply(fact)
        history.wire("x", codec.encode)
    spent = time.process_time() - began
    gc.enable()
    return spent / steps
