"""The file of a new log: whole or not there, whatever the disk and the system do."""

import errno
import os
from pathlib import Path

import pytest

from planck.records.outcome import ErrorKind
from planck.store.sqlite.database import Disk
from planck.store.sqlite.migrations import MIGRATIONS, read_version
from planck.store.sqlite.store import SqliteStore
from planck.store.store import StoreError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "abc_calm-fox.db"


def check(path: Path) -> None:
    """It is a log of this version with its own lines, and nothing else is beside it."""
    store = SqliteStore.open(path)
    assert store.meta == {"id": "abc"}
    assert store.head == 0
    assert read_version(store._db) == len(MIGRATIONS)
    assert store._db.execute("PRAGMA journal_mode").fetchone() == (b"wal",)
    assert store._db.execute("PRAGMA integrity_check").fetchone() == (b"ok",)
    assert path.stat().st_mode & 0o777 == 0o600
    store.close()
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name, f"{path.name}.lock"]


def test_a_new_log_is_whole(path: Path) -> None:
    SqliteStore.create(path, {"id": "abc"}).close()
    check(path)


@pytest.mark.parametrize("missing", ["files without a name", "links to them"])
def test_it_is_whole_where_the_system_has_less(
    path: Path, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def refuse(source: str | Path, target: Path, **options: int) -> None:
        if options:
            raise OSError(errno.ENOENT, "there is no /proc here")
        link(source, target)

    if missing == "links to them":
        monkeypatch.setattr(os, "link", refuse)
    else:
        monkeypatch.delattr(os, "O_TMPFILE")
    SqliteStore.create(path, {"id": "abc"}).close()
    check(path)


@pytest.mark.parametrize("nameless", [True, False])
def test_a_full_disk_leaves_nothing_and_the_next_try_begins_anew(
    path: Path, nameless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(Disk):
        def write_new(self, fd: int, data: bytes) -> None:
            os.write(fd, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE")
    with pytest.raises(StoreError) as refused:
        SqliteStore.create(path, {"id": "abc"}, disk=Full())
    assert refused.value.err.kind is ErrorKind.LOG_WRITE_FAILED
    assert [file.name for file in path.parent.iterdir()] == [f"{path.name}.lock"]
    SqliteStore.create(path, {"id": "abc"}).close()
    check(path)


def test_a_log_that_is_there_is_never_replaced(path: Path) -> None:
    SqliteStore.create(path, {"id": "abc"}).close()
    before = path.read_bytes()
    with pytest.raises(StoreError) as refused:
        SqliteStore.create(path, {"id": "another"})
    assert refused.value.err.kind is ErrorKind.LOG_WRITE_FAILED
    assert path.read_bytes() == before
