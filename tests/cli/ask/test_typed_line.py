"""Lines that commands read from a terminal while nothing else runs."""

import sys
from pathlib import Path

import pytest

from tests.terminal import on_terminal

_READ = """
import signal, sys, threading
from planck.cli.ask.typed_line import ask, read_line

# Another thread gets the signal, so the read is not interrupted: as if it came just before the read began.
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
try:
    {read}
except KeyboardInterrupt:
    sys.exit(130)
"""
READS = {
    "a line": "read_line('Name: ')",
    "a hidden line": "read_line('Name: ', hidden=True)",
    "an answer": "ask('Name: ', without_terminal='')",
}


@pytest.mark.parametrize("read", READS)
async def test_ctrl_c_ends_a_question_also_if_it_comes_just_before_the_read_begins(
    tmp_path: Path, read: str
) -> None:
    program = (sys.executable, "-c", _READ.replace("{read}", READS[read]))
    run = await on_terminal(home=tmp_path, work=tmp_path, program=program)
    await run.until("Name: ")
    run.type("\x03")
    assert await run.end() == 130
