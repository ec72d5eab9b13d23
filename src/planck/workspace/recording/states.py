"""What one name in a folder is, and how to make it that again: for undo, for recording and for landing.

Everything works below an open descriptor of a root, and follows no link: the same functions serve the
workspace and a view of it, whose root is another descriptor. A path is relative to that root, raw (not
escaped), without `..`.
"""

import errno
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

import msgspec

from planck.workspace.paths.beneath import read_up_to, walk

MAX_IMAGE = 64 << 20
"""Bytes of a file that are kept as its image."""

Kind = Literal["nothing", "file", "link", "folder", "other"]


class State(msgspec.Struct, frozen=True):
    """One name, as it was or is. Two states are equal if their values are."""

    kind: Kind = "nothing"
    content: bytes | None = None
    """Of a file; None where it is not kept: the file is too large, or could not be read."""
    mode: int = 0
    """Permission bits of a file or a folder; of `other` (a pipe, a socket, a device) the type as well."""
    target: str = ""
    """Of a link."""
    stamp: str = ""
    """Of a file without content: another text once the file was changed."""


NOTHING = State()


def read_state(root: int, path: str) -> State:
    """Returns what has this name now; nothing, if a folder on the way is missing, a file or a link.

    Raises `OSError` if it cannot be read. Never waits for a pipe or a device.
    """
    try:
        with _parent(root, path) as (folder, name):
            return read_entry(folder, name)
    except OSError as problem:
        # EXDEV: a folder on the way is a link now, so nothing has exactly this name.
        if problem.errno in (errno.ENOENT, errno.ENOTDIR, errno.EXDEV, errno.ELOOP):
            return NOTHING
        raise


def read_entry(folder: int, name: str, *, whole: bool = True) -> State:
    """Returns what a name in an open folder is; without `whole` no content, but its stamp."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return NOTHING
    if stat.S_ISLNK(found.st_mode):
        return State("link", target=os.readlink(name, dir_fd=folder))
    if stat.S_ISDIR(found.st_mode):
        return State("folder", mode=stat.S_IMODE(found.st_mode))
    if not stat.S_ISREG(found.st_mode):
        return State("other", mode=found.st_mode)
    if not whole or found.st_size > MAX_IMAGE:
        return State("file", mode=stat.S_IMODE(found.st_mode), stamp=make_stamp(found))
    # Not blocking: between the look and the opening the name may have become a pipe.
    fd = os.open(name, _READ, dir_fd=folder)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return State("other", mode=found.st_mode)
        content = read_up_to(fd, MAX_IMAGE + 1)
    finally:
        os.close(fd)
    mode = stat.S_IMODE(found.st_mode)
    if len(content) > MAX_IMAGE:
        return State("file", mode=mode, stamp=make_stamp(found))
    return State("file", content, mode)


def read_stamp(root: int, path: str) -> State:
    """As `read_state`, but of a file only its mode and its stamp."""
    try:
        with _parent(root, path) as (folder, name):
            return read_entry(folder, name, whole=False)
    except OSError as problem:
        if problem.errno in (errno.ENOENT, errno.ENOTDIR, errno.EXDEV, errno.ELOOP):
            return NOTHING
        raise


def make_stamp(found: os.stat_result) -> str:
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"


def put_state(root: int, path: str, state: State) -> None:
    """As `put_entry`, for a path below an open root."""
    with _parent(root, path) as (folder, name):
        put_entry(folder, name, state)


def put_entry(folder: int, name: str, state: State, temporary: str = "") -> None:
    """Makes a name what it was. A file and a link replace what is there in one step, by a rename.

    A folder that is there keeps its content and gets the mode; `nothing` removes a folder only if it is
    empty. `temporary`: the name of the new file until then, for those who remove it after a crash. Raises
    `OSError`: for a folder with content, a device, or a file without content.
    """
    match state.kind:
        case "nothing":
            _remove(folder, name)
        case "folder":
            _put_folder(folder, name, state.mode)
        case "file" if state.content is None:
            raise OSError(errno.ENODATA, "its content was not kept")
        case "other" if not stat.S_ISFIFO(state.mode):
            raise OSError(errno.ENODEV, "it was a socket or a device")
        case _:
            _replace(folder, name, state, temporary)


_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_COUNTER = itertools.count(1)


@contextmanager
def _parent(root: int, path: str) -> Iterator[tuple[int, str]]:
    parent, name = os.path.split(path)
    if name in ("", ".", "..") or path.startswith("/"):
        raise OSError(errno.EINVAL, f"not the path of a name below a root: {path!r}")
    folder = walk(root, parent or ".", _PASS)
    try:
        yield folder, name
    finally:
        os.close(folder)


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        try:
            os.unlink(name, dir_fd=folder)
        except (IsADirectoryError, PermissionError):  # macOS says EPERM of a folder
            os.rmdir(name, dir_fd=folder)


def _put_folder(folder: int, name: str, mode: int) -> None:
    owner: os.stat_result | None = None
    with suppress(FileNotFoundError):
        owner = find_owner(folder, name)
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=folder)
        if owner is not None:
            os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)
    # A descriptor that needs no permission of the folder itself, which may have none.
    fd = os.open(name, _PASS | os.O_NOFOLLOW, dir_fd=folder)
    try:
        if hasattr(os, "O_PATH"):
            os.chmod(f"/proc/self/fd/{fd}", mode)
        else:
            os.fchmod(fd, mode)
    finally:
        os.close(fd)


def _replace(folder: int, name: str, state: State, temporary: str) -> None:
    temporary = _stage(folder, state, temporary)
    try:
        _keep_owner(folder, name, temporary)
        if state.kind == "file":
            os.chmod(temporary, state.mode, dir_fd=folder)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _stage(folder: int, state: State, wanted: str) -> str:
    if wanted:  # left by a process that was killed
        with suppress(FileNotFoundError):
            os.unlink(wanted, dir_fd=folder)
    for number in _COUNTER:
        temporary = wanted or f".planck-tmp-{os.getpid()}-put-{number}"
        try:
            if state.kind == "link":
                os.symlink(state.target, temporary, dir_fd=folder)
            elif state.kind == "other":
                os.mkfifo(temporary, stat.S_IMODE(state.mode), dir_fd=folder)
            else:
                _write(folder, temporary, state.content or b"")
        except FileExistsError:
            continue
        return temporary
    raise AssertionError("the counter does not end")


def _write(folder: int, name: str, content: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
    except OSError:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise


def find_owner(folder: int, name: str) -> os.stat_result:
    """Returns what has the user and group that a name is to keep: itself; for a new one of root's in another
    user's folder that folder, as if a command had made it. Raises `FileNotFoundError` for any other."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        above = os.fstat(folder)
        if os.geteuid() != 0 or above.st_uid == 0:
            raise
        return above


def _keep_owner(folder: int, name: str, temporary: str) -> None:
    with suppress(OSError):  # only root can give files away; content and mode are what is promised
        old = find_owner(folder, name)
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            os.chown(temporary, old.st_uid, old.st_gid, dir_fd=folder, follow_symlinks=False)
