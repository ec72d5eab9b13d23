"""What waits for the disk is done beside the loop, to its end."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from planck.store.threads import finish_blocking, hand_over, run_blocking


@pytest.mark.parametrize(
    ("way", "waits", "taken"), [("run", False, []), ("finish", True, []), ("hand over", True, ["made"])]
)
async def test_a_cancelled_caller_is_let_go_or_waits_or_gets_nothing(
    way: str, waits: bool, taken: list[str]
) -> None:
    begun, go, done = threading.Event(), threading.Event(), threading.Event()
    back: list[str] = []

    def work() -> str:
        begun.set()
        go.wait(30)
        done.set()
        return "made"

    async def call() -> None:
        if way == "run":
            await run_blocking(work)
        elif way == "finish":
            await finish_blocking(work)
        else:
            await hand_over(work, back.append)

    caller = asyncio.ensure_future(call())
    await run_blocking(begun.wait, 30)
    for _ in range(2):  # a second one waits too
        caller.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert caller.done() is not waits
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await run_blocking(done.wait, 30)
    assert back == taken


async def test_a_failure_is_the_caller_s() -> None:
    with pytest.raises(ZeroDivisionError):
        await finish_blocking(lambda: 1 // 0)


async def test_twenty_wait_together_in_sixteen_threads() -> None:
    meet = threading.Barrier(16)
    await asyncio.gather(*(run_blocking(meet.wait, 30) for _ in range(16)))
    names = await asyncio.gather(*(run_blocking(threading.current_thread) for _ in range(40)))
    assert len({thread.name for thread in names}) <= 16


def test_what_was_begun_is_done_when_the_process_ends(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys, time\n"
        "from pathlib import Path\n"
        "from planck.store.threads import run_blocking\n"
        "def write():\n"
        "    time.sleep(0.3)\n"
        "    Path(sys.argv[1]).write_text('whole')\n"
        "async def main():\n"
        "    asyncio.ensure_future(run_blocking(write))\n"
        "    await asyncio.sleep(0)\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "file")], check=True, timeout=30)
    assert (tmp_path / "file").read_text() == "whole"
