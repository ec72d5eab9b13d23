"""Opening a path below a directory descriptor, resolved as a whole: never checked first and opened then."""

import errno
import os
import re
import stat
import struct
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

_CHUNK = 1 << 20


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


def open_canonical(path: str) -> int:
    """Open a folder by its canonical path; ELOOP or EXDEV if a part of the path is a link by now."""
    if _has_openat2():
        return _openat2(_AT_FDCWD, path, FOLDER, _RESOLVE_NO_SYMLINKS)
    top = os.open("/", FOLDER)
    try:
        return walk(top, path.lstrip("/"), FOLDER)
    finally:
        os.close(top)


def walk(root: int, relative: str, flags: int) -> int:
    """Where there is no openat2: one component at a time, no link followed at all."""
    steps = [step for step in os.path.normpath(relative).split("/") if step not in ("", ".")]
    if ".." in steps:
        raise OSError(errno.EXDEV, "leaves the root")
    held = os.dup(root)
    for step in steps[:-1]:
        # O_PATH: a folder on the way may be passable but not readable, as /home often is.
        held = _open_step(held, step, _PASS | os.O_DIRECTORY | os.O_CLOEXEC)
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
_AT_FDCWD = -100
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_RESOLVE = 0x08 | 0x02  # BENEATH, NO_MAGICLINKS
_RESOLVE_NO_SYMLINKS = 0x04
_PASS = getattr(os, "O_PATH", os.O_RDONLY)
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
        fd = os.open("/", FOLDER)
    except OSError:
        return False
    try:
        os.close(_openat2(fd, ".", FOLDER))
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _openat2(root: int, path: str, flags: int, resolve: int = _RESOLVE) -> int:
    fd, code = _syscall()(root, os.fsencode(path), struct.pack("QQQ", flags, 0, resolve))
    if fd < 0:
        raise OSError(code, os.strerror(code))
    return fd


def is_link(name: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def escape(name: str) -> str:
    """A file name as text that can be stored, shown and given back: odd bytes and controls as `\\xNN`."""
    if name.isprintable():
        return name
    return "".join(char if char.isprintable() else _escape_char(char) for char in name)


def unescape(path: str) -> str:
    r"""What `escape` made of a name, back to the name; `\xNN` is a byte."""
    if "\\x" not in path:
        return path
    raw = re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), os.fsencode(path))
    return os.fsdecode(raw)


def _escape_char(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))


def find_spelling(root: int, relative: str) -> str:
    """A name that was listed escaped, as it really is; one that is there literally stays."""
    raw = unescape(relative)
    if raw == relative or is_there(root, relative) or not is_there(root, raw):
        return relative
    return raw


def is_there(root: int, relative: str) -> bool:
    try:
        os.close(open_beneath(root, relative, _LOOK))
    except OSError:
        return False
    return True


_LOOK = getattr(os, "O_PATH", os.O_NONBLOCK) | os.O_NOFOLLOW


def describe_link(root: int, relative: str) -> str:
    """Names an absolute link, also one that stays inside: the kernel refuses it, the model can go around."""
    steps = relative.split("/")
    for depth in range(1, len(steps) + 1):
        try:
            target = os.readlink("/".join(steps[:depth]), dir_fd=root)
        except OSError:
            continue
        return f"{'/'.join(steps[:depth])!r} is a link to {target!r}"
    return ""


def locate(fd: int, root: Path, parent: str, name: str) -> str:
    """Where the open directory really is: a link inside the workspace may lead into a protected folder."""
    try:
        real = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return f"{parent}/{name}"  # the walk follows no link, so the text is the place
    return f"{os.path.relpath(real, root)}/{name}"


def read_up_to(fd: int, limit: int) -> bytes:
    """Up to the limit: a file that grows while it is read ends there."""
    parts = []
    left = limit
    while left > 0 and (part := os.read(fd, min(_CHUNK, left))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
