"""Protected names below a writable root, found anew for each command.

A folder is listed again only when its change time says that a name in it came or went; whoever may write
there can set a file's times, but not that one. A look costs a `stat` for each folder: 4 µs.
"""

import os
import time
from collections.abc import Sequence

import msgspec

MAX_FOLDERS = 20_000
"""Looked at for each command, nearest first: 80 ms. What lies beyond is made read-only as a whole."""
HEAVY_FOLDERS = frozenset(
    {"node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache", "target", "build"}
)
"""Looked at when all else was: they are large, and hold few repositories."""
_GIT_FOLDER = frozenset({"HEAD", "objects", "refs"})
"""What makes git take a folder for a repository, whatever its name is."""
_COARSE, _FINE = 2_000_000_000, 50_000_000
"""Nanoseconds in which two changes may have one time, where a file system counts in seconds and elsewhere."""


_Listing = tuple[tuple[int, int, int], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""When and what it was; protected names in it; its folders; those that are looked at last."""


class Found(msgspec.Struct, frozen=True):
    places: tuple[str, ...]
    """Protected names and git's own folders; a link is one too."""
    unseen: tuple[str, ...]
    """Folders directly in the root that hold more than is looked at."""


_LONG = 250
"""Folders whose look is 1 ms: beyond, it is better done where nobody waits for it."""


class Nested:
    """What one root holds, remembered from command to command. Several threads may look at once."""

    def __init__(self, root: str, names: Sequence[str]) -> None:
        self._root = root
        self._names = frozenset(names)
        self._known: dict[str, _Listing] = {}

    @property
    def takes_long(self) -> bool:
        """Whether a look stops the loop for a while; nobody knows that of a root's first one."""
        return not self._known or len(self._known) > _LONG

    def look(self, limit: int = MAX_FOLDERS) -> Found:
        known, seen = self._known, dict[str, _Listing]()
        places: list[str] = []
        level, last = [self._root], list[str]()
        lstat = os.lstat
        while level or last:
            if not level:
                level, last = last, []
            below: list[str] = []
            for number, path in enumerate(level):
                if len(seen) >= limit:
                    self._known = seen
                    return Found(tuple(places), self._tops((*level[number:], *below, *last)))
                try:
                    found = lstat(path)
                except OSError:
                    continue
                listing = known.get(path)
                if listing is None or listing[0] != (found.st_ctime_ns, found.st_ino, found.st_dev):
                    listing = self._list(path, found)
                seen[path] = listing
                _, named, folders, large = listing
                if named:
                    places += named
                if folders:
                    below += folders
                if large:
                    last += large
            level = below
        self._known = seen
        return Found(tuple(places), ())

    def _list(self, path: str, found: os.stat_result) -> "_Listing":
        stamp = (found.st_ctime_ns, found.st_ino, found.st_dev)
        margin = _FINE if found.st_ctime_ns % 1_000_000_000 else _COARSE
        if time.time_ns() - found.st_ctime_ns < margin:
            stamp = (0, 0, 0)  # it may change again without another time: look again the next time
        inside, names = path != self._root, self._names
        named, folders, large = list[str](), list[str](), list[str]()
        git = 0
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    name = entry.name
                    if name in names:
                        named.append(entry.path)
                        continue
                    git += name in _GIT_FOLDER  # each may be a link
                    if entry.is_dir(follow_symlinks=False):
                        (large if name in HEAVY_FOLDERS else folders).append(entry.path)
        except OSError:
            pass  # a link, a file, or gone by now
        if inside and git == len(_GIT_FOLDER):
            return stamp, (path,), (), ()
        return stamp, tuple(named) if inside else (), tuple(folders), tuple(large)

    def _tops(self, paths: Sequence[str]) -> tuple[str, ...]:
        start = len(self._root) + 1
        return tuple(sorted({f"{self._root}/{path[start:].partition('/')[0]}" for path in paths}))
