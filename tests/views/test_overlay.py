"""Overlay views: as a plain copy under random changes, apart from the workspace, and mounted again."""

import errno
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from planck.records.outcome import ErrorKind
from planck.workspace.views.mounting import ViewError, refuse_mount
from planck.workspace.views.overlay import OverlayView, is_in_use
from tests.views.place import opened, read_tree

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="overlays are Linux's")


def _write(root: int, rng: random.Random, names: list[str]) -> None:
    fd = os.open(rng.choice(names), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640, dir_fd=root)
    os.write(fd, str(rng.random()).encode())
    os.close(fd)


def _append(root: int, rng: random.Random, names: list[str]) -> None:
    fd = os.open(rng.choice(names), os.O_WRONLY | os.O_APPEND, dir_fd=root)
    os.write(fd, b"more\n")
    os.close(fd)


def _truncate(root: int, rng: random.Random, names: list[str]) -> None:
    fd = os.open(rng.choice(names), os.O_WRONLY, dir_fd=root)
    try:
        os.ftruncate(fd, rng.randrange(4))
    finally:
        os.close(fd)


OPERATIONS: dict[str, Callable[[int, random.Random, list[str]], None]] = {
    "write": _write,
    "append": _append,
    "truncate": _truncate,
    "unlink": lambda root, rng, names: os.unlink(rng.choice(names), dir_fd=root),
    "mkdir": lambda root, rng, names: os.mkdir(rng.choice(names), dir_fd=root),
    "rmdir": lambda root, rng, names: os.rmdir(rng.choice(names), dir_fd=root),
    "rename": lambda root, rng, names: os.rename(
        rng.choice(names), rng.choice(names), src_dir_fd=root, dst_dir_fd=root
    ),
    "symlink": lambda root, rng, names: os.symlink("to/nowhere", rng.choice(names), dir_fd=root),
    "chmod": lambda root, rng, names: os.chmod(f"/proc/self/fd/{root}/{rng.choice(names)}", 0o700),
}


def _do(view: OverlayView | None, root: int, seed: float, name: str, names: list[str]) -> int:
    """Returns the number of the error, 0 without one."""
    rng = random.Random(seed)
    try:
        if view is None:
            OPERATIONS[name](root, rng, names)
        else:
            with view.acting():
                OPERATIONS[name](root, rng, names)
    except OSError as problem:
        return problem.errno or -1
    return 0


def _compare(folder: Path, owner: int, seed: int, operations: int) -> set[str]:
    rng = random.Random(seed)
    worked: set[str] = set()
    with opened(folder, owner) as tree:
        before = read_tree(tree.base)
        plain = os.open(tree.plain, os.O_RDONLY)
        try:
            assert tree.shown() == before
            for number in range(operations):
                if number == operations // 2:
                    tree.mount_again()
                there = sorted(read_tree(tree.plain))
                names = [*rng.sample(there, min(4, len(there)))]
                names += [f"src/n{rng.randrange(5)}", f"n{rng.randrange(5)}/x"]
                name, part = rng.choice([*OPERATIONS]), rng.random()
                said = _do(tree.view, tree.view.root, part, name, names)
                if said == errno.EXDEV:  # known: a folder of the lower tree can't be renamed in an overlay
                    assert name == "rename"
                    continue
                assert said == _do(None, plain, part, name, names), (seed, number, name, names)
                worked |= {name} if not said else set()
            assert tree.shown() == read_tree(tree.plain), seed
            assert read_tree(tree.base) == before, seed
        finally:
            os.close(plain)
    return worked


def test_a_view_is_as_a_plain_copy_and_the_workspace_stays(folder: Path, owner: int) -> None:
    worked: set[str] = set()
    for seed in range(3):
        worked |= _compare(folder / str(seed), owner, seed, 80)
    assert worked == OPERATIONS.keys()


@pytest.mark.soak
def test_a_view_is_as_a_plain_copy_in_a_hundred_ways(folder: Path, owner: int) -> None:
    for seed in range(100):
        _compare(folder / str(seed), owner, seed, 120)


def test_a_folder_of_the_workspace_cannot_be_renamed_and_hard_links_break_in_a_view(folder: Path) -> None:
    with opened(folder) as tree:
        root = tree.view.root
        with pytest.raises(OSError, match="cross-device"):
            os.rename("node_modules", "moved", src_dir_fd=root, dst_dir_fd=root)
        os.link(tree.base / ".env", tree.base / "second.log")
        fd = os.open(".env", os.O_WRONLY | os.O_TRUNC, dir_fd=root)
        os.write(fd, b"one")
        os.close(fd)
        shown = tree.shown()
        assert (shown[".env"], shown["second.log"]) == ("one", "KEY=ours\n")


def test_a_view_survives_the_death_of_its_process(folder: Path) -> None:
    with opened(folder) as tree:
        tree.let_go()
        script = f"""
import os
from planck.workspace.views.overlay import *
view = OverlayView("v1", {str(tree.base)!r}, {str(tree.home)!r}, {tree.layers!r}, Opener())
fd = os.open("made", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=view.root)
os.write(fd, b"by the killed one")
os.kill(os.getpid(), 9)
"""
        done = subprocess.run([sys.executable, "-c", script], check=False)
        assert done.returncode == -signal.SIGKILL
        assert not is_in_use(tree.view.folder)
        tree.view = tree.mount()
        assert tree.shown()["made"] == "by the killed one"


def test_a_view_is_open_in_one_process_only(folder: Path) -> None:
    with opened(folder) as tree:
        assert is_in_use(tree.view.folder)
        with pytest.raises(ViewError, match="open in another process") as refused:
            tree.mount()
        assert refused.value.err.kind is ErrorKind.WRITER_CONFLICT


def test_paths_may_have_what_means_something_in_the_options_of_an_overlay(folder: Path) -> None:
    with opened(folder / "a,b:c\\d e") as tree:
        assert tree.shown() == read_tree(tree.base)


def test_nothing_holds_a_view_but_its_descriptors(folder: Path) -> None:
    """No process enters its namespaces, and none is left of the one that made them."""
    with opened(folder) as tree:
        mounts = os.readlink(f"/proc/self/fd/{tree.view.fds[1]}")
        inside = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                inside += [process.name] if os.readlink(process / "ns/mnt") == mounts else []
        assert inside == []


def test_the_opener_is_started_again_when_it_was_killed(folder: Path) -> None:
    with opened(folder) as tree:
        process = tree._opener._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        tree.mount_again()
        assert tree.shown() == read_tree(tree.base)


def test_no_temporary_folder_is_left_by_a_view_of_another_user(folder: Path, owner: int) -> None:
    before = {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("planck-view-")}
    with opened(folder, owner):
        now = {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("planck-view-")}
    assert now <= before


@pytest.mark.parametrize(
    ("number", "step", "text"),
    [
        (errno.ENOSPC, "unshare", "user namespaces are not allowed here (unshare: No space left on device)"),
        (errno.EPERM, "unshare", "user namespaces are not allowed here (unshare: Operation not permitted)"),
        (errno.EACCES, "uid_map", "user namespaces are not allowed here (uid_map: Permission denied)"),
        (errno.EACCES, "mount", "user namespaces are not allowed here (mount: Permission denied)"),
        (errno.EINVAL, "mount", "views can't lie on an overlay: set views.folder to a volume"),
    ],
)
def test_each_refusal_of_the_kernel_says_what_to_change(number: int, step: str, text: str) -> None:
    refused = refuse_mount(number, step).err
    assert (refused.kind, refused.message) == (ErrorKind.SANDBOX_UNAVAILABLE, text)
