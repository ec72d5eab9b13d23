"""`planck.run`: a script without a loop of its own."""

import subprocess
import sys
from pathlib import Path

from tests.command import PLAIN, Bench
from tests.wire import chat
from tests.wire.server import WireServer

SCRIPT = """
import planck
first = planck.run("hello", mode="read-only", name="mine")
again = planck.run("and again", resume="mine", model="local/other", max_steps=1)
print(first.text, first.exit_code, again.text, again.session_name)
"""


async def test_a_script_gets_a_result_and_goes_on_with_the_session(tmp_path: Path) -> None:
    import asyncio

    async with WireServer([chat.text("one"), chat.text("two")]) as server:
        bench = Bench(tmp_path, server.url)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            SCRIPT,
            cwd=bench.work,
            env={**PLAIN, "PLANCK_HOME": str(bench.home)},
            stdout=subprocess.PIPE,
        )
        out, _ = await process.communicate()
    assert out.decode() == "one 0 two mine\n"
    assert [asked.json["model"] for asked in server.asked] == ["m", "other"]
