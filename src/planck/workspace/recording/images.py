"""Before-images of one command, written to its spool as names are first touched.

Runs in the recorder, with the standard library alone. A name comes from the command, which may lie and may
change the tree at any moment. So nothing is read by a path of the command's own: the folder is opened in our
own view of the tree, must have the very name that was asked for, and the file is opened in it without
following a link. A pipe or a device is never opened.
"""

import errno
import json
import os
import stat
import struct
from collections.abc import Iterator

from planck.workspace.recording.ignored import Ignored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from planck.workspace.recording.ignored import Verdict

MAX_IMAGE = 64 << 20
"""Bytes of one image."""
MAX_TOTAL = 64 << 20
"""Bytes of all images of a command."""
MAX_NAMES = 20_000
_LENGTHS = struct.Struct("!IQ")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PASS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Images:
    def __init__(
        self, roots: list[str], spool: int, view: int | None, apart: list[str], excludes: list[str]
    ) -> None:
        """Owns `spool`, open for appending, and `view`, the root of a view, through which the first root is
        read. What is `apart` is not recorded. `excludes`: for each root the file with what git ignores in
        every repository of the user."""
        self._roots = roots
        self._prefixes = tuple(f"{root.rstrip('/')}/" for root in roots)
        self._view = view
        self._spool = spool
        self._seen: set[str] = set()
        self._apart = frozenset(apart)
        self._inodes: set[tuple[int, int]] = set()
        self._left = MAX_TOTAL
        self._skipped: dict[str, int] = {}
        self._moved: set[str] = set()
        self._walked: set[tuple[int, int]] = set()
        self._devices = {
            os.stat(self._path(root)).st_dev for root in roots if os.path.isdir(self._path(root))
        }
        shown = "" if view is None else f"/proc/self/fd/{view}"
        self._ignored = [
            Ignored(root, shown if root == roots[0] else "", own)
            for root, own in zip(roots, excludes, strict=True)
        ]

    def touch(self, place: str, *, writes: bool = False, folder: bool = False) -> None:
        """Keeps what a name is, if this is the first time. `writes`: an open file may change through other
        names too. `folder`: the call makes a folder."""
        if not place.startswith(self._prefixes) or place in self._apart:
            return
        known = place in self._seen
        if known and not writes:
            return
        above, name = os.path.split(place)
        try:
            fd = self._open_folder(above)
        except OSError as problem:
            if not known and problem.errno in (errno.ENOENT, errno.ENOTDIR):
                self._keep(place, {"kind": "nothing"}, folder=folder)
            elif not known:
                self._skip("unreadable", place, folder=folder)
            return
        try:
            self._touch_in(fd, name, place, known=known, writes=writes, folder=folder)
        finally:
            os.close(fd)

    def move(self, source: str | None, target: str | None) -> None:
        """Keeps every name below both, for a rename of a folder (or an exchange)."""
        for one, other in ((source, target), (target, source)):
            for below in self._walk(one, one) if one else ():
                self.touch(f"{one}{below}")
            # Judged by where they arrive: what comes from outside, or out of an ignored folder, is new there.
            for below in self._walk(one, other) if one and other else ():
                self.touch(f"{other}{below}")
        for end in (source, target):
            if end:
                self.touch(end, folder=self._is_folder(source) or self._is_folder(target))

    def is_moved(self, folder: int, place: str, name: str) -> bool:
        """Whether the command has a folder under another name than we, by a mount of its own; then the change
        is counted, because nobody knows its name here."""
        found = os.fstat(folder)
        if found.st_dev not in self._devices or not found.st_nlink:
            return False
        try:
            here = os.stat(self._path(place or "/"), follow_symlinks=False)
            if (here.st_dev, here.st_ino) == (found.st_dev, found.st_ino):
                return False
        except OSError:
            pass
        if os.readlink(f"/proc/self/fd/{folder}").rstrip("/") != place:
            return False  # renamed since it was looked up
        entry = f"{place}/{name}"
        if entry not in self._moved and len(self._moved) < MAX_NAMES:
            self._moved.add(entry)
            self._count("mount")
        return True

    def skip(self, reason: str) -> None:
        """Counts a call of which nobody knows what it changes."""
        self._count(reason)

    def end(self) -> None:
        """The command is over: the exact numbers of what was skipped, and a mark that nothing is missing."""
        for reason, count in self._skipped.items():
            if count & (count - 1):
                self._write({"skipped": reason, "count": count})
        self._write({"ended": True})

    def close(self) -> None:
        os.close(self._spool)
        if self._view is not None:
            os.close(self._view)

    def _touch_in(self, fd: int, name: str, place: str, *, known: bool, writes: bool, folder: bool) -> None:
        try:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            if not known:
                self._keep(place, {"kind": "nothing"}, folder=folder)
            return
        except OSError as problem:
            if not known and problem.errno != errno.ENAMETOOLONG:  # no file can have such a name
                self._skip("unreadable", place, folder=folder)
            return
        mode, shared = found.st_mode, found.st_nlink > 1
        if stat.S_ISREG(mode):
            if writes and shared:
                self._keep_inode(fd, name, place, found)
            if not known:
                self._keep_file(fd, name, place, found)
        elif known:
            return
        elif stat.S_ISLNK(mode):
            target = os.readlink(name, dir_fd=fd)
            self._keep(place, {"kind": "link", "target": target})
        elif stat.S_ISDIR(mode):
            self._keep(place, {"kind": "folder", "mode": stat.S_IMODE(mode)}, folder=True)
        else:
            self._keep(place, {"kind": "other", "mode": mode})

    def _keep_file(self, fd: int, name: str, place: str, found: os.stat_result) -> None:
        verdict = self._admit(place, folder=False)
        if verdict == "skipped":
            return
        key = (found.st_dev, found.st_ino)
        if key in self._inodes:  # written through another name already
            self._write({"path": place, "as": key, **_mark(verdict)})
            return
        header, content = self._read(fd, name, found)
        self._write({"path": place, **header, **_mark(verdict)}, content)

    def _keep_inode(self, fd: int, name: str, place: str, found: os.stat_result) -> None:
        """A file with other names, which change with it. Who they are is found when the facts are made."""
        key = (found.st_dev, found.st_ino)
        if key in self._inodes:
            return
        verdict = self._judge(place, folder=False)
        if verdict == "skipped":
            return
        self._inodes.add(key)
        header, content = self._read(fd, name, found)
        self._write({"inode": key, **header, **_mark(verdict)}, content)

    def _read(self, fd: int, name: str, found: os.stat_result) -> tuple[dict[str, object], bytes]:
        header: dict[str, object] = {"kind": "file", "mode": stat.S_IMODE(found.st_mode)}
        stamp = f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}"
        if found.st_size > min(MAX_IMAGE, self._left):
            self._count("large")
            return {**header, "stamp": stamp}, b""
        try:
            file = os.open(name, _READ, dir_fd=fd)
        except OSError:
            self._count("unreadable")
            return {**header, "stamp": stamp}, b""
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                self._count("unreadable")
                return {**header, "stamp": stamp}, b""
            content = _read_all(file, found.st_size)
        except OSError:
            self._count("unreadable")
            return {**header, "stamp": stamp}, b""
        finally:
            os.close(file)
        self._left -= len(content)
        return header, content

    def _keep(self, place: str, header: dict[str, object], *, folder: bool = False) -> None:
        verdict = self._admit(place, folder=folder)
        if verdict != "skipped":
            self._write({"path": place, **header, **_mark(verdict)})

    def _skip(self, reason: str, place: str, *, folder: bool) -> None:
        if self._admit(place, folder=folder) != "skipped":
            self._count(reason)

    def _admit(self, place: str, *, folder: bool) -> "Verdict":
        """Says how a name is recorded that is touched for the first time."""
        verdict = self._judge(place, folder=folder)
        if verdict != "skipped" and len(self._seen) >= MAX_NAMES:
            self._count("many")
            return "skipped"
        if verdict != "skipped":
            self._seen.add(place)
        return verdict

    def _judge(self, place: str, *, folder: bool) -> "Verdict":
        for rules, prefix in zip(self._ignored, self._prefixes, strict=True):
            if place.startswith(prefix):
                return rules.judge(place, folder=folder)
        return "skipped"

    def _count(self, reason: str) -> None:
        count = self._skipped[reason] = self._skipped.get(reason, 0) + 1
        # Each would be a record, for millions of files; the exact number follows with `end`.
        if count & (count - 1) == 0:
            self._write({"skipped": reason, "count": count})

    def _write(self, header: dict[str, object], content: bytes = b"") -> None:
        head = json.dumps(header).encode()
        record = [_LENGTHS.pack(len(head), len(content)), head, content]
        try:
            written = os.writev(self._spool, record)
        except OSError:
            written = 0
        if written == sum(map(len, record)):
            return
        # The disk is full. What was written of the record would hide all that follow.
        os.ftruncate(self._spool, os.fstat(self._spool).st_size - written)
        if "skipped" not in header:
            self._count("disk")

    def _open_folder(self, place: str) -> int:
        """A descriptor of a folder in our own view, which really has that name: no link led there."""
        fd = os.open(self._path(place), _PASS)
        try:
            if os.readlink(f"/proc/self/fd/{fd}") != place:
                raise OSError(errno.ELOOP, "a folder on the way is a link")
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _path(self, place: str) -> str:
        root = self._roots[0]
        if self._view is None or not f"{place}/".startswith(f"{root}/"):
            return place
        return f"/proc/self/fd/{self._view}/{place[len(root) + 1 :]}"

    def _has_walked(self, folder: int) -> bool:
        """Whether the names below a folder were counted once it was too late to keep more: renamed to and
        fro, it would be walked each time, while other commands wait, and its names be counted again."""
        found = os.fstat(folder)
        key = (found.st_dev, found.st_ino)
        known = key in self._walked
        self._walked.add(key)
        return known

    def _is_folder(self, place: str | None) -> bool:
        if place is None:
            return False
        try:
            fd = self._open_folder(place)
        except OSError:
            return False
        os.close(fd)
        return True

    def _walk(self, top: str, at: str) -> Iterator[str]:
        """What follows `top` in every name below it that would be recorded below `at`; few of a tree that is
        larger than what is kept."""
        if not at.startswith(self._prefixes):
            return
        folders, left = [""], 4 * MAX_NAMES
        while folders:
            place = folders.pop()
            try:
                fd = self._open_folder(f"{top}{place}")
            except OSError:
                continue
            try:
                if not place and len(self._seen) >= MAX_NAMES and self._has_walked(fd):
                    return
                # O_PATH can't be listed.
                listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
            except OSError:
                self._count("unreadable")
                continue
            finally:
                os.close(fd)
            try:
                with os.scandir(listed) as entries:
                    for entry in entries:
                        left -= 1
                        if left < 0:
                            self._count("many")
                            return
                        inner = f"{place}/{entry.name}"
                        folder = entry.is_dir(follow_symlinks=False)
                        if self._judge(f"{at}{inner}", folder=folder) == "skipped":
                            continue
                        yield inner
                        if folder:
                            folders.append(inner)
            finally:
                os.close(listed)


def _mark(verdict: "Verdict") -> dict[str, object]:
    return {"local": True} if verdict == "local" else {}


def _read_all(fd: int, size: int) -> bytes:
    """A file that grows while it is read ends where it ended."""
    parts = []
    while size > 0 and (part := os.read(fd, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
