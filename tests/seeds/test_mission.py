"""The script that a reader of the five seeds would write, run as it stands, by what it prints."""

import asyncio
import subprocess
import sys
from pathlib import Path

EXPECTED = """\
prompt: Tests first.||You build.
orchestrator holds: ['greet', 'lookup']
first request lists run_tests: True
granted: ['greet', 'check_complexity', 'lookup'] ignored: ['nope']
greet: ok=True 'Hello, a.py'
check_complexity: ok=True 'low: a.py'
lookup: ok=False 'not_found: no such thing: a.py\\n{"path":"a.py"}'
run_tests: ok=True '42 passed'
result: completed done 0
by factory: ['greet', 'lookup']
Eve starts in: part
team: ['orchestrator', 'Bob', 'Eve']
refused: invalid_args: the name 'no name' must be 1 to 64 letters, digits, '_' and '-'
closed: detached: Session 'NAME' is closed
"""


async def test_the_mission_of_a_reader_of_the_seeds(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name("mission.py")),
        str(tmp_path),
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 120)
    assert (process.returncode, out.decode()) == (0, EXPECTED), err.decode()
