"""Processes that make, name and remove sessions: `python churn.py kills|races|... COUNT SEED DIR`.

A process of its own, so that it may fork: see tests/forks.
"""

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from planck import Planck
from planck.headless import Archive
from planck.records.outcome import ErrorKind, PlanckError
from planck.testing.scripted import ScriptedProvider
from tests.forks import fork, reap


def open_planck(folder: Path) -> Planck:
    (folder / "work").mkdir(exist_ok=True, parents=True)
    double = ScriptedProvider(lambda request: "ok")
    return Planck(folder / "home", folder / "work", environ={}, providers={"double": double})


def look(folder: Path) -> Archive:
    return Archive(folder / "home" / "sessions", folder / "work")


def kills(count: int, rng: random.Random, folder: Path) -> dict[str, int]:
    """Kill a process while it starts sessions: each is whole or not there, and its name is one or free."""
    totals = Counter[str]()
    for run in range(count):
        home = folder / str(run)
        told, tell = os.pipe()
        pid = fork(_start_forever(home, tell))
        os.close(tell)
        seen = os.read(told, 65536)
        until = time.perf_counter() + rng.random() * 0.03
        while time.perf_counter() < until:
            pass
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        while more := os.read(told, 65536):
            seen += more
        os.close(told)
        started = seen.split()
        reap(fork(_check_after_kill(home, [name.decode() for name in started])))
        totals["runs"] += 1
        totals["started"] += len(started)
        totals["claims left"] += len(list((home / "home" / "sessions").glob("*.lock"))) - len(
            list((home / "home" / "sessions").glob("*.db"))
        )
    return dict(totals)


async def _start_forever(folder: Path, tell: int) -> None:
    async with open_planck(folder) as planck:
        for number in range(1_000_000):
            session = await planck.start(model="double/m", name=f"k{number}")
            os.write(tell, f"k{number}\n".encode())
            if number % 3:
                await session.aclose()


async def _check_after_kill(folder: Path, started: list[str]) -> None:
    listed = look(folder).sessions()
    assert [info.problem for info in listed if info.problem] == []
    assert all(info.head >= 2 for info in listed), "a session began with its agents, or not at all"
    names = [info.name for info in listed]
    assert set(started) <= set(names), "what was started is there"
    assert len(names) <= len(started) + 1
    for name in (*started[-2:], f"k{len(started)}"):
        async with open_planck(folder) as planck:
            try:
                session = await planck.start(model="double/m", name=name)
            except PlanckError as refused:
                if refused.err.kind is not ErrorKind.NOT_UNIQUE or name not in names:
                    raise
                session = await planck.resume(name)
            assert (await session.run("go on")).text == "ok"
    if listed:
        assert look(folder).newest_id() in {info.id for info in look(folder).sessions()}


def races(count: int, rng: random.Random, folder: Path) -> dict[str, int]:
    """Six processes want one name at the same instant, many times: one has it, the others are told so."""
    told, tell = os.pipe()
    at = time.time() + 1.0
    pids = [fork(_want_names(folder, count, at, tell)) for _ in range(6)]
    os.close(tell)
    for pid in pids:
        reap(pid)
    lines = os.fdopen(told).read().split()
    assert Counter(lines) == {"got": count, "not_unique": 5 * count}, Counter(lines)
    reap(fork(_check_names(folder, [f"n{number}" for number in range(count)])))
    return dict(Counter(lines))


async def _want_names(folder: Path, count: int, at: float, tell: int) -> None:
    async with open_planck(folder) as planck:
        while time.time() < at:
            pass
        for number in range(count):
            try:
                session = await planck.start(model="double/m", name=f"n{number}")
            except PlanckError as refused:
                os.write(tell, f"{refused.err.kind}\n".encode())
            else:
                os.write(tell, b"got\n")
                await session.aclose()


def churn(count: int, rng: random.Random, folder: Path) -> dict[str, int]:
    """Four processes start, rename, fork and delete sessions of a few names: each name is one session's."""
    seeds = [rng.random() for _ in range(4)]
    for pid in [fork(_churn(folder, count, random.Random(seed))) for seed in seeds]:
        reap(pid)
    reap(fork(_check_names(folder)))
    return {"left": len(list((folder / "home" / "sessions").glob("*.db")))}


async def _churn(folder: Path, count: int, rng: random.Random) -> None:
    allowed = {ErrorKind.NOT_UNIQUE, ErrorKind.NOT_FOUND, ErrorKind.WRITER_CONFLICT}
    archive = look(folder)

    async def start() -> None:
        await (await planck.start(model="double/m", name=rng.choice([*names, ""]))).aclose()

    async def rename() -> None:
        await archive.rename(rng.choice(names), rng.choice(names))

    async def delete() -> None:
        archive.delete(rng.choice(names))

    async def copy() -> None:
        await archive.fork(rng.choice(names), name=rng.choice(names))

    async def resume() -> None:
        await (await planck.resume(rng.choice(names))).aclose()

    names = [f"c{number}" for number in range(6)]
    steps: list[Callable[[], Awaitable[None]]] = [start, start, rename, delete, copy, resume]
    async with open_planck(folder) as planck:
        for _ in range(count):
            try:
                await rng.choice(steps)()
            except PlanckError as refused:
                # A log that is removed or moved under a reader: it is gone, or it says that it can't be read.
                if refused.err.kind not in (*allowed, ErrorKind.LOG_READ_FAILED):
                    raise


async def _check_names(folder: Path, expected: list[str] | None = None) -> None:
    listed = look(folder).sessions()
    names = [info.name for info in listed]
    assert len(set(names)) == len(names), Counter(names).most_common(3)
    assert expected is None or sorted(names) == sorted(expected)
    for info in listed:
        assert not info.problem
        assert look(folder).info(info.name).id == info.id
        assert look(folder).info(info.id).name == info.name
    async with open_planck(folder) as planck:
        for info in listed[:3]:
            with contextlib.suppress(PlanckError):
                await planck.start(model="double/m", name=info.name)
                raise AssertionError(f"{info.name} was taken, and was given away again")


def threads(count: int, rng: random.Random, folder: Path) -> dict[str, int]:
    """Start, answer and close sessions: what waits for the disk, or makes a file, is in no loop's thread."""
    seen: Counter[str] = Counter()
    asyncio.run(_count_threads(folder, count, seen))
    return dict(seen)


async def _count_threads(folder: Path, count: int, seen: Counter[str]) -> None:
    import sqlite3

    loop = threading.get_ident()

    def note(what: str) -> None:
        seen[f"{what} {'on the loop' if threading.get_ident() == loop else 'beside it'}"] += 1

    class Watched(sqlite3.Connection):
        def close(self) -> None:
            note("close")
            super().close()

        def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
            if sql.startswith(("PRAGMA journal", "PRAGMA wal_checkpoint", "CREATE")):
                note("pragma")
            return super().execute(sql, *args)

    def hear(event: str, args: tuple[Any, ...]) -> None:
        made = event == "open" and isinstance(args[2], int) and args[2] & os.O_CREAT
        if made or event in ("os.mkdir", "os.link", "os.symlink", "os.rename", "sqlite3.connect"):
            note("file")

    def watch(name: str) -> None:
        real = getattr(os, name)

        def sync(fd: int) -> None:
            note("sync")
            real(fd)

        setattr(os, name, sync)

    async with open_planck(folder) as planck:
        session = await planck.start(
            model="double/m"
        )  # what is made once, such as the folder, is not counted
        await session.run("hello")
        await session.aclose()
        connect = sqlite3.connect
        sqlite3.connect = lambda *a, **k: connect(*a, **{"factory": Watched, **k})
        watch("fsync")
        watch("fdatasync")
        sys.addaudithook(hear)
        os.path.lexists("/begin here")  # for whoever traces the calls
        for number in range(count):
            session = await planck.start(model="double/m", name=f"t{number}" if number % 2 else "")
            assert (await session.run("hello")).text == "ok"
            await session.aclose()
            again = await planck.resume(session.id if number % 2 else session.name)
            assert (await again.run("again")).text == "ok"
            await again.aclose()
        os.path.lexists("/end here")


def limit(count: int, rng: random.Random, folder: Path) -> dict[str, int]:
    """Open more sessions than there is room for: those are told so, and closing one makes room."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (10 * count, hard))
    seen: Counter[str] = Counter()
    asyncio.run(_open_many(folder, count, seen))
    return dict(seen)


async def _open_many(folder: Path, count: int, seen: Counter[str]) -> None:
    async def start(**options: Any) -> None:
        try:
            opened.append(await planck.start(model="double/m", **options))
            seen["opened"] += 1
        except PlanckError as refused:
            seen[str(refused.err.kind)] += 1

    async with open_planck(folder) as planck:
        opened: list[Any] = []
        await asyncio.gather(*(start() for _ in range(count + 3)))
        await start(stored=False)  # has no files
        await opened[0].aclose()
        await start()
        await start()
    seen["left"] = len(look(folder).sessions())


if __name__ == "__main__":
    _, what, count, seed, folder = sys.argv
    modes = {"kills": kills, "races": races, "churn": churn, "threads": threads, "limit": limit}
    print(json.dumps(modes[what](int(count), random.Random(int(seed)), Path(folder))))
