"""Sessions of one folder that many processes make, name and remove, and some die while they do."""

import asyncio
import fcntl
import os
import shutil
import subprocess
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck import Planck, PlanckError
from planck.records.events import Draft
from planck.store.sqlite.library import FileLibrary
from planck.store.sqlite.reader import SqliteReader
from planck.store.sqlite.store import SqliteStore
from planck.testing.scripted import ScriptedProvider
from tests.forks import make_folder, run_script
from tests.ports import CountedIds

SCRIPT = Path(__file__).with_name("churn.py")


@pytest.fixture
def folder() -> Iterator[Path]:
    with make_folder() as made:
        yield made


run = partial(run_script, SCRIPT)


def test_a_killed_start_leaves_a_whole_session_or_none(folder: Path, seed: int) -> None:
    assert run("kills", 12, folder, seed)["runs"] == 12


@pytest.mark.soak
def test_a_thousand_killed_starts(folder: Path, seed: int) -> None:
    assert run("kills", 1000, folder, seed + 1)["runs"] == 1000


def test_of_six_processes_that_want_a_name_one_has_it(folder: Path, seed: int) -> None:
    assert run("races", 12, folder, seed) == {"got": 12, "not_unique": 60}


Look = Callable[[Planck], Awaitable[Any]]


async def _start(planck: Planck) -> None:
    await (await planck.start(model="double/m", name="wanted")).aclose()


async def _resume(planck: Planck) -> None:
    await (await planck.resume("wanted")).aclose()


async def _list(planck: Planck) -> Any:
    return planck.archive.sessions()


@pytest.mark.parametrize("look", [_start, _resume, _list])
@pytest.mark.parametrize("moment", ["the log was read", "the lock was tried"])
async def test_a_session_that_begins_and_ends_during_a_look_is_there_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Look, moment: str
) -> None:
    """Else its name is given to another session, and what it recorded is removed."""
    (tmp_path / "work").mkdir()
    providers = {"double": ScriptedProvider([])}
    async with Planck(home=tmp_path / "home", workspace=tmp_path / "work", providers=providers) as planck:
        library = FileLibrary(planck.sessions_dir, planck.workspace)
        meta = {"workspace": str(planck.workspace), "created": "2026-01-01T00:00:00.000Z"}
        stores = [await library.create("0123456789abcdef", "wanted", CountedIds(), meta)]

        def begin() -> None:
            """The process that has the name records its first event, and ends."""
            while stores:
                thread = threading.Thread(target=lambda: asyncio.run(_record_and_close(stores.pop())))
                thread.start()
                thread.join()

        if moment == "the log was read":
            _call_after(monkeypatch, SqliteReader, "open", begin)
        else:
            _call_after(monkeypatch, fcntl, "flock", begin, lambda _, how: bool(how & fcntl.LOCK_SH))
        with suppress(PlanckError):
            await look(planck)
        begin()
        assert [info.head for info in planck.archive.sessions() if info.name == "wanted"] == [1]


async def _record_and_close(store: SqliteStore) -> None:
    event = Draft("2026-01-01T00:00:00.000Z", None, 0, "session_started", msgspec.Raw(b"{}"))
    await store.append([event])
    await store.aclose()


def _call_after(
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    then: Callable[[], None],
    when: Callable[..., bool] = lambda *_: True,
) -> None:
    """Calls `then` after each call of that function."""
    original = getattr(owner, name)

    def call(*args: Any) -> Any:
        try:
            return original(*args)
        finally:
            if when(*args):
                then()

    monkeypatch.setattr(owner, name, call)


def test_names_stay_one_while_processes_start_rename_fork_and_delete(folder: Path, seed: int) -> None:
    run("churn", 40, folder, seed)


@pytest.mark.soak
def test_names_stay_one_through_much_more_of_it(folder: Path, seed: int) -> None:
    run("churn", 2000, folder, seed + 1)


async def test_the_links_of_names_change_only_while_the_names_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else another process could take a free name between the look at a link and the removal of it."""
    (tmp_path / "work").mkdir()
    changed: list[str] = []
    remove = os.unlink

    def watch(path: str | Path) -> None:
        if "/index/" not in str(path):
            return remove(path)
        changed.append(Path(path).name)
        folder = os.open(tmp_path / "home" / "sessions", os.O_RDONLY)
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(folder)
        remove(path)

    monkeypatch.setattr("planck.store.sqlite.index.os.unlink", watch)
    providers = {"double": ScriptedProvider([])}
    async with Planck(home=tmp_path / "home", workspace=tmp_path / "work", providers=providers) as planck:
        session = await planck.start(model="double/m", name="first")
        for name in ("second", "third"):
            await session.rename(name)
        await session.aclose()
        fork = await planck.archive.fork("third", name="fourth")
        await planck.archive.rename(fork.id, "fifth")
        planck.archive.delete("fifth")
        planck.archive.delete("third")
        with pytest.raises(PlanckError):
            await planck.start(model="double/m", name="sixth", team="none")
    gone = {name.rpartition(".")[2] for name in changed if name.startswith("n.")}
    assert gone >= {"first", "second", "third", "fourth", "fifth"}


def test_nothing_waits_for_the_disk_and_no_file_is_made_on_the_loop(folder: Path, seed: int) -> None:
    seen = run("threads", 6, folder, seed)
    assert {what: number for what, number in seen.items() if what.endswith("on the loop")} == {}
    assert {"file beside it", "sync beside it", "close beside it", "pragma beside it"} <= set(seen)


def test_nor_does_sqlite_wait_or_make_a_file_there(folder: Path, seed: int, tmp_path: Path) -> None:
    """By the calls to the kernel, where they can be traced; Python's own are counted above in any case."""
    traced = tmp_path / "calls"
    calls = "fsync,fdatasync,openat,mkdir,link,linkat,symlink,rename,unlink,newfstatat,lstat"
    trace = ("strace", "-f", "-o", str(traced), "-e", f"trace={calls}")
    if shutil.which("strace") is None or subprocess.run([*trace, "true"], capture_output=True).returncode:
        return
    run("threads", 3, folder, seed, trace)
    lines = traced.read_text().splitlines()
    begin, end = (
        next(n for n, line in enumerate(lines) if f"/{mark} here" in line) for mark in ("begin", "end")
    )
    loop = lines[begin].split()[0]
    waits = [line for line in lines[begin:end] if _waits(line)]
    assert len(waits) > 30
    assert [line for line in waits if line.split()[0] == loop] == []


def _waits(line: str) -> bool:
    call = line.split(maxsplit=1)[1].partition("(")[0]
    return call.endswith(("sync", "mkdir", "link", "linkat", "rename")) or "O_CREAT" in line


def test_open_sessions_are_at_most_a_tenth_of_the_files_that_a_process_may_have(
    folder: Path, seed: int
) -> None:
    seen = run("limit", 8, folder, seed)
    assert seen == {"opened": 10, "limit_exceeded": 4, "left": 9}
