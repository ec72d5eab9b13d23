"""Processes that die while they write a log: `python crashes.py kills|races|migrations COUNT SEED DIR`.

A process of its own, so that it may fork: single-threaded, and no connection is open while it does.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from planck.records.events import Draft
from planck.store.sqlite.migrations import MIGRATIONS
from planck.store.sqlite.store import SqliteStore
from planck.store.store import StoreError


def blob(n: int) -> bytes:
    """What every third event refers to."""
    return b"blob %d " % n * (n % 90)


def payload(n: int) -> bytes:
    text = hashlib.sha256(b"%d" % n).hexdigest() * (n % 40)
    names = {"blob": hashlib.sha256(blob(n)).hexdigest()[:32]} if n % 3 == 1 else {}
    return msgspec.json.encode({"n": n, "text": text, **names})


def draft(n: int) -> Draft:
    return Draft("2026-01-01T00:00:00.000Z", "a", 1, "message", msgspec.Raw(payload(n)))


def kills(count: int, rng: random.Random, folder: Path) -> dict[str, int]:
    """Kill a writer at a random instant: what it acknowledged is there, once, unchanged."""
    totals = {"runs": 0, "events": 0, "acknowledged": 0, "before_first_ack": 0, "blobs": 0}
    for run in range(count):
        path = folder / f"{run}" / "s.db"
        early = run % 5 == 0
        acked = _kill_writer(path, rng.random() * (0.016 if early else 0.004), early=early)
        totals["runs"] += 1
        totals["acknowledged"] += acked
        totals["before_first_ack"] += acked == 0
        if not path.exists():
            assert acked == 0
            continue
        store = SqliteStore.open(path)
        found = [bytes(event.data) for event in store.read()]
        assert len(found) >= acked, f"run {run}: {acked} acknowledged, {len(found)} there"
        assert found == [payload(n) for n in range(1, len(found) + 1)], f"run {run}: changed, doubled or lost"
        assert store.damage is None, store.damage
        for n, name in enumerate((msgspec.json.decode(data).get("blob") for data in found), 1):
            assert name is None or store.blob(name) == blob(n), (
                f"run {run}: event {n} names what is not there"
            )
            totals["blobs"] += name is not None
        assert [e.seq for e in asyncio.run(store.append([draft(len(found) + 1)]))] == [len(found) + 1]
        store.close()
        totals["events"] += len(found)
        for file in path.parent.iterdir():
            file.unlink()
    return totals


def _kill_writer(path: Path, delay: float, *, early: bool) -> int:
    acks, acks_in = os.pipe()
    pid = _fork(lambda: asyncio.run(_write_forever(path, acks_in)))
    os.close(acks_in)
    seen = b""
    if not early:
        seen = os.read(acks, 65536)
    until = time.perf_counter() + delay
    while time.perf_counter() < until:
        pass
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while more := os.read(acks, 65536):
        seen += more
    os.close(acks)
    lines = seen.split(b"\n")[:-1]
    return int(lines[-1]) if lines else 0


async def _write_forever(path: Path, acks: int) -> None:
    store = SqliteStore.create(path, {"id": "s"})
    n = 0
    for round in range(1_000_000):
        store.keep(blob(n + 1))
        several = [[draft(n + 1)], [draft(n + 2), draft(n + 3)]]
        batches = await asyncio.gather(*(store.append(drafts) for drafts in several))
        n = batches[-1][-1].seq or 0
        os.write(acks, b"%d\n" % n)
        if round % 11 == 5:
            await store.barrier()
        if round % 7 == 3:
            store.checkpoint()


def races(count: int, rng: random.Random, folder: Path) -> dict[str, int]:
    """Eight processes open one log at the same instant: one gets it, the others are told who has it."""
    path = folder / "s.db"
    SqliteStore.create(path, {"id": "s"}).close()
    totals = {"races": 0, "winners": 0, "refused": 0}
    for _ in range(count):
        go, go_in = os.pipe()
        told, told_in = os.pipe()
        hold, hold_in = os.pipe()
        pids = [_fork(partial(_race, path, go, told_in, hold, hold_in)) for _ in range(8)]
        os.write(go_in, b"x" * 8)
        answers = b""
        while answers.count(b"\n") < 8:
            answers += os.read(told, 65536)
        os.close(hold_in)
        for pid in pids:
            os.waitpid(pid, 0)
        for fd in (go, go_in, told, told_in, hold):
            os.close(fd)
        lines = answers.decode().splitlines()
        assert sum(line == "won" for line in lines) == 1, lines
        winner = [line for line in lines if line != "won"]
        assert all(line.startswith("writer_conflict") for line in winner), lines
        totals["races"] += 1
        totals["winners"] += 1
        totals["refused"] += len(winner)
    store = SqliteStore.open(path)
    assert len(list(store.read())) == count
    store.close()
    return totals


def _race(path: Path, go: int, told: int, hold: int, hold_in: int) -> None:
    os.close(hold_in)
    os.read(go, 1)
    try:
        store = SqliteStore.open(path)
    except StoreError as e:
        os.write(told, f"{e.err.kind} {json.dumps(e.err.details)}\n".encode())
        os.read(hold, 1)
        return
    asyncio.run(store.append([draft(1)]))
    os.write(told, b"won\n")
    os.read(hold, 1)
    store.close()


def migrations(count: int, rng: random.Random, folder: Path) -> dict[str, int]:
    """Kill a migration at a random instant: the file is at one version or the next."""
    totals = {"runs": 0, "old": 0, "new": 0}
    for run in range(count):
        path = folder / f"{run}" / "s.db"
        path.parent.mkdir(mode=0o700)
        _old_file(path)
        pid = _fork(partial(_open_and_close, path))
        if run % 4:  # every fourth may finish, and every fourth is killed at once
            until = time.perf_counter() + (run % 4 > 1) * rng.random() * 0.012
            while time.perf_counter() < until:
                pass
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        plain = sqlite3.connect(path)
        (version,) = plain.execute("PRAGMA user_version").fetchone()
        tables = {name for (name,) in plain.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        plain.close()
        assert ("blobs" in tables) == (version >= 2), (version, tables)
        store = SqliteStore.open(path)
        assert [bytes(event.data) for event in store.read()] == [payload(n) for n in range(1, 4)]
        assert store.meta == {"id": "old"}
        store.close()
        backup = path.with_name("s.db.v1.bak")
        plain = sqlite3.connect(backup)
        assert plain.execute("SELECT count(*) FROM events").fetchone() == (3,)
        plain.close()
        totals["runs"] += 1
        totals["new" if version >= len(MIGRATIONS) else "old"] += 1
        for file in path.parent.iterdir():
            file.unlink()
    return totals


def _open_and_close(path: Path) -> None:
    SqliteStore.open(path).close()


def _old_file(path: Path) -> None:
    """A file as version 1 wrote it."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    for statement in MIGRATIONS[0]:
        db.execute(statement)
    db.execute("PRAGMA user_version = 1")
    db.execute("INSERT INTO meta VALUES ('id', 'old')")
    previous = bytes(32)
    for n in range(1, 4):
        data = msgspec.json.encode(
            {
                "seq": n,
                "ts": "2026-01-01T00:00:00.000Z",
                "agent_id": "a",
                "turn": 1,
                "type": "message",
                "data": msgspec.Raw(payload(n)),
            }
        )
        previous = hashlib.sha256(previous + data).digest()
        db.execute("INSERT INTO events VALUES (?, ?, ?)", (n, data, previous))
    db.close()


def _fork(child: Callable[[], object]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    with contextlib.suppress(BaseException):
        child()
        code = 0
    os._exit(code)


if __name__ == "__main__":
    name, count, seed, folder = sys.argv[1:]
    what = {"kills": kills, "races": races, "migrations": migrations}[name]
    print(json.dumps(what(int(count), random.Random(int(seed)), Path(folder))))
