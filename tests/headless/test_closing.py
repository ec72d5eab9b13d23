"""Closing a session is all or nothing: whatever becomes of one part, every other one is closed."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.headless import OpenSession
from planck.testing import Say, ScriptedProvider
from tests.cancelling import Moment, cancel_at_each_await
from tests.headless.test_cancelled_open import held

HOOK = {"hooks": [{"type": "command", "command": "true"}]}


def planck(folder: Path, script: Any = lambda request: "ok") -> Planck:
    (folder / "home").mkdir(exist_ok=True)
    double = ScriptedProvider(script)
    flags = {"hooks": {"SubagentStop": [HOOK]}}  # which is an observer, with a task of its own
    return Planck(folder / "home", folder, environ={}, flags=flags, providers={"double": double})


class Part:
    """One part of an open session that does not close, or not without an error."""

    def __init__(self, owner: Any, name: str, error: BaseException) -> None:
        self.close: Callable[[], Any] = getattr(owner, name)
        self._error = error
        setattr(owner, name, self.refuse)

    async def refuse(self, *args: Any) -> None:
        raise self._error


class BrokenConnection:
    """A database whose closing fails, as on a disk that is gone."""

    def __init__(self, db: Any) -> None:
        self._db = db

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def close(self) -> None:
        self._db.close()
        raise OSError("as if the disk were gone")


PARTS: dict[str, Callable[[OpenSession], tuple[Any, str]]] = {
    "the team": lambda one: (one._wired.team, "aclose"),
    "one agent": lambda one: (one._wired.team, "_await_end"),
    "the journal": lambda one: (one._opened.journal, "close"),
    "the observer": lambda one: (one._wired._observers[0], "aclose"),
    "the hooks": lambda one: (one._wired.hooks, "session_end"),
    "the peers": lambda one: (one._wired._runtime.peers, "leave"),
    "the jobs": lambda one: (one._wired._plan.tools._jobs, "aclose"),
}


@pytest.mark.parametrize(
    "error", [OSError("as if its disk were gone"), asyncio.CancelledError("told to stop")]
)
@pytest.mark.parametrize("name", PARTS)
async def test_a_part_that_fails_leaves_no_other_part_open(
    tmp_path: Path, name: str, error: BaseException
) -> None:
    app = planck(tmp_path)
    session = await app.start(model="double/m", name="mine")
    await session.run("hi")
    closed: list[str] = []
    for other, find in PARTS.items():
        owner, method = find(session)
        if other != name:
            _note(owner, method, other, closed)
    broken = Part(*PARTS[name](session), error)
    with pytest.raises(type(error), match=str(error)):
        await session.aclose()
    expected = {*PARTS} - {name} - ({"one agent"} if name == "the team" else set())
    assert set(closed) == expected
    async with planck(tmp_path) as other_app:
        again = await other_app.resume("mine")
        assert (await again.run("on")).text == "ok"
    await _really_close(session, name, broken)
    await app.__aexit__(None, None, None)


def _note(owner: Any, method: str, name: str, closed: list[str]) -> None:
    original = getattr(owner, method)

    def noted(*args: Any) -> Any:
        closed.append(name)
        return original(*args)

    setattr(owner, method, noted)


async def _really_close(session: OpenSession, name: str, broken: Part) -> None:
    needed: dict[str, list[Any]] = {"one agent": [None], "the hooks": ["other"]}
    needed["the peers"] = [session._wired._journal]
    args = needed.get(name, [])
    if (closing := broken.close(*args)) is not None:
        await closing


async def test_a_log_that_cannot_be_closed_is_unlocked_and_the_rest_is_closed(tmp_path: Path) -> None:
    async with planck(tmp_path) as app, planck(tmp_path) as other:
        session = await app.start(model="double/m", name="mine")
        await session.run("hi")
        before = {*asyncio.all_tasks()}
        store: Any = session._opened.store
        store._db = BrokenConnection(store._db)
        with pytest.raises(OSError, match="as if the disk"):
            await session.aclose()
        assert {*asyncio.all_tasks()} < before
        assert (await (await other.resume("mine")).run("on")).text == "ok"


@pytest.mark.parametrize("moment", ["waits", "ends"])
async def test_a_close_that_is_cancelled_in_the_middle_of_a_turn_leaves_nothing_open(
    tmp_path: Path, moment: Moment
) -> None:
    begun = asyncio.Event()

    async def stall(request: Any) -> Any:
        begun.set()
        return Say(text="late", wait=asyncio.Event())

    async with planck(tmp_path, stall) as app, planck(tmp_path) as other:
        before = held()

        async def start() -> OpenSession:
            begun.clear()
            session = await app.start(model="double/m")
            await session.prompt("go")
            await begun.wait()
            return session

        session = await start()

        async def check(at: int) -> None:
            nonlocal session
            assert (at, held()) == (at, before)
            again = await other.resume(session.id)
            (end,) = [event for event in again.recorded() if event.type == "turn_end"]
            assert b"interrupted" in bytes(end.data)
            await again.aclose()
            session = await start()

        count, _ = await cancel_at_each_await(lambda: session.aclose(), check, moment=moment)
        assert count > 2
