"""Opening a path below a directory descriptor, resolved as a whole: never checked first and opened then."""

import errno
import os
import stat
import struct
import sys
from collections.abc import Callable
from functools import cache


def open_beneath(root: int, relative: str, flags: int) -> int:
    """Open a path that can't leave the directory `root`; EXDEV if it would, else what the kernel says."""
    flags |= os.O_CLOEXEC
    if _has_openat2():
        for _ in range(_RACE_RETRIES):
            try:
                return _openat2(root, relative, flags)
            except OSError as problem:
                if problem.errno != errno.EAGAIN:  # a rename raced with `..`: the kernel could not be sure
                    raise
        raise OSError(errno.EXDEV, "the path keeps changing")
    return walk(root, relative, flags)


def walk(root: int, relative: str, flags: int) -> int:
    """Where there is no openat2: one component at a time, no link followed at all."""
    steps = [step for step in os.path.normpath(relative).split("/") if step not in ("", ".")]
    if ".." in steps:
        raise OSError(errno.EXDEV, "leaves the root")
    held = os.dup(root)
    for step in steps[:-1]:
        held = _open_step(held, step, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return _open_step(held, steps[-1] if steps else ".", flags)


def _open_step(folder: int, name: str, flags: int) -> int:
    """Lets go of the folder, whatever it finds there."""
    try:
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENOTDIR) and is_link(name, folder):
            raise OSError(errno.EXDEV, "a link") from None
        raise
    finally:
        os.close(folder)


_OPENAT2 = 437
_RESOLVE = 0x08 | 0x02  # BENEATH, NO_MAGICLINKS
_RACE_RETRIES = 64


@cache
def _syscall() -> "Callable[[int, bytes, bytes], tuple[int, int]]":
    """`openat2(root, path, how)` as descriptor and error number; ctypes costs 5 ms to import."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)

    def call(root: int, path: bytes, how: bytes) -> tuple[int, int]:
        return libc.syscall(_OPENAT2, root, path, how, len(how)), ctypes.get_errno()

    return call


@cache
def _has_openat2() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        fd = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.close(_openat2(fd, ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _openat2(root: int, relative: str, flags: int) -> int:
    fd, code = _syscall()(root, os.fsencode(relative), struct.pack("QQQ", flags, 0, _RESOLVE))
    if fd < 0:
        raise OSError(code, os.strerror(code))
    return fd


def is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False
