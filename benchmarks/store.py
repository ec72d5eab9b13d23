"""An append where sessions are kept: SQLite (process, power) and PostgreSQL, one session and a hundred."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from planck.records.events import Draft
from planck.store.postgres.dev import DevServer, find_binaries
from planck.store.postgres.library import PostgresLibrary
from planck.store.postgres.mirror import PAGE, read_page
from planck.store.sqlite.store import SqliteStore
from planck.store.store import Store
from planck.toolkit.clock import RandomIds

_EVENT = Draft(
    "2026-01-01T00:00:00.000Z", "a" * 16, 1, "message", msgspec.Raw(b'{"text":"%s"}' % (b"x" * 330))
)
_BATCH = [_EVENT] * 3
"""Three events of 430 bytes: a step."""
_ONE, _MANY = 300, 100
_ROUNDS = 20
_LONG = 100_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> None:
    files = {"sqlite process": "process", "sqlite power": "power"}
    rates: dict[str, float] = {}
    for name, durability in files.items():
        stores = [
            SqliteStore.create(folder / name / f"{number}_x.db", {}, durability=durability)  # type: ignore[arg-type]  # a literal by construction
            for number in range(_MANY)
        ]
        rates[name] = await _report(name, stores)
        for store in stores:
            store.close()
    if find_binaries() is None:
        print("postgres            not installed: pip install '.[postgres-dev]'")
        return
    server = DevServer(folder / "postgres")
    url = await asyncio.to_thread(server.start)  # with fsync: what is acknowledged is on the disk
    try:
        await _measure_postgres(url, folder, rates)
    finally:
        await asyncio.to_thread(server.stop)


async def _measure_postgres(url: str, folder: Path, rates: dict[str, float]) -> None:
    library = PostgresLibrary(url, folder / "copies", folder)
    ids = RandomIds()
    meta = {"workspace": str(folder), "created": "1"}
    stores = [await library.create(f"{number:016}", "", ids, meta) for number in range(_MANY)]
    rate = await _report("postgres", stores)
    print(f"                    {rate / rates['sqlite power']:8.2f} of sqlite power at {_MANY} (aim >= 0.5)")
    long = stores[0]
    while long.head < _LONG:
        await long.append([_EVENT] * min(5000, _LONG - long.head))
    for store in stores:
        await library.close(store, store.id, store.meta["name"])
    elsewhere = PostgresLibrary(url, folder / "elsewhere", folder)
    began = time.perf_counter()
    pulled = await elsewhere.open(long.id)
    spent = time.perf_counter() - began
    print(f"pulling             {pulled.head:8} events in {spent:5.2f} s")
    began = time.perf_counter()
    page = await read_page(elsewhere.engine.queries, long.id, _LONG // 2)
    spent = (time.perf_counter() - began) * 1000
    print(f"a page from there   {len(page):8} of {PAGE} rows in {spent:5.2f} ms")
    await elsewhere.close(pulled, pulled.id, pulled.meta["name"])
    began = time.perf_counter()
    again = await elsewhere.open(long.id)
    print(f"opening it again    {(time.perf_counter() - began) * 1000:8.1f} ms")
    await elsewhere.close(again, again.id, again.meta["name"])
    await elsewhere.aclose()
    await library.aclose()


async def _report(name: str, stores: Sequence[Store]) -> float:
    """Returns the events per second of a hundred sessions that append at once."""
    times: list[float] = []
    await _append(stores[0], _ONE, times)
    one = statistics.median(times)
    print(
        f"{name:18}  1 session    {one * 1000:8.2f} ms p50 {len(_BATCH) * _ONE / sum(times):10.0f} events/s"
    )
    times.clear()
    began = time.perf_counter()
    await asyncio.gather(*(_append(store, _ROUNDS, times) for store in stores))
    rate = len(_BATCH) * _ROUNDS * len(stores) / (time.perf_counter() - began)
    many = statistics.median(times)
    print(f"{name:18}{len(stores):3} sessions   {many * 1000:8.2f} ms p50 {rate:10.0f} events/s")
    return rate


async def _append(store: Store, count: int, times: list[float]) -> None:
    for _ in range(count):
        began = time.perf_counter()
        await store.append(_BATCH)
        times.append(time.perf_counter() - began)
