"""A session whose file a rename moves is found at every moment of the move, by every door."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from planck import Planck
from planck.store.sqlite.reader import SqliteReader
from planck.testing.scripted import ScriptedProvider


async def _resume(planck: Planck, id: str) -> Any:
    session = await planck.resume(id)
    try:
        return session.id
    finally:
        await session.aclose()


async def _call(look: Callable[[], Any]) -> Any:
    return look()


DOORS: dict[str, Callable[[Planck, str], Awaitable[Any]]] = {
    "info": lambda planck, id: _call(lambda: planck.archive.info(id)),
    "detail": lambda planck, id: _call(lambda: planck.archive.detail(id)),
    "recorded": lambda planck, id: _call(lambda: list(planck.archive.recorded(id))),
    "check_own": lambda planck, id: _call(lambda: planck.archive.check_own(id)),
    "by beginning": lambda planck, id: _call(lambda: planck.archive.info(id[:10])),
    "find_output": lambda planck, id: _call(lambda: planck.find_output(id, "call-1")),
    "delete": lambda planck, id: _call(lambda: planck.archive.delete(id)),
    "resume": _resume,
}


@pytest.mark.parametrize("door", DOORS)
async def test_a_file_that_is_moved_while_it_is_looked_for_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    (tmp_path / "work").mkdir()
    providers = {"double": ScriptedProvider(["hi"])}
    opened = SqliteReader.open
    names = ["second"]
    async with Planck(home=tmp_path / "home", workspace=tmp_path / "work", providers=providers) as planck:
        session = await planck.start(model="double/m", name="first")
        await session.run("go")
        await session.aclose()

        def move_first(path: Path, *args: Any, **options: Any) -> SqliteReader:
            """Between the look at the name and the look at the file, another process renames the session."""
            if names and path.name.endswith("_first.db") and threading.current_thread().name != "mover":
                name = names.pop()
                mover = threading.Thread(
                    target=lambda: asyncio.run(planck.archive.rename(session.id, name)), name="mover"
                )
                mover.start()
                mover.join()
            return opened(path, *args, **options)

        monkeypatch.setattr(SqliteReader, "open", move_first)
        found = await DOORS[door](planck, session.id)
        assert names == []
        assert not getattr(found, "problem", "")
