"""A session is deleted while a request reads it, at every file that the request opens or looks for."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from planck.api.operations import BELOW_SESSION, OPERATIONS, PREFIX
from planck.testing import Say
from tests.api.bench import serving

SCRIPT: list[Any] = [
    Say(calls=[("write", {"path": "a.txt", "content": "new\n"}), ("bash", {"command": "seq 20000"})]),
    "counted",
]
FILES = {"open", "os.listdir", "os.scandir", "sqlite3.connect", "sqlite3.connect/handle"}


class _Deletion:
    """Deletes what is in a folder just before its files are accessed for the n-th time."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._left = 0
        sys.addaudithook(self._hear)  # for as long as the process lives: it does nothing unless it is armed

    @contextmanager
    def armed(self, folder: Path, left: int) -> Iterator[None]:
        self._folder, self._left = folder, left
        try:
            yield
        finally:
            self._folder = None

    @property
    def done(self) -> bool:
        return self._left <= 0

    def _hear(self, event: str, args: Any) -> None:
        if self._folder is None or event not in FILES:
            return
        self._left -= 1
        if self.done:
            folder, self._folder = self._folder, None
            for place in folder.iterdir():
                shutil.rmtree(place) if place.is_dir() else place.unlink()


async def test_a_session_that_is_deleted_while_it_is_read_is_not_found(tmp_path: Path) -> None:
    deletion, statuses = _Deletion(), dict[str, set[int]]()
    async with serving(tmp_path, SCRIPT, config={"permissions": {"mode": "full"}}) as server:
        async with server.client() as client:
            session = await client.start(name="fox")
            await session.run("count")
            calls = [event["call_id"] for event in (await session.ask("GET", "/changes"))["items"]]
            calls += [file.stem for file in tmp_path.rglob("*.output/*.txt")]
            await session.close()
        (log,) = tmp_path.rglob("*_fox.db")
        whole = shutil.copytree(log.parent, tmp_path / "whole")
        for operation in OPERATIONS:
            if operation.method != "GET" or not operation.path.startswith(BELOW_SESSION):
                continue
            known = {"id": session.id, "agent": "orchestrator", "call": calls[-1]}
            path = PREFIX + operation.path.format_map(known)
            seen = statuses[operation.name] = set()
            for access in range(1, 100):
                shutil.copytree(whole, log.parent, dirs_exist_ok=True)
                with deletion.armed(log.parent, access):
                    seen.add((await server.send("GET", path, headers={"Accept": "*/*"})).status)
                if not deletion.done:
                    break
            assert access > 5, (operation.name, access)
    assert len(calls) == 2
    assert statuses == {name: {200, 404} for name in statuses}
