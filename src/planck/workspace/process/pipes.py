"""Named pipes near a workspace, which a read-only mount does not keep anybody from writing to or emptying.

Only those can be hidden that are found, so it is the nearest folders that are looked at: beside the
workspace and in the user's home. A folder is listed again when its change time says so. What a command
does not see is not looked at, and counts as a folder all the same.
"""

import os
import stat
from collections.abc import Callable, Sequence

MAX_FOLDERS = 64
"""For each command: 0.3 ms."""
_NOTHING: tuple[int, tuple[str, ...], tuple[str, ...]] = (0, (), ())
"""Found in a hidden folder; no change time is 0, so that it is listed once it is seen."""
_NOT_SEARCHED = ("/proc", "/sys", "/dev", "/tmp", "/run", "/var/tmp")


class Pipes:
    def __init__(self) -> None:
        self._known: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {}

    def look(
        self,
        starts: Sequence[str],
        limit: int = MAX_FOLDERS,
        *,
        hides: Callable[[str], bool] = lambda folder: False,
    ) -> list[str]:
        """Those in these folders and, as far as the limit goes, below them, but in none that is hidden."""
        found: list[str] = []
        seen: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {}
        level = [start for start in starts if start not in _NOT_SEARCHED]
        while level and len(seen) < limit:
            below: list[str] = []
            for path in level[: limit - len(seen)]:
                if path in seen:
                    continue
                if hides(path):
                    seen[path] = _NOTHING
                    continue
                try:
                    changed = os.lstat(path).st_ctime_ns
                    listing = self._known.get(path)
                    if listing is None or listing[0] != changed:
                        listing = (changed, *_list(path))
                except OSError:
                    continue
                seen[path] = listing
                found += listing[1]
                below += listing[2]
            level = below
        self._known = seen
        return found


def _list(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    pipes, folders = [], []
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False) or entry.is_symlink():
                continue
            if not entry.is_dir(follow_symlinks=False):
                if stat.S_ISFIFO(entry.stat(follow_symlinks=False).st_mode):
                    pipes.append(entry.path)
            elif entry.path not in _NOT_SEARCHED:
                folders.append(entry.path)
    return tuple(pipes), tuple(folders)
