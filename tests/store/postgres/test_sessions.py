"""Sessions in PostgreSQL by the public door: what holds for files holds there."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from planck import Planck
from planck.records.events import ToolEnd, view
from planck.records.outcome import ErrorKind, PlanckError
from planck.testing import ScriptedProvider


def open_planck(
    root: Path, store: str, home: str = "home", model: ScriptedProvider | None = None, mode: str = "ask"
) -> Planck:
    (root / "work").mkdir(exist_ok=True)
    return Planck(
        home=root / home,
        workspace=root / "work",
        environ={},
        flags={"store": store, "permissions": {"mode": mode}},
        providers={"local": model or ScriptedProvider(lambda request: "done")},
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


async def print_much(planck: Planck, name: str) -> tuple[str, ToolEnd]:
    """Returns the session's id, and how the command ended whose output was too long to show."""
    session = await planck.start(model="local/m", name=name)
    await session.run("print it")
    (end,) = [view(event) for event in session.recorded() if event.type == ToolEnd.type]
    await session.aclose()
    assert isinstance(end, ToolEnd)
    return session.id, end


def prints() -> ScriptedProvider:
    return ScriptedProvider([[("bash", {"command": "seq -f 'line %06.0f' 20000"})], "done"])


async def test_an_output_that_was_cut_is_whole_at_another_machine_in_a_fork_and_in_an_export(
    tmp_path: Path, database: str
) -> None:
    async with open_planck(tmp_path, database, model=prints(), mode="full") as here:
        id, end = await print_much(here, "calm-fox")
        whole = here.find_output(id, end.id)
        assert whole
        content = whole.read_bytes()
        assert (len(content), bool(end.whole)) == (240_000, True)
    async with open_planck(tmp_path, database, "other") as there:
        copy = await asyncio.to_thread(there.archive.detail, "calm-fox")
        assert sum(file.stat().st_size for file in there.library.folder.glob("*")) < 200_000, "made without"
        found = await asyncio.to_thread(there.find_output, id, end.id)
        assert found
        assert (found.read_bytes(), found.stat().st_mode & 0o777) == (content, 0o600)
        assert copy.info.id == id
        forked = await there.archive.fork("calm-fox", name="bold-owl")
        again = await asyncio.to_thread(there.find_output, forked.id, end.id)
        assert again
        assert again.read_bytes() == content
        export = tmp_path / "export"
        export.write_bytes(b"".join(there.archive.events("calm-fox")))
        for name in ("calm-fox", "bold-owl"):
            await asyncio.to_thread(there.archive.delete, name)
        assert [*there.library.folder.glob("*.output")] == []
    async with open_planck(tmp_path, "", "alone") as alone:
        imported = await alone.archive.import_session(export)
        brought = alone.find_output(imported.id, end.id)
        assert brought
        assert brought.read_bytes() == content
        assert b"".join(alone.archive.events(imported.id)) == export.read_bytes()


async def test_of_one_machine_the_log_keeps_no_output_twice(tmp_path: Path) -> None:
    async with open_planck(tmp_path, "", model=prints(), mode="full") as planck:
        id, end = await print_much(planck, "calm-fox")
        whole = planck.find_output(id, end.id)
        assert whole
        assert (end.whole, len(whole.read_bytes())) == ("", 240_000)
        (log,) = planck.library.folder.glob("*.db")
        assert log.stat().st_size < 200_000
        whole.unlink()
        with pytest.raises(PlanckError) as gone:
            planck.find_output(id, end.id)
        assert gone.value.err.kind is ErrorKind.RESOURCE_MISSING


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
