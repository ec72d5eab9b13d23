"""Layers: immutable copies of what git does not ignore, which lie between a view and the live workspace.

An overlay over the live workspace would be no snapshot: names that were looked up stay old, others are new,
and memory pressure changes which. So the files that git does not ignore are copied (cloned where the file
system can), and a folder that holds nothing else is opaque: nothing of the workspace shows in it. What git
ignores, such as `.env` and `node_modules`, comes from the workspace as it is.

The next layer holds only what differs, and a character device 0:0 for what is gone. Folder of a session:
`layers/<n>/`, and `layers/state`, from which the next layer knows what those below it hold.
"""

import errno
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.git.plumbing import GitError, ask_git
from planck.workspace.sandbox.nested import HEAVY_FOLDERS

MAX_LAYERS = 20
"""Beyond, a whole one: each is one more place where a name is looked up, and its path is a part of one
option, which must fit in a page."""
_COPIES = 3
_FRESH = 50_000_000
"""Nanoseconds in which two changes of a file may have one time."""
_KIND, _COPIED = 0o170000, (stat.S_IFREG, stat.S_IFLNK)
_OPAQUE = "user.overlay.opaque"
_LISTING_S = 60.0

Signature = tuple[int, int, int, int, int]
"""Inode, size, times of content and entry, mode; zeros: copied while it changed, so it is copied again."""
_UNSURE: Signature = (0, 0, 0, 0, 0)


class LayerError(PlanckError):
    """No layer can be made here."""


class _Folder(msgspec.Struct, frozen=True, array_like=True):
    signature: Signature
    clean: bool
    """Whether it holds nothing that git ignores: a copy of it is opaque."""
    names: int
    """How many of its names are copied."""


class _Listing(msgspec.Struct, frozen=True):
    files: dict[str, Signature]
    folders: dict[str, _Folder]
    """Those that hold files."""
    empty: set[str]
    """Folders in clean ones, which would be hidden there."""


class _State(msgspec.Struct, frozen=True):
    stack: tuple[str, ...]
    """Names of the layers that belong together, topmost first."""
    files: dict[str, Signature]
    folders: dict[str, _Folder]
    empty: set[str]
    gone: tuple[str, ...] = ()
    """What the layers of the stack hide."""
    odd: bool = False
    """Whether names are spelled as `_spell` does: one of them is not valid UTF-8."""


def _spell(path: str) -> str:
    return os.fsencode(path).decode("latin-1")


def _recall(path: str) -> str:
    return os.fsdecode(path.encode("latin-1"))


def _rename(state: _State, change: Callable[[str], str]) -> _State:
    return replace(
        state,
        files={change(path): signature for path, signature in state.files.items()},
        folders={change(path): folder for path, folder in state.folders.items()},
        empty={*map(change, state.empty)},
        gone=tuple(map(change, state.gone)),
    )


class Layers:
    """The layers of one session. Not safe for two threads at once: `Views` has a lock around it."""

    def __init__(self, base: str, home: str, environment: Mapping[str, str]) -> None:
        """`home`: the folder of the session's views."""
        self._base = base
        self._folder = f"{home}/layers"
        self._environment = environment

    def take(self) -> tuple[str, ...]:
        """Returns the layers that together are the workspace as it is now, topmost first, from `home` on."""
        before = self._read_state()
        now = self._list(before)
        whole = before is None or len(before.stack) >= MAX_LAYERS or self._needs_whole(before, now)
        if before is not None and not whole and not _differ(before, now):
            return tuple(f"layers/{name}" for name in before.stack)
        os.makedirs(self._folder, mode=0o711, exist_ok=True)  # 1: the owner of the workspace reads it
        # Not the next one of the state, which a process that was killed may not have written: a view may
        # have the layer that it made.
        number = max((int(name) for name in os.listdir(self._folder) if name.isdecimal()), default=0) + 1
        name = str(number)
        unfinished = f"{self._folder}/{name}.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        below = None if whole or before is None else before
        try:
            writer = _Writer(self._base, unfinished, below)
            files = writer.write(now)
            os.rename(unfinished, f"{self._folder}/{name}")
            stack = (name,) if below is None else (name, *below.stack)
            gone = writer.gone if below is None else (*below.gone, *writer.gone)
            self._write_state(_State(stack, files, now.folders, now.empty, tuple(gone)))
        except OSError as problem:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise _layer_error(problem, self._folder) from None
        return tuple(f"layers/{name}" for name in stack)

    def _list(self, before: _State | None) -> _Listing:
        files: dict[str, Signature] = {}
        names: dict[str, set[str]] = {}
        lstat, base, user, now = os.lstat, self._base, os.geteuid(), time.time_ns()
        for path in self._list_paths():
            try:
                found = lstat(f"{base}/{path}")
            except (FileNotFoundError, NotADirectoryError):
                continue  # tracked, and deleted
            if found.st_mode & _KIND not in _COPIED:
                continue  # a submodule, a nested repository: it shows as it is
            owned = user == 0 or (found.st_uid == user and found.st_mode & stat.S_IRUSR)
            if not owned and not os.access(f"{base}/{path}", os.R_OK, follow_symlinks=False):
                continue
            files[path] = _sign(found, now)
            folder, _, name = path.rpartition("/")
            while folder:
                inside = names.setdefault(folder, set())
                known_above = bool(inside)
                inside.add(name)
                if known_above:
                    break
                folder, _, name = folder.rpartition("/")
        folders: dict[str, _Folder] = {}
        known = before.folders if before else {}
        empty = {path for path in before.empty if os.path.isdir(f"{base}/{path}")} if before else set()
        for folder, inside in names.items():
            if looked := self._look_at(folder, inside, known.get(folder), empty):
                folders[folder] = looked
        return _Listing(files, folders, empty - folders.keys())

    def _needs_whole(self, before: _State, now: _Listing) -> bool:
        """Whether the layers below would hide something that follows the workspace by now: a folder holds an
        ignored name, a file became ignored, what was hidden came again, a file is a folder."""
        for path, folder in before.folders.items():
            if folder.clean and path in now.folders and not now.folders[path].clean:
                return True
        if before.files.keys() & now.folders.keys():
            return True
        lost = {*before.files, *before.gone} - now.files.keys()
        return any(os.path.lexists(f"{self._base}/{path}") for path in lost)

    def _look_at(
        self, folder: str, inside: set[str], last: _Folder | None, empty: set[str]
    ) -> _Folder | None:
        place = f"{self._base}/{folder}"
        try:
            signature = _sign(os.lstat(place))
            if last and (last.signature, last.names) == (signature, len(inside)) and signature != _UNSURE:
                return last
            others = [entry for entry in os.scandir(place) if entry.name not in inside]
        except OSError:
            return None  # gone since git listed it
        hollow = [one.name for one in others if one.is_dir(follow_symlinks=False) and not _list(one.path)]
        clean = len(hollow) == len(others)
        if clean:
            empty.update(f"{folder}/{name}" for name in hollow)
        return _Folder(signature, clean, len(inside))

    def _list_paths(self) -> Iterator[str]:
        if (listed := self._ask_git()) is not None:
            yield from (path for path in os.fsdecode(listed).split("\0") if path and not path.endswith("/"))
            return
        for folder, below, names in os.walk(self._base):
            below[:] = [name for name in below if name not in HEAVY_FOLDERS and name != ".git"]
            start = os.path.relpath(folder, self._base)
            yield from (name if start == "." else f"{start}/{name}" for name in names)
            yield from (
                name if start == "." else f"{start}/{name}"
                for name in below
                if os.path.islink(f"{folder}/{name}")
            )

    def _ask_git(self) -> bytes | None:
        """Returns what git does not ignore; None: this is no repository."""
        try:
            return ask_git(self._base, _ASK, self._environment, patience=_LISTING_S)
        except GitError:
            return None

    def _read_state(self) -> _State | None:
        try:
            with open(f"{self._folder}/state", "rb") as file:
                state = msgspec.msgpack.decode(file.read(), type=_State)
        except (OSError, msgspec.DecodeError):
            return None
        there = all(os.path.isdir(f"{self._folder}/{name}") for name in state.stack)
        if not there:
            return None
        return _rename(state, _recall) if state.odd else state

    def _write_state(self, state: _State) -> None:
        try:
            content = msgspec.msgpack.encode(state)
        except UnicodeEncodeError:
            content = msgspec.msgpack.encode(replace(_rename(state, _spell), odd=True))
        with open(f"{self._folder}/state.new", "wb") as file:
            file.write(content)
        os.replace(f"{self._folder}/state.new", f"{self._folder}/state")


_ASK = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")


class _Writer:
    """Copies into one layer what differs from those below it."""

    def __init__(self, base: str, layer: str, below: _State | None) -> None:
        self._base = base
        self._layer = layer
        self._below = below
        self._made: set[str] = set()
        self.gone: list[str] = []

    def write(self, now: _Listing) -> dict[str, Signature]:
        os.mkdir(self._layer, 0o755)
        _like(self._layer, os.lstat(self._base))
        below = self._below
        known, old_folders = (below.files, {*below.folders, *below.empty}) if below else ({}, set[str]())
        new = [path for path, folder in now.folders.items() if folder.clean]
        for folder in (path for path in (*new, *now.empty) if path not in old_folders):
            self._make(folder)
            os.setxattr(f"{self._layer}/{folder}", _OPAQUE, b"y")
        files = dict(now.files)
        for path, signature in now.files.items():
            if known.get(path) == signature and signature != _UNSURE:
                continue
            self._make(path.rpartition("/")[0])
            copied = _copy(f"{self._base}/{path}", f"{self._layer}/{path}")
            if copied is None:  # gone meanwhile
                del files[path]
            else:
                files[path] = copied
        self._hide({*known, *old_folders} - {*files, *now.folders, *now.empty}, old_folders, files)
        for folder in sorted(self._made, reverse=True):  # deepest first: what is made in it changes its time
            with suppress(OSError):
                found = os.lstat(f"{self._base}/{folder}")
                os.utime(f"{self._layer}/{folder}", ns=(found.st_atime_ns, found.st_mtime_ns))
        return files

    def _make(self, folder: str) -> None:
        if not folder or folder in self._made:
            return
        self._make(folder.rpartition("/")[0])
        place = f"{self._layer}/{folder}"
        os.mkdir(place, 0o755)
        _like(place, os.lstat(f"{self._base}/{folder}"))
        self._made.add(folder)

    def _hide(self, lost: set[str], old_folders: set[str], files: Mapping[str, Signature]) -> None:
        """Hides what the layers below still show: a folder that is gone as a whole, else each file."""
        hidden: set[str] = set()
        for path in sorted(lost):
            if path in old_folders and os.path.isdir(f"{self._base}/{path}"):
                continue  # it is there, and holds nothing that is copied
            above = path.rpartition("/")[0]
            if above not in hidden and above not in files:
                self._make(above)
                os.mknod(f"{self._layer}/{path}", stat.S_IFCHR, 0)
                self.gone.append(path)
            hidden.add(path)


def _copy(source: str, target: str) -> Signature | None:
    """Returns the signature of what was copied; None: there is nothing that can be read."""
    for _ in range(_COPIES):
        with suppress(FileNotFoundError):
            os.unlink(target)
        try:
            before = os.lstat(source)
            if stat.S_ISLNK(before.st_mode):
                os.symlink(os.readlink(source), target)
                _own(target, before)
                return _sign(before)
            if not stat.S_ISREG(before.st_mode):
                return None
            reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as problem:
            if problem.errno in (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENOTDIR):
                return None
            raise
        try:
            found = os.fstat(reading)
            _copy_content(reading, target, found)
            if _stamp(os.fstat(reading)) == _stamp(found) == _stamp(before):
                return _sign(found)
        finally:
            os.close(reading)
    return _UNSURE


def _copy_content(reading: int, target: str, found: os.stat_result) -> None:
    writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        left = found.st_size
        while left > 0 and (count := _copy_range(reading, writing, left)):
            left -= count
        if os.geteuid() == 0:
            os.fchown(writing, found.st_uid, found.st_gid)
        os.fchmod(writing, stat.S_IMODE(found.st_mode))
        os.utime(writing, ns=(found.st_atime_ns, found.st_mtime_ns))
    finally:
        os.close(writing)


def _copy_range(reading: int, writing: int, left: int) -> int:
    try:
        return os.copy_file_range(reading, writing, min(left, 1 << 30))
    except OSError as problem:
        if problem.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
    data = os.read(reading, 1 << 20)  # another kind of file system
    view = memoryview(data)
    while view:
        view = view[os.write(writing, view) :]
    return len(data)


def _list(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return [folder]  # closed to us: not known to be empty


def _like(place: str, found: os.stat_result) -> None:
    _own(place, found)
    os.chmod(place, stat.S_IMODE(found.st_mode) | 0o700)


def _own(place: str, found: os.stat_result) -> None:
    if os.geteuid() == 0:
        os.chown(place, found.st_uid, found.st_gid, follow_symlinks=False)


def _sign(found: os.stat_result, now: int = 0) -> Signature:
    if (now or time.time_ns()) - found.st_ctime_ns < _FRESH:
        return _UNSURE  # it may change again without another time
    return _stamp(found)


def _stamp(found: os.stat_result) -> Signature:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode


def _differ(before: _State, now: _Listing) -> bool:
    if _UNSURE in now.files.values():
        return True
    return before.files != now.files or before.empty != now.empty


def _layer_error(problem: OSError, folder: str) -> LayerError:
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return LayerError(
            ErrorKind.WRITE_FAILED,
            f"The disk of {folder!r} is full, so no view can be made. Free some space, or set views.folder "
            "to another disk.",
        )
    return LayerError(
        ErrorKind.WRITE_FAILED,
        f"A view cannot be made in {folder!r}: {problem.strerror or problem}. Check that folder and its "
        "permissions.",
    )
