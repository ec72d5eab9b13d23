"""A file that the user names and that is written after agents could run.

The name is resolved once, before they run, and the folder is held open from then on. What agents put in its
place since, a link at the name or in a folder above it, leads the content nowhere else.
"""

import errno
import os
import re
import stat
from pathlib import Path

from planck.own_code import follow
from planck.records.outcome import ErrorKind
from planck.workspace.paths.paths import Root, Slot, WorkspaceError, is_inside
from planck.workspace.paths.regular import locate_open

_HOLD = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_CLOEXEC
_DESCRIPTOR = re.compile(r"/proc/\d+(/task/\d+)?/fd/\d+|/dev/fd/\d+")


class OutputFile:
    """One target, resolved when it is made. `close` lets go of the folder."""

    def __init__(self, path: Path | str) -> None:
        self.path: str = str(path)
        self._slot: Slot | None = None
        """None for a descriptor, a FIFO or a device, which can't be replaced by a new file."""
        try:
            self._place, self._links = _follow(self.path)
            self._found = _look(self._place)
            if self._found and stat.S_ISDIR(self._found.st_mode):
                raise OSError(errno.EISDIR, "it is a folder")
            through = _DESCRIPTOR.fullmatch(self._place) or (
                self._found and not stat.S_ISREG(self._found.st_mode)
            )
            self._held = self._hold(self._place if through else os.path.dirname(self._place), not through)
        except (OSError, ValueError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else "its name is not valid"
            raise WorkspaceError(
                ErrorKind.WRITE_FAILED, f"cannot write to {self.path!r}: {why}. Choose another file name"
            ) from None
        if not through:
            folder, name = os.path.split(self._place)
            self._slot = Slot(self._held, name, self.path, Root(folder))

    @property
    def exists(self) -> bool:
        return self._found is not None

    def _hold(self, place: str, folder: bool) -> int:
        if self._found and not os.access(place if not folder else self._place, os.W_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        if not folder:
            # A FIFO that nobody reads yet would block an opening for writing.
            fd = os.open(place, _HOLD)
            if self._found and not os.path.samestat(os.fstat(fd), self._found):
                os.close(fd)
                raise OSError(errno.EAGAIN, "it was replaced in the meantime")
            return fd
        fd = os.open(place, _HOLD | os.O_DIRECTORY)
        if not os.access(place, os.W_OK) or locate_open(fd, place) != place:
            os.close(fd)
            raise OSError(errno.EACCES, "its folder is not writable")
        return fd

    def check(self, root: Root) -> None:
        """Raises for a place that agents who work in this root may have chosen, or may not write.

        A link in their folders may be of an earlier run: nobody can tell it from one of the user's.
        """
        inside = is_inside(self._place, root.paths)
        links = [link for link in self._links if is_inside(link, root.paths)]
        if links and not inside:
            raise WorkspaceError(
                ErrorKind.OUTSIDE_WORKSPACE,
                f"{self.path!r} leads to {self._place!r} through the link {links[0]!r}, which agents can "
                "change. Use the path of the file itself",
            )
        if inside and self._slot:
            try:
                with root.writing(self._place, create=False):
                    pass  # it refuses what a file tool may not write
            except WorkspaceError as refused:
                why = refused.err.details.get("why")  # without what an agent is told to do instead
                if not why:
                    raise
                raise WorkspaceError(refused.err.kind, f"{why}. Choose another file name") from None

    def write(self, content: bytes) -> None:
        """Replaces the file by a new one with the old one's mode, also what agents left under its name."""
        if self._slot is None:
            self._write_through(content)
            return
        self._require_folder()
        # No set-user-id: the content is an agent's.
        self._slot.overwrite(content, stat.S_IMODE(self._found.st_mode) & 0o777 if self._found else None)

    def create(self, content: bytes) -> None:
        """Writes a new file; raises where there is one."""
        if self._slot is None or self.exists:
            raise WorkspaceError(ErrorKind.WRITE_FAILED, f"{self.path!r} already exists. Choose another file")
        self._require_folder()
        self._slot.replace(content, None)

    def close(self) -> None:
        os.close(self._held)

    def _require_folder(self) -> None:
        folder = os.path.dirname(self._place)
        try:
            same = locate_open(self._held, folder) == folder
        except OSError:
            same = False
        if not same:
            raise WorkspaceError(
                ErrorKind.WRITE_FAILED,
                f"{self.path!r} was not written: its folder was moved or replaced. Choose another file",
            )

    def _write_through(self, content: bytes) -> None:
        way = f"/proc/self/fd/{self._held}" if hasattr(os, "O_PATH") else self._place
        try:
            fd = os.open(way, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
            with os.fdopen(fd, "wb") as file:
                if not os.path.samestat(os.fstat(fd), os.fstat(self._held)):
                    raise OSError(errno.EXDEV, "it was replaced in the meantime")
                if stat.S_ISREG(os.fstat(fd).st_mode):
                    os.ftruncate(fd, 0)
                file.write(content)
        except OSError as problem:
            raise WorkspaceError(
                ErrorKind.WRITE_FAILED,
                f"cannot write to {self.path!r}: {problem.strerror}. Choose another file",
            ) from None


def create_file(path: Path, content: str) -> None:
    """Makes a file; a file or a link under this name is an `OSError`, not followed and not overwritten."""
    with open(path, "x", encoding="utf-8") as file:
        file.write(content)


def _follow(path: str) -> tuple[str, list[str]]:
    """Returns the place that a path leads to, and the links on the way, each by its own place.

    It ends at the link of an open descriptor: what that is open to may have no name.
    """
    links: list[str] = []
    for place in follow(os.path.join(os.getcwd(), path)):
        if _DESCRIPTOR.fullmatch(place):
            return place, links
        links.append(place)
    place = links.pop()
    if os.path.islink(place):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return place, links


def _look(place: str) -> os.stat_result | None:
    try:
        return os.stat(place)
    except FileNotFoundError:
        return None
