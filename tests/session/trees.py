"""What a folder holds, byte for byte: kinds, permissions, contents and links; empty folders count."""

import os
import stat
from pathlib import Path

Tree = dict[str, tuple[str, int, bytes]]


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
