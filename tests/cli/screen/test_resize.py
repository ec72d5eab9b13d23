"""After a change of size nothing is written until the terminal has wrapped its lines again."""

import asyncio
import os
import pty

from planck.cli.screen.screen import Screen
from tests.virtual_time import run_virtual


def read(seen: int) -> str:
    try:
        return os.read(seen, 1 << 20).decode()
    except BlockingIOError:
        return ""


async def resize(slave: int, out: int, seen: int) -> list[str]:
    """Returns what was written: before, within 150 ms of the last of two changes, and after that."""
    screen = Screen(color=False, terminal=(slave, out))
    screen.open()
    await asyncio.sleep(1)
    screen.print("before")
    await asyncio.sleep(0.2)
    written = [read(seen)]
    screen.resized()
    screen.print("meanwhile")
    await asyncio.sleep(0.1)
    screen.read(b"typed")
    screen.resized()
    await asyncio.sleep(0.149)
    written.append(read(seen))
    await asyncio.sleep(0.002)
    written.append(read(seen))
    await screen.close()
    return written


def test_nothing_is_written_within_150_ms_of_a_change_of_size() -> None:
    master, slave = pty.openpty()
    seen, out = os.pipe()  # what is written to a terminal is there a moment later
    os.set_blocking(seen, False)
    try:
        before, meanwhile, after = run_virtual(resize(slave, out, seen))
    finally:
        for fd in (master, slave, seen, out):
            os.close(fd)
    assert "before" in before
    assert meanwhile == ""
    assert "meanwhile" in after
    assert "> typed" in after
