"""What a user meets when the log is not what was written."""

import sqlite3
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.records.outcome import ErrorKind
from planck.store.store import StoreError
from planck.testing.scripted import ScriptedProvider


def open_planck(tmp_path: Path, *answers: str) -> Planck:
    (tmp_path / "work").mkdir(exist_ok=True)
    double = ScriptedProvider(list(answers))
    return Planck(tmp_path / "home", tmp_path / "work", environ={}, providers={"double": double})


async def make(tmp_path: Path) -> tuple[str, Path]:
    async with open_planck(tmp_path, "one", "two") as p:
        session = await p.start(model="double/m", name="calm-fox")
        await session.run("first")
        await session.run("second")
        return session.id, tmp_path / "home" / "sessions" / f"{session.id}_calm-fox.db"


def spoil(path: Path, *changes: str) -> None:
    plain = sqlite3.connect(path, isolation_level=None)
    for change in changes:
        plain.execute(change)
    plain.close()


async def events(session: Any) -> list[Any]:
    found = []
    async with aclosing(session.events()) as stream:
        async for event in stream:
            found.append(event)
            if event.seq == session.head:
                return found
    return found


async def test_a_lost_tail_is_told_once_and_the_session_goes_on(tmp_path: Path) -> None:
    id, path = await make(tmp_path)
    spoil(path, "DELETE FROM events WHERE seq > 12")
    for told in (1, 1):
        async with open_planck(tmp_path, "three", "four") as p:
            session = await p.resume(id)
            assert (await session.run("go on")).exit_code == 0
            errors = [event.data for event in await events(session) if event.type == "error"]
            assert [(e["kind"], e["details"]["sound"]) for e in errors] == [("corrupt_log_line", 12)] * told


async def test_a_changed_event_stops_a_resume_and_a_fork_before_it_goes_on(tmp_path: Path) -> None:
    id, path = await make(tmp_path)
    spoil(path, "UPDATE events SET bytes = replace(bytes, 'first', 'FIRST') WHERE seq = 3")
    async with open_planck(tmp_path, "three") as p:
        with pytest.raises(StoreError) as caught:
            await p.resume(id)
        assert caught.value.err.kind is ErrorKind.CORRUPT_LOG_LINE
        assert "Fork the session at event 2 to continue." in caught.value.err.message
        (info,) = p.archive.sessions()
        forked = await p.archive.fork(info.id)
        session = await p.resume(forked.id)
        assert (await session.run("go on")).text == "three"


async def test_a_session_of_a_newer_planck_can_be_read_and_not_continued(tmp_path: Path) -> None:
    id, path = await make(tmp_path)
    spoil(path, "PRAGMA user_version = 99")
    async with open_planck(tmp_path) as p:
        with pytest.raises(StoreError, match="newer version of Planck"):
            await p.resume(id)
        assert p.archive.detail(id).last_text == "two"
