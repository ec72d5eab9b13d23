"""T19: a dry run of every built-in tool asks the kernel for no change, and says what it would do."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tools.room import Room, kind, tree, value

PLANS: list[tuple[str, dict[str, Any], str]] = [
    ("read", {"path": "a.txt"}, "read"),
    ("write", {"path": "new/b.txt", "content": "x"}, "Would create new/b.txt (1 bytes)."),
    (
        "write",
        {"path": "a.txt", "content": "two\n"},
        "Would write a.txt (4 bytes).\n--- a/a.txt\n+++ b/a.txt\n",
    ),
    (
        "edit",
        {"path": "a.txt", "old_string": "one", "new_string": "two"},
        "Would edit a.txt (1 replacement).\n",
    ),
    ("bash", {"command": "touch pwned"}, "Would run in '.': touch pwned"),
    ("bash", {"command": "touch pwned", "background": True}, "Would run in '.': touch pwned"),
    ("glob", {"pattern": "*"}, "glob"),
    ("grep", {"pattern": "one"}, "grep"),
    ("list_dir", {}, "list_dir"),
]


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path, dry_run=True)
    (room.ws / "a.txt").write_text("one\n")
    return room


@pytest.mark.parametrize(("name", "args", "plan"), PLANS)
async def test_a_dry_run_plans_and_changes_nothing(
    name: str, args: dict[str, Any], plan: str, room: Room
) -> None:
    before = tree(room.ws.parent)
    result = await room.call(name, args)
    assert value(result) | {"output": ""} == {"output": "", "dry_run": True, "tool": name, "args": args}
    assert plan in result.output
    assert tree(room.ws.parent) == before
    assert room.facts == []


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("write", {"path": "../x", "content": ""}, "outside_workspace"),
        ("write", {"path": ".git/x", "content": ""}, "protected_path"),
        ("write", {"path": 7, "content": ""}, "invalid_args"),
        ("edit", {"path": "a.txt", "old_string": "nope", "new_string": ""}, "no_match"),
        ("edit", {"path": "none.txt", "old_string": "nope", "new_string": ""}, "not_found"),
        ("bash", {"command": "true", "cwd": ".."}, "outside_workspace"),
        ("nope", {}, "unknown_tool"),
    ],
)
async def test_a_dry_run_refuses_what_the_run_would_refuse(
    name: str, args: dict[str, Any], expected: str, room: Room
) -> None:
    assert kind(await room.call(name, args)) == expected


AUDIT = """
import asyncio, json, os, sys
from pathlib import Path
from tests.tools.room import Room
room = Room(Path(sys.argv[1]), dry_run=True)
calls = json.loads(sys.argv[2])
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown",
           "os.truncate", "os.utime", "subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec",
           "socket.connect"}
seen = []
def hook(event, args):
    writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if event in CHANGES or writes:
        seen.append([event, repr(args)])
asyncio.run(room.step(("read", {"path": "a.txt"})))
sys.addaudithook(hook)
open("/dev/null").close()  # from here on
asyncio.run(room.step(*map(tuple, calls)))
print(json.dumps(seen))
"""


def test_a_dry_run_makes_no_call_that_changes_anything(room: Room) -> None:
    """By the interpreter's own audit of opens, renames, processes and sockets."""
    calls = json.dumps([[name, args] for name, args, _ in PLANS])
    command = [sys.executable, "-c", AUDIT, str(room.ws.parent), calls]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=True)
    assert json.loads(done.stdout) == []


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_dry_run_makes_no_system_call_that_changes_anything(room: Room) -> None:
    calls = json.dumps([[name, args] for name, args, _ in PLANS])
    log = room.ws.parent / "trace"
    watched = "openat,openat2,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,link,linkat,symlinkat"
    watched += ",fchmod,fchmodat,truncate,ftruncate,connect,execve,mknodat"
    trace = ["strace", "-f", "-o", str(log), "-e", f"trace={watched}"]
    command = [*trace, sys.executable, "-B", "-c", AUDIT, str(room.ws.parent), calls]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    if "not permitted" in done.stderr:
        pytest.skip("strace is not permitted")
    setup, made = log.read_text().split('"/dev/null"', 1)
    assert "mkdir" in setup
    assert "a.txt" in made
    verbs = "rename|unlink|mkdir|link|symlink|chmod|fchmod|truncate|ftruncate|mknod|connect|execve"
    changing = re.compile(rf"O_WRONLY|O_RDWR|O_CREAT|^\d+ +({verbs})")
    assert [line for line in made.splitlines() if changing.search(line)] == []
