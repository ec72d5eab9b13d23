"""Machines with links that can be cut: network namespaces with a veth pair each, and PostgreSQL over TCP.

A unix socket would ignore the namespaces; that a link is cut is shown by a plain connect that fails.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.postgres import choose_binaries

_PASSWORD = "for-this-test-only"


def have_namespaces() -> bool:
    if os.geteuid() != 0 or not shutil.which("ip"):
        return False
    name = f"planck-probe-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode:
        return False
    subprocess.run(["ip", "netns", "del", name], check=True)
    return True


class Link:
    """One namespace, and the pair of interfaces between it and us."""

    def __init__(self, number: int) -> None:
        own = os.getpid() % 10_000
        self.namespace = f"planck-{own}-{number}"
        self._outside, self._inside = f"pv{own}-{number}a", f"pv{own}-{number}b"
        third = own % 200
        self.here, self.there = f"10.{50 + number}.{third}.1", f"10.{50 + number}.{third}.2"
        """Our address, and that of whoever is inside."""

    def make(self) -> None:
        inside = ("-n", self.namespace)
        for words in (
            ("netns", "add", self.namespace),
            ("link", "add", self._outside, "type", "veth", "peer", "name", self._inside),
            ("link", "set", self._inside, "netns", self.namespace),
            ("addr", "add", f"{self.here}/30", "dev", self._outside),
            ("link", "set", self._outside, "up"),
            (*inside, "addr", "add", f"{self.there}/30", "dev", self._inside),
            (*inside, "link", "set", self._inside, "up"),
            (*inside, "link", "set", "lo", "up"),
        ):
            subprocess.run(["ip", *words], check=True, capture_output=True)

    def remove(self) -> None:
        subprocess.run(["ip", "link", "del", self._outside], capture_output=True)
        subprocess.run(["ip", "netns", "del", self.namespace], capture_output=True)

    def set(self, state: str) -> None:
        subprocess.run(["ip", "link", "set", self._outside, state], check=True)

    async def reaches(self, port: int) -> bool:
        """Whether a plain connect from inside arrives."""
        code = f"import socket; socket.create_connection(({self.here!r}, {port}), timeout=1.5).close()"
        tried = await asyncio.create_subprocess_exec(
            *("ip", "netns", "exec", self.namespace, sys.executable, "-c", code),
            stderr=asyncio.subprocess.DEVNULL,
        )
        return await tried.wait() == 0


class Postgres:
    """One server over TCP, with fsync, that can be crashed, copied and promoted."""

    def __init__(self, folder: Path, port: int) -> None:
        found = choose_binaries()
        assert found
        self._binaries = found
        self._folder = folder
        self._data = folder / "data"
        self.port = port

    def url(self, host: str) -> str:
        return f"postgresql://planck:{_PASSWORD}@{host}:{self.port}/postgres"

    def make(self) -> None:
        self._folder.mkdir()
        self._data.mkdir(mode=0o700)
        password = self._folder / "password"
        password.write_text(_PASSWORD)
        self._run("initdb", "-U", "planck", f"--pwfile={password}", "--auth=scram-sha-256", "--no-locale")
        with (self._data / "pg_hba.conf").open("a") as rules:
            rules.write("host all all 10.0.0.0/8 scram-sha-256\n")

    def start(self) -> None:
        options = f"-h 0.0.0.0 -p {self.port} -k '' -c max_connections=100 -c shared_buffers=64MB"
        log = str(self._folder / "log")
        self._run("pg_ctl", "start", "-w", "-t", "60", "-l", log, "-o", options)

    def crash(self) -> None:
        """No checkpoint, no goodbye: what was not on the disk is gone."""
        self._run("pg_ctl", "stop", "-w", "-m", "immediate")

    def promote(self) -> None:
        self._run("pg_ctl", "promote", "-w", "-t", "60")

    def copy_to(self, other: "Postgres") -> None:
        """Makes and starts a standby, and returns when every commit waits for it."""
        shutil.rmtree(other._folder, ignore_errors=True)
        other._folder.mkdir()
        address = f"host=127.0.0.1 port={self.port} user=planck password={_PASSWORD} application_name=standby"
        other._run("pg_basebackup", "-R", "-c", "fast", "-X", "stream", "-d", address)
        other.start()
        self.psql("ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby)'")
        self.psql("SELECT pg_reload_conf()")
        while "sync" not in self.psql("SELECT sync_state FROM pg_stat_replication"):
            pass

    def psql(self, sql: str) -> str:
        done = subprocess.run(
            [str(self._binaries / "psql"), "-XAtq", "-c", sql, self.url("127.0.0.1")],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def _run(self, program: str, *words: str) -> None:
        become = (
            ("unshare", "--user", "--map-user=1", "--map-group=1", "--") if os.geteuid() == 0 else ()
        )  # PostgreSQL refuses to be root
        with (self._folder / f"{program}.out").open("ab") as out:
            subprocess.run(
                [*become, str(self._binaries / program), "-D", str(self._data), *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self._folder,
                start_new_session=True,
                check=True,
                timeout=120,
            )
