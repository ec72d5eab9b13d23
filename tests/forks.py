"""A script beside a test that forks: it runs in a process of its own, and says what it counted as JSON.

In the script, all that runs a loop or a thread is done in a child.
"""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def run_script(
    script: Path, what: str, count: int, folder: Path, seed: int, before: tuple[str, ...] = ()
) -> dict[str, int]:
    print("seed", seed)
    done = subprocess.run(
        [*before, sys.executable, str(script), what, str(count), str(seed), str(folder)],
        capture_output=True,
        text=True,
        timeout=1200,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, int] = json.loads(done.stdout)
    print(result)
    return result


@contextmanager
def make_folder() -> Iterator[Path]:
    """In memory if there is any: the disk is not what these tests are about, and 20 times slower."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made)


def fork(work: Coroutine[Any, Any, None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            asyncio.run(work)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    work.close()
    return pid


def reap(pid: int, *codes: int) -> int:
    """Waits for a child, which may end with one of these codes; without any, with 0 alone."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (codes or (0,)), f"a process ended with {code}"
    return code


def die_at(count: int, *, statements: bool = False) -> Callable[[], int]:
    """Kills this process before its n-th call to the file system, counted from here.

    With `statements` each SQL statement counts too, on connections that are opened from here on. Returns what
    says how many there were.
    """
    seen = 0

    def strike(statement: str = "") -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" or event.startswith("os."):
            strike()

    def open_traced(database: Any, *args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(database, *args, **options)
        if database != ":memory:":
            connection.set_trace_callback(strike)
        return connection

    connect: Any = sqlite3.connect
    if statements:
        sqlite3.connect = open_traced  # type: ignore[assignment]  # the real one has overloads
    sys.addaudithook(hook)
    return lambda: seen
