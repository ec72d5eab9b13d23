"""Stored sessions on disk: `<id>_<name>.db` in one folder, and how one is found."""

import fcntl
import logging
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from planck.records.outcome import ErrorKind, PlanckError
from planck.records.ports import Ids
from planck.session.index import NameIndex
from planck.session.names import id_in, name_in, new_name
from planck.store.database import companion
from planck.store.directory import make_private, move_log, remove_log
from planck.store.lock import WriterLock, is_locked
from planck.store.reader import SqliteReader
from planck.store.sqlite import SqliteStore
from planck.store.store import StoreError

log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_BEGINNING = 4
"""So many characters of an id at least: fewer would be a random one's by chance."""
_CANDIDATES = 5
"""Named where it is not clear which session is meant."""
_TRIES = 8
"""Random names that may be taken, before longer ones are tried."""


class SessionError(PlanckError):
    """No such session, or a name that can't be used."""


class Claim(NamedTuple):
    """A name that is nobody else's, for a log that is about to be made."""

    path: Path
    name: str
    lock: WriterLock
    """Held: while it is, the claim stands, and with whoever holds it the claim ends."""


class SessionDirectory:
    """The session files of one folder, seen from one workspace."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        self._folder = folder
        self._workspace = workspace
        self.promised: set[str] = set()
        """Names of open sessions that have no file."""
        self._index = NameIndex(folder, workspace)

    @property
    def indexed(self) -> bool:
        """Whether a name can be looked up without a look at every file."""
        return self._index.complete or not self._folder.exists()

    def make_path(self, id: str, name: str) -> Path:
        """Returns where a new session belongs; its store makes the folder."""
        return self._folder / f"{id}_{name}.db"

    def claim(self, id: str, wanted: str, ids: Ids) -> Claim:
        """Takes the wanted name if it is free, or a random one; waits for others, and for the disk."""
        with self.hold_names():
            name = self.choose_name(wanted, ids)
            path = self.make_path(id, name)
            lock = WriterLock(companion(path, "lock"))
            try:
                self.note(path)
            except BaseException:
                lock.release()
                raise
        return Claim(path, name, lock)

    def note(self, path: Path, name: str = "") -> None:
        """Lets a session be found by its id and its name, or by another name."""
        try:
            if not self._index.complete:
                self._index.build()
            if not path.exists() or self._keep_own([path]):
                self._index.note(path, name or name_in(path))
            else:
                self._index.note_stranger(path)
        except OSError as problem:
            raise self._refuse(problem) from None

    def forget(self, path: Path) -> None:
        """Leaves nothing here of a log that is gone, or of a name that it had."""
        self._index.forget(path, name_in(path))

    @contextmanager
    def hold_names(self) -> Iterator[None]:
        """Of all processes and threads one at a time, from `choose_name` until the name is claimed or used.

        Nothing may be awaited in it: a second one of the same loop would wait for ever.
        """
        try:
            make_private(self._folder)
            fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as problem:
            raise self._refuse(problem) from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _refuse(self, problem: OSError) -> StoreError:
        return StoreError(
            ErrorKind.LOG_WRITE_FAILED,
            f"sessions can't be kept in {str(self._folder)!r}: {problem.strerror}; "
            "choose another sessions_dir, or pass --no-session",
        )

    def choose_name(self, wanted: str, ids: Ids) -> str:
        """Returns the wanted name if it is free; without one, a random name that is."""
        if wanted:
            self._check_name(wanted)
            return wanted
        for _ in range(_TRIES):
            if not self._is_taken(name := new_name(ids)):
                return name
        # So many are taken that a pair of words is no name any more.
        while self._is_taken(name := f"{new_name(ids)}-{ids.new()[-4:]}"):
            pass
        return name

    def promise(self, name: str, path: Path | None) -> None:
        """Keeps a name for an open session, if it is free; its file is found by both until it moves."""
        if not name:
            raise SessionError(
                ErrorKind.INVALID_ARGS, "a session's new name is empty; use letters and digits"
            )
        with self.hold_names():
            self._check_name(name)
            if path:
                self.note(path, name)
        if not path:
            self.promised.add(name)

    def break_promise(self, name: str, path: Path | None) -> None:
        self.promised.discard(name)
        if path and name != name_in(path):
            self._index.forget(path, name)

    def move(self, store: SqliteStore, id: str, name: str) -> None:
        """Gives a log that was closed just now the file that its name finds."""
        old, new = store.path, self.make_path(id, name)
        try:
            with self.hold_names():
                move_log(old, new)
                self.note(new)
                self.forget(old)
            store.path = new  # whoever watched the session may still read it to its end
        except StoreError as failure:
            log.warning("%s keeps its old file name for now: %s", name, failure)

    def find(self, id_or_name: str) -> Path:
        """Returns the session of that id, or else the newest of that name in this workspace.

        What is neither may be how only one id, or one name of this workspace, begins.
        """
        if is_valid_name(id_or_name):
            found = (
                self._look_up_id(id_or_name)
                or self._look_up_name(id_or_name)
                or self._find_id(id_or_name)
                or self._find_named(id_or_name)
                or self._find_beginning(id_or_name)
            )
            if found:
                return found[-1]
        raise SessionError(
            ErrorKind.NOT_FOUND, f"no session {id_or_name!r} here; `planck sessions list --all` shows them"
        )

    def _check_name(self, wanted: str) -> None:
        if not is_valid_name(wanted):
            raise SessionError(
                ErrorKind.INVALID_ARGS,
                f"{wanted!r} can't be a session's name; use letters, digits, '.', '_' and '-', at most 64",
            )
        if wanted in self.promised or self._is_taken(wanted, clear=True):
            raise SessionError(
                ErrorKind.NOT_UNIQUE, f"a session named {wanted!r} already exists; resume it with -r {wanted}"
            )

    def has_id(self, id: str) -> bool:
        return bool(self._look_up_id(id) or self._find_id(id))

    def _look_up_id(self, id: str) -> list[Path]:
        path = self._index.find_id(id)
        return [path] if path and path.exists() else []

    def _look_up_name(self, name: str) -> list[Path]:
        """Returns the one that the index knows of; none where only the logs can tell which is meant."""
        path = None if self._index.is_doubtful(name) else self._index.find_name(name)
        return self._keep_own([path]) if path else []

    def _is_taken(self, name: str, *, clear: bool = False) -> bool:
        """With `clear`, what a process left behind that ended before its session began is no reason."""
        known = self._index.find_name(name)
        found = {known} if known else set()
        unsure = known is not None and not known.exists()
        if unsure or not self.indexed or self._index.is_doubtful(name):
            found.update(self._find_named(name))
        return any(not (clear and self._clear(path)) for path in found)

    def _clear(self, path: Path) -> bool:
        if not is_left_behind(path):
            return False
        remove_log(path)
        self.forget(path)
        return True

    def _find_id(self, id: str) -> list[Path]:
        return [path for path in self._folder.glob(f"{id}_*.db") if id_in(path) == id]

    def _find_beginning(self, text: str) -> list[Path]:
        """Raises where several begin so; only as many are opened as it takes to say so."""
        ids = self._folder.glob(f"{text}*_*.db") if len(text) >= _BEGINNING else ()
        by_id = sorted(path for path in ids if id_in(path).startswith(text))
        by_name = [
            path
            for path in self._folder.glob(f"*_{text}*.db")
            if name_in(path).startswith(text) and path not in by_id[:_CANDIDATES]
        ]
        own = islice(self._open_own(sorted(by_name)), _CANDIDATES)
        found = [*by_id[:_CANDIDATES], *(path for _, path in own)][:_CANDIDATES]
        if len(found) < 2:
            return found
        named = ", ".join(f"{name_in(path)} ({id_in(path)})" for path in found)
        more = " and more" if len(found) == _CANDIDATES else ""
        raise SessionError(
            ErrorKind.NOT_UNIQUE,
            f"{text!r} may be {named}{more}; type more of the name or the id",
            {"candidates": [id_in(path) for path in found]},
        )

    def find_own(self, id: str) -> Path:
        """Returns the session of exactly that id; one of another workspace is not there."""
        known = (self._look_up_id(id) or self._find_id(id)) if is_valid_name(id) else []
        if own := self._keep_own(known):
            return own[0]
        raise SessionError(ErrorKind.NOT_FOUND, f"no session {id!r} of this workspace")

    def _find_named(self, name: str) -> list[Path]:
        found = (path for path in self._folder.glob(f"*_{name}.db") if name_in(path) == name)
        return self._keep_own(found)

    def _keep_own(self, paths: Iterable[Path]) -> list[Path]:
        """Returns those of this workspace, oldest first."""
        return [path for _, path in sorted(self._open_own(paths))]

    def _open_own(self, paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
        """Yields those of this workspace that have begun, with the time of their creation."""
        for path in paths:
            try:
                with closing(SqliteReader.open(path)) as reader:
                    meta, begun = reader.meta, reader.head > 0 or reader.damage is not None
            except StoreError:
                continue
            if begun and is_same_place(meta.get("workspace", ""), self._workspace):
                yield meta.get("created", ""), path


def is_left_behind(path: Path) -> bool:
    """Whether a session never began, and nobody is about to begin it: its process ended first."""
    try:
        with closing(SqliteReader.open(path)) as log:
            begun = log.head > 0 or log.damage is not None
    except StoreError:
        begun = path.exists()
    return not begun and not is_locked(companion(path, "lock"))


def is_valid_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def is_same_place(recorded: str, workspace: Path) -> bool:
    """True whatever link either was reached by."""
    return bool(recorded) and (
        recorded == str(workspace) or os.path.realpath(recorded) == os.path.realpath(workspace)
    )
