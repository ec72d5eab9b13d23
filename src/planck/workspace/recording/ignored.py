"""What of a tree is recorded: everything but git's own folders and folders that git ignores as a whole.

Runs in the recorder, with the standard library alone. Rules are read once for each command, when a name below
them is first touched. Without a repository there are no rules, and caches are known by their names.
"""

import os

from planck.workspace.paths.gitignore import Rule, ignored, read_rules

CACHES = frozenset({"node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache", "target", "build"})
"""Folders that are not recorded where there is no repository."""
_MAX_INDEX = 64 << 20

TYPE_CHECKING = False  # `typing` itself is a quarter of the recorder's start
if TYPE_CHECKING:
    from typing import Literal

    Verdict = Literal["recorded", "local", "skipped"]
    """`local`: a file that git ignores; its content must stay on this machine."""


class Ignored:
    def __init__(self, root: str, view: str = "", excludes: str = "") -> None:
        """`view`: the path under which the root is read; empty: its own. `excludes`: the file with what git
        ignores in every repository of the user."""
        self._root = root
        self._excludes = excludes
        self._view = view or root
        self._top = self._find_top()
        self._rules: dict[str, list[Rule]] = {}
        self._folders: dict[str, bool] = {}
        self._index: bytes | None = None

    def judge(self, place: str, *, folder: bool) -> "Verdict":
        """`place` is below the root; `folder`: whether it is, or would be, one."""
        steps = place[len(self._root.rstrip("/")) + 1 :].split("/")
        if ".git" in steps:
            return "skipped"
        above, name = os.path.split(place)
        if self._skips(above):
            return "skipped"
        if self._top is None:
            return "skipped" if folder and name in CACHES else "recorded"
        if folder:
            return "skipped" if self._skips(place) else "recorded"
        return "local" if self._matches(place, folder=False) else "recorded"

    def _skips(self, folder: str) -> bool:
        """Whether it, or one above it, is ignored as a whole."""
        if len(folder) <= len(self._root):
            return False
        known = self._folders.get(folder)
        if known is None:
            above, name = os.path.split(folder)
            known = self._skips(above)
            if not known:
                known = name in CACHES if self._top is None else self._matches(folder, folder=True)
            self._folders[folder] = known
        return known

    def _matches(self, place: str, *, folder: bool) -> bool:
        top = self._top or ""
        rules: list[tuple[str, list[Rule]]] = []
        inner = place[len(top.rstrip("/")) + 1 :]
        steps = inner.split("/")[:-1]
        for depth in range(len(steps) + 1):
            above = "/".join(steps[:depth])
            if above not in self._rules:
                excludes = "" if above else self._excludes
                self._rules[above] = read_rules(self._seen(f"{top}/{above}" if above else top), excludes)
            rules.append((above, self._rules[above]))
        return ignored(inner, folder, rules) and not self._tracks(inner, folder=folder)

    def _tracks(self, inner: str, *, folder: bool) -> bool:
        """Whether git has it all the same: added by force, or before there was the rule.

        The name is looked for in the bytes of the index: at worst more is recorded than is needed.
        """
        if self._index is None:
            self._index = _read_index(self._seen(f"{self._top}/.git"))
        return os.fsencode(f"{inner}/" if folder else inner) in self._index

    def _find_top(self) -> str | None:
        folder = self._root
        while True:
            if os.path.lexists(self._seen(os.path.join(folder, ".git"))):
                return folder
            above = os.path.dirname(folder)
            if above == folder:
                return None
            folder = above

    def _seen(self, place: str) -> str:
        """Where a place is read: in a view, what is below the root."""
        if self._view != self._root and f"{place}/".startswith(f"{self._root}/"):
            return self._view + place[len(self._root) :]
        return place


def _read_index(git: str) -> bytes:
    try:
        if os.path.isfile(git):  # a worktree, or a submodule
            with open(git, "rb", opener=_opener) as file:
                target = os.fsdecode(file.read(4096).partition(b":")[2].strip())
            git = os.path.join(os.path.dirname(git), target)
        with open(f"{git}/index", "rb", opener=_opener) as file:
            return file.read(_MAX_INDEX)
    except OSError:
        return b""


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)
