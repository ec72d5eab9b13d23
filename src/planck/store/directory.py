"""The directory of the session files: private to its user, one set of files per session."""

import os
import stat
from pathlib import Path

from planck.records.outcome import ErrorKind
from planck.store.store import StoreError


def make_private(directory: Path) -> None:
    """Makes the directory for this user alone; refuses one in which somebody else could plant a log."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    why = ""
    if not stat.S_ISDIR(found.st_mode):
        why = "is a link"
    elif found.st_uid != os.geteuid():
        why = f"belongs to user {found.st_uid}"
    elif found.st_mode & stat.S_IWOTH:
        why = "can be written by everybody"
    if why:
        raise StoreError(
            ErrorKind.LOG_WRITE_FAILED,
            f"the sessions directory {str(directory)!r} {why}; set `sessions_dir` to your own, mode 0700",
        )


def list_logs(directory: Path) -> list[Path]:
    """Returns the logs, newest first by the time of the last write."""
    found = [(_last_write(path), path) for path in directory.glob("*.db")]
    return [path for _, path in sorted(found, reverse=True)]


def remove_log(path: Path) -> None:
    """Removes the log and everything beside it; the lock file last, so that nobody opens half of it."""
    for companion in sorted(path.parent.glob(f"{path.name}*"), key=lambda p: p.name.endswith(".lock")):
        companion.unlink(missing_ok=True)


def _last_write(path: Path) -> float:
    # A reader leaves an empty -wal behind: that is no write.
    return max(
        (p.stat().st_mtime for p in (path, Path(f"{path}-wal")) if p.exists() and p.stat().st_size),
        default=0.0,
    )
