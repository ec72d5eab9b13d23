"""One notified system call: which names it can change, as the kernel will find them.

Runs in the recorder, with the standard library alone. Everything in a call is the command's word: the path
can be another one a moment later, which costs this command its record, and nobody else anything.
"""

import os
import struct
from collections.abc import Callable
from contextlib import suppress

from planck.workspace.recording.images import Images

_AT_FDCWD = -100
_EMPTY_PATH, _SYMLINK_FOLLOW, _SYMLINK_NOFOLLOW = 0x1000, 0x400, 0x100
_CREATE_NEW = os.O_CREAT | os.O_EXCL
_WRITING = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC | 0o20000000
_MAX_LINKS = 40
_PAGE = 4096
_UNIX = 1
_DEVICES = ("/dev/null", "/dev/tty", "/dev/zero", "/dev/full")
_OWN = (("/proc/self/", ""), ("/proc/thread-self/", ""), ("/dev/fd/", "fd/"))
"""Paths that mean something else to each process; `/dev/stdout` is a link to one."""


class Call:
    """A call of a process that waits for us."""

    def __init__(self, pid: int, arguments: tuple[int, ...]) -> None:
        self.pid = pid
        self._arguments = arguments
        self._images: Images | None = None

    def record(self, name: str, images: Images) -> None:
        """Raises `OSError` where the process is gone, or can't be looked at."""
        self._images = images
        _CALLS[name](self, images, *self._arguments)

    def read_path(self, address: int) -> str:
        return os.fsdecode(self._read(address, _PAGE, end=b"\0").partition(b"\0")[0])

    def read_bytes(self, address: int, size: int) -> bytes:
        return self._read(address, size)

    def _read(self, address: int, size: int, end: bytes = b"") -> bytes:
        fd = os.open(f"/proc/{self.pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        try:
            first = min(size, _PAGE - address % _PAGE)  # the next page may not be there
            data = os.pread(fd, first, address)
            if len(data) == first < size and not (end and end in data):
                with suppress(OSError):
                    data += os.pread(fd, size - first, address + first)
            return data
        finally:
            os.close(fd)

    def find(self, folder: int, path: str, *, follow: bool = False) -> str | None:
        """Returns the name that a path leads to, by the kernel's own name of its folder; None: it is of no
        interest."""
        folder = (folder & 0xFFFFFFFF) - (1 << 32 if folder & 0x80000000 else 0)
        for _ in range(_MAX_LINKS):
            if path in _DEVICES:
                return None
            start = self._locate(folder, path)
            parent, name = os.path.split(start.rstrip("/"))
            if name in (".", ".."):
                parent, name = start, ""
            fd = os.open(parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                real = os.readlink(f"/proc/self/fd/{fd}").rstrip("/")
                if self._images is not None and self._images.is_moved(fd, real, name):
                    return None
                if not name:
                    return real or None
                if not follow:
                    return f"{real}/{name}"
                try:
                    path = os.readlink(name, dir_fd=fd)
                except OSError:
                    return f"{real}/{name}"
                if not path.startswith("/"):
                    path = f"{real}/{path}"
            finally:
                os.close(fd)
        return None

    def _locate(self, folder: int, path: str) -> str:
        """Returns the path by which we open what the process means."""
        for prefix, inner in _OWN:
            if path.startswith(prefix):
                return f"/proc/{self.pid}/{inner}{path[len(prefix) :]}"
        if path.startswith("/"):
            return f"/proc/{self.pid}/root{path}"
        if folder == _AT_FDCWD:
            return f"/proc/{self.pid}/cwd/{path}"
        return f"/proc/{self.pid}/fd/{folder}/{path}"

    def find_open(self, descriptor: int) -> str | None:
        """Returns the name of an open file or folder."""
        place = os.readlink(f"/proc/{self.pid}/fd/{descriptor & 0xFFFFFFFF}")
        return place if place.startswith("/") else None


def _touch(images: Images, place: str | None, *, writes: bool = False, folder: bool = False) -> None:
    if place is not None:
        images.touch(place, writes=writes, folder=folder)


def _open(call: Call, images: Images, at: int, path: str, flags: int) -> None:
    follow = not flags & os.O_NOFOLLOW and flags & _CREATE_NEW != _CREATE_NEW
    _touch(images, call.find(at, path, follow=follow), writes=True)


def _openat2(call: Call, images: Images, at: int, path: int, how: int, *_: int) -> None:
    (flags,) = struct.unpack("=Q", call.read_bytes(how, 8))
    if flags & _WRITING:
        _open(call, images, at, call.read_path(path), flags)


def _change(call: Call, images: Images, at: int, path: str, flags: int = 0) -> None:
    """chmod, chown, truncate: the file itself, whatever its names are."""
    if not path:
        place = call.find_open(at) if flags & _EMPTY_PATH else None
    else:
        place = call.find(at, path, follow=not flags & _SYMLINK_NOFOLLOW)
    _touch(images, place, writes=True)


def _name(call: Call, images: Images, at: int, path: str, *, folder: bool = False) -> None:
    _touch(images, call.find(at, path), folder=folder)


def _rename(call: Call, images: Images, old_at: int, old: str, new_at: int, new: str) -> None:
    images.move(call.find(old_at, old), call.find(new_at, new))


def _link(call: Call, images: Images, old_at: int, old: str, new_at: int, new: str, flags: int = 0) -> None:
    if old:
        _touch(images, call.find(old_at, old, follow=bool(flags & _SYMLINK_FOLLOW)))
    _touch(images, call.find(new_at, new))


def _bind(call: Call, images: Images, _socket: int, address: int, size: int, *_: int) -> None:
    """A socket that gets a name in the file system."""
    if not 2 < (size & 0xFFFFFFFF) <= 110:
        return
    data = call.read_bytes(address, size & 0xFFFFFFFF)
    (family,) = struct.unpack_from("=H", data)
    path = data[2:].partition(b"\0")[0]
    if family == _UNIX and path:
        _touch(images, call.find(_AT_FDCWD, os.fsdecode(path)))


_HERE = _AT_FDCWD
_CALLS: dict[str, Callable[..., None]] = {
    "open": lambda c, i, path, flags, *_: _open(c, i, _HERE, c.read_path(path), flags),
    "openat": lambda c, i, at, path, flags, *_: _open(c, i, at, c.read_path(path), flags),
    "openat2": _openat2,
    "creat": lambda c, i, path, *_: _open(c, i, _HERE, c.read_path(path), os.O_CREAT | os.O_WRONLY),
    "truncate": lambda c, i, path, *_: _change(c, i, _HERE, c.read_path(path)),
    "chmod": lambda c, i, path, *_: _change(c, i, _HERE, c.read_path(path)),
    "chown": lambda c, i, path, *_: _change(c, i, _HERE, c.read_path(path)),
    "lchown": lambda c, i, path, *_: _change(c, i, _HERE, c.read_path(path), _SYMLINK_NOFOLLOW),
    "fchmod": lambda c, i, fd, *_: _touch(i, c.find_open(fd), writes=True),
    "fchown": lambda c, i, fd, *_: _touch(i, c.find_open(fd), writes=True),
    "fchmodat": lambda c, i, at, path, *_: _change(c, i, at, c.read_path(path)),
    "fchmodat2": lambda c, i, at, path, mode, flags, *_: _change(c, i, at, c.read_path(path), flags),
    "fchownat": lambda c, i, at, path, uid, gid, flags, *_: _change(c, i, at, c.read_path(path), flags),
    "rename": lambda c, i, old, new, *_: _rename(c, i, _HERE, c.read_path(old), _HERE, c.read_path(new)),
    "renameat": lambda c, i, a, old, b, new, *_: _rename(c, i, a, c.read_path(old), b, c.read_path(new)),
    "renameat2": lambda c, i, a, old, b, new, *_: _rename(c, i, a, c.read_path(old), b, c.read_path(new)),
    "unlink": lambda c, i, path, *_: _name(c, i, _HERE, c.read_path(path)),
    "rmdir": lambda c, i, path, *_: _name(c, i, _HERE, c.read_path(path), folder=True),
    "unlinkat": lambda c, i, at, path, *_: _name(c, i, at, c.read_path(path)),
    "mkdir": lambda c, i, path, *_: _name(c, i, _HERE, c.read_path(path), folder=True),
    "mkdirat": lambda c, i, at, path, *_: _name(c, i, at, c.read_path(path), folder=True),
    "mknod": lambda c, i, path, *_: _name(c, i, _HERE, c.read_path(path)),
    "mknodat": lambda c, i, at, path, *_: _name(c, i, at, c.read_path(path)),
    "symlink": lambda c, i, target, path, *_: _name(c, i, _HERE, c.read_path(path)),
    "symlinkat": lambda c, i, target, at, path, *_: _name(c, i, at, c.read_path(path)),
    "link": lambda c, i, old, new, *_: _link(c, i, _HERE, c.read_path(old), _HERE, c.read_path(new)),
    "linkat": lambda c, i, a, old, b, new, flags, *_: _link(
        c, i, a, c.read_path(old), b, c.read_path(new), flags
    ),
    "bind": _bind,
}
