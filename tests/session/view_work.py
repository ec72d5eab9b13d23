"""Random work in a folder, as an agent's commands would do it: every kind of name, also one over another."""

import os
import random
import shutil
from pathlib import Path

SHARED = "src/f6"
"""Both sides edit it, other lines of it: work in a view stays in its first half."""
FILES = tuple(f"src/f{number}" for number in range(8))


def make_tree(root: Path, seed: int) -> None:
    """Makes text files of many lines, a binary one, links, folders of several modes."""
    rng = random.Random(seed)
    (root / "src/deep/er").mkdir(parents=True)
    (root / "docs").mkdir()
    for name in FILES:
        lines = [f"{name} line {number} {rng.random()}\n" for number in range(40)]
        (root / name).write_text("".join(lines))
    (root / "src/deep/er/leaf").write_text("leaf\n")
    (root / "src/deep/program").write_text("#!/bin/sh\n")
    (root / "src/deep/program").chmod(0o755)
    (root / "docs/page").write_text("page\n")
    (root / "image").write_bytes(bytes(range(256)) * 4)
    (root / "link").symlink_to("src/f1")


def work(root: str, seed: int, count: int) -> None:
    """Does that many things at random; those that do not fit to what is there are left out."""
    rng = random.Random(seed)
    for number in range(count):
        path = rng.choice(sorted(_list(root)))
        doing = rng.choice(_DOINGS)
        if path.endswith(SHARED) and doing is not _edit:
            continue
        folder = path if os.path.isdir(path) and not os.path.islink(path) else os.path.dirname(path)
        try:
            doing(path, f"{folder}/new{seed}-{number}", rng)
        except OSError:
            continue


def _list(root: str) -> list[str]:
    return [f"{folder}/{name}" for folder, below, files in os.walk(root) for name in (*below, *files)]


def _edit(path: str, new: str, rng: random.Random) -> None:
    lines = Path(path).read_bytes().splitlines(keepends=True)
    at = rng.randrange(len(lines) // 2 + 1)
    lines[at : at + 1] = [f"edited {rng.random()}\n".encode()]
    Path(path).write_bytes(b"".join(lines))


def _replace_by_folder(path: str, new: str, rng: random.Random) -> None:
    os.unlink(path)
    os.mkdir(path)
    Path(path, "inside").write_text("inside\n")


def _replace_by_file(path: str, new: str, rng: random.Random) -> None:
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
    else:
        _remove_folder(path)
    Path(path).write_text("was something else\n")


def _remove_folder(path: str) -> None:
    if path.endswith("/src"):
        return  # the file that both sides edit is in it
    shutil.rmtree(path)


_DOINGS = (
    _edit,
    _edit,
    lambda path, new, rng: Path(new).write_text(f"new {rng.random()}\n"),
    lambda path, new, rng: Path(new).write_bytes(rng.randbytes(300)),
    lambda path, new, rng: os.mkdir(new, 0o755),
    lambda path, new, rng: os.symlink("somewhere", new),
    lambda path, new, rng: os.unlink(path),
    lambda path, new, rng: _remove_folder(path),
    lambda path, new, rng: os.chmod(path, rng.choice((0o755, 0o700, 0o775))),
    lambda path, new, rng: os.rename(path, new),
    _replace_by_folder,
    _replace_by_file,
)


def read_tree(root: str) -> dict[str, tuple[str, int, bytes]]:
    """Returns every name with its kind, its permissions and its content."""
    found = {}
    for path in _list(root):
        state = os.lstat(path)
        if os.path.islink(path):
            entry = ("link", 0, os.fsencode(os.readlink(path)))
        elif os.path.isdir(path):
            entry = ("folder", state.st_mode & 0o7777, b"")
        else:
            entry = ("file", state.st_mode & 0o7777, Path(path).read_bytes())
        found[os.path.relpath(path, root)] = entry
    return found
