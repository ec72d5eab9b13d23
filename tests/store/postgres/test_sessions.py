"""Sessions in PostgreSQL by the public door: what holds for files holds there."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from planck import Planck
from planck.records.outcome import ErrorKind, PlanckError
from planck.testing import ScriptedProvider


def open_planck(root: Path, store: str, home: str = "home") -> Planck:
    (root / "work").mkdir(exist_ok=True)
    return Planck(
        home=root / home,
        workspace=root / "work",
        environ={},
        flags={"store": store},
        providers={"local": ScriptedProvider(lambda request: "done")},
    )


async def test_a_session_goes_on_at_another_machine_with_all_that_was_said(
    tmp_path: Path, database: str
) -> None:
    async with open_planck(tmp_path, database) as here:
        session = await here.start(model="local/m", name="calm-fox")
        assert (await session.run("one")).text == "done"
        await session.aclose()
        head = session.head
    async with open_planck(tmp_path, database, "other") as there:
        (listed,) = await asyncio.to_thread(there.archive.sessions)
        assert (listed.name, listed.head, listed.first_prompt) == ("calm-fox", head, "one")
        again = await there.resume("calm-fox")
        assert again.opened_at == head
        assert (await again.run("two")).text == "done"
        await again.aclose()
    async with open_planck(tmp_path, database) as here:  # only the tail is missing here
        detail = await asyncio.to_thread(here.archive.detail, "calm-fox")
        assert detail.info.head > head
        assert [line for line in here.archive.events("calm-fox") if b'"two"' in line]


async def test_of_two_machines_one_has_the_session_and_the_other_is_told_who(
    tmp_path: Path, database: str
) -> None:
    async with open_planck(tmp_path, database) as here, open_planck(tmp_path, database, "other") as there:
        session = await here.start(model="local/m", name="calm-fox")
        with pytest.raises(PlanckError) as refused:
            await there.resume("calm-fox")
        assert refused.value.err.kind is ErrorKind.WRITER_CONFLICT
        (listed,) = await asyncio.to_thread(there.archive.sessions)
        assert listed.node == refused.value.err.details["node"]
        with pytest.raises(PlanckError) as kept:
            await asyncio.to_thread(there.archive.delete, "calm-fox")
        assert kept.value.err.kind is ErrorKind.WRITER_CONFLICT
        await session.aclose()
        again = await there.resume("calm-fox")
        await again.aclose()


async def test_stored_sessions_are_forked_renamed_exported_imported_and_deleted(
    tmp_path: Path, database: str
) -> None:
    async with open_planck(tmp_path, database) as planck:
        session = await planck.start(model="local/m", name="calm-fox")
        await session.run("one")
        await session.aclose()
        archive = planck.archive
        forked = await archive.fork("calm-fox", name="bold-owl")
        assert (forked.name, forked.parent) == ("bold-owl", session.id)
        assert (await archive.rename("bold-owl", "wise-owl")).name == "wise-owl"
        with pytest.raises(PlanckError) as taken:
            await archive.rename("wise-owl", "calm-fox")
        assert taken.value.err.kind is ErrorKind.NOT_UNIQUE
        export = tmp_path / "export"
        export.write_bytes(b"".join(archive.events("wise-owl")))
        assert (await asyncio.to_thread(archive.delete, "wise-owl")).id == forked.id
        assert [one.name for one in await asyncio.to_thread(archive.sessions)] == ["calm-fox"]
        imported = await archive.import_session(export)
        assert (imported.id, imported.name) == (forked.id, "wise-owl")
        assert b"".join(archive.events("wise-owl")) == export.read_bytes()


async def test_without_a_log_nothing_of_a_session_is_in_the_database(tmp_path: Path, database: str) -> None:
    async with open_planck(tmp_path, database) as planck:
        session = await planck.start(model="local/m", stored=False)
        assert (await session.run("one")).text == "done"
        await session.aclose()
        assert await asyncio.to_thread(planck.archive.sessions) == []


async def test_a_program_that_only_looks_leaves_no_connection_behind(tmp_path: Path, database: str) -> None:
    async with open_planck(tmp_path, database) as planck:
        session = await planck.start(model="local/m", name="calm-fox")
        await session.aclose()
    script = (
        "from planck import Planck\n"
        f"planck = Planck({str(tmp_path / 'home')!r}, {str(tmp_path / 'work')!r}, environ={{}}, "
        f"flags={{'store': {database!r}}})\n"
        "print([info.name for info in planck.archive.sessions()])"
    )
    command = (sys.executable, "-W", "error", "-c", script)
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['calm-fox']\n", "")
