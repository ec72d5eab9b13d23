"""What `Planck` keeps of the sessions it opened, and what it does when one of them can't be closed."""

import gc
import shutil
import sqlite3
import weakref
from contextlib import closing
from pathlib import Path

import pytest

from planck import ErrorKind, Planck, PlanckError
from planck.records.events import AgentEnded
from planck.testing.scripted import ScriptedProvider


def planck(folder: Path) -> Planck:
    double = ScriptedProvider(lambda request: "ok")
    return Planck(folder / "home", folder, environ={}, providers={"double": double})


async def test_a_closed_session_is_forgotten(tmp_path: Path) -> None:
    async with planck(tmp_path) as app:
        session = await app.start(model="double/m")
        await session.run("hi")
        await session.aclose()
        gone = weakref.ref(session)
        del session
        await app.start(model="double/m")
        gc.collect()
        assert gone() is None


async def test_one_that_fails_to_close_leaves_no_other_open(tmp_path: Path) -> None:
    async def fail() -> None:
        raise OSError("as if its disk were gone")

    app = planck(tmp_path)
    first, second = await app.start(model="double/m"), await app.start(model="double/m")
    close = second.aclose
    second.aclose = fail  # type: ignore[method-assign]
    with pytest.raises(OSError, match="as if"):
        async with app:
            pass
    assert first.closed
    async with planck(tmp_path) as again:
        assert (await (await again.resume(first.id)).run("on")).text == "ok"
    await close()


async def test_a_session_without_an_orchestrator_is_refused_with_where_one_still_was(tmp_path: Path) -> None:
    async with planck(tmp_path) as app:
        session = await app.start(name="whole", model="double/m")
        await session.run("go")
        await session.aclose()
        early = await app.archive.fork("whole", at=1)
        with pytest.raises(PlanckError) as refused:
            await app.resume(early.id)
        assert refused.value.err.kind is ErrorKind.NOT_FOUND
        session = await app.resume("whole")
        lead = session.orchestrator
        ended = AgentEnded(status="failed", reason="it crashed 3 times")
        await session._log.journal.record(lead.id, 1, ended)
        before = session.head - 1
        await session.aclose()
        with pytest.raises(PlanckError) as refused:
            await app.resume("whole")
        assert refused.value.err.kind is ErrorKind.DETACHED
        assert refused.value.err.message.endswith(f'"planck sessions fork {session.id} --at {before}".')
        copy = await app.resume((await app.archive.fork("whole", at=before)).id)
        assert (await copy.run("and now?")).text == "ok"


async def test_a_copy_of_a_sessions_file_takes_the_place_of_nothing(tmp_path: Path) -> None:
    async with planck(tmp_path) as app:
        session = await app.start(name="whole", model="double/m")
        await session.run("go")
        await session.aclose()
        file = app.sessions_dir / f"{session.id}_whole.db"
        with closing(sqlite3.connect(file)) as log, log:
            log.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for copy in (f"{session.id}_old", "0123456789abcdef_other"):
            shutil.copy(file, app.sessions_dir / f"{copy}.db")
        session = await app.resume("whole")
        await session.run("more")
        head = session.head
        await session.aclose()
        for name in ("old", "other"):
            with pytest.raises(PlanckError) as refused:
                await app.resume(name)
            assert refused.value.err.kind is ErrorKind.NOT_UNIQUE
            assert refused.value.err.message.endswith(
                f'Run "planck sessions fork {name}" to continue in a separate session.'
            )
            own = await app.resume((await app.archive.fork(name)).id)
            assert (await own.run("and now?")).text == "ok"
            await own.aclose()
        assert app.archive.info("whole").head == head
        assert len(list(app.sessions_dir.glob("*.db"))) == 5
