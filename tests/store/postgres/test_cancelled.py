"""An open that is cancelled, at whichever await, leaves a session in PostgreSQL to whoever wants it next."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.headless import OpenSession
from tests.cancelling import Moment, cancel_at_each_await
from tests.headless.test_cancelled_open import held
from tests.postgres import run_sql
from tests.store.postgres.test_sessions import open_planck

OPENED: dict[str, Callable[[Planck], Coroutine[Any, Any, OpenSession]]] = {
    "resume": lambda app: app.resume("mine"),
    "another mode": lambda app: app.resume("mine", mode="workspace"),
    "start": lambda app: app.start(model="local/m", name="new"),
}


@pytest.mark.parametrize("moment", ["waits", "ends"])
@pytest.mark.parametrize("how", OPENED)
async def test_a_cancelled_open_leaves_no_owner_and_nothing_open(
    tmp_path: Path, database: str, how: str, moment: Moment
) -> None:
    async with open_planck(tmp_path, database) as here, open_planck(tmp_path, database, "other") as there:
        for app in (here, there):  # each has its copy, and its connections
            session = await (app.start(model="local/m", name="mine") if app is here else app.resume("mine"))
            await session.run("hi")
            await session.aclose()
        before, rows = held(), run_sql(database, "SELECT name, owner, state FROM sessions")
        assert rows == [["mine", None, "idle"]]

        async def check(at: int) -> None:
            assert (at, run_sql(database, "SELECT name, owner, state FROM sessions")) == (at, rows)
            assert (at, held()) == (at, before)
            again = await there.resume("mine")
            await again.aclose()

        count, opened = await cancel_at_each_await(lambda: OPENED[how](here), check, moment=moment)
        assert count > 5
        assert (await opened.run("on")).text == "done"


@pytest.mark.parametrize("moment", ["waits", "ends"])
async def test_a_session_whose_closing_is_cancelled_has_no_owner(
    tmp_path: Path, database: str, moment: Moment
) -> None:
    async with open_planck(tmp_path, database) as here, open_planck(tmp_path, database, "other") as there:
        session = await here.start(model="local/m", name="mine")
        await session.run("hi")

        async def close() -> None:
            await session.aclose()

        async def check(at: int) -> None:
            nonlocal session
            assert run_sql(database, "SELECT owner, state FROM sessions") == [[None, "idle"]], at
            await (await there.resume("mine")).aclose()
            session = await here.resume("mine")
            await session.prompt("on")
            await asyncio.sleep(0)

        count, _ = await cancel_at_each_await(close, check, moment=moment)
        assert count > 2
