"""A session as a whole: exported, imported, forked, rewound, deleted."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck.archive.archive import Archive
from planck.records.events import (
    AssistantSaid,
    Delivery,
    Draft,
    Envelope,
    ErrorEvent,
    Kind,
    SessionStarted,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnStart,
    TurnStatus,
    view,
)
from planck.records.history import History
from planck.records.messages import AssistantMessage, StopReason, Text, ToolCall
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.usage import Usage
from planck.session.bus import Bus
from planck.session.journal import SessionJournal
from planck.session.session import plan_rewind
from planck.store.sqlite.reader import SqliteReader
from planck.store.sqlite.store import SqliteStore
from planck.store.store import SessionError, StoreError
from tests.ports import FixedClock


async def make(folder: Path, id: str = "abc123", name: str = "calm-fox", workspace: str = "/w") -> Path:
    path = folder / f"{id}_{name}.db"
    created = "2026-01-01T00:00:00.000Z"
    store = SqliteStore.create(path, {"id": id, "name": name, "workspace": workspace, "created": created})
    journal = SessionJournal(store, Bus(), FixedClock())
    await journal.record(None, 0, SessionStarted(id=id, name=name, workspace=workspace, version="1"))
    for number in range(1, 4):
        await turn(journal, number)
    store.keep(b"a picture")
    store.close()
    return path


async def turn(journal: SessionJournal, number: int) -> None:
    asked = f"question {number} über 'quotes' and \\ and \x1b[31m"
    call = ToolCall(f"t{number}", f"p{number}", "read", "{}")
    await journal.record(
        "a",
        number,
        Envelope(id=f"e{number}", kind=Kind.PROMPT, sender="user", receiver="a", text=asked),
        TurnStart(kind=Kind.PROMPT, message_id=f"e{number}"),
        Delivery(ids=(f"e{number}",), state="delivered"),
        AssistantSaid(message=AssistantMessage((call,), "x", "m", StopReason.TOOL_CALLS)),
        ToolStart(id=f"t{number}", name="read", args={}),
        ToolEnd(id=f"t{number}", name="read", ok=True, output="```\nfenced\n```", duration_ms=1),
        AssistantSaid(message=AssistantMessage((Text(f"answer {number}"),), "x", "m", StopReason.END)),
        TurnEnd(status=TurnStatus.COMPLETED, text=f"answer {number}", usage=Usage()),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def stored(path: Path) -> list[bytes]:
    store = SqliteReader.open(path)
    try:
        return list(store.raw())
    finally:
        store.close()


async def test_export_and_import_are_byte_identical(folder: Path, tmp_path: Path) -> None:
    path = await make(folder)
    first = b"".join(Archive(folder, Path("/w")).events("calm-fox"))
    file = tmp_path / "x.ndjson"
    file.write_bytes(first)
    other = tmp_path / "other"
    there = Archive(other, Path("/w"))
    info = await there.import_session(file)
    assert (info.id, info.name, info.head) == ("abc123", "calm-fox", 25)
    assert b"".join(there.events("abc123")) == first
    assert stored(other / path.name) == stored(path)
    assert not [p for p in other.iterdir() if p.name.startswith(".import")]
    lines = [json.loads(line) for line in first.splitlines()]
    assert [line["seq"] for line in lines] == [*range(1, 26), None, None]
    assert {line["session_id"] for line in lines} == {"abc123"}


def _changed(line: int, change: Callable[[dict[str, Any]], None]) -> Callable[[list[bytes]], list[bytes]]:
    def lie(lines: list[bytes]) -> list[bytes]:
        data = json.loads(lines[line])
        change(data)
        text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        return [*lines[:line], text, *lines[line:][1:]]

    return lie


DEEP = b"[" * 1_000_000 + b"]" * 1_000_000
"""More than any Python reads: 3.14 takes more than 3.11 by the size of the stack."""

LIES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "an answer is rewritten": lambda ls: [line.replace(b"answer 2", b"answer 9") for line in ls],
    "an event is left out": lambda ls: ls[:5] + ls[6:],
    "an event is there twice": lambda ls: [*ls[:5], ls[4], *ls[5:]],
    "two are swapped": lambda ls: [*ls[:5], ls[6], ls[5], *ls[7:]],
    "the end is cut off": lambda ls: ls[:-1],
    "the middle is cut off": lambda ls: [*ls[:10], *ls[-2:]],
    "a line is no JSON": lambda ls: [*ls[:3], b"{nonsense\n", *ls[3:]],
    "the last newline is missing": lambda ls: [*ls[:-1], ls[-1].rstrip(b"\n")],
    "a number is negative": _changed(4, lambda d: d.update(seq=-5)),
    "another session": _changed(4, lambda d: d.update(session_id="zzz")),
    "a delta": lambda ls: [*ls[:3], ls[3].replace(b'"seq":4', b'"seq":null'), *ls[4:]],
    "a stored delta type": _changed(3, lambda d: d.update(type="text_delta")),
    "an unknown field": _changed(3, lambda d: d.update(extra=1)),
    "data is no object": _changed(3, lambda d: d.update(data=[1])),
    "a blob is another": lambda ls: [line.replace(b'"base64":"YSBw', b'"base64":"YSBx') for line in ls],
    "an id that is a path": lambda ls: [line.replace(b"abc123", b"../../evil") for line in ls],
    "a name that is a path": _changed(-1, lambda d: d["data"]["meta"].update(name="../../x")),
    "no meta": _changed(-1, lambda d: d["data"].update(meta={})),
    "a count that is wrong": _changed(-1, lambda d: d["data"].update(events=3)),
    "nothing at all": lambda ls: [],
    "not an export": lambda ls: [b"hello\n", b"world\n"],
    "binary": lambda ls: [bytes(range(256)) * 50],
    "a last line that is no UTF-8": lambda ls: [*ls[:-1], ls[-1].replace(b"calm-fox", b"calm-\xff")],
    "a line that is no UTF-8": lambda ls: [*ls[:3], ls[3].replace(b'"ts":"', b'"ts":"\xff'), *ls[4:]],
    "a line that is too deep": lambda ls: [*ls[:3], b"[" * 1_000_000 + b"\n", *ls[4:]],
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
async def test_an_import_that_lies_is_refused_as_a_whole(
    folder: Path, tmp_path: Path, lie: Callable[[list[bytes]], list[bytes]]
) -> None:
    await make(folder)
    lines = list(Archive(folder, Path("/w")).events("calm-fox"))
    file = tmp_path / "x.ndjson"
    file.write_bytes(b"".join(lie(lines)))
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    with pytest.raises(PlanckError) as caught:
        await Archive(other, Path("/w")).import_session(file)
    assert caught.value.err.kind in {ErrorKind.CORRUPT_LOG_LINE, ErrorKind.INVALID_ARGS}
    assert str(file) not in map(os.path.realpath, Path("/proc/self/fd").glob("*"))
    assert list(other.iterdir()) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "sessions", "x.ndjson"]


@pytest.mark.parametrize(
    "lie",
    [
        _changed(3, lambda d: d.update(data=[1])),
        lambda ls: [*ls[:3], ls[3].replace(b'"data":{', b'"data":{"x":"\xff",'), *ls[4:]],
        lambda ls: [*ls[:3], ls[3].replace(b'"data":{', b'"data":{"x":%b,' % DEEP), *ls[4:]],
    ],
    ids=["no object", "no UTF-8", "too deep"],
)
async def test_an_import_whose_sums_are_right_still_has_to_be_events(
    folder: Path, tmp_path: Path, lie: Callable[[list[bytes]], list[bytes]]
) -> None:
    await make(folder)
    lines = list(Archive(folder, Path("/w")).events("calm-fox"))
    forged = lie(lines)
    assert forged != lines
    previous = bytes(32)
    for line in forged[:25]:
        stored_line = line.rstrip(b"\n").replace(b'"session_id":"abc123",', b"")
        previous = hashlib.sha256(previous + stored_line).digest()
    forged = _changed(-1, lambda d: d["data"].update(hash=previous.hex()))(forged)
    file = tmp_path / "x.ndjson"
    file.write_bytes(b"".join(forged))
    with pytest.raises(StoreError, match="line 4"):
        await Archive(tmp_path / "other", Path("/w")).import_session(file)


async def test_an_event_of_an_unknown_shape_is_skipped_by_readers(folder: Path) -> None:
    path = await make(folder)
    store = SqliteStore.open(path)
    for data in (b'{"kind":7}', b'{"kind":"\xff"}'):
        await store.append([Draft("2026-01-01T00:00:00.000Z", "a", 4, "turn_start", msgspec.Raw(data))])
    store.close()
    assert Archive(folder, Path("/w")).detail("calm-fox").info.head == 27


async def test_an_export_of_a_session_that_goes_on_is_what_it_was_at_the_start(
    folder: Path, tmp_path: Path
) -> None:
    writer = SqliteStore.open(await make(folder))
    lines = Archive(folder, Path("/w")).events("calm-fox")
    first = next(lines)
    await writer.append([Draft("2026-02-01T00:00:00.000Z", None, 0, "error", msgspec.Raw(b"{}"))])
    file = tmp_path / "x.ndjson"
    file.write_bytes(first + b"".join(lines))
    writer.close()
    assert (await Archive(tmp_path / "other", Path("/w")).import_session(file)).head == 25


async def test_a_session_that_is_there_is_not_imported_over(folder: Path, tmp_path: Path) -> None:
    await make(folder)
    here = Archive(folder, Path("/w"))
    file = tmp_path / "x.ndjson"
    file.write_bytes(b"".join(here.events("calm-fox")))
    with pytest.raises(SessionError, match="already exists here"):
        await here.import_session(file)


@pytest.mark.parametrize("at", [1, 9, 25])
async def test_a_fork_begins_with_the_same_bytes_and_goes_its_own_way(folder: Path, at: int) -> None:
    path = await make(folder)
    here = Archive(folder, Path("/w"))
    before = stored(path)
    info = await here.fork("calm-fox", at=at, name="other-way")
    assert (info.name, info.parent, info.forked_at, info.head) == ("other-way", "abc123", at, at + 1)
    copy = stored(folder / f"{info.id}_other-way.db")
    assert copy[:at] == before[:at]
    assert json.loads(copy[at])["type"] == "forked"
    assert stored(path) == before
    assert {s.name for s in here.sessions()} == {"calm-fox", "other-way"}


@pytest.mark.parametrize("at", [0, -1, 26])
async def test_a_fork_at_no_event_is_refused(folder: Path, at: int) -> None:
    await make(folder)
    with pytest.raises(StoreError, match="1 to 25"):
        await Archive(folder, Path("/w")).fork("calm-fox", at=at)
    assert len(list(folder.glob("*.db"))) == 1


async def test_a_damaged_session_is_shown_as_far_as_it_is_sound_and_can_be_forked_there(folder: Path) -> None:
    path = await make(folder)
    _spoil(path, "UPDATE events SET bytes = replace(bytes, 'answer', 'ANSWER') WHERE seq = 16")
    here = Archive(folder, Path("/w"))
    detail = here.detail("calm-fox")
    assert "Event 16 " in detail.info.problem
    assert detail.last_text == "answer 1"
    info = await here.fork("calm-fox")
    assert (info.forked_at, info.problem) == (15, "")


def _spoil(path: Path, change: str) -> None:
    import sqlite3

    plain = sqlite3.connect(path, isolation_level=None)
    plain.execute(change)
    plain.close()


async def test_a_rewind_shows_what_was_there_and_takes_nothing_out_of_the_log(folder: Path) -> None:
    path = await make(folder)
    before = stored(path)
    store = SqliteStore.open(path)
    await SessionJournal(store, Bus(), FixedClock()).record("a", 0, plan_rewind(store, 9)["a"])
    told, then = History(), History()
    for event in store.read():
        if event.agent_id == "a" and (fact := view(event)):
            told.apply(fact)
            if (event.seq or 0) <= 9:
                then.apply(fact)
    store.close()
    assert told.messages == then.messages
    assert "answer 1" in str(told.messages)
    assert "question 2" not in str(told.messages)
    assert stored(path)[:25] == before


async def test_a_rewind_into_the_middle_of_a_step_can_be_sent(folder: Path) -> None:
    path = await make(folder)
    store = SqliteStore.open(path)
    await SessionJournal(store, Bus(), FixedClock()).record("a", 0, plan_rewind(store, 13)["a"])
    told = History()
    for event in store.read():
        if event.agent_id == "a" and (fact := view(event)):
            told.apply(fact)
    store.close()
    assert not told.open_calls
    assert "interrupted" in str(told.messages[-1])


@pytest.mark.parametrize("to", [-1, 26])
async def test_a_rewind_to_no_event_is_refused(folder: Path, to: int) -> None:
    store = SqliteStore.open(await make(folder))
    with pytest.raises(StoreError, match="1 to 25"):
        plan_rewind(store, to)
    store.close()


async def test_delete_removes_everything_of_it_and_nothing_else(folder: Path) -> None:
    await make(folder)
    await make(folder, "def456", "bold-owl")
    (folder / "abc123.output").mkdir()
    (folder / "abc123.output" / "1.txt").write_text("output")
    here = Archive(folder, Path("/w"))
    here.delete("calm-fox")
    assert [s.name for s in here.sessions()] == ["bold-owl"]
    assert not [p for p in folder.iterdir() if "abc123" in p.name]
    with pytest.raises(SessionError):
        here.delete("calm-fox")


async def test_an_open_session_is_not_deleted(folder: Path) -> None:
    path = await make(folder)
    store = SqliteStore.open(path)
    with pytest.raises(StoreError) as caught:
        Archive(folder, Path("/w")).delete("calm-fox")
    assert caught.value.err.kind is ErrorKind.WRITER_CONFLICT
    store.close()
    assert len(stored(path)) == 25


async def test_the_listing_is_of_this_workspace_and_names_what_is_damaged(folder: Path) -> None:
    await make(folder)
    await make(folder, "def456", "bold-owl", "/elsewhere")
    (folder / "bad000_lost-seal.db").write_bytes(b"no database at all" * 300)
    (folder / "cut000_half-made.db").write_bytes(b"")
    here = Archive(folder, Path("/w"))
    assert [s.name for s in here.sessions()] == ["calm-fox"]
    everywhere = {s.name: s.problem for s in here.sessions(everywhere=True)}
    assert everywhere["calm-fox"] == everywhere["bold-owl"] == ""
    assert everywhere["lost-seal"].startswith("corrupt_log_line")


async def test_reading_a_session_does_not_make_it_the_newest(folder: Path) -> None:
    await make(folder, "aaa", "old-owl")
    store = SqliteStore.open(await make(folder, "bbb", "new-fox"))
    await store.append([Draft("2026-02-01T00:00:00.000Z", None, 0, "error", msgspec.Raw(b"{}"))])
    store.close()
    here = Archive(folder, Path("/w"))
    here.detail("old-owl")
    assert [s.name for s in here.sessions()] == ["new-fox", "old-owl"]


async def test_search_is_newest_first_and_bounded(folder: Path) -> None:
    await make(folder)
    here = Archive(folder, Path("/w"))
    assert [hit.seq for hit in here.search("ANSWER")] == [24, 16, 8]
    assert [hit.seq for hit in here.search("answer", limit=2)] == [24, 16]
    assert [hit.seq for hit in here.search("ÜBER 'quotes' and \\")] == [18, 10, 2]
    assert list(here.search("nowhere to be found")) == []


async def test_a_damaged_session_hides_no_hit_of_another(folder: Path) -> None:
    _spoil(
        await make(folder, "bbb", "new-fox"),
        "UPDATE events SET bytes = replace(bytes, 'answer', 'ANSWER') WHERE seq = 16",
    )
    await make(folder, "aaa", "old-owl")
    names = {hit.session_name for hit in Archive(folder, Path("/w")).search("answer")}
    assert "old-owl" in names


async def test_the_page_shows_the_conversation_and_can_not_be_broken_out_of(folder: Path) -> None:
    await make(folder)
    page = "".join(Archive(folder, Path("/w")).render_markdown("calm-fox"))
    assert "# Session calm-fox" in page
    assert "## User to a (prompt)\n\nquestion 1" in page
    assert "````\n```\nfenced\n```\n````" in page
    assert "\x1b" not in page


async def test_a_failed_turn_is_on_the_page(folder: Path) -> None:
    path = await make(folder)
    store = SqliteStore.open(path)
    await SessionJournal(store, Bus(), FixedClock()).record(
        "a",
        4,
        ErrorEvent(kind="network", message="down"),
        TurnEnd(status=TurnStatus.FAILED, text="", usage=Usage()),
    )
    store.close()
    page = "".join(Archive(folder, Path("/w")).render_markdown("calm-fox"))
    assert "> **network**: down" in page
    assert "*a: turn failed*" in page
