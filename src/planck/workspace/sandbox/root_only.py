"""What only root may read outside of homes: hashes of passwords, host keys, private certificates.

Root without capabilities still owns these files. A command of root's agent sees no more of them than one of
anybody else's.
"""

import os
import stat
from functools import cache

_LOOKED_AT = {
    **{"/": 1, "/mnt": 2, "/media": 3},
    **{"/etc": 6, "/usr/local/etc": 3, "/opt": 2, "/srv": 2, "/boot": 1},
    **{f"/var/{name}": 2 for name in ("lib", "log", "cache", "spool", "backups", "mail")},
}
"""With how many levels below."""
_MAX_ENTRIES = 20_000


@cache
def list_root_only() -> tuple[str, ...]:
    """Returns the outermost files and folders that are root's and closed to others, as they are at first.

    Without what is empty: each is one more mount for every command.
    """
    found: list[str] = []
    home = os.path.expanduser("~root")  # what is seen of a home has rules of its own
    seen = 0
    level = [*_LOOKED_AT.items()]
    while level and seen < _MAX_ENTRIES:
        folder, depth = level.pop()
        try:
            entries = [*os.scandir(folder)]
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if entry.path == home:
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                if status.st_uid == 0 and not status.st_mode & stat.S_IXOTH:
                    found += [entry.path] if _has_entries(entry.path) else []
                elif depth > 1:
                    level.append((entry.path, depth - 1))
                continue
            closed = status.st_uid == 0 and not status.st_mode & stat.S_IROTH
            if closed and stat.S_ISREG(status.st_mode) and status.st_size:
                found.append(entry.path)
    return tuple(sorted(found))


def _has_entries(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False
