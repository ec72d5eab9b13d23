"""Mount points for absent names, which have to be on the real disk while a command runs.

Each is an empty folder, or a socket that nobody listens on where a file is meant: git shows neither, nobody
waits who opens it, and nothing can be made in its place. It goes when the last command of the root has
ended, whichever process ran it: a shared lock on each root says that a command uses them. Who could not have
the lock removes nothing, and nobody beside it does.
"""

import fcntl
import os
import stat
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

_FOLDER, _FILE = 0o1755, 0o1644
"""The sticky bit tells a mount point from an empty folder or file of the user's, who may still use it."""
_TRIES, _PAUSE = 20, 0.001
"""Another process holds the lock alone for as long as it takes to remove its stubs."""
_without_lock: Counter[str] = Counter()
"""Commands of this process that run by root, though its lock could not be had."""


class Stubs:
    def __init__(self, roots: Sequence[str]) -> None:
        self._made: list[str] = []
        self._locks: list[int] = []
        self._unlocked: list[str] = []
        for root in roots:
            lock = _lock(root)
            if lock is None:
                self._unlocked.append(root)
            else:
                self._locks.append(lock)
        self._roots = tuple(roots)
        _without_lock.update(self._unlocked)

    def make(self, path: str, *, folder: bool = True) -> Iterator[str]:
        """Yields the words that put something there that can't be changed; a folder, where that is wanted
        and the name can be that of one."""
        with suppress(OSError):  # another command of this root came first, or bubblewrap says what is wrong
            if not folder or path.endswith(".json"):
                os.mknod(path, stat.S_IFSOCK | 0o600)
                os.chmod(path, _FILE)
            else:
                os.mkdir(path, 0o700)
                os.chmod(path, _FOLDER)
        return self.keep(path)

    def keep(self, path: str) -> Iterator[str]:
        """One that a command which still runs made, or a runtime that was killed."""
        self._made.append(path)
        yield from ("--ro-bind", path, path)

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(self._made)

    def release(self) -> None:
        _without_lock.subtract(self._unlocked)
        locked = not self._unlocked and not any(_without_lock[root] for root in self._roots)
        self._unlocked = []
        try:
            if self._made and locked and all(_alone(lock) for lock in self._locks):
                for path in reversed(self._made):
                    _remove(path)
        finally:
            self._made = []
            for lock in self._locks:
                os.close(lock)
            self._locks = []


def is_stub(path: str, found: os.stat_result) -> bool:
    """By its mode, whoever made it: a killed runtime leaves some."""
    if stat.S_ISDIR(found.st_mode):
        return stat.S_IMODE(found.st_mode) == _FOLDER and not os.listdir(path)
    is_file = stat.S_ISSOCK(found.st_mode) or stat.S_ISREG(found.st_mode)  # the latter of an older runtime
    return is_file and (stat.S_IMODE(found.st_mode), found.st_size) == (_FILE, 0)


def _lock(root: str) -> int | None:
    """Waits for a moment at most: an outside program could hold the lock to stop us."""
    try:
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    for _ in range(_TRIES):
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return fd
        time.sleep(_PAUSE)
    os.close(fd)
    return None


def _alone(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove(path: str) -> None:
    with suppress(OSError):  # another command's, or no stub any more
        found = os.lstat(path)
        if not is_stub(path, found):
            return
        if stat.S_ISDIR(found.st_mode):
            os.rmdir(path)  # refuses if anything is in it
        else:
            os.unlink(path)
