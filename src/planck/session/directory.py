"""Stored sessions on disk: `<id>_<name>.db` in one folder, and how one is found."""

import fcntl
import logging
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

from planck.records.outcome import ErrorKind, PlanckError
from planck.records.ports import Ids
from planck.session.names import new_name
from planck.store.directory import move_log
from planck.store.reader import SqliteReader
from planck.store.sqlite import SqliteStore
from planck.store.store import StoreError

log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_BEGINNING = 4
"""So many characters of an id at least: fewer would be a random one's by chance."""
_CANDIDATES = 5
"""Named where it is not clear which session is meant."""


class SessionError(PlanckError):
    """No such session, or a name that can't be used."""


class SessionDirectory:
    """The session files of one folder, seen from one workspace."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        self._folder = folder
        self._workspace = workspace
        self.promised: set[str] = set()
        """Names of open sessions whose files do not have them yet."""

    def make_path(self, id: str, name: str) -> Path:
        """Returns where a new session belongs; its store makes the folder."""
        return self._folder / f"{id}_{name}.db"

    @contextmanager
    def hold_names(self) -> Iterator[None]:
        """Of all processes one at a time, from `choose_name` until the file is there: a free name stays free.

        Nothing may be awaited in it: a second one of the same process would wait for ever.
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as problem:
            raise StoreError(
                ErrorKind.LOG_WRITE_FAILED,
                f"sessions can't be kept in {str(self._folder)!r}: {problem.strerror}; "
                "choose another sessions_dir, or pass --no-session",
            ) from None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def choose_name(self, wanted: str, ids: Ids) -> str:
        """Returns the wanted name if it is free; without one, a random name that is."""
        if wanted:
            self._check_name(wanted)
            return wanted
        while self._find_named(name := new_name(ids)):
            pass
        return name

    def promise(self, name: str) -> None:
        """Keeps a name for a session that is open, if it is free."""
        if not name:
            raise SessionError(
                ErrorKind.INVALID_ARGS, "a session's new name is empty; use letters and digits"
            )
        with self.hold_names():
            self._check_name(name)
        self.promised.add(name)

    def move(self, store: SqliteStore, id: str, name: str) -> None:
        """Gives a log that was closed just now the file that its name finds."""
        new = self.make_path(id, name)
        try:
            with self.hold_names():
                move_log(store.path, new)
            store.path = new  # whoever watched the session may still read it to its end
        except StoreError as failure:
            log.warning("%s keeps its old file name for now: %s", name, failure)
        self.promised.discard(name)

    def find(self, id_or_name: str) -> Path:
        """Returns the session of that id, or else the newest of that name in this workspace.

        What is neither may be how only one id, or one name of this workspace, begins.
        """
        if is_valid_name(id_or_name):
            by_id = [path for path in self._folder.glob(f"{id_or_name}_*.db") if id_in(path) == id_or_name]
            found = by_id or self._find_named(id_or_name) or self._find_beginning(id_or_name)
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
        if wanted in self.promised or self._find_named(wanted):
            raise SessionError(
                ErrorKind.NOT_UNIQUE, f"a session named {wanted!r} already exists; resume it with -r {wanted}"
            )

    def _find_beginning(self, text: str) -> list[Path]:
        """Raises where several begin so; only as many are opened as it takes to say so."""
        ids = self._folder.glob(f"{text}*_*.db") if len(text) >= _BEGINNING else ()
        by_id = sorted(path for path in ids if id_in(path).startswith(text))
        by_name = [
            path
            for path in self._folder.glob(f"*_{text}*.db")
            if path.stem.partition("_")[2].startswith(text) and path not in by_id[:_CANDIDATES]
        ]
        own = islice(self._open_own(sorted(by_name)), _CANDIDATES)
        found = [*by_id[:_CANDIDATES], *(path for _, path in own)][:_CANDIDATES]
        if len(found) < 2:
            return found
        named = ", ".join(f"{path.stem.partition('_')[2]} ({id_in(path)})" for path in found)
        more = " and more" if len(found) == _CANDIDATES else ""
        raise SessionError(
            ErrorKind.NOT_UNIQUE,
            f"{text!r} may be {named}{more}; type more of the name or the id",
            {"candidates": [id_in(path) for path in found]},
        )

    def find_own(self, id: str) -> Path:
        """Returns the session of exactly that id; one of another workspace is not there."""
        if is_valid_name(id):
            for path in self._folder.glob(f"{id}_*.db"):
                if id_in(path) == id and self._keep_own([path]):
                    return path
        raise SessionError(ErrorKind.NOT_FOUND, f"no session {id!r} of this workspace")

    def _find_named(self, name: str) -> list[Path]:
        found = (path for path in self._folder.glob(f"*_{name}.db") if path.stem.partition("_")[2] == name)
        return self._keep_own(found)

    def _keep_own(self, paths: Iterable[Path]) -> list[Path]:
        """Returns those of this workspace, oldest first."""
        return [path for _, path in sorted(self._open_own(paths))]

    def _open_own(self, paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
        """Yields those of this workspace with the time of their creation."""
        for path in paths:
            try:
                with closing(SqliteReader.open(path)) as reader:
                    meta = reader.meta
            except StoreError:
                continue
            if is_same_place(meta.get("workspace", ""), self._workspace):
                yield meta.get("created", ""), path


def is_valid_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def is_same_place(recorded: str, workspace: Path) -> bool:
    """True whatever link either was reached by."""
    return bool(recorded) and (
        recorded == str(workspace) or os.path.realpath(recorded) == os.path.realpath(workspace)
    )


def id_in(path: Path) -> str:
    """Returns the session's id as its file name has it."""
    return path.name.partition("_")[0]
