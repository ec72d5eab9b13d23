"""A real PostgreSQL for the tests: one server for all workers of a run, a database for each test."""

import asyncio
import fcntl
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planck.store.postgres.dev import DevServer, find_binaries

SKIP = "no PostgreSQL is installed"
DEBIAN = Path("/usr/lib/postgresql/15/bin")
_numbers = itertools.count(1)


def choose_binaries() -> Path | None:
    """Returns where the programs are: the newest that are here, or those of `PLANCK_TEST_POSTGRES`."""
    chosen = os.environ.get("PLANCK_TEST_POSTGRES")
    return Path(chosen) if chosen else find_binaries()


@contextmanager
def shared_server(root: Path) -> Iterator[str]:
    """Starts the server, or finds it running; whoever leaves last stops it."""
    programs = choose_binaries()
    if programs is None:
        pytest.skip(SKIP)
    server = DevServer(root / "postgres", programs)
    users = root / "postgres.users"
    with _counted(users, 1):
        # The tests count acknowledged commits, not what a power cut leaves of them.
        url = server.start("fsync=off", "max_connections=200", "shared_buffers=64MB")
    try:
        yield url
    finally:
        with _counted(users, -1) as left:
            if left == 0:
                server.stop("immediate")


@contextmanager
def _counted(file: Path, change: int) -> Iterator[int]:
    """Nobody starts while somebody stops."""
    fd = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        count = int(os.pread(fd, 20, 0) or b"0") + change
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(count).encode(), 0)
        yield count
    finally:
        os.close(fd)


def make_database(server: str) -> str:
    """Returns the address of an empty one; from a thread of its own, because tests have loops."""
    name = f"t{os.getpid()}_{next(_numbers)}"
    run_sql(server, f"CREATE DATABASE {name}")
    return f"{server.rpartition('/')[0]}/{name}"


def run_sql(url: str, *statements: str) -> list[list[object]]:
    """Runs them one after the other, and returns the rows of the last."""
    import threading

    found: list[list[object]] = []

    async def work() -> None:
        import asyncpg

        connection = await asyncpg.connect(url)
        try:
            for statement in statements:
                found[:] = [list(row.values()) for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    thread.join()
    return found
