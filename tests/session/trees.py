"""What a folder holds, byte for byte: kinds, permissions, contents and links; empty folders count."""

import os
import stat
from pathlib import Path

Tree = dict[str, tuple[str, int, bytes]]


def make_tree(root: Path) -> None:
    """Fills an empty folder with something of every kind, and names that are hard to write down."""
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "src" / "deep" / "b.bin").write_bytes(bytes(range(256)) * 40)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "to-src").symlink_to("src")
    (root / "dangling").symlink_to("nowhere")
    (root / "empty").mkdir(mode=0o700)
    (root / os.fsdecode(b"odd\xff")).write_text("odd\n")
    (root / "~tilde").write_text("tilde\n")
    (root / "\\x41").write_text("not an A\n")


def read_tree(root: Path) -> Tree:
    """Returns every name below a folder but git's own."""
    found: Tree = {}
    for folder, inner, names in os.walk(root):
        inner[:] = [one for one in inner if one != ".git"]
        for name in (*inner, *names):
            path = os.path.join(folder, name)
            found[os.path.relpath(path, root)] = _read(path)
    return found


def _read(path: str) -> tuple[str, int, bytes]:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        return "link", 0, os.fsencode(os.readlink(path))
    if stat.S_ISDIR(mode):
        return "folder", stat.S_IMODE(mode), b""
    if not stat.S_ISREG(mode):
        return "other", mode, b""
    with open(path, "rb") as file:
        return "file", stat.S_IMODE(mode), file.read()
