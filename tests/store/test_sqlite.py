"""What only the file store promises: damage is seen, one writer, private files, a disk that fails."""

import asyncio
import contextlib
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planck.records.events import Draft, Event
from planck.records.outcome import ErrorKind
from planck.store.sqlite import witness
from planck.store.sqlite.database import Disk, FileDurability
from planck.store.sqlite.migrations import MIGRATIONS
from planck.store.sqlite.reader import PAGE, SqliteReader
from planck.store.sqlite.store import SqliteStore
from planck.store.store import StoreError


def draft(n: int, size: int = 50) -> Draft:
    data = msgspec.json.encode({"n": n, "text": "x" * size})
    return Draft("2026-01-01T00:00:00.000Z", f"agent{n % 3}", 1, "message", msgspec.Raw(data))


def same(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    return [(e.seq, e.ts, e.agent_id, e.turn, e.type, bytes(e.data)) for e in events]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "abc_calm-fox.db"


async def write(path: Path, count: int, *, size: int = 50) -> list[tuple[Any, ...]]:
    store = SqliteStore.create(path, {"id": "abc", "name": "calm-fox"})
    events = [(await store.append([draft(n, size)]))[0] for n in range(1, count + 1)]
    store.close()
    return same(events)


def salvage(path: Path) -> tuple[list[Event], StoreError | None]:
    """What a reader gets out of a file, and the error that ended it."""
    found: list[Event] = []
    try:
        store = SqliteReader.open(path)
    except StoreError as e:
        return found, e
    try:
        for event in store.read():
            found.append(event)
    except StoreError as e:
        return found, e
    finally:
        store.close()
    return found, StoreError(store.damage.kind, store.damage.message) if store.damage else None


async def test_files_are_for_their_user_alone(path: Path) -> None:
    old = os.umask(0)
    try:
        store = SqliteStore.create(path, {})
        await store.append([draft(1)])
        await store.barrier()
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
        store.close()
    finally:
        os.umask(old)
    assert len(modes) == 4
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("fault", ["link", "everybody"])
def test_a_directory_that_others_could_write_is_refused(tmp_path: Path, fault: str) -> None:
    directory = tmp_path / "sessions"
    if fault == "link":
        (tmp_path / "real").mkdir()
        directory.symlink_to(tmp_path / "real")
    else:
        directory.mkdir()
        directory.chmod(0o777)
    with pytest.raises(StoreError, match="sessions_dir"):
        SqliteStore.create(directory / "a.db", {})


async def test_a_flipped_byte_at_300_places_is_seen_or_changes_no_event(
    path: Path, tmp_path: Path, seed: int
) -> None:
    written = await write(path, 120, size=120)
    original = path.read_bytes()
    witness = path.with_name(f"{path.name}.lock").read_bytes()
    rng = random.Random(seed)
    print("seed", seed)
    seen = 0
    for place in rng.sample(range(len(original)), 300):
        folder = tmp_path / f"{place}"
        folder.mkdir(mode=0o700)
        copy = folder / path.name
        copy.write_bytes(
            original[:place] + bytes([original[place] ^ 1 << rng.randrange(8)]) + original[place + 1 :]
        )
        (folder / f"{path.name}.lock").write_bytes(witness)
        found, error = salvage(copy)
        assert same(found) == written[: len(found)], f"byte {place}: a changed event was served"
        if error is None:
            assert len(found) == len(written), f"byte {place}: events went missing without a word"
        else:
            seen += 1
            assert error.err.kind in {ErrorKind.CORRUPT_LOG_LINE, ErrorKind.LOG_READ_FAILED}
        shutil.rmtree(folder)
    assert seen > 100


async def test_the_sound_prefix_is_served_and_no_more_is_written(path: Path) -> None:
    written = await write(path, 40)
    _spoil(path, "UPDATE events SET bytes = replace(bytes, 'x', 'y') WHERE seq = 21")
    store = SqliteStore.open(path)
    found: list[Event] = []
    with pytest.raises(StoreError) as caught:
        found.extend(store.read())
    assert same(found) == written[:20]
    assert caught.value.err.kind is ErrorKind.CORRUPT_LOG_LINE
    assert caught.value.err.details == {"seq": 21, "sound": 20}
    assert store.damage == caught.value.err
    with pytest.raises(StoreError, match=r"Fork the session at event 20 to continue\."):
        await store.append([draft(41)])
    store.close()


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM events WHERE seq = 20",
        "UPDATE events SET hash = zeroblob(32) WHERE seq = 20",
        "UPDATE events SET hash = (SELECT hash FROM events WHERE seq = 19) WHERE seq = 20",
        "UPDATE events SET bytes = (SELECT bytes FROM events WHERE seq = 19) WHERE seq = 20",
        "UPDATE events SET bytes = 7 WHERE seq = 20",
        "UPDATE events SET seq = 900 WHERE seq = 20",
    ],
)
async def test_a_rewritten_event_is_seen(path: Path, change: str) -> None:
    written = await write(path, 40)
    _spoil(path, change)
    found, error = salvage(path)
    assert same(found) == written[:19]
    assert error is not None
    assert error.err.kind is ErrorKind.CORRUPT_LOG_LINE


async def test_a_cut_tail_is_seen_by_the_witness(path: Path) -> None:
    written = await write(path, 40)
    _spoil(path, "DELETE FROM events WHERE seq > 30")
    found, error = salvage(path)
    assert same(found) == written[:30]
    assert error is not None
    assert error.err.kind is ErrorKind.CORRUPT_LOG_LINE
    store = SqliteStore.open(path)
    assert store.damage is not None
    assert store.damage.details == {"sound": 30, "lost": 10}
    assert [e.seq for e in await store.append([draft(31)])] == [31]
    store.close()


async def test_a_tail_rewritten_with_a_valid_chain_is_seen_by_the_witness(path: Path, tmp_path: Path) -> None:
    await write(path, 40)
    other = tmp_path / "other" / path.name
    store = SqliteStore.create(other, {})
    for n in range(1, 45):
        await store.append([draft(n, 60)])
    store.close()
    shutil.copy(other, path)
    reader = SqliteReader.open(path)
    assert reader.damage is not None
    reader.close()


@pytest.mark.parametrize("cut", [1, 32, 100, 4000, 4120])
async def test_a_torn_wal_gives_a_sound_prefix_and_the_loss_is_told(
    path: Path, tmp_path: Path, cut: int
) -> None:
    store = SqliteStore.create(path, {})
    events = []
    for n in range(1, 21):
        events += await store.append([draft(n)])
    await store.barrier()
    torn = tmp_path / "torn" / path.name
    torn.parent.mkdir(mode=0o700)
    for file in path.parent.iterdir():
        if not file.name.endswith("-shm"):
            shutil.copy(file, torn.parent)
    store.close()
    wal = Path(f"{torn}-wal")
    os.truncate(wal, wal.stat().st_size - cut)
    after = SqliteStore.open(torn)
    found = list(after.read())
    assert same(found) == same(events)[: len(found)]
    assert 0 < len(found) < 20
    assert after.damage is not None
    assert after.damage.details["lost"] == 20 - len(found)
    after.close()


@pytest.mark.parametrize("cancelled", [None, 0, 7])
async def test_callers_that_come_together_share_one_commit_and_keep_their_order(
    path: Path, cancelled: int | None
) -> None:
    store = SqliteStore.create(path, {})
    heads: list[int] = []

    async def append(n: int) -> list[Event]:
        try:
            return await store.append([draft(n)])
        finally:
            heads.append(store.head)

    callers = [asyncio.create_task(append(n)) for n in range(20)]
    await asyncio.sleep(0)
    if cancelled is not None:
        callers[cancelled].cancel()
    ended = await asyncio.gather(*callers, return_exceptions=True)
    assert heads == [20] * 20, "the first that goes on finds all of them in the log"
    assert [n for n, one in enumerate(ended) if isinstance(one, BaseException)] == [
        n for n in range(20) if n == cancelled
    ]
    seqs = [(n, [e.seq for e in one]) for n, one in enumerate(ended) if not isinstance(one, BaseException)]
    assert seqs == [(n, [n + 1]) for n in range(20) if n != cancelled]
    assert [event.seq for event in store.read()] == [*range(1, 21)]
    store.close()


@pytest.mark.parametrize("cancelled", [0, 1])
async def test_a_cancelled_caller_is_told_that_its_commit_failed(path: Path, cancelled: int) -> None:
    class Full(Disk):
        def connect(self, uri: str) -> sqlite3.Connection:
            self.db = super().connect(uri)
            return self.db

    disk = Full()
    store = SqliteStore.create(path, {}, disk=disk)
    disk.db.execute("CREATE TEMP TRIGGER t BEFORE INSERT ON events BEGIN SELECT raise(ABORT, 'full'); END")
    callers = [asyncio.create_task(store.append([draft(n)])) for n in range(2)]
    await asyncio.sleep(0)
    callers[cancelled].cancel()
    ended = await asyncio.gather(*callers, return_exceptions=True)
    assert [e.err.kind for e in ended if isinstance(e, StoreError)] == [ErrorKind.LOG_WRITE_FAILED] * 2
    disk.db.execute("DROP TRIGGER t")
    assert [e.seq for e in await store.append([draft(1)])] == [1]
    store.close()


async def test_what_a_barrier_confirmed_survives_a_power_cut(path: Path, tmp_path: Path) -> None:
    class PowerCut(Disk):
        """Keeps the WAL as it was at the last sync: all that a power cut must leave."""

        wal = b""

        def sync(self, fd: int) -> None:
            super().sync(fd)
            if stat.S_ISREG(os.fstat(fd).st_mode):
                self.wal = os.pread(fd, os.fstat(fd).st_size, 0)

    disk = PowerCut()
    store = SqliteStore.create(path, {}, disk=disk)
    for n in range(1, 31):
        await store.append([draft(n)])
        if n == 20:
            await store.barrier()
    left = tmp_path / "left" / path.name
    left.parent.mkdir(mode=0o700)
    shutil.copy(path, left)
    Path(f"{left}-wal").write_bytes(disk.wal)
    store.close()
    after = SqliteStore.open(left)
    assert after.head == 20
    assert len(list(after.read())) == 20
    after.close()


async def test_a_failed_barrier_is_not_healed_by_a_second_sync(path: Path) -> None:
    class Failing(Disk):
        fails = True

        def sync(self, fd: int) -> None:
            if self.fails:
                raise OSError(5, "Input/output error")

    disk = Failing()
    store = SqliteStore.create(path, {}, disk=disk)
    await store.append([draft(1)])
    with pytest.raises(StoreError) as caught:
        await store.barrier()
    assert caught.value.err.kind is ErrorKind.LOG_WRITE_FAILED
    disk.fails = False
    await store.barrier()
    plain = sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)  # the file alone, without its WAL
    assert plain.execute("SELECT count(*) FROM events").fetchone() == (1,)
    plain.close()
    store.close()


async def test_closing_waits_for_a_barrier_that_nobody_waits_for_any_more(path: Path) -> None:
    class Slow(Disk):
        def __init__(self) -> None:
            self.begun, self.go = threading.Event(), threading.Event()
            self.synced: list[int] = []

        def sync(self, fd: int) -> None:
            self.begun.set()
            assert self.go.wait(30)
            self.synced.append(os.fstat(fd).st_ino)

    def release() -> None:
        while wal.exists():  # closing the connection removes it, and comes before the descriptors
            pass
        disk.go.set()

    disk, wal = Slow(), Path(f"{path}-wal")
    store = SqliteStore.create(path, {}, disk=disk)
    await store.append([draft(1)])
    inode = wal.stat().st_ino
    barrier = asyncio.ensure_future(store.barrier())
    await asyncio.to_thread(disk.begun.wait, 30)
    barrier.cancel()
    releasing = threading.Thread(target=release)
    releasing.start()
    store.close()
    releasing.join()
    assert disk.synced[0] == inode
    with contextlib.suppress(asyncio.CancelledError):
        await barrier


async def test_power_durability_syncs_every_commit(path: Path) -> None:
    store = SqliteStore.create(path, {}, durability="power")
    await store.append([draft(1)])
    assert store.head == 1
    store.close()


async def test_a_second_writer_is_told_who_holds_the_log(path: Path) -> None:
    store = SqliteStore.create(path, {})
    with pytest.raises(StoreError) as caught:
        SqliteStore.open(path)
    assert caught.value.err.kind is ErrorKind.WRITER_CONFLICT
    assert caught.value.err.details["pid"] == os.getpid()
    assert set(caught.value.err.details) == {"pid", "host", "since"}
    reader = SqliteReader.open(path)
    await store.append([draft(1)])
    assert [e.seq for e in reader.read()] == [1]
    assert not hasattr(reader, "append")
    reader.close()
    store.close()
    SqliteStore.open(path).close()


_STOPPED = """
import asyncio, os, signal, sys
from pathlib import Path
from planck.records.events import Draft
from planck.store.sqlite.reader import PAGE, SqliteReader
from planck.store.sqlite.store import SqliteStore
from planck.store.store import StoreError
import msgspec
d = Draft("2026-01-01T00:00:00.000Z", "a", 1, "message", msgspec.Raw(b"{}"))
async def main():
    store = SqliteStore.create(Path(sys.argv[1]), {})
    await store.append([d])
    print("ready", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    try:
        await store.append([d] * int(sys.argv[2]))
        print("wrote")
    except StoreError as e:
        print(e.err.kind)
    store.close()
asyncio.run(main())
"""


@pytest.mark.parametrize("events", [1, 100])
async def test_a_stopped_process_is_fenced_once_another_took_over(path: Path, events: int) -> None:
    stopped = subprocess.Popen(
        [sys.executable, "-c", _STOPPED, str(path), str(events)], stdout=subprocess.PIPE, text=True
    )
    assert stopped.stdout is not None
    assert stopped.stdout.readline() == "ready\n"
    os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WNOWAIT)
    with pytest.raises(StoreError) as caught:
        SqliteStore.open(path)
    assert caught.value.err.details["pid"] == stopped.pid
    store = SqliteStore.open(path, takeover=True)
    mine = await store.append([draft(2)])
    stopped.send_signal(signal.SIGCONT)
    out, _ = stopped.communicate(timeout=30)
    assert out == "writer_conflict\n"
    mine += await store.append([draft(3)])
    assert [e.seq for e in store.read()] == [1, 2, 3]
    assert same(list(store.read(1))) == same(mine)
    store.close()


async def test_a_log_from_the_future_is_read_only_and_says_so(path: Path) -> None:
    written = await write(path, 5)
    _spoil(path, "ALTER TABLE events ADD COLUMN extra TEXT", f"PRAGMA user_version = {len(MIGRATIONS) + 5}")
    store = SqliteStore.open(path)
    assert same(list(store.read())) == written
    assert store.damage is not None
    assert "newer" in store.damage.message
    with pytest.raises(StoreError, match="Upgrade Planck to continue") as caught:
        await store.append([draft(6)])
    assert caught.value.err.kind is ErrorKind.LOG_WRITE_FAILED
    store.close()


async def test_a_writer_reads_all_of_its_log_and_not_only_the_first_page(path: Path) -> None:
    store = SqliteStore.create(path, {})
    await store.append([draft(n) for n in range(PAGE + 2)])
    assert [event.seq for event in store.read(1)] == list(range(2, PAGE + 3))
    store.close()


async def test_unknown_types_and_fields_survive(path: Path) -> None:
    store = SqliteStore.create(path, {})
    raw = b'{"b":1,"a":[1.50,{"z":null}]}'
    await store.append([Draft("2030-01-01T00:00:00.000Z", None, 0, "from_the_future", msgspec.Raw(raw))])
    assert [bytes(e.data) for e in store.read()] == [raw]
    store.close()


async def test_order_is_by_seq_when_the_clock_jumps_back(path: Path) -> None:
    store = SqliteStore.create(path, {})
    times = ["2026-01-01T00:00:00.000Z", "2025-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"]
    for ts in times:
        await store.append([Draft(ts, None, 0, "message", msgspec.Raw(b"{}"))])
    assert [(e.seq, e.ts) for e in store.read()] == list(enumerate(times, 1))
    store.close()


async def test_a_blob_is_committed_with_the_event_that_names_it(path: Path) -> None:
    store = SqliteStore.create(path, {})
    reader = SqliteReader.open(path)
    name = store.keep(b"a system prompt")
    assert (reader.blobs(), store.blob(name)) == ([], b"a system prompt")
    await store.append([Draft("t", None, 0, "turn_start", msgspec.Raw(b'{"system":"%s"}' % name.encode()))])
    assert reader.blob(name) == b"a system prompt"
    assert len(list(reader.read())) == 1
    reader.close()
    store.close()


class _Shared(Disk):
    """Hands out the store's own connection, on which a test can take the room away."""

    def connect(self, uri: str) -> sqlite3.Connection:
        self.connection = super().connect(uri)
        return self.connection


async def test_neither_the_event_nor_its_blob_is_there_when_the_commit_failed(path: Path) -> None:
    disk = _Shared()
    store = SqliteStore.create(path, {}, disk=disk)
    naming = Draft("t", None, 0, "turn_start", msgspec.Raw(b"{}"))
    name = store.keep(b"x" * 50_000)
    pages = disk.connection.execute("PRAGMA page_count").fetchone()[0]
    disk.connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError):
        await store.append([naming])
    reader = SqliteReader.open(path)
    assert (reader.blobs(), list(reader.read())) == ([], [])
    disk.connection.execute("PRAGMA max_page_count = 100000")
    await store.append([naming])
    assert (reader.blob(name), len(list(reader.read()))) == (b"x" * 50_000, 1)
    reader.close()
    store.close()


async def test_blobs_are_kept_once_by_their_hash_and_checked(path: Path) -> None:
    store = SqliteStore.create(path, {})
    name = store.keep(b"picture")
    assert store.keep(b"picture") == name
    assert store.blob(name) == b"picture"
    store.close()
    assert [digest[:32] for digest in SqliteReader.open(path).blobs()] == [name]
    _spoil(path, "UPDATE blobs SET bytes = 'other'")
    again = SqliteStore.open(path)
    for missing in ("00" * 32, name):
        with pytest.raises(StoreError) as caught:
            again.blob(missing)
        assert caught.value.err.kind is ErrorKind.RESOURCE_MISSING
    again.close()


async def test_a_large_wal_is_moved_between_turns(path: Path) -> None:
    store = SqliteStore.create(path, {})
    before = path.stat().st_size
    for n in range(1, 60):
        await store.append([draft(n, 100_000)])
    assert path.stat().st_size == before
    store.checkpoint()
    assert path.stat().st_size > 5_000_000
    store.close()
    assert len(salvage(path)[0]) == 59


_FILL = """
import asyncio, resource, signal, sys
from pathlib import Path
from planck.records.events import Draft
from planck.store.sqlite.reader import PAGE, SqliteReader
from planck.store.sqlite.store import SqliteStore
from planck.store.store import StoreError
import msgspec
d = Draft("2026-01-01T00:00:00.000Z", "a", 1, "message", msgspec.Raw(b'{"text":"' + b"x" * 2000 + b'"}'))
async def main():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = SqliteStore.create(Path(sys.argv[1]), {})
    limit = int(sys.argv[2])
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    acked = refused = 0
    for _ in range(300):
        try:
            await store.append([d])
            acked += 1
        except StoreError as e:
            assert e.err.kind == "log_write_failed", e
            refused += 1
            if refused == 5:
                break
    assert len(list(store.read())) == acked
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    else:
        (Path(sys.argv[1]).parent / "ballast").unlink()
    await store.append([d])
    acked += 1
    store.close()
    print(acked, refused)
asyncio.run(main())
"""


def test_a_file_that_may_not_grow_refuses_and_goes_on_when_it_may(path: Path) -> None:
    _fill(path, 200_000)


_OPEN_FULL = """
import asyncio, resource, signal, sys
from pathlib import Path
from planck.store.sqlite.reader import PAGE, SqliteReader
from planck.store.sqlite.store import SqliteStore
from planck.store.store import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
try:
    SqliteStore.open(Path(sys.argv[1]))
except StoreError as e:
    print(e.err.kind)
print(len(list(SqliteReader.open(Path(sys.argv[1])).read())))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store = SqliteStore.open(Path(sys.argv[1]))
print(len(list(store.read())))
store.close()
"""


async def test_a_full_disk_at_opening_is_told_and_leaves_no_lock_behind(path: Path) -> None:
    await write(path, 7)
    SqliteReader.open(path).close()  # its -shm is there, as after most sessions
    done = subprocess.run(
        [sys.executable, "-c", _OPEN_FULL, str(path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1:] == ["7", "7"]
    assert done.stdout.split()[0] in {"log_write_failed", "log_read_failed"}


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small tmpfs takes root")
def test_a_full_disk_refuses_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir(mode=0o700)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k,mode=700", "tmpfs", str(small)])
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs is not allowed here")
    try:
        (small / "ballast").write_bytes(b"x" * 200_000)
        _fill(small / "s.db", 0)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def _fill(path: Path, limit: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FILL, str(path), str(limit)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    acked, refused = map(int, done.stdout.split())
    assert acked > 10
    assert refused == 5
    found, error = salvage(path)
    assert error is None
    assert [e.seq for e in found] == list(range(1, acked + 1))


class FailingDisk(Disk):
    """The n-th call fails, and those right after it: a statement, a commit, a sync."""

    def __init__(self, n: int, times: int = 1) -> None:
        self.left = n
        self.times = times
        self.failed = False

    def count(self) -> bool:
        self.left -= 1
        if -self.times < self.left <= 0:
            self.failed = True
        return -self.times < self.left <= 0

    def connect(self, uri: str) -> sqlite3.Connection:
        disk = self

        class Counting(sqlite3.Connection):
            def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
                if disk.count():
                    raise sqlite3.OperationalError("disk I/O error")
                return super().execute(sql, *args)

            def executemany(self, sql: str, rows: Any) -> sqlite3.Cursor:
                if disk.count():
                    raise sqlite3.OperationalError("database or disk is full")
                return super().executemany(sql, rows)

        if disk.count():
            raise sqlite3.OperationalError("unable to open database file")
        return sqlite3.connect(uri, uri=True, isolation_level=None, factory=Counting)

    def sync(self, fd: int) -> None:
        if self.count():
            raise OSError(5, "Input/output error")


Acked = list[Event]


async def _create(path: Path, disk: Disk, acked: Acked) -> None:
    store = SqliteStore.create(path.with_name("new.db"), {"id": "new"}, disk=disk)
    try:
        acked += await store.append([draft(1), draft(2)])
    finally:
        store.close()


async def _append(path: Path, disk: Disk, acked: Acked) -> None:
    store = SqliteStore.open(path, disk=disk)
    try:
        for n in range(store.head + 1, store.head + 6):
            with contextlib.suppress(StoreError):
                acked += await store.append([draft(n)])
        with contextlib.suppress(StoreError):
            acked += await store.append([draft(n) for n in range(100)])
    finally:
        store.close()


async def _confirm(path: Path, disk: Disk, acked: Acked) -> None:
    store = SqliteStore.open(path, disk=disk)
    try:
        for n in range(store.head + 1, store.head + 4):
            acked += await store.append([draft(n)])
            await store.barrier()
    finally:
        store.close()


async def _tidy(path: Path, disk: Disk, acked: Acked) -> None:
    store = SqliteStore.open(path, disk=disk)
    try:
        for n in range(store.head + 1, store.head + 3):
            acked += await store.append([draft(n, 3_000_000)])
        store.keep(b"blob")
        store.checkpoint()
        assert list(store.read(store.head)) == []
        acked += await store.append([draft(store.head + 1)])
    finally:
        store.close()


async def _migrate(path: Path, disk: Disk, acked: Acked) -> None:
    _spoil(path, "DROP TABLE blobs", "PRAGMA user_version = 1")
    store = SqliteStore.open(path, disk=disk)
    try:
        acked += await store.append([draft(store.head + 1)])
    finally:
        store.close()


Scenario = Callable[[Path, Disk, Acked], Awaitable[None]]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("scenario", [_create, _append, _confirm, _tidy, _migrate])
async def test_every_call_to_the_disk_may_fail(path: Path, scenario: Scenario, times: int) -> None:
    calls = 0
    for n in range(1, 1000):
        shutil.rmtree(path.parent, ignore_errors=True)
        before = await write(path, 3)
        disk, acked = FailingDisk(n, times), list[Event]()
        with contextlib.suppress(StoreError):
            await scenario(path, disk, acked)
        target = path.with_name("new.db") if scenario is _create else path
        if target.exists():
            store = SqliteStore.open(target)  # it goes on
            found = same(list(store.read()))
            assert [row[0] for row in found] == list(range(1, len(found) + 1))
            kept = ([] if scenario is _create else before) + same(acked)
            assert [row for row in kept if row not in found] == []
            assert store.damage is None
            assert (await store.append([draft(9)]))[0].seq == len(found) + 1
            store.close()
        else:
            assert acked == []
        if not disk.failed:
            break
        calls += 1
    assert calls > 5


def _spoil(path: Path, *changes: str) -> None:
    plain = sqlite3.connect(path, isolation_level=None)
    for change in changes:
        plain.execute(change)
    plain.close()


@pytest.mark.parametrize(("durability", "told"), [("process", True), ("power", False), ("elsewhere", False)])
async def test_only_a_log_that_a_power_failure_can_shorten_is_doubted_after_one(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: FileDurability, told: bool
) -> None:
    """`elsewhere` is a copy: what it lost is fetched from the database."""
    with monkeypatch.context() as yesterday:
        yesterday.setattr(witness, "read_boot", lambda: "yesterday")
        store = SqliteStore.create(path, {}, durability=durability)
        await store.append([draft(1)])
    left, killed = leave(path, tmp_path / "left"), tmp_path / "killed"
    store.close()
    reader = SqliteReader.open(left)
    assert (reader.damage is not None) == told
    reader.close()
    after = SqliteStore.open(left, durability=durability)
    assert isinstance(after, SqliteStore)
    assert (after.damage is not None) == told
    reader = SqliteReader.open(leave(left, killed))
    assert (reader.damage is not None) == told, "the process that was to remember it was killed first"
    reader.close()
    after.remember_loss()
    after.close()
    reader = SqliteReader.open(left)
    assert (reader.damage is not None) == told
    reader.close()


def leave(path: Path, folder: Path) -> Path:
    """Copies a log as a process leaves it that is killed now."""
    folder.mkdir(mode=0o700)
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", folder / f"{path.name}{suffix}")
    return folder / path.name
