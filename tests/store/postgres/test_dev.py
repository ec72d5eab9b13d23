"""The database of `--store dev`, and the same store on the PostgreSQL of a system."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from planck.store.postgres.dev import DevServer, find_binaries
from planck.store.postgres.library import PostgresLibrary
from planck.toolkit.clock import RandomIds
from tests.postgres import DEBIAN, SKIP, run_sql


async def use(url: str, root: Path) -> None:
    """A session is made there, and found again by another machine."""
    from tests.store.postgres.test_faults import draft

    library = PostgresLibrary(url, root / "one", root)
    store = await library.create("abc", "calm-fox", RandomIds(), {"workspace": str(root), "created": "1"})
    await asyncio.gather(*(store.append([draft(f"{number}")]) for number in range(20)))
    await library.close(store, "abc", "calm-fox")
    await library.aclose()
    other = PostgresLibrary(url, root / "two", root)
    again = await other.open("calm-fox")
    assert len(list(again.read())) == 20
    await other.close(again, "abc", "calm-fox")
    await other.aclose()


@pytest.mark.skipif(find_binaries() is None, reason=SKIP)
async def test_it_is_started_once_for_all_kept_over_a_stop_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "postgres"
    servers = [DevServer(folder) for _ in range(3)]
    assert [server.url for server in servers] == ["", "", ""]
    urls = await asyncio.gather(*(asyncio.to_thread(server.start) for server in servers))
    try:
        assert len(set(urls)) == 1
        assert "@127.0.0.1:" in urls[0]
        for secret in ("url", "password"):
            assert stat.S_IMODE(os.stat(folder / secret).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        await use(urls[0], tmp_path)
        assert servers[0].stop()
        assert not servers[1].stop()
        assert servers[2].url == ""
        again = servers[1].start()
        assert run_sql(again, "SELECT name FROM sessions") == [["calm-fox"]]
    finally:
        servers[0].stop("immediate")


@pytest.mark.skipif(not DEBIAN.exists(), reason=SKIP)
async def test_the_oldest_version_that_we_know_will_do(tmp_path: Path) -> None:
    server = DevServer(tmp_path / "postgres", DEBIAN)
    url = await asyncio.to_thread(server.start)
    try:
        (version,) = run_sql(url, "SHOW server_version_num")[0]
        assert str(version).startswith("15")
        await use(url, tmp_path)
    finally:
        server.stop("immediate")
