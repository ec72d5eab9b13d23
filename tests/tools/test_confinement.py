"""Attacks W1-W16 of security.md §2.2 on the file tools, through the executor."""

import asyncio
import ctypes
import itertools
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from planck.records.events import View
from planck.workspace.paths.beneath import open_beneath, walk
from tests.tools.room import Room, kind, open_folder, tree, value

READERS: dict[str, dict[str, Any]] = {"read": {}, "list_dir": {}, "grep": {"pattern": "secret"}}
WRITERS: dict[str, dict[str, Any]] = {
    "write": {"content": "evil"},
    "edit": {"old_string": "secret", "new_string": "evil"},
}
TOOLS = {**READERS, **WRITERS, "glob": {"pattern": "*"}}

SPELLINGS = [
    "../out/secret",
    "../out",
    "..",
    "../",
    "../../",
    "./../out/secret",
    "sub/../../out/secret",
    "sub/../../out",
    "missing/../../out/secret",
    "sub/./.././../out/secret",
    "sub//..//..//out/secret",
    "{out}/secret",
    "{out}",
    "{ws}/../out/secret",
    "{ws}/sub/../../out/secret",
    "{ws}x/secret",
    "{ws}-evil",
    "/{out}/secret",
    "//{out}/secret",
    "/etc/passwd",
    "/",
    "//",
    "/.",
    "/..",
    "/dev/zero",
    "/dev/stdin",
    "/dev/fd/0",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/../out/secret",
    "/proc/1/environ",
    "~",
    "~/secret",
    "~root/secret",
    "~nobody",
    "$HOME/secret",
    "${HOME}/secret",
    "../ws/../out/secret",
    "../ws/sub/a.txt",
    "sub/../../ws/sub/a.txt",
]


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path)
    (room.ws / "sub").mkdir()
    (room.ws / "sub" / "a.txt").write_text("a secret of ours\n")
    (tmp_path / "wsx").mkdir()
    (tmp_path / "wsx" / "secret").write_text("the secret\n")
    (tmp_path / "ws-evil").write_text("the secret\n")
    return room


async def everywhere(room: Room, path: str) -> dict[str, str]:
    """The kind that each tool answers for the path."""
    results = await room.step(*((name, {"path": path, **args}) for name, args in TOOLS.items()))
    assert not any("the secret" in result.output for result in results)
    return {result.call.name: kind(result) for result in results}


@pytest.mark.parametrize("spelling", SPELLINGS)
async def test_no_spelling_leads_outside(spelling: str, room: Room) -> None:
    """W1: one kind for all of them, whether the target is there or not, and nothing outside changes."""
    before = tree(room.out), tree(room.out.parent)
    path = spelling.replace("{ws}", str(room.ws)).replace("{out}", str(room.out))
    assert set((await everywhere(room, path)).values()) == {"outside_workspace"}
    assert (tree(room.out), tree(room.out.parent)) == before


async def test_what_is_outside_is_refused_alike_whether_it_exists(room: Room) -> None:
    there = await room.call("read", {"path": "../out/secret"})
    missing = await room.call("read", {"path": "../out/sicret"})
    assert there.output.replace("secret", "sicret") == missing.output


@pytest.mark.parametrize(
    "spelling", ["sub/a.txt", "./sub/a.txt", "sub/../sub/a.txt", "{ws}/sub/a.txt", "sub//a.txt"]
)
async def test_every_spelling_inside_is_the_same_file(spelling: str, room: Room) -> None:
    path = spelling.format(ws=room.ws)
    assert (await room.call("read", {"path": path})).output == "a secret of ours\n"
    (room.ws / "sub" / "a.txt").write_text("changed\n")
    conflict = await room.call("write", {"path": "sub/a.txt", "content": "x"})
    assert kind(conflict) == "edit_conflict", "known under every name"


@pytest.mark.parametrize("bad", ["a\0b", "sub/a.txt\0/../../out", "x" * 5000, "d/" * 2100])
async def test_what_is_no_path_is_invalid(bad: str, room: Room) -> None:
    assert set((await everywhere(room, bad)).values()) == {"invalid_args"}


async def test_a_name_that_is_too_long_is_a_clean_error(room: Room) -> None:
    assert kind(await room.call("write", {"path": "y" * 255, "content": "fits"})) == "ok"
    assert kind(await room.call("read", {"path": "y" * 255})) == "ok"
    assert set((await everywhere(room, "x" * 256)).values()) <= {"read_failed", "write_failed"}


@pytest.mark.parametrize("absolute", [True, False])
async def test_a_link_that_leads_outside_is_refused(absolute: bool, room: Room) -> None:
    """W2: as a file, as a folder on the way, and as a chain of five."""
    target = room.out if absolute else Path("..") / "out"
    (room.ws / "file").symlink_to(target / "secret")
    (room.ws / "folder").symlink_to(target)
    (room.ws / "chain5").symlink_to(target)
    for number in (4, 3, 2, 1):
        (room.ws / f"chain{number}").symlink_to(f"chain{number + 1}")
    before = tree(room.out)
    for path in ("file", "folder", "folder/secret", "chain1/secret", "chain1"):
        kinds = await everywhere(room, path)
        if path == "chain1":  # to be written it is refused as a link, before anybody looks where it leads
            assert (kinds.pop("write"), kinds.pop("edit")) == ("write_failed", "write_failed")
        assert set(kinds.values()) == {"outside_workspace"}, path
    assert tree(room.out) == before


async def test_a_dollar_is_a_character_like_others(room: Room) -> None:
    assert kind(await room.call("write", {"path": "$HOMEWORK/$x", "content": "y"})) == "ok"
    assert (room.ws / "$HOMEWORK" / "$x").read_text() == "y"


async def test_a_loop_of_links_is_a_clean_error(room: Room) -> None:
    (room.ws / "one").symlink_to("two")
    (room.ws / "two").symlink_to("one")
    (room.ws / "self").symlink_to("self/x")
    for path in ("one", "one/x", "self"):
        assert "ok" not in (await everywhere(room, path)).values()


async def test_links_that_stay_inside_are_read_but_not_written_through(room: Room) -> None:
    (room.ws / "inside").symlink_to("sub/a.txt")
    (room.ws / "through").symlink_to("sub")
    (room.ws / "absolute").symlink_to(room.ws / "sub")
    assert (await room.call("read", {"path": "inside"})).output == "a secret of ours\n"
    assert (await room.call("read", {"path": "through/a.txt"})).output == "a secret of ours\n"
    refused = await room.call("write", {"path": "inside", "content": "x"})
    assert (kind(refused), "sub/a.txt" in refused.output) == ("write_failed", True)
    assert (room.ws / "inside").is_symlink()
    assert kind(await room.call("write", {"path": "through/b.txt", "content": "x"})) == "ok"
    named = await room.call("read", {"path": "absolute/a.txt"})
    assert (kind(named), str(room.ws / "sub") in named.output) == ("outside_workspace", True)


async def test_a_dangling_link_creates_nothing_outside(room: Room) -> None:
    """W3."""
    (room.ws / "new").symlink_to(room.out / "created")
    (room.ws / "far").symlink_to("../out/created")
    (room.ws / "dir").symlink_to(room.out / "newdir")
    for path in ("new", "far", "dir/x"):
        assert kind(await room.call("write", {"path": path, "content": "evil"})) == "outside_workspace"
    assert [entry.name for entry in room.out.iterdir()] == ["secret"]


@pytest.mark.parametrize("name", ["read", "write", "edit", "grep", "glob", "list_dir"])
async def test_a_folder_swapped_for_a_link_during_the_call_lets_nothing_out(name: str, room: Room) -> None:
    """W4, W5: a real thread that swaps `sub` for a link to the outside, as fast as it can for most tools.

    What walks looks often: it gets a moment in each state, or no call would come past the first look.
    """
    pause = 0.05 if name in {"grep", "glob"} else 0.0
    calls = 40 if pause else 400
    (room.out / "a.txt").write_text("the secret\n")
    (room.ws / "link").symlink_to(room.out)
    args: dict[str, dict[str, Any]] = {
        "read": {"path": "sub/a.txt"},
        "write": {"path": "sub/n{n}.txt", "content": "evil"},
        "edit": {"path": "sub/a.txt", "old_string": "secret", "new_string": "secret"[::-1]},
        "grep": {"pattern": "secret", "path": "sub"},
        "glob": {"pattern": "*", "path": "sub"},
        "list_dir": {"path": "sub"},
    }
    before = tree(room.out)
    kinds: dict[str, int] = {}
    met = {"ok", "outside_workspace"}
    with swapping(room.ws, "sub", "link", pause):
        for number in until_met(lambda: len(met & kinds.keys()) == len(met), calls):
            given = {key: text.format(n=number) for key, text in args[name].items()}
            result = await room.call(name, given)
            kinds[kind(result)] = kinds.get(kind(result), 0) + 1
            await asyncio.sleep(pause / 10)  # a refusal takes no time, and all would fall into one state
            assert "the secret" not in result.output
            assert not (name in {"glob", "list_dir"} and "secret" in result.output), result.output
    assert tree(room.out) == before
    assert kinds.keys() >= met, f"the race was never met: {kinds}"


def until_met(both: Callable[[], bool], tries: int) -> Iterator[int]:
    """Counts at least that many tries, and goes on until both states were seen: the kernel decides when."""
    end = time.monotonic() + 60
    for number in itertools.count():
        if (number >= tries and both()) or time.monotonic() > end:
            return
        yield number


@contextmanager
def swapping(folder: Path, one: str, other: str, pause: float = 0.0) -> Iterator[None]:
    """Exchange two names atomically, as fast as a thread can or with a pause between, until told to stop."""
    fd = os.open(folder, os.O_RDONLY)
    stop = threading.Event()
    libc = ctypes.CDLL(None, use_errno=True)

    def swap() -> None:
        while not stop.is_set():
            assert libc.renameat2(fd, one.encode(), fd, other.encode(), 2) == 0  # RENAME_EXCHANGE
            if pause:
                stop.wait(pause)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        os.close(fd)


async def test_what_a_write_acknowledged_during_swaps_is_in_the_workspace(room: Room) -> None:
    """W5: the new file and the rename happen in the same open directory."""
    (room.ws / "link").symlink_to(room.out)
    written = []
    with swapping(room.ws, "sub", "link"):
        for number in range(300):
            if kind(await room.call("write", {"path": f"sub/n{number}", "content": "x"})) == "ok":
                written.append(f"n{number}")
    real = next(place for place in (room.ws / "sub", room.ws / "link") if not place.is_symlink())
    assert sorted(entry.name for entry in real.iterdir()) == sorted([*written, "a.txt"])
    assert [entry.name for entry in room.out.iterdir()] == ["secret"]


async def test_a_hard_link_to_an_outside_file_keeps_it_as_it_was(room: Room) -> None:
    """W6: a change makes a new inode."""
    os.link(room.out / "secret", room.ws / "hard")
    os.link(room.out / "secret", room.ws / "hard2")
    assert kind(await room.call("edit", {"path": "hard", "old_string": "the", "new_string": "evil"})) == "ok"
    assert kind(await room.call("write", {"path": "hard2", "content": "evil"})) == "ok"
    assert (room.out / "secret").read_text() == "the secret\n"


@pytest.mark.parametrize(
    "target", ["/proc/self/root/etc", "/proc/self/cwd", "/proc/self/fd", "/dev/fd", "/proc/1/root"]
)
async def test_magic_links_are_not_followed(target: str, room: Room) -> None:
    """W7."""
    (room.ws / "magic").symlink_to(target)
    assert set((await everywhere(room, "magic")).values()) == {"outside_workspace"}
    assert set((await everywhere(room, "magic/passwd")).values()) == {"outside_workspace"}


async def test_what_is_no_regular_file_neither_blocks_nor_opens(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W8: FIFO, socket, device."""
    os.mkfifo(room.ws / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(room.ws)  # the address of a socket is short
    listener.bind("sock")
    if os.geteuid() == 0:
        os.mknod(room.ws / "zero", 0o666 | 0o020000, os.makedev(1, 5))
    try:
        for path in [name for name in ("fifo", "sock", "zero") if (room.ws / name).exists()]:
            kinds = await asyncio.wait_for(everywhere(room, path), 30)
            assert kinds["read"] == "read_failed", path
            assert {kinds["write"], kinds["edit"]} == {"write_failed"}, path
            assert "ok" not in kinds.values()
    finally:
        listener.close()


async def test_a_folder_is_not_read_or_written_as_a_file(room: Room) -> None:
    assert kind(await room.call("read", {"path": "sub"})) == "read_failed"
    for path in ("sub", "sub/", ".", "sub/.", "sub/..", "new/", "sub/new/"):
        assert kind(await room.call("write", {"path": path, "content": "x"})) == "write_failed", path
    assert kind(await room.call("write", {"path": "sub/a.txt/b", "content": "x"})) == "write_failed"


async def test_a_file_is_not_listed_or_entered_as_a_folder(room: Room) -> None:
    for name, args in (
        ("list_dir", {"path": "sub/a.txt"}),
        ("glob", {"pattern": "*", "path": "sub/a.txt"}),
        ("bash", {"command": "pwd", "cwd": "sub/a.txt"}),
    ):
        result = await room.call(name, args)
        assert kind(result) == "read_failed", name
        assert "'sub/a.txt' is not a folder" in result.output, name
    for path in ("sub/a.txt/b", "sub/a.txt/b/c"):
        assert kind(await room.call("read", {"path": path})) == "not_found", path


@pytest.mark.parametrize("name", ["write", "edit"])
@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git",
        ".planck/config.json",
        ".planck/tools/x/TOOL.json",
        ".agents/skills/x/SKILL.md",
        ".mcp.json",
        "sub/.git/config",
        "sub/deep/.planck/x",
        "./.git/config",
        "sub/../.git/config",
        "{ws}/.git/config",
        "gitlink/config",
        "hookslink/pre-commit",
    ],
)
@pytest.mark.parametrize("present", [True, False])
async def test_protected_paths_are_refused_also_when_absent(
    name: str, path: str, present: bool, room: Room
) -> None:
    """W13, W14."""
    if present or "link" in path:
        for folder in (".git/hooks", ".planck", ".agents", "sub/.git"):
            (room.ws / folder).mkdir(parents=True)
    (room.ws / "gitlink").symlink_to(".git")
    (room.ws / "hookslink").symlink_to(".git/hooks")
    before = tree(room.ws)
    result = await room.call(name, {"path": path.format(ws=room.ws), **WRITERS[name]})
    assert kind(result) == "protected_path"
    assert tree(room.ws) == before


async def test_no_folder_is_made_behind_a_link_into_a_protected_one(room: Room) -> None:
    (room.ws / ".git").mkdir()
    (room.ws / "gitlink").symlink_to(".git")
    before = tree(room.ws)
    assert kind(await room.call("write", {"path": "gitlink/new/f", "content": "x"})) == "protected_path"
    assert tree(room.ws) == before


OBEYED = {
    "hooks/pre-commit": "[core]\nhooksPath = hooks # ours\n",
    "not/there/pre-commit": "[core]\nhooksPath = not/there\n",
    ".husky/pre-commit": "[core]\nhooksPath = .husky/_\n",
    "team": "[include]\npath = ../team\n",
    "sub/mon.sh": '[core]\nfsmonitor = "sh ./sub/mon.sh"\n',
    "linked/check": "",
    "to-linked/check": "",
    "store/config": "",
    "store/hooks/update": "",
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("path", OBEYED)
async def test_what_the_users_git_would_obey_is_refused_as_git_itself_is(
    name: str, path: str, room: Room
) -> None:
    for folder in (".git/hooks", "linked", "store/objects", "store/refs", "store/hooks"):
        (room.ws / folder).mkdir(parents=True)
    (room.ws / "store/HEAD").touch()
    (room.ws / ".git/HEAD").touch()
    (room.ws / ".git/config").write_text(OBEYED[path])
    (room.ws / ".git/hooks/pre-commit").symlink_to("../../linked/check")
    (room.ws / "to-linked").symlink_to("linked")
    before = tree(room.ws)
    assert kind(await room.call(name, {"path": path, **WRITERS[name]})) == "protected_path"
    assert tree(room.ws) == before
    assert kind(await room.call("write", {"path": "linked/other", "content": "x"})) == "ok"
    free = Room(room.ws.parent, room.builtin(protected=False))
    assert kind(await free.call("write", {"path": path, "content": "y"})) == "ok"


async def test_a_folder_without_git_does_not_become_a_repository_by_itself(room: Room) -> None:
    for path in ("refs/heads/x", "config", "HEAD", "sub/objects/x", "sub/refs/x"):
        assert kind(await room.call("write", {"path": path, "content": "x"})) == "ok"
    assert kind(await room.call("write", {"path": "objects/x", "content": "x"})) == "protected_path"
    assert not (room.ws / "objects").exists()
    assert kind(await room.call("write", {"path": "sub/HEAD", "content": "x"})) == "ok"  # of its own making
    assert kind(await room.call("write", {"path": "sub/config", "content": "x"})) == "protected_path"


async def test_mode_full_may_write_protected_paths(tmp_path: Path) -> None:
    room = Room(tmp_path)
    free = Room(tmp_path, room.builtin(protected=False))
    assert kind(await free.call("write", {"path": ".planck/x", "content": "y"})) == "ok"


@pytest.mark.parametrize(
    "twin", [".GIT", ".Planck", ".g\u0131t", "\uff0egit", ".git\u0301", ".git ", ".git."]
)
async def test_a_twin_of_a_protected_name_is_just_another_file_here(twin: str, room: Room) -> None:
    """W11: this file system tells them apart; where it does not, the names are folded (paths._folded)."""
    (room.ws / ".git").mkdir()
    assert kind(await room.call("write", {"path": f"{twin}/config", "content": "x"})) == "ok"
    assert list((room.ws / ".git").iterdir()) == []


ODD = [
    b"new\nline",
    b"esc\x1b[2Jape",
    "rtl\u202eoverride".encode(),
    b"bad\xff\xfebytes",
    b"tab\there",
    b"\xc3\xa9" * 127,
]


@pytest.mark.parametrize("name", ODD)
async def test_odd_names_are_listed_escaped_and_usable_as_listed(name: bytes, room: Room) -> None:
    """W12."""
    with open(os.path.join(os.fsencode(room.ws), name), "w") as file:
        file.write("needle\n")
    shutil.rmtree(room.ws / "sub")
    listed = (await room.call("list_dir")).output.removesuffix(" (7 bytes)")
    globbed = (await room.call("glob", {"pattern": "*"})).output
    grepped = (await room.call("grep", {"pattern": "needle"})).output
    assert (globbed, grepped) == (listed, f"{listed}:1:needle")
    assert listed.isprintable()
    assert (await room.call("read", {"path": listed})).output == "needle\n"
    assert kind(await room.call("edit", {"path": listed, "old_string": "needle", "new_string": "x"})) == "ok"
    assert [os.fsencode(entry) for entry in os.listdir(room.ws)] == [name]


async def test_two_agents_lose_no_edit_of_a_shared_file(room: Room) -> None:
    """W16: what was acknowledged is there, the rest was a conflict; 2 x 100 edits, real concurrency."""
    path = room.ws / "shared.txt"
    path.write_text("".join(f"line {n}\n" for n in range(200)))
    agents = [room.agent("one"), room.agent("two")]
    acknowledged: list[int] = []
    conflicts = 0

    async def work(which: int) -> None:
        nonlocal conflicts
        for number in range(which, 200, 2):
            edit = {"path": "shared.txt", "old_string": f"line {number}\n", "new_string": f"done {number}\n"}
            while True:
                result = await room.call("edit", edit, by=agents[which])
                if kind(result) == "ok":
                    acknowledged.append(number)
                    break
                assert kind(result) == "edit_conflict"
                conflicts += 1
                await room.call("read", {"path": "shared.txt"}, by=agents[which])

    await asyncio.gather(work(0), work(1))
    lines = path.read_text().splitlines()
    assert sorted(acknowledged) == list(range(200))
    assert lines == [f"done {n}" for n in range(200)]
    assert conflicts > 0


@pytest.mark.parametrize("name", ["write", "edit"])
@pytest.mark.parametrize("there", [True, False], ids=["changed", "created"])
async def test_what_another_program_wrote_meanwhile_is_not_overwritten(
    name: str, there: bool, room: Room
) -> None:
    """Between our look and our rename, where the before-image is recorded, the file changes."""
    path = room.ws / "log.txt"
    if there:
        path.write_text("a secret\n")
    elif name == "edit":
        return

    async def meanwhile(fact: View) -> None:
        path.write_text("theirs\n")

    agent = room.agent("agent-1", meanwhile)
    assert kind(await room.call(name, {"path": "log.txt", **WRITERS[name]}, by=agent)) == "edit_conflict"
    assert path.read_text() == "theirs\n"
    assert sorted(os.listdir(room.ws)) == ["log.txt", "sub"]


async def test_a_sandboxed_command_can_not_choose_where_our_tools_read(room: Room) -> None:
    """A command plants links; our own tools, which run outside any sandbox, do not follow them."""
    command = f"ln -s {room.out} planted; ln -s {room.out}/secret planted.txt; ln {room.out}/secret hard"
    assert value(await room.call("bash", {"command": command}))["ok"] is True
    assert set((await everywhere(room, "planted/secret")).values()) == {"outside_workspace"}
    assert set((await everywhere(room, "planted.txt")).values()) == {"outside_workspace"}


@pytest.mark.parametrize("cwd", ["..", "/", "../out", "{out}", "~", "planted", "sub/../.."])
async def test_a_working_folder_outside_is_refused(cwd: str, room: Room) -> None:
    (room.ws / "planted").symlink_to(room.out)
    result = await room.call("bash", {"command": "pwd", "cwd": cwd.format(out=room.out)})
    assert kind(result) == "outside_workspace"


async def test_a_workspace_reached_by_a_link_is_the_same_workspace(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "ws").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(real)
    room = Room(tmp_path / "alias")
    (real / "ws" / "a").write_text("x\n")
    for path in ("a", str(tmp_path / "alias" / "ws" / "a"), str(real / "ws" / "a")):
        assert (await room.call("read", {"path": path})).output == "x\n"


@pytest.mark.parametrize("open_it", [open_beneath, walk])
def test_thousands_of_opens_against_a_swapping_thread_never_leave(
    open_it: Callable[[int, str, int], int], room: Room
) -> None:
    """W4 for both ways of opening: 5,000 tries, none reads the outside file."""
    (room.out / "a.txt").write_text("the secret\n")
    (room.ws / "link").symlink_to(room.out)
    root = os.open(room.ws, os.O_RDONLY)
    seen: Counter[str] = Counter()
    with swapping(room.ws, "sub", "link"):
        for _ in until_met(lambda: len(seen) == 2, 5_000):
            try:
                fd = open_it(root, "sub/a.txt", os.O_RDONLY)
            except OSError:
                seen["refused"] += 1
                continue
            assert os.read(fd, 100) == b"a secret of ours\n"
            os.close(fd)
            seen["inside"] += 1
    os.close(root)
    assert seen["inside"] > 0
    assert seen["refused"] > 0, "the race was never met: the test proves nothing"


def test_the_walk_without_openat2_refuses_what_openat2_refuses(tmp_path: Path) -> None:
    """Elsewhere than on Linux: no link at all is followed, no `..` leaves."""
    room = Room(tmp_path)
    (room.ws / "sub").mkdir()
    (room.ws / "sub" / "a").write_text("inside")
    (room.ws / "link").symlink_to(room.out)
    (room.ws / "file").symlink_to(room.out / "secret")
    (room.ws / "inner").symlink_to("sub")
    root = os.open(room.ws, os.O_RDONLY)
    try:
        fd = walk(root, "sub/../sub/./a", os.O_RDONLY)
        assert os.read(fd, 10) == b"inside"
        os.close(fd)
        os.close(walk(root, ".", os.O_RDONLY))
        for path in ("link/secret", "file", "../out/secret", "inner/a", "sub/../../out/secret", "link"):
            with pytest.raises(OSError, match=r"link|leaves"):
                walk(root, path, os.O_RDONLY)
        for path in ("missing", "sub/missing", "missing/x"):
            with pytest.raises(FileNotFoundError):
                walk(root, path, os.O_RDONLY)
    finally:
        os.close(root)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become nobody")
def test_files_of_others_fail_cleanly() -> None:
    """As nobody: a mode says no, and the answer says so. (Root would pass for the wrong reason.)"""
    script = (
        "import asyncio, sys; from pathlib import Path; from tests.tools.room import Room, kind\n"
        "import os; room = Room(Path(sys.argv[1]))\n"
        "asyncio.run(room.call('write', {'path': 'warm', 'content': ''}))  # imports\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "async def main():\n"
        " for name, args in [('read', {'path': 'locked'}), ('write', {'path': 'locked', 'content': 'x'}),\n"
        "  ('write', {'path': 'closed/x', 'content': 'x'}), ('list_dir', {'path': 'closed'})]:\n"
        "  print(kind(await room.call(name, args)))\n"
        "asyncio.run(main())\n"
    )
    with open_folder() as base:
        room = Room(base)
        (room.ws / "locked").write_text("x")
        (room.ws / "locked").chmod(0o600)
        (room.ws / "closed").mkdir(mode=0o700)
        command = [sys.executable, "-c", script, str(base)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.stdout.split() == ["read_failed", "write_failed", "write_failed", "read_failed"], done.stderr
