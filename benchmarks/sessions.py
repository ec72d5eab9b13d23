"""Many sessions in one process: start, one answer, close; against the commit before and bare SQLite."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from planck.store.sqlite.migrations import MIGRATIONS

BEFORE = "3e05b47"
"""The last commit in which a start made its database step by step, on the loop."""
ROUNDS = 3
STORED = 10_000
SOURCE = Path(__file__).parents[1]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="planck-bench-") as folder:
        place = Path(folder)
        old = _check_out(place / "before")
        now, before, bare = [], [], []
        for _ in range(ROUNDS):  # in turns, against drift
            now.append(_measure("cost", place))
            before += [_measure("cost", place, old)] if old else []
            bare.append(_bare(place))
        _report(_best(now), _best(before) if before else None, min(bare))
        at_once = [_measure("at_once", place) for _ in range(ROUNDS)]
        best = min(at_once, key=lambda one: one["wall"] / one["cpu"])
        ratio = f"{best['wall'] / best['cpu']:.2f} x"
        print(
            f"100 at once        wall {best['wall']:.2f} (no core waited for), CPU {best['cpu']:.2f} ms "
            f"each: {ratio} (aim <= 1.2)"
        )
        many = _measure("among", place)
        alone, among = min(one["stored"] for one in now), many["stored"]
        print(
            f"among {STORED:,}       {among:.2f} ms, alone {alone:.2f}: {among / alone:.2f} x (aim about 1); "
            f"the index of all {STORED:,}, once: {many['index']:.0f} ms"
        )
        kept = _measure("kept", place)
        print(f"an idle session    {kept['idle_kb']:.0f} KB open (aim <= 200)")
        print(f"1,000 in a row     {kept['rate']:.0f} sessions/s, {kept['rss_mb']:.0f} MB at the end")


def _report(now: dict[str, float], before: dict[str, float] | None, bare: float) -> None:
    for kind, aim in (("memory", 0.55), ("stored", 0.5)):
        line = f"{kind:<18} {now[kind]:.2f} ms of CPU"
        if before:
            line += f", before {before[kind]:.2f}: {now[kind] / before[kind]:.2f} x (aim <= {aim})"
        print(line)
    extra = now["stored"] - now["memory"]
    print(f"stored - memory    {extra:.2f} ms, bare sqlite3 {bare:.2f}: {extra / bare:.2f} x (aim <= 1.3)")


def _best(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {key: min(one[key] for one in rounds) for key in rounds[0]}


def _check_out(folder: Path) -> Path | None:
    """Returns the sources of then; None where there is no history to take them from."""
    folder.mkdir()
    got = subprocess.run(["git", "-C", SOURCE, "archive", BEFORE, "src"], capture_output=True, check=False)
    if got.returncode:
        return None
    subprocess.run(["tar", "-x", "-C", folder], input=got.stdout, check=True)
    return folder / "src"


def _measure(what: str, place: Path, source: Path | None = None) -> dict[str, float]:
    folder = tempfile.mkdtemp(dir=place)
    out = subprocess.run(
        [sys.executable, "-c", _CHILD, what, folder, str(STORED)],
        env={**os.environ, "PYTHONPATH": str(source or SOURCE / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(out.stdout)
    return found


def _bare(place: Path, count: int = 60) -> float:
    """Milliseconds of CPU for the same rows, in a file from a template, by hand."""
    folder = Path(tempfile.mkdtemp(dir=place))
    memory = sqlite3.connect(":memory:", isolation_level=None)
    for statement in (statement for step in MIGRATIONS for statement in step):
        memory.execute(statement)
    image = bytearray(memory.serialize())
    image[18] = image[19] = 2
    memory.close()
    began = time.process_time()
    for number in range(count):
        _bare_session(folder / f"{number}.db", bytes(image))
    return (time.process_time() - began) / count * 1000


def _bare_session(path: Path, image: bytes) -> None:
    with path.open("xb", 0) as file:
        file.write(image)
        os.fdatasync(file.fileno())
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    rows = [(seq, b"x" * 600, b"h" * 32) for seq in range(1, 11)]
    db.execute("INSERT INTO meta VALUES ('id', 'a'), ('name', 'b'), ('workspace', 'c'), ('created', 'd')")
    first, at = True, 0
    for size in (2, 1, 3, 2, 2):  # the commits of a session with one answer
        db.execute("BEGIN IMMEDIATE")
        if size == 3:
            db.executemany(
                "INSERT INTO blobs VALUES (?, ?)", [(b"s" * 32, b"y" * 9000), (b"t" * 32, b"z" * 9000)]
            )
        db.executemany("INSERT INTO events VALUES (?, ?, ?)", rows[at : at + size])
        db.execute("COMMIT")
        at += size
        if size == 1 or at == 10:  # a prompt accepted, a turn ended
            wal = os.open(f"{path}-wal", os.O_RDONLY)
            os.fdatasync(wal)
            os.close(wal)
            if first:
                directory = os.open(path.parent, os.O_RDONLY)
                os.fdatasync(directory)
                os.close(directory)
            first = False
    db.close()


_CHILD = r"""
import asyncio, gc, json, os, resource, sys, time
from pathlib import Path
from planck import Planck
from planck.testing.scripted import ScriptedProvider

WHAT, FOLDER, STORED = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])

class Answers:
    async def stream(self, request):
        async for item in ScriptedProvider(["done"]).stream(request):
            yield item

def open_planck():
    (FOLDER / "work").mkdir(exist_ok=True)
    return Planck(FOLDER / "home", FOLDER / "work", environ={}, providers={"double": Answers()})

async def one(planck, stored, close=True):
    session = await planck.start(model="double/m", mode="full", stored=stored)
    assert (await session.run("go")).status == "completed"
    if close:
        await session.aclose()

async def cost(planck, stored, rounds=4, count=15):
    best = 1e9
    for _ in range(5):
        await one(planck, stored)
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(count):
            await one(planck, stored)
        best = min(best, (time.process_time() - began) / count * 1000)
    return best

def rss():
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1])

def queued_s():
    # Seconds for which the loop's thread could have run and had no core: others' work, not ours.
    try:
        return int(open("/proc/self/schedstat").read().split()[1]) / 1e9
    except OSError:
        return 0.0

def fill(planck):
    folder = planck.sessions_dir
    first = next(folder.glob("*.db"))
    for number in range(STORED):
        name = folder / f"{number:016x}_old-name-{number}.db"
        os.link(first, name)
        for more in (".lock", ".witness"):
            open(f"{name}{more}", "w").close()

async def main():
    async with open_planck() as planck:
        if WHAT == "cost":
            return {"memory": await cost(planck, False), "stored": await cost(planck, True)}
        if WHAT == "at_once":
            await one(planck, True)
            cpu, wall, queued = time.process_time(), time.perf_counter(), queued_s()
            await asyncio.gather(*(one(planck, True) for _ in range(100)))
            wall = time.perf_counter() - wall - (queued_s() - queued)
            return {"cpu": (time.process_time() - cpu) * 10, "wall": wall * 10}
        if WHAT == "among":
            await one(planck, True)
            fill(planck)
            (planck.sessions_dir / "index" / "complete").unlink()
            began = time.process_time()
            await one(planck, True)
            index = (time.process_time() - began) * 1000
            return {"stored": await cost(planck, True), "index": index}
        for _ in range(10):
            await one(planck, True)
        gc.collect()
        before = rss()
        await asyncio.gather(*(one(planck, True, close=False) for _ in range(90)))
        gc.collect()
        idle = (rss() - before) / 90
        began = time.perf_counter()
        for _ in range(100):
            await asyncio.gather(*(one(planck, True) for _ in range(10)))
        rate = 1000 / (time.perf_counter() - began)
        return {"idle_kb": idle, "rate": rate, "rss_mb": rss() / 1024}

print(json.dumps(asyncio.run(main())))
"""
