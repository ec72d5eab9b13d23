"""After a change of size nothing is written until the terminal has wrapped its lines again."""

import asyncio
import os
import pty

from planck.cli.screen.screen import Screen
from tests.virtual_time import run_virtual


def read(terminal: int) -> str:
    try:
        return os.read(terminal, 1 << 20).decode()
    except BlockingIOError:
        return ""


async def resize(terminal: int, slave: int) -> list[str]:
    """Returns what was written: before, within 150 ms of the last of two changes, and after that."""
    screen = Screen(color=False, terminal=(slave, slave))
    screen.open()
    await asyncio.sleep(1)
    screen.print("before")
    await asyncio.sleep(0.2)
    seen = [read(terminal)]
    screen.resized()
    screen.print("meanwhile")
    await asyncio.sleep(0.1)
    screen.read(b"typed")
    screen.resized()
    await asyncio.sleep(0.149)
    seen.append(read(terminal))
    await asyncio.sleep(0.002)
    seen.append(read(terminal))
    await screen.close()
    return seen


def test_nothing_is_written_within_150_ms_of_a_change_of_size() -> None:
    terminal, slave = pty.openpty()
    os.set_blocking(terminal, False)
    try:
        before, meanwhile, after = run_virtual(resize(terminal, slave))
    finally:
        os.close(terminal)
        os.close(slave)
    assert "before" in before
    assert meanwhile == ""
    assert "meanwhile" in after
    assert "> typed" in after
