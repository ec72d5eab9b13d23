"""Files that somebody else wrote for us: read whole, or refused, without waiting for anybody."""

import errno
import os
import stat


def read_regular(path: str | os.PathLike[str], limit: int, *, within: str | os.PathLike[str] = "/") -> bytes:
    """The content of a regular file of at most `limit` bytes; an `OSError` says why there is none.

    A FIFO or a device is not waited for: a folder from elsewhere may hold one under any name.
    """
    fd = open_within(path, within)
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
