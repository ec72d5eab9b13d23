"""A log of yesterday opens, folds, resumes, exports, imports and forks as for the version that wrote it."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck import Planck
from planck.archive.archive import Archive
from planck.records import codec
from planck.records.events import Event, Frame, view
from planck.records.history import History
from planck.store.sqlite.reader import SqliteReader
from planck.testing.scripted import ScriptedProvider
from tests.recorded import recorded

OLD = Path(__file__).parents[1] / "logs" / "old"
ID = "fc0bf8213ab717f7"
LOG = OLD / f"{ID}_old-fox.db"
EXPORT = OLD / f"{ID}_old-fox.ndjson"
THEN: dict[str, Any] = json.loads((OLD / "old-fox.json").read_text())
"""What the version that wrote it made of it."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the old log in it, as that version left it."""
    sessions = tmp_path / "home" / "sessions"
    sessions.mkdir(parents=True, mode=0o700)
    for file in (LOG, Path(f"{LOG}.witness")):
        shutil.copy(file, sessions)
    (tmp_path / "work").mkdir()
    return tmp_path / "home"


def fold(events: Iterable[Event]) -> dict[str, Any]:
    """What each agent would be shown."""
    histories: dict[str, History] = {}
    for event in events:
        if event.agent_id and (fact := view(event)):
            histories.setdefault(event.agent_id, History()).apply(fact)
    return {id: codec.decode(codec.encode(history.balanced)) for id, history in histories.items()}


def test_an_old_log_folds_to_what_its_agents_were_shown(home: Path) -> None:
    store = SqliteReader.open(home / "sessions" / LOG.name)
    assert store.damage is None
    assert fold(store.read()) == THEN["histories"]
    assert all(view(event) is not None for event in store.read()), "a type or a shape is no longer known"
    store.close()


async def test_an_old_session_goes_on_where_it_was_cut(home: Path) -> None:
    double = ScriptedProvider(lambda request: "on we go")
    async with Planck(home, home.parent / "work", environ={}, providers={"double": double}) as p:
        before = p.archive.detail(ID)
        session = await p.resume(ID)
        events = [event for event in await recorded(session) if (event.seq or 0) > session.opened_at]
        ends = [
            [event.agent_id, event.turn, event.type]
            for event in events
            if event.type in ("tool_end", "turn_end")
        ]
        assert ends == [row for row in THEN["resumed"] if row[2] in ("tool_end", "turn_end")]
        assert [spec.name for spec in session.members] == ["orchestrator", "tester"]
        result = await session.run("go on")
    assert (result.status, result.text) == ("completed", "on we go")
    assert codec.decode(codec.encode(double.asked[-1].messages)) == THEN["shown"]
    rows = [(agent.name, agent.turns, agent.usage.input_tokens) for agent in before.agents]
    assert rows == [("orchestrator", 6, 9140), ("builder", 1, 30), ("tester", 2, 20)]


async def test_an_old_log_is_exported_imported_and_forked_byte_for_byte(home: Path) -> None:
    archive = Archive(home / "sessions", home.parent / "work")
    assert b"".join(archive.events(ID)) == EXPORT.read_bytes()
    there = Archive(home.parent / "other", home.parent / "work")
    assert (await there.import_session(EXPORT)).head == 128
    assert b"".join(there.events(ID)) == EXPORT.read_bytes()
    forked = await there.fork(ID, at=106, name="fork")
    lines = b"".join(there.events(forked.id)).splitlines()
    events = [codec.decode_as(line, Frame) for line in lines[:106]]
    old = [codec.decode_as(line, Frame) for line in EXPORT.read_bytes().splitlines()[:106]]
    assert [msgspec.structs.replace(event, session_id=ID) for event in events] == old
