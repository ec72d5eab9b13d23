"""An open that is cancelled, at whichever await, leaves nothing: the session can be opened again at once."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.headless import OpenSession
from planck.testing.scripted import ScriptedProvider
from tests.cancelling import Moment, cancel_at_each_await


def planck(folder: Path) -> Planck:
    double = ScriptedProvider(lambda request: "ok")
    return Planck(folder / "home", folder, environ={}, providers={"double": double})


def held() -> tuple[list[str], int, int]:
    """Returns the files, tasks and threads of this process, without those that wait for the disk."""
    files = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            files.append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            continue
    threads = [one for one in threading.enumerate() if not one.name.startswith("planck-disk")]
    return sorted(one for one in files if "/home/" in one), len(asyncio.all_tasks()), len(threads)


Opening = Callable[[Planck], Coroutine[Any, Any, OpenSession]]
RESUMED: dict[str, Opening] = {
    "resume": lambda app: app.resume("mine"),
    "another mode": lambda app: app.resume("mine", mode="workspace"),
    "another model": lambda app: app.resume("mine", model="double/other"),
}


@pytest.mark.parametrize("moment", ["waits", "ends"])
@pytest.mark.parametrize("how", RESUMED)
async def test_a_cancelled_resume_leaves_nothing_open(tmp_path: Path, how: str, moment: Moment) -> None:
    async with planck(tmp_path) as app, planck(tmp_path) as other:
        session = await app.start(model="double/m", name="mine", mode="ask")
        await session.run("hi")
        await session.aclose()
        before = held()

        async def check(at: int) -> None:
            assert held() == before, f"after a cancellation at await {at}"
            again = await other.resume(
                "mine"
            )  # another process would be refused alike: the lock is the file's
            await again.aclose()

        count, opened = await cancel_at_each_await(lambda: RESUMED[how](app), check, moment=moment)
        assert count >= 2
        assert (await opened.run("on")).text == "ok"


@pytest.mark.parametrize("moment", ["waits", "ends"])
async def test_a_cancelled_start_leaves_nothing_open_and_its_name_free(
    tmp_path: Path, moment: Moment
) -> None:
    async with planck(tmp_path) as app:
        await (await app.start(model="double/m", name="first")).aclose()
        before, files = held(), sorted(app.sessions_dir.rglob("*"))

        async def check(at: int) -> None:
            assert held() == before, f"after a cancellation at await {at}"
            assert sorted(app.sessions_dir.rglob("*")) == files

        count, opened = await cancel_at_each_await(
            lambda: app.start(model="double/m", name="mine"), check, moment=moment
        )
        assert count == 2
        assert (await opened.run("go")).text == "ok"
