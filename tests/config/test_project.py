"""A project is read once, however many of its rooms ask for it."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import asyncio, json, os, sys
from collections import Counter

opened = Counter()
def count(event, args):
    if event == "open" and isinstance(args[0], str | os.PathLike):
        opened[str(args[0])] += 1
sys.addaudithook(count)

from planck import Planck
from planck.testing import Say, ScriptedProvider

async def main(home, work, trust):
    double = ScriptedProvider([Say(text="done")])
    async with Planck(home, work, environ={}, trust=trust == "trusted", providers={"x": double}) as planck:
        planck.notices
        session = await planck.start(model="x/y")
        assert (await session.run("hi")).text == "done"

asyncio.run(main(*sys.argv[1:]))
print(json.dumps(opened))
"""


def opened(tmp_path: Path, trust: str) -> dict[str, int]:
    """How often one answer opened each file of the home and of the workspace."""
    home, work = tmp_path / "home", tmp_path / "work"
    (work / ".planck").mkdir(parents=True)
    home.mkdir()
    (home / "config.json").write_text("{}")
    (home / "trust.json").write_text("{}")
    (home / "credentials.json").write_text('{"providers": {}}')
    (work / ".planck" / "config.json").write_text(
        json.dumps({"limits": {"steps": 9}, "tools_dirs": ["more"]})
    )
    (work / ".mcp.json").write_text('{"mcpServers": {}}')
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, home, work, trust], capture_output=True, text=True, check=True
    )
    files = [
        home / "config.json",
        home / "trust.json",
        home / "credentials.json",
        work / ".planck/config.json",
    ]
    counts = json.loads(done.stdout)
    return {str(file.relative_to(tmp_path)): counts.get(str(file), 0) for file in files}


def test_one_answer_reads_each_file_of_the_configuration_once(tmp_path: Path) -> None:
    assert opened(tmp_path, "untrusted") == {
        "home/config.json": 1,
        "home/trust.json": 1,
        "home/credentials.json": 1,
        "work/.planck/config.json": 1,
    }


def test_a_trusted_folder_is_read_no_more_often(tmp_path: Path) -> None:
    assert opened(tmp_path, "trusted") == {
        "home/config.json": 1,
        "home/trust.json": 0,
        "home/credentials.json": 1,
        "work/.planck/config.json": 1,
    }
