"""Confinement: a file is opened relative to a descriptor of the root, never checked first and opened then.

On Linux one `openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)` resolves the whole path inside the kernel;
elsewhere the path is walked component by component without following any link. A write goes to a new file in
the same directory descriptor and is renamed there, so that a directory swapped meanwhile changes nothing.
"""

import errno
import itertools
import os
import re
import stat
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from planck.own_code import is_early, list_early, list_own, list_sites
from planck.own_code import is_inside as is_inside
from planck.records.authority import PROTECTED, Confinement, Mode
from planck.records.nearest import nearest
from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.paths.beneath import (
    FOLDER,
    describe_link,
    escape,
    find_spelling,
    is_link,
    is_there,
    locate,
    open_beneath,
    open_canonical,
    read_up_to,
    unescape,
)
from planck.workspace.recording.states import State, find_owner, put_entry, read_entry

if TYPE_CHECKING:
    from planck.workspace.views.view import View

_MAX_SIMILAR = 1_000
"""Names of a folder that are compared with one that is not there."""


class WorkspaceError(PlanckError):
    """A path that may not be used, or a file that can't be."""


class _Identity:
    """Which folder a root is. All copies of a root share it: a folder that is made later counts for all."""

    __slots__ = ("known",)

    def __init__(self, path: Path) -> None:
        self.known: tuple[int, int] | None = None
        """Device and inode; None until the folder is there."""
        with suppress(OSError):
            self.matches(os.lstat(path))

    def matches(self, found: os.stat_result) -> bool:
        """Returns whether it is still the folder of the beginning; the first that is found is that folder."""
        now = (found.st_dev, found.st_ino)
        if self.known is None and stat.S_ISDIR(found.st_mode):
            self.known = now
        return self.known == now


class Root:
    """A directory that no path leaves. Paths are text from a model: relative to it, or absolute inside it.

    It is the folder that had this path when the root was made. If another folder has the path later, nothing
    is opened: agents of another session may work in a folder above, and could put a link to private files
    there. So a session keeps the root that it began with; a new `Root` takes the folder that is there now.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        protected: bool = True,
        others: Iterable[str] = (),
    ) -> None:
        """`others` are directories beside it, whose files have absolute paths."""
        self.path: Path = Path(os.path.realpath(path))
        self._identity = _Identity(self.path)
        self._spellings = {os.path.abspath(path), str(self.path)}
        self._protected = protected
        self._writable: tuple[str, ...] | None = None
        self._masked: tuple[str, ...] = ()
        self._shown: tuple[str, ...] = ()
        self._others = tuple(Root(other, protected=protected) for other in others)
        self._reads_all = False
        self.view: View | None = None
        """Through which its files are opened; None: they are those of the folder itself."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Its own path and those of the others, canonical."""
        return (str(self.path), *(str(other.path) for other in self._others))

    def under(self, confinement: Confinement | None) -> "Root":
        """The same directory with the rights of one call; a command's sandbox has the same."""
        if confinement is None:
            return self
        if self.view is not None:
            confinement = self.view.confine(confinement)
        root = copy(self)
        root._protected = confinement.mode is not Mode.FULL
        root._reads_all = not root._protected
        root._others = tuple(other.under(confinement) for other in self._others)
        root._writable, root._masked, root._shown = None, (), ()
        if root._protected:
            root._writable = confinement.writable
            root._masked = tuple(place for place in confinement.masked if is_inside(place, (str(self.path),)))
            # A home that is the root itself was chosen by the user; one in a root was not.
            root._masked += tuple(
                home
                for home in confinement.hidden
                if home not in confinement.roots and is_inside(home, (str(self.path),))
            )
            root._shown = (*confinement.shown, *confinement.roots)
        return root

    def within(self, view: "View") -> "Root":
        """The same directory as an agent with a view of its own has it; folders beside it are shared."""
        root = copy(self)
        root.view = view
        if view.path != str(self.path):  # a worktree: paths of the workspace mean its files, too
            root.path = Path(view.path)
            root._spellings = {*self._spellings, view.path}
        return root

    def of_user(self, *, protected: bool) -> "Root":
        """The same directory for the user: without limits, or (`protected`) without the protected names."""
        root = copy(self)
        root._others = tuple(other.of_user(protected=protected) for other in self._others)
        root._protected, root._reads_all = protected, False
        root._writable, root._masked, root._shown = None, (), ()
        return root

    def join(self, other: "Root") -> None:
        """Adds a directory beside it, for all that use this very root."""
        self._others = (*self._others, other)

    def check(self) -> None:
        """Raises if it, or one beside it, was replaced; for those who then open it by its path."""
        for root in (self, *self._others):
            try:
                with root._fd():
                    pass
            except WorkspaceError as problem:
                if problem.err.kind is ErrorKind.PERMISSION_DENIED:  # a missing folder shows no file
                    raise

    @contextmanager
    def descriptors(self) -> Iterator[dict[str, int]]:
        """Open descriptors of it and of those beside it, by their paths, its own first."""
        with ExitStack() as opened:
            yield {str(root.path): opened.enter_context(root._fd()) for root in (self, *self._others)}

    def find_reader(self, path: str) -> tuple["Root", str]:
        """The directory that a path is read in, with the path there: in mode `full` any of the machine's."""
        owner = self._find_owner(path)
        if owner is self and self._reads_all and not _names_home(path) and "\0" not in path:
            real = os.path.realpath(self.path / unescape(path))
            if not is_inside(real, self.paths):
                if not path.startswith("/"):  # it begins in this folder, which may be another by now
                    with self._fd():
                        pass
                return Root(Path("/"), protected=False), real
        return owner, path

    def name(self, owner: "Root", relative: str) -> str:
        """What a path below a directory is called here; in one that is not this, by its absolute path."""
        return relative if owner.path == self.path else os.path.normpath(owner.path / relative)

    def _find_owner(self, path: str) -> "Root":
        if not path.startswith("/") or self._below_root(path) is not None:
            return self
        return next((other for other in self._others if other._below_root(path) is not None), self)

    @contextmanager
    def reading(self, path: str) -> Iterator[int]:
        """A descriptor of a regular file; a FIFO, a device or a folder is refused without blocking."""
        owner, path = self.find_reader(path)
        with owner._opening(path, os.O_NONBLOCK | os.O_NOCTTY) as fd:
            _require_regular(fd, path)
            owner._refuse_masked(fd, path)
            yield fd

    @contextmanager
    def folder(self, path: str = ".") -> Iterator[int]:
        """A descriptor of a directory, for listing or as a command's `cwd`."""
        owner, path = self.find_reader(path)
        with owner._opening(path, os.O_DIRECTORY) as fd:
            owner._refuse_masked(fd, path)
            yield fd

    @contextmanager
    def writing(self, path: str, *, create: bool = True) -> Iterator["Slot"]:
        """The place of a file to be written: its directory held open, missing parents made, links refused."""
        if (owner := self._find_owner(path)) is not self:
            with owner.writing(path, create=create) as slot:
                slot.whole = True
                yield slot
            return
        with self._fd() as root:
            relative = find_spelling(root, self.relative(path))
            parent, name = os.path.split(relative.rstrip("/"))
            if name in ("", ".", "..") or relative.endswith("/"):
                raise WorkspaceError(
                    ErrorKind.WRITE_FAILED, f"{path!r} is the path of a folder; add a file name"
                )
            self._refuse_protected(relative, path)
            place = os.path.normpath(self.path / relative)
            self._require_writable(os.path.dirname(place), path)  # before a folder is made
            self._refuse_own(place, path, file=True)
            self._refuse_obeyed(place, path)
            fd = self._open_parent(root, parent or ".", path, create)
        try:
            self._refuse_protected(locate(fd, self.path, parent, name), path)
            self._refuse_masked(fd, path, name)
            self._require_writable(self.place(fd, os.path.dirname(path)), path)
            place = f"{self.place(fd, os.path.dirname(path))}/{name}"
            self._refuse_own(place, path, file=True)
            self._refuse_obeyed(place, path)
            yield Slot(fd, name, path, self)
        finally:
            os.close(fd)

    def where(self, path: str, *, folder: bool = False) -> str:
        """The real place of an existing file or folder, relative to the root: free of links and `..`."""
        with self._opening(path, os.O_NONBLOCK | (os.O_DIRECTORY if folder else 0)) as fd:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                _require_regular(fd, path)
            self._refuse_masked(fd, path)
            return os.path.relpath(self.place(fd, path), self.path)

    def present(self, paths: Iterable[str]) -> list[str]:
        """Those that are there, inside and not private, links not followed."""
        with self._fd() as root:
            return [path for path in paths if is_there(root, path) and not self._hides(f"{self.path}/{path}")]

    def peek(self, path: str, limit: int) -> tuple[bytes, int] | None:
        """What `writing` would find there, refusals included, without making a folder."""
        try:
            with self.writing(path, create=False) as slot:
                return slot.read(limit)
        except WorkspaceError as refusal:
            if refusal.err.kind is ErrorKind.NOT_FOUND:
                return None
            raise

    def foresee(self, path: str) -> str:
        """Returns what `Slot.place` will be of a file whose folder is not there yet."""
        owner = self._find_owner(path)
        folder, name = os.path.split(owner.path / owner.relative(path))
        return f"{os.path.realpath(folder).rstrip('/')}/{name}"

    def place(self, fd: int, path: str) -> str:
        """One name for all spellings of an open file or folder."""
        try:
            return os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            owner, path = self.find_reader(path)
            return os.path.normpath(owner.path / owner.relative(path))

    def relative(self, path: str) -> str:
        """The path as text relative to the root; touches no file."""
        if "\0" in path:
            raise WorkspaceError(
                ErrorKind.INVALID_ARGS,
                f"{path!r} contains a NUL character, which a path cannot contain; remove that character",
            )
        try:
            size = len(os.fsencode(path))
        except UnicodeEncodeError:
            raise WorkspaceError(
                ErrorKind.INVALID_ARGS,
                f"{path!r} is not a valid path, because it contains characters that cannot be encoded; "
                "remove them",
            ) from None
        if size > 4095:
            raise WorkspaceError(
                ErrorKind.INVALID_ARGS, f"the path is too long: {path[:80]!r}…; use a shorter one"
            )
        if _names_home(path):
            raise self._outside_error(path, "~ and $HOME are not expanded")
        if path.startswith("/"):
            inside = self._below_root(path)
            if inside is None:
                raise self._outside_error(path)
            path = inside
        if os.path.normpath(path or ".").split("/")[0] == "..":
            raise self._outside_error(path)
        return path or "."

    def _below_root(self, path: str) -> str | None:
        """By components of the text as given: `/root/../etc` must not become `etc`."""
        for root in self._spellings:
            if path == root or path.startswith(root.rstrip("/") + "/"):
                return path[len(root) :].lstrip("/") or "."
        return None

    def acting(self) -> AbstractContextManager[None]:
        """Around each change in it; nothing else is awaited meanwhile."""
        return nullcontext() if self.view is None else self.view.acting()

    @contextmanager
    def _fd(self) -> Iterator[int]:
        if self.view is not None:
            held = os.dup(self.view.root)  # set at its opening: no name is looked up, so none is checked
            try:
                yield held
            finally:
                os.close(held)
            return
        try:
            # Compared below. Only if no folder is known yet must the path itself be without links.
            known = self._identity.known is not None
            fd = os.open(self.path, FOLDER) if known else open_canonical(str(self.path))
        except OSError as problem:
            if problem.errno in (errno.ELOOP, errno.EXDEV):  # the path was canonical, and has a link now
                raise self._replaced_error() from None
            raise WorkspaceError(
                ErrorKind.READ_FAILED,
                f"the workspace {str(self.path)!r} cannot be opened: {problem.strerror}; check that folder",
            ) from None
        try:
            if not self._identity.matches(os.fstat(fd)):
                raise self._replaced_error()
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def _opening(self, path: str, flags: int) -> Iterator[int]:
        with self._fd() as root:
            relative = find_spelling(root, self.relative(path))
            try:
                fd = open_beneath(root, relative, os.O_RDONLY | flags)
            except OSError as problem:
                if problem.errno == errno.ENOTDIR and not flags & os.O_DIRECTORY:
                    problem.errno = errno.ENOENT  # there is nothing below a file
                raise self._open_error(root, path, relative, problem, ErrorKind.READ_FAILED) from None
        try:
            yield fd
        finally:
            os.close(fd)

    def _open_parent(self, root: int, parent: str, path: str, create: bool) -> int:
        flags = os.O_RDONLY | os.O_DIRECTORY
        try:
            return open_beneath(root, parent, flags)
        except OSError as problem:
            if problem.errno != errno.ENOENT or not create:
                raise self._open_error(root, path, parent, problem, ErrorKind.WRITE_FAILED) from None
        held = os.dup(root)
        steps = [step for step in parent.split("/") if step not in ("", ".")]
        for depth, step in enumerate(steps, 1):
            try:
                # Before anything is made: a link on the way may have led into a protected folder.
                above = "/".join(steps[: depth - 1])
                self._refuse_protected(locate(held, self.path, above, step), path)
                if not _is_there(step, held):
                    self._require_writable(self.place(held, above), path)
                    self._refuse_own(f"{self.place(held, above)}/{step}", path)
                    with suppress(FileExistsError), self.acting():
                        os.mkdir(step, 0o777, dir_fd=held)
                deeper = open_beneath(root, "/".join(steps[:depth]), flags)
            except OSError as problem:
                step = "/".join(steps[:depth])
                raise self._open_error(root, path, step, problem, ErrorKind.WRITE_FAILED) from None
            finally:
                os.close(held)
            held = deeper
        return held

    def _refuse_protected(self, relative: str, path: str) -> None:
        if self._protected and (name := protected_name(relative)):
            raise _protect(f"{path!r} is under {name!r}, which only the user may change", name)

    def _refuse_own(self, place: str, path: str, *, file: bool = False) -> None:
        roots = (str(self.path),)
        if self._protected and is_inside(place, (*list_own(roots), *list_sites(roots))):
            raise _protect(f"{path!r} is part of the running Planck, which only the user may change", path)
        for folder, modules in list_early(roots).items() if self._protected else ():
            below = os.path.relpath(place, folder).partition("/")[0]
            # Python looks into a zip file that replaces the folder, or one above it.
            if is_early(below, modules) or (file and is_inside(folder, (place,))):
                raise _protect(
                    f"Python would run {path!r} the next time Planck starts (unless Planck is started with "
                    "the `planck` command and PYTHONPATH is not set), so only the user may create or "
                    "change it",
                    path,
                )

    def _refuse_obeyed(self, place: str, path: str) -> None:
        from planck.workspace.git.repository import is_obeyed  # only where something is written

        if self._protected and is_obeyed(place, str(self.path)):
            raise _protect(f"{path!r} is run or read by the user's git, so only the user may change it", path)

    def _refuse_masked(self, fd: int, path: str, name: str = "") -> None:
        if self._masked and self._hides(f"{self.place(fd, path)}/{name}".rstrip("/")):
            why = f"{path!r} contains secrets that only the user may see"
            raise WorkspaceError(
                ErrorKind.PERMISSION_DENIED,
                f"{why}; continue without it, and report that you did",
                {"why": why},
            )

    def _hides(self, place: str) -> bool:
        """By the innermost: a secret in a folder that is shown, and a folder that is shown among secrets."""
        closed = max((len(one) for one in self._masked if is_inside(place, (one,))), default=0)
        return closed > 0 and not any(len(one) >= closed and is_inside(place, (one,)) for one in self._shown)

    def _require_writable(self, folder: str, path: str) -> None:
        if self._writable is not None and not is_inside(folder, self._writable):
            places = ", ".join(map(repr, self._writable))
            way_out = f"write only below {places}" if places else "put the change into your answer instead"
            raise WorkspaceError(
                ErrorKind.PERMISSION_DENIED, f"{path!r} is read-only for this agent; {way_out}"
            )

    def _replaced_error(self) -> WorkspaceError:
        return WorkspaceError(
            ErrorKind.PERMISSION_DENIED,
            f"The folder {str(self.path)!r} has been replaced since the session began. "
            "Start a new session there; if this is a server, restart it",
        )

    def _outside_error(self, path: str, why: str = "") -> WorkspaceError:
        why = f" ({why})" if why else ""
        return WorkspaceError(
            ErrorKind.OUTSIDE_WORKSPACE,
            f"{path!r} is outside the workspace {str(self.path)!r}{why}; use a path in it, read the file "
            "with a command, or ask the user to add its folder with /add-dir",
        )

    def _open_error(
        self, root: int, path: str, relative: str, problem: OSError, kind: ErrorKind
    ) -> WorkspaceError:
        if problem.errno == errno.EXDEV:
            return self._outside_error(path, describe_link(root, relative))
        if problem.errno == errno.ELOOP:
            return self._outside_error(path, "its links form a loop or leave the workspace")
        if problem.errno == errno.ENOENT:
            return WorkspaceError(
                ErrorKind.NOT_FOUND, f"{path!r} does not exist{self._find_similar(root, relative)}"
            )
        if problem.errno == errno.ENOTDIR:
            text = f"{relative!r} is not a folder; use `list_dir` on the folder above it"
            return WorkspaceError(kind, text, {"not_a_folder": relative})
        return WorkspaceError(
            kind, f"{path!r} cannot be opened: {problem.strerror}; try another path, or report the error"
        )

    def _find_similar(self, root: int, relative: str) -> str:
        """Returns the way out where a file does not exist; names nothing that is hidden."""
        folder, name = os.path.split(relative)
        try:
            fd = open_beneath(root, folder or ".", FOLDER)
        except OSError:
            return "; use `glob` to find it"
        try:
            return self.suggest(fd, folder, name)
        finally:
            os.close(fd)

    def suggest(self, fd: int, folder: str, name: str) -> str:
        """`; did you mean …?` with names of that folder, else where to look."""
        place = self.place(fd, folder or ".")
        names = (found for found in os.listdir(fd)[:_MAX_SIMILAR] if not self._hides(f"{place}/{found}"))
        similar = [repr(os.path.join(folder, escape(found))) for found in nearest(name, names, count=3)]
        return f"; did you mean {' or '.join(similar)}?" if similar else "; use `glob` to find it"


P = ParamSpec("P")
T = TypeVar("T")


def _as_owner(change: "Callable[Concatenate[Slot, P], T]") -> "Callable[Concatenate[Slot, P], T]":
    """Runs a change of a slot as `View.acting` says."""

    def act(self: "Slot", /, *args: P.args, **named: P.kwargs) -> T:
        with self._root.acting():
            return change(self, *args, **named)

    return act


class Slot:
    """One name in one open directory: what is there is read, and replaced, through the same descriptor."""

    def __init__(self, folder: int, name: str, path: str, root: Root) -> None:
        self.path = path
        self._folder = folder
        self._name = name
        self._root = root
        self._found: tuple[int, int, int, int] | None = None
        self.view: str = "" if root.view is None else root.view.id
        self.whole = False
        """Whether it is known by its absolute path: it is in a directory beside the workspace."""

    @property
    def place(self) -> str:
        """As `Root.place` of the file itself."""
        return f"{self._root.place(self._folder, os.path.dirname(self.path) or '.').rstrip('/')}/{self._name}"

    @property
    def relative(self) -> str:
        """Where it really is, from the root on, escaped: a log can hold it, and `writing` takes it back."""
        return escape(self.place if self.whole else os.path.relpath(self.place, self._root.path))

    def suggest(self) -> str:
        """As `Root.suggest`, where nothing has this name."""
        return self._root.suggest(self._folder, os.path.dirname(self.path), self._name)

    def read(self, limit: int) -> tuple[bytes, int] | None:
        """Content and mode of the regular file there, or None where there is none."""
        try:
            fd = os.open(
                self._name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._folder
            )
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise self._write_error(problem) from None
        try:
            found = _require_regular(fd, self.path, ErrorKind.WRITE_FAILED)
            if found.st_size > limit:
                raise WorkspaceError(
                    ErrorKind.LIMIT_EXCEEDED,
                    f"{self.path!r} has {found.st_size} bytes, and the limit here is {limit}; use `bash`",
                )
            self._found = _signature(found)
            return read_up_to(fd, limit), stat.S_IMODE(found.st_mode)
        finally:
            os.close(fd)

    @_as_owner
    def replace(self, content: bytes, mode: int | None, *, mark: str = "") -> None:
        """Atomic, by a new inode: readers see old or new, and a hard link elsewhere keeps the old content.

        What another program put there since `read` is not overwritten: `edit_conflict`. `mark` names the
        temporary file, so that `sweep` finds it if this process is killed.
        """
        temporary = self._stage(content, mode, mark)
        try:
            with _REPLACING:
                if self._found is None:
                    self._create(temporary)
                elif self._found != self._now():
                    raise self._conflict_error()
                else:
                    os.rename(temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError as problem:
            raise self._write_error(problem) from None
        finally:
            _remove(temporary, self._folder)

    @_as_owner
    def sweep(self, mark: str) -> None:
        """Removes the temporary file that a killed `replace` with that mark left; the mark must be unique."""
        _remove(f"{TEMPORARY}{mark}", self._folder)

    def look(self) -> State:
        """What has the name, be it a folder or a link."""
        try:
            self._found = self._now()
            return read_entry(self._folder, self._name)
        except OSError as problem:
            raise self._write_error(problem) from None

    @_as_owner
    def put(self, state: State, *, mark: str) -> None:
        """Makes the name what it was, where nothing changed since `look`; a folder only gets its mode.

        A file and a link replace what is there in one step. `mark` as in `replace`.
        """
        if state.kind == "file" and state.content is not None:
            self.replace(state.content, state.mode if state.mode >= 0 else None, mark=mark)
            return
        try:
            with _REPLACING:
                if state.kind != "folder" and self._found != self._now():
                    raise self._conflict_error()
                put_entry(self._folder, self._name, state, f"{TEMPORARY}{mark}")
        except OSError as problem:
            raise self._write_error(problem) from None

    def list_names(self) -> list[str]:
        """Names in the folder of that name, raw."""
        try:
            fd = os.open(self._name, FOLDER | os.O_NOFOLLOW, dir_fd=self._folder)
        except OSError as problem:
            raise self._write_error(problem) from None
        try:
            return os.listdir(fd)
        finally:
            os.close(fd)

    @_as_owner
    def overwrite(self, content: bytes, mode: int | None) -> None:
        """Replaces what has the name now, be it a link, by a new file; atomic as `replace`."""
        temporary = self._stage(content, mode)
        try:
            os.rename(temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError as problem:
            raise self._write_error(problem) from None
        finally:
            _remove(temporary, self._folder)

    @_as_owner
    def remove(self) -> None:
        """Take away what `read` or `look` found, and nothing that came since."""
        with _REPLACING:
            if self._found is None or self._found != self._now():
                raise self._conflict_error()
            try:
                os.unlink(self._name, dir_fd=self._folder)
            except OSError as problem:
                raise self._write_error(problem) from None

    def _create(self, temporary: str) -> None:
        """A link fails where a rename would overwrite."""
        try:
            os.link(temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except FileExistsError:
            raise self._conflict_error() from None
        except OSError as problem:
            if problem.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS):
                raise
            os.rename(temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def _now(self) -> tuple[int, int, int, int] | None:
        try:
            return _signature(os.stat(self._name, dir_fd=self._folder, follow_symlinks=False))
        except FileNotFoundError:
            return None

    def _conflict_error(self) -> WorkspaceError:
        return WorkspaceError(
            ErrorKind.EDIT_CONFLICT,
            f"{self.path!r} was changed by another program in the meantime; read it again",
        )

    def _stage(self, content: bytes, mode: int | None, mark: str = "") -> str:
        marked = [f"{TEMPORARY}{mark}"] if mark else []
        for name in itertools.chain(marked, (f"{TEMPORARY}{os.getpid()}-{number}" for number in _COUNTER)):
            try:
                fd = os.open(
                    name,
                    os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
                    0o666 if mode is None else 0o600,
                    dir_fd=self._folder,
                )
            except FileExistsError:
                continue
            except OSError as problem:
                raise self._write_error(problem) from None
            break
        try:
            with os.fdopen(fd, "wb", closefd=True) as file:
                file.write(content)
                if mode is not None:
                    self._keep_owner(file.fileno())
                    os.fchmod(file.fileno(), mode)
        except OSError as problem:
            _remove(name, self._folder)
            raise self._write_error(problem) from None
        return name

    def _keep_owner(self, fd: int) -> None:
        """A new file of root's is the owner's of its folder, as if a command of the agent had made it."""
        with suppress(OSError):  # only root can give files away; the content and the mode are what we promise
            old = find_owner(self._folder, self._name)
            new = os.fstat(fd)
            if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
                os.fchown(fd, old.st_uid, old.st_gid)

    def _write_error(self, problem: OSError) -> WorkspaceError:
        if problem.errno in (errno.ELOOP, errno.EMLINK) and is_link(self._name, self._folder):
            target = os.readlink(self._name, dir_fd=self._folder)
            outside = os.path.isabs(target) or os.path.normpath(target).startswith("..")
            kind = ErrorKind.OUTSIDE_WORKSPACE if outside else ErrorKind.WRITE_FAILED
            return WorkspaceError(kind, f"{self.path!r} is a link to {target!r}; write to the file itself")
        if problem.errno in (errno.ENXIO, errno.EISDIR, errno.ENODEV):
            return WorkspaceError(
                ErrorKind.WRITE_FAILED, f"{self.path!r} is not a regular file; use another path"
            )
        if problem.errno == errno.EOVERFLOW:
            why = "that file belongs to another user; a view can't copy it"
            return WorkspaceError(ErrorKind.WRITE_FAILED, f"{self.path!r}: {why}; use another path")
        why = f"cannot write to {self.path!r}: {problem.strerror}"
        return WorkspaceError(ErrorKind.WRITE_FAILED, f"{why}; try another path, or report the error")


def has_entry(path: str) -> bool:
    """Whether anything has that name, be it a link to nowhere; without an exception where nothing has."""
    return os.access(path, os.F_OK, follow_symlinks=os.access not in os.supports_follow_symlinks)


def stamp_file(path: Path | str) -> tuple[int, int, int] | None:
    """Returns what differs once the file was changed, came or went."""
    if not os.access(path, os.F_OK):  # most of those that are looked for are not there: no exception for each
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def place_root(name: str, roots: Sequence[str]) -> str:
    """Returns where a folder is that somebody's writing is bound to; empty: in no root, or protected."""
    place = os.path.normpath(os.path.join(roots[0], name))
    inside = next((place[len(root) :] for root in roots if is_inside(place, (root,))), None)
    return "" if inside is None or protected_name(inside) else place


def _names_home(path: str) -> bool:
    return path.startswith("~") or re.match(r"\$\{?HOME\b", path) is not None


def _protect(why: str, name: str) -> WorkspaceError:
    """`why` is for a person who is refused; an agent is also told what to do instead."""
    text = f"{why}; leave it as it is, and report which change is needed"
    return WorkspaceError(ErrorKind.PROTECTED_PATH, text, {"protected": name, "why": why})


def protected_name(relative: str) -> str | None:
    """The protected component of a path, if any, at any depth: a nested repository counts too."""
    return next((name for step in relative.split("/") if (name := _fold(step)) in PROTECTED), None)


def _fold(name: str) -> str:
    # Linux file systems tell the twins apart; macOS takes them for the same file.
    return name if sys.platform.startswith("linux") else unicodedata.normalize("NFKC", name).casefold()


TEMPORARY = ".planck-tmp-"
_COUNTER = itertools.count(1)
_REPLACING = threading.Lock()
"""Held from the last look to the change: to this process, with all its sessions, both are one step."""


def _require_regular(fd: int, path: str, kind: ErrorKind = ErrorKind.READ_FAILED) -> os.stat_result:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        folder = stat.S_ISDIR(found.st_mode)
        step = "use `list_dir`" if kind is ErrorKind.READ_FAILED else "add a file name"
        what = f"a folder; {step}" if folder else "not a regular file; use another path"
        raise WorkspaceError(kind, f"{path!r} is {what}")
    return found


def _signature(found: os.stat_result) -> tuple[int, int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _is_there(name: str, folder: int) -> bool:
    try:
        os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def _remove(name: str, folder: int) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)
