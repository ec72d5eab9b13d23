"""The one file beside a log: who has it, how far it had come, and what the index leads to."""

import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck.records.events import Draft
from planck.store.sqlite.directory import move_log
from planck.store.sqlite.library import FileLibrary
from planck.store.sqlite.reader import SqliteReader
from planck.store.sqlite.store import SqliteStore
from planck.store.sqlite.witness import read_witness
from planck.store.store import SessionError, StoreError
from tests.ports import CountedIds


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A log of five events, closed."""
    made = tmp_path / "sessions" / "abc_calm-fox.db"
    store = SqliteStore.create(made, {"id": "abc"})
    await store.append([Draft("2026-01-01T00:00:00.000Z", None, 0, "x", msgspec.Raw(b"{}"))] * 5)
    store.close()
    return made


def lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def cut(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM events WHERE seq > 3")


def lost(path: Path) -> object:
    with closing(SqliteReader.open(path)) as log:
        return log.damage and log.damage.details.get("lost")


def take_over(path: Path) -> Path:
    stopped = SqliteStore.open(path)
    second = SqliteStore.open(path, takeover=True)
    said = lock_of(path).read_bytes()
    for store in (stopped, second):
        store.close()
    lock_of(path).write_bytes(said)  # as if the second had died before it said more
    return path


def rename(path: Path) -> Path:
    new = path.with_name("abc_bold-owl.db")
    move_log(path, new)
    return new


def make_older(path: Path) -> Path:
    """As logs were kept before: the witness in a file of its own, the lock empty."""
    said = lock_of(path).read_bytes()
    path.with_name(f"{path.name}.witness").write_bytes(said[384:512])
    lock_of(path).write_bytes(b"")
    return path


def make_older_and_open(path: Path) -> Path:
    SqliteStore.open(make_older(path)).close()
    path.with_name(f"{path.name}.witness").unlink()
    return path


@pytest.mark.parametrize("change", [take_over, rename, make_older, make_older_and_open])
async def test_what_the_witness_said_is_known_whatever_became_of_its_file(
    path: Path, change: Callable[[Path], Path]
) -> None:
    path = change(path)
    assert lost(path) is None
    cut(path)
    assert lost(path) == 2


async def test_who_has_a_log_is_told_with_the_time_when_it_was_taken(path: Path) -> None:
    store = SqliteStore.open(path)
    os.utime(lock_of(path), (0, 0))  # the witness is written there too, at every barrier
    with pytest.raises(StoreError) as refused:
        SqliteStore.open(path)
    assert refused.value.err.details["pid"] == os.getpid()
    assert not str(refused.value.err.details["since"]).startswith("1970")
    store.close()


@pytest.mark.parametrize("links", [True, False])
async def test_a_session_is_found_and_its_name_taken_by_second_names_of_that_file(
    tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.link

    def link(source: Path, target: Path, **options: Any) -> None:
        if not links and "index" in str(target):
            raise OSError(errno.EPERM, "no second names on this file system")
        real(source, target, **options)

    monkeypatch.setattr(os, "link", link)
    library = FileLibrary(tmp_path / "sessions", tmp_path)
    claim = library.claim("abc", "calm-fox", CountedIds())
    store = SqliteStore.create(claim.path, {"id": "abc", "workspace": str(tmp_path)}, lock=claim.lock)
    await store.append([Draft("2026-01-01T00:00:00.000Z", None, 0, "x", msgspec.Raw(b"{}"))])
    assert lock_of(claim.path).stat().st_nlink == (3 if links else 1)
    assert library.path_of("calm-fox") == library.fetch_own("abc") == claim.path
    with pytest.raises(SessionError, match="already exists"):
        library.claim("def", "calm-fox", CountedIds())
    store.close()
    library.remove("abc")
    assert [file.name for file in (tmp_path / "sessions" / "index").iterdir()] == ["complete"]


HOSTILE = """
import asyncio, os, sys
from pathlib import Path
import msgspec
from planck.records.events import Draft
from planck.store.sqlite.store import SqliteStore
from planck.store.sqlite.witness import read_witness
path, what = Path(sys.argv[1]), sys.argv[2]
lock = Path(f"{path}.lock")
async def main():
    store = SqliteStore.create(path, {"id": "a", "name": "b"})
    for number in range(6):
        await store.append([Draft("now", None, 0, "message", msgspec.Raw(b"{}"))])
        if number == 2:
            lock.unlink() if what == "removed" else os.truncate(lock, int(what))
    await store.aclose()
    print(len(list(SqliteStore.open(path).read())))
asyncio.run(main())
"""


@pytest.mark.parametrize("what", ["0", "384", "600", "660", "735", "removed"])
def test_a_lock_file_that_is_cut_under_a_writer_does_not_end_it(tmp_path: Path, what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE, tmp_path / "a_b.db", what], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout) == (0, "6\n"), done.stderr


async def test_a_lock_file_that_takes_no_record_does_not_stop_a_commit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a_b.db"
    store = SqliteStore.create(path, {"id": "a", "name": "b"})
    await store.append([Draft("now", None, 0, "message", msgspec.Raw(b"{}"))])
    real, store._barrier.fd = store._barrier.fd, os.open(f"{path}.lock", os.O_RDONLY)
    for _ in range(3):
        await store.append([Draft("now", None, 0, "message", msgspec.Raw(b"{}"))])
    os.close(store._barrier.fd)
    store._barrier.fd = real
    assert [record.message for record in caplog.records if "lock file" in record.message] == [
        "Cannot record the last event of a_b.db in its lock file: [Errno 9] Bad file descriptor"
    ]
    seen = read_witness(path)
    assert seen is not None
    assert (seen.seq, store.head) == (1, 4)
    await store.aclose()
