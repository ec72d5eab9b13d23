"""The leak check of `tests/leaks.py`: each deliberate leak fails the test that made it, and no other."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

LEAKING = """
import asyncio, fcntl, os, socket, subprocess, tempfile, threading, time
import asyncpg
import pytest
from tests import leaks

leaks.GRACE = 0.2  # what leaks here never ends
KEEP = []


async def echo(reader, writer):
    writer.write(await reader.read())
    writer.close()


@pytest.fixture(scope="module")
def wide():
    process = subprocess.Popen(["sleep", "605"])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener
    process.kill()
    process.wait()


async def test_leak_transport(wide):
    KEEP.append(await asyncio.open_connection(*wide.getsockname()))


def test_leak_socket():
    KEEP.append(socket.create_server(("127.0.0.1", 0)))


async def test_leak_subprocess():
    KEEP.append(await asyncio.create_subprocess_exec("sleep", "600", stdout=subprocess.PIPE))


def test_leak_plain_subprocess():
    KEEP.append(subprocess.Popen(["sleep", "601"]))


def test_leak_grandchild(tmp_path):
    subprocess.run(["sh", "-c", "setsid sleep 602 >/dev/null 2>&1 &"], cwd=tmp_path, check=True)


def test_leak_thread():
    threading.Thread(target=threading.Event().wait, name="forgotten", daemon=True).start()


async def test_leak_task():
    KEEP.append(asyncio.create_task(asyncio.sleep(603), name="lonely"))


def test_leak_fd():
    os.open(__file__, os.O_RDONLY)


async def test_leak_timer():
    asyncio.get_running_loop().call_later(604, print)


def test_leak_temp_folder():
    tempfile.mkdtemp(prefix="left")


def test_leak_lock_file():
    KEEP.append(open(os.path.join(tempfile.gettempdir(), "held.lock"), "w"))
    fcntl.flock(KEEP[-1], fcntl.LOCK_EX)


async def test_leak_server():
    KEEP.append(await asyncio.start_server(echo, "127.0.0.1", 0))


def test_leak_loop():
    asyncio.new_event_loop()


async def test_leak_postgres():
    KEEP.append(await asyncpg.connect(os.environ["LEAKS_POSTGRES"]))
"""

CLEAN = """

def test_clean_after_a_wide_fixture(wide):
    assert wide.fileno() > 0


async def test_clean_connection_process_and_thread():
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write_eof()
    await reader.read()
    writer.close()
    server.close()
    process = await asyncio.create_subprocess_exec("cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    await process.communicate(b"text")
    await asyncio.to_thread(time.monotonic)
    asyncio.create_task(asyncio.sleep(600)).cancel()
    asyncio.get_running_loop().call_later(600, print).cancel()


async def test_clean_postgres():
    connection = await asyncpg.connect(os.environ["LEAKS_POSTGRES"])
    await connection.close()


def test_clean_temporary_folder(tmp_path):
    with tempfile.TemporaryDirectory() as folder:
        assert os.path.isdir(folder)
    (tmp_path / "kept").write_text("pytest removes it")
"""

EXPECTED = {
    "transport": "transport from .*, which is open",
    "socket": "socket that listens on",
    "subprocess": "transport of child process .* still runs: .*sleep",
    "plain_subprocess": "child process .* still runs: sleep 601",
    "grandchild": "process .* still runs, which a child process started: (setsid )?sleep 602",
    "thread": "thread 'forgotten', which runs threading.Event.wait",
    "task": "task 'lonely' still runs sleep",
    "fd": r"file descriptor \d+: .*test_inner.py",
    "timer": r"timer that calls builtins.print in 60\d.\d s",
    "temp_folder": "temporary folder .*left",
    "lock_file": r"lock on .*held.lock \(file descriptor",
    "server": "server on socket that listens on",
    "loop": "never closed: unclosed event loop",
    "postgres": "PostgreSQL connection to",
}
"""What the report says of each leak."""


def test_each_leak_fails_the_test_that_made_it(tmp_path: Path, postgres: str) -> None:
    leaking = re.sub(
        r"\n\n\n(?=(?:async )?def test_leak_(\w+))",
        r"\n\n\ndef test_innocent_before_\1(): pass\n\n\n",
        LEAKING,
    )
    file = tmp_path / "test_inner.py"
    file.write_text(leaking + CLEAN)
    words = ["-p", "tests.leaks", "-p", "no:cacheprovider", "-c", f"{ROOT}/pyproject.toml", "--rootdir", "."]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "--basetemp", tmp_path / "base", file],
        cwd=ROOT,
        env={**os.environ, "LEAKS_POSTGRES": postgres},
        capture_output=True,
        text=True,
        timeout=120,
    )
    reports = dict(
        re.findall(r"ERROR at teardown of test_(\w+) _+\n.* left open:\n((?:  - .*\n)+)", done.stdout)
    )
    assert set(reports) == {f"leak_{name}" for name in EXPECTED}, done.stdout
    for name, pattern in EXPECTED.items():
        assert re.search(pattern, reports[f"leak_{name}"]), (name, reports[f"leak_{name}"])
    # A leak is told once: a child or a transport does not appear again as a descriptor.
    assert {name for name, text in reports.items() if text.count("  - ") > 1} == {"leak_lock_file"}
    tests = 2 * len(EXPECTED) + 4
    assert f"{tests} passed, {len(EXPECTED)} errors" in done.stdout
