"""Files that somebody else wrote for us: read whole, or refused, without waiting for anybody."""

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from planck.workspace.paths.paths import is_inside


def read_regular(path: str | os.PathLike[str], limit: int, *, within: str | os.PathLike[str] = "/") -> bytes:
    """The content of a regular file of at most `limit` bytes; an `OSError` says why there is none.

    A FIFO or a device is not waited for: a folder from elsewhere may hold one under any name.
    """
    return _read_open(open_within(path, within), limit)


def read_named(path: str | os.PathLike[str], limit: int, roots: Sequence[str]) -> bytes:
    """The same of a file that the user named: see `open_named`."""
    return _read_open(open_named(path, roots), limit)


def _read_open(fd: int, limit: int) -> bytes:
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if found.st_size > limit:
            raise OSError(errno.EFBIG, f"it is too large ({found.st_size} bytes; the limit is {limit})")
        # Not before the check: `fdopen` refuses a folder and leaves its descriptor open.
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(fd)


class LeadsOutside(OSError):
    """A name in a root that is a link to a place outside of all."""

    def __init__(self, real: str) -> None:
        super().__init__(errno.EXDEV, f"it is a link to {real!r}, outside the workspace")
        self.real = real


def open_named(path: str | os.PathLike[str], roots: Sequence[str]) -> int:
    """A descriptor of a file or folder that the user named.

    Others write in the canonical `roots`, so a name there leads to a place there, or `LeadsOutside` is
    raised. A name outside of them is the user's own choice, links included.
    """
    fd = open_within(path, "/")
    try:
        # Without `..`, as the user reads the name; the descriptor says where the system went.
        named = Path(os.path.abspath(path))
        inside = any(is_inside(os.path.realpath(part), roots) for part in (named, *named.parents))
        if not inside or is_inside(real := locate_open(fd, path), roots):
            return fd
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    raise LeadsOutside(real)


def open_within(path: str | os.PathLike[str], place: str | os.PathLike[str]) -> int:
    """A descriptor of a file or folder that really is in that place; an `OSError` says why there is none.

    Asked is where the descriptor is, not where the path leads: a link may be put there between two looks.
    """
    real = os.path.realpath(place)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:  # what is elsewhere is told nothing of, not even that it is missing
        if place != "/" and not f"{os.path.realpath(path)}/".startswith(f"{real.rstrip('/')}/"):
            raise OSError(errno.EXDEV, f"it leads outside {real!r}") from None
        raise
    if place == "/":
        return fd
    try:
        if f"{locate_open(fd, path)}/".startswith(f"{real.rstrip('/')}/"):
            return fd
        raise OSError(errno.EXDEV, f"it leads outside {real!r}")
    except BaseException:
        os.close(fd)
        raise


def locate_open(fd: int, path: str | os.PathLike[str]) -> str:
    """Where an open file is; `path` is the one that it was opened by."""
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        real = os.path.realpath(path)
        if not os.path.samestat(os.lstat(real), os.fstat(fd)):
            raise OSError(errno.EXDEV, "it was replaced in the meantime") from None
        return real
