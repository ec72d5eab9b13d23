"""The database of `--store dev`, and the same store on the PostgreSQL of a system."""

import asyncio
import os
import stat
import subprocess
from pathlib import Path

import pytest

from planck.records.outcome import ErrorKind
from planck.store.postgres.dev import DevServer, find_binaries
from planck.store.postgres.library import PostgresLibrary
from planck.store.store import StoreError
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


def make_stubborn(root: Path, failure: str) -> Path:
    """Returns programs of which `pg_ctl stop` fails, and the others work."""
    real, folder = find_binaries(), root / "stubborn"
    folder.mkdir(exist_ok=True)
    check = f'for word; do [ "$word" = stop ] && {{ {failure}; exit; }}; done'
    (folder / "pg_ctl").write_text(f'#!/bin/sh\n{check}\nexec {real}/pg_ctl "$@"\n')
    (folder / "pg_ctl").chmod(0o755)
    return folder


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
        for failure in ("exit 1", "kill -9 $$", "sleep 0"):  # the last one says that it worked
            with pytest.raises(StoreError) as refused:
                DevServer(folder, make_stubborn(tmp_path, failure)).stop()
            assert refused.value.err.kind is ErrorKind.COMMAND_FAILED
            assert servers[0].url == servers[1].start() == again, "it runs, and everybody knows where"
        left = (folder / "data" / "postmaster.pid").read_text()
        assert servers[0].stop()
        ended = subprocess.Popen("true")
        ended.wait()
        (folder / "data" / "postmaster.pid").write_text(left.replace(left.split()[0], str(ended.pid), 1))
        assert not servers[0].stop(), "it did not run, whatever a killed server left behind"
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
