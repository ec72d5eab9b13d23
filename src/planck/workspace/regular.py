"""Files that somebody else wrote for us: read whole, or refused, without waiting for anybody."""

import errno
import os
import stat


def read_regular(path: str | os.PathLike[str], limit: int) -> bytes:
    """The content of a regular file of at most `limit` bytes; an `OSError` says why there is none.

    A FIFO or a device is not waited for: a folder from elsewhere may hold one under any name.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if found.st_size > limit:
            raise OSError(errno.EFBIG, f"it has {found.st_size} bytes, at most {limit} are read")
        return file.read(limit)
