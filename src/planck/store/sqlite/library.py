"""The library over files: `<id>_<name>.db` in one folder, and how one is found."""

import fcntl
import logging
import os
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from planck.records.outcome import ErrorKind, PlanckError, say_option
from planck.records.ports import Ids
from planck.store.names import (
    BEGINNING,
    CANDIDATES,
    check_name,
    id_in,
    is_same_place,
    is_valid_name,
    name_in,
    new_names,
    refuse_foreign,
    refuse_taken,
    refuse_taken_id,
    refuse_unclear,
    refuse_unknown,
)
from planck.store.sqlite.database import Durability, companion
from planck.store.sqlite.directory import make_private, move_log, remove_log
from planck.store.sqlite.index import NameIndex
from planck.store.sqlite.lock import WriterLock, is_locked
from planck.store.sqlite.reader import SqliteReader
from planck.store.sqlite.store import NewerLog, SqliteStore
from planck.store.store import SessionError, Store, StoreError
from planck.store.threads import finish_blocking, hand_over

if TYPE_CHECKING:
    from planck.store.library import Contents, Entry, LocalLibrary

log: logging.Logger = logging.getLogger(__name__)

T = TypeVar("T")

_IMPORT, _IMPORT_LOCK = ".import-", "import.lock"
"""How the folder begins in which an import is made, and what its process holds there as long as it lives."""


class Claim(NamedTuple):
    """A name that is nobody else's, for a log that is about to be made."""

    path: Path
    name: str
    lock: WriterLock
    """Held: while it is, the claim stands, and with whoever holds it the claim ends."""


class FileLibrary:
    """The session files of one folder, seen from one workspace."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        self.folder = folder
        self._workspace = workspace
        self.promised: set[str] = set()
        """Names of open sessions that have no file."""
        self._index = NameIndex(folder, workspace)

    @property
    def indexed(self) -> bool:
        """Whether a name can be looked up without a look at every file."""
        return self._index.complete or not self.folder.exists()

    def make_path(self, id: str, name: str) -> Path:
        """Returns where a new session belongs; its store makes the folder."""
        return self.folder / f"{id}_{name}.db"

    def claim(self, id: str, wanted: str, ids: Ids) -> Claim:
        """Takes the wanted name if it is free, or a random one; waits for others, and for the disk."""
        with self.hold_names():
            # Also one whose log is not there yet: it is being made, and its lock is held.
            known = self._index.find_id(id)
            if known and not is_left_behind(known):
                raise refuse_taken_id(id)
            name = self.choose_name(wanted, ids)
            path = self.make_path(id, name)
            lock = WriterLock(companion(path, "lock"))
            try:
                self._note_new(path)
            except BaseException:
                lock.release()
                raise
        return Claim(path, name, lock)

    def _note_new(self, path: Path) -> None:
        """As `note`, for a name that was found free a moment ago."""
        try:
            if not self._index.complete:
                self._index.build()
            self._index.note_new(path, name_in(path))
        except OSError as problem:
            raise self._refuse(problem) from None

    def note(self, path: Path, name: str = "") -> None:
        """Lets a session be found by its id and its name, or by another name."""
        self._note(path, name, own=not path.exists() or bool(self._keep_own([path])))

    def _note(self, path: Path, name: str, *, own: bool) -> None:
        try:
            if not self._index.complete:
                self._index.build()
            if own:
                self._index.note(path, name or name_in(path))
            else:
                self._index.note_stranger(path)
        except OSError as problem:
            raise self._refuse(problem) from None

    def forget(self, path: Path, name: str = "") -> None:
        """Leaves nothing here of a log that is gone, or of a name that it had.

        The names are held: else the link that was looked at could be another session's when it is removed.
        """
        with self.hold_names():
            self._index.forget(path, name or name_in(path))

    @contextmanager
    def hold_names(self) -> Iterator[None]:
        """Of all processes and threads one at a time, from `choose_name` until the name is claimed or used.

        Nothing may be awaited in it: a second one of the same loop would wait for ever.
        """
        try:
            make_private(self.folder)
            fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
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
            f"Cannot save sessions in {str(self.folder)!r}: {problem.strerror}. "
            f"Set another sessions_dir, or pass {say_option('--no-session', 'stored=False')}.",
        )

    def choose_name(self, wanted: str, ids: Ids) -> str:
        """Returns the wanted name if it is free; without one, a random name that is."""
        if wanted:
            self._check_name(wanted)
            return wanted
        return next(name for name in new_names(ids) if not self._is_taken(name))

    def _promise(self, name: str, path: Path | None) -> None:
        """Keeps a name for an open session, if it is free; its file is found by both until it moves."""
        if not name:
            raise SessionError(
                ErrorKind.INVALID_ARGS, "The new session name is empty. Use letters and digits."
            )
        with self.hold_names():
            self._check_name(name)
            if path:
                self.note(path, name)
        if not path:
            self.promised.add(name)

    def _break_promise(self, name: str, path: Path | None) -> None:
        self.promised.discard(name)
        if path and name != name_in(path):
            self.forget(path, name)

    def _move(self, store: SqliteStore, id: str, name: str) -> None:
        """Gives a log that was closed just now the file that its name finds."""
        old, new = store.path, self.make_path(id, name)
        try:
            with self.hold_names():
                move_log(old, new)
                self.note(new)
                self._index.forget(old, name_in(old))
            store.path = new  # whoever watched the session may still read it to its end
        except StoreError as failure:
            log.warning("Session %s keeps its old file name for now: %s", name, failure)

    async def create(
        self, id: str, wanted: str, ids: Ids, meta: Mapping[str, str], durability: Durability = "process"
    ) -> SqliteStore:
        return await hand_over(partial(self._create, id, wanted, ids, meta, durability), self._discard)

    def _create(
        self, id: str, wanted: str, ids: Ids, meta: Mapping[str, str], durability: Durability
    ) -> SqliteStore:
        claim = self.claim(id, wanted, ids)
        try:
            return SqliteStore.create(
                claim.path, {**meta, "id": id, "name": claim.name}, durability=durability, lock=claim.lock
            )
        except BaseException:
            self._forget_log(claim.path)
            raise

    async def copy(
        self, id: str, wanted: str, ids: Ids, meta: Mapping[str, str], what: "Contents"
    ) -> SqliteStore:
        store = await self.create(id, wanted, ids, meta)
        try:
            await finish_blocking(_fill, store, what)
        except BaseException:
            await self.discard(store)
            raise
        return store

    async def take_in(self, id: str, meta: Mapping[str, str], what: "Contents") -> Path:
        path = self.make_path(id, meta["name"])
        await finish_blocking(self._take_in, path, meta, what)
        return path

    def _take_in(self, path: Path, meta: Mapping[str, str], what: "Contents") -> None:
        waiting = self.folder / f"{_IMPORT}{path.name}"
        with self.hold_names():
            self._sweep_imports()
            if waiting.exists():
                raise SessionError(
                    ErrorKind.WRITER_CONFLICT,
                    f"Another process is importing session {id_in(path)!r}. Wait for it, then try again.",
                )
            waiting.mkdir(mode=0o700)
            lock = WriterLock(waiting / _IMPORT_LOCK)
        try:
            store = SqliteStore.create(waiting / path.name, meta)
            try:
                _fill(store, what)
            finally:
                store.close()
            with self.hold_names():
                # The log itself last, when its name is taken: a session is there as a whole, or not.
                (waiting / f"{path.name}.lock").rename(f"{path}.lock")
                self._note(path, "", own=is_same_place(meta.get("workspace", ""), self._workspace))
                (waiting / path.name).rename(path)
        finally:
            import shutil  # few sessions are imported

            shutil.rmtree(waiting, ignore_errors=True)
            lock.release()

    def _sweep_imports(self) -> None:
        """Removes what imports left whose process ended; while the names are held none begins."""
        for left in self.folder.glob(f"{_IMPORT}*"):
            if not is_locked(left / _IMPORT_LOCK):
                import shutil

                shutil.rmtree(left, ignore_errors=True)

    async def open(self, id_or_name: str, durability: Durability = "process") -> SqliteStore | NewerLog:
        return await hand_over(partial(self._open, id_or_name, durability), _close)

    def _open(self, id_or_name: str, durability: Durability) -> SqliteStore | NewerLog:
        return use_log(partial(self.path_of, id_or_name), partial(self._open_file, durability=durability))

    def _open_file(self, path: Path, durability: Durability) -> SqliteStore | NewerLog:
        if is_left_behind(path):
            raise SessionError(
                ErrorKind.NOT_FOUND,
                f"Session {name_in(path)!r} never started: its process ended first. Start another session.",
            )
        store = SqliteStore.open(path, durability=durability)
        try:
            if isinstance(store, SqliteStore):
                store.remember_loss()  # first: once it is closed, its files do not tell of a loss any more
            self._refuse_copy(path, store.meta)
        except BaseException:
            store.close()
            raise
        return store

    def _refuse_copy(self, path: Path, meta: Mapping[str, str]) -> None:
        """Raises for a file that somebody copied: two would go on as one session, and one of them be lost."""
        id, name = meta.get("id", ""), meta.get("name", "")
        if not id or not name:
            raise StoreError(
                ErrorKind.CORRUPT_LOG_LINE,
                f"{path.name!r} is damaged: it does not name its session. "
                f'Run "planck sessions fork {id_in(path)}" to continue in a copy.',
            )
        if id == id_in(path) and (name == name_in(path) or len(self._find_id(id)) == 1):
            return
        raise SessionError(
            ErrorKind.NOT_UNIQUE,
            f"{path.name!r} is a copy of the file for session {id}. "
            f'Run "planck sessions fork {name_in(path)}" to continue in a separate session.',
        )

    @asynccontextmanager
    async def rename(self, store: Store, old: str, new: str) -> AsyncGenerator[None, None]:
        """Its file has the new name once nobody has it open: see `close`."""
        path = store.path if isinstance(store, SqliteStore) else None
        await hand_over(partial(self._promise, new, path), lambda _: self._break_promise(new, path))
        try:
            yield
            if isinstance(store, SqliteStore):
                store.change_meta({"name": new})
        except BaseException:
            await finish_blocking(self._break_promise, new, path)
            raise
        if path and old != name_in(path):  # else it is the file's name until it moves
            await finish_blocking(self._break_promise, old, path)
        self.promised.discard(old)

    async def close(self, store: Store, id: str, name: str) -> None:
        """A file whose log has another name by now is moved, now or when it is closed again."""
        await store.aclose()
        if isinstance(store, SqliteStore) and name_in(store.path) != name:
            await finish_blocking(self._move, store, id, name)

    async def aclose(self) -> None:
        pass  # between two calls it holds nothing

    async def discard(self, store: Store) -> None:
        if isinstance(store, SqliteStore):
            await finish_blocking(self._discard, store)

    def _discard(self, store: SqliteStore) -> None:
        store.close()
        self._forget_log(store.path)

    def _forget_log(self, path: Path) -> None:
        with suppress(OSError):
            remove_log(path)
        self.forget(path)

    def check_free(self, id_or_name: str) -> None:
        # While the names are held no file is moved: a lock beside the old name would be nobody's.
        with self._hold_existing(id_or_name):
            WriterLock(companion(self._find(id_or_name), "lock")).release()

    def remove(self, id_or_name: str) -> None:
        with self._hold_existing(id_or_name):
            path = self._find(id_or_name)
            lock = WriterLock(companion(path, "lock"))
            try:
                remove_log(path)
            finally:
                lock.release()
            self._index.forget(path, name_in(path))

    @contextmanager
    def _hold_existing(self, id_or_name: str) -> Iterator[None]:
        """Holds the names of a folder that is there; `not_found` where it is not, and it is not made."""
        if not self.folder.is_dir():
            raise refuse_unknown(id_or_name)
        with self.hold_names():
            yield

    def find_owners(self, ids: Iterable[str]) -> dict[str, str]:
        return {}  # whoever has one is a process of this machine

    def find_failures(self, ids: Iterable[str]) -> dict[str, str]:
        return {}  # there is no pool

    def list_detached(self, id: str, name: str = "") -> Iterator[bytes]:
        return iter(())  # files are whole

    def fetch_all(self, *, everywhere: bool = False, limit: int | None = None) -> None:
        pass  # they are what they are

    def find(self, id_or_name: str) -> "Entry":
        from planck.store.library import Entry

        def read_meta(path: Path) -> tuple[Path, dict[str, str]]:
            with closing(SqliteReader.open(path)) as reader:
                return path, reader.meta

        path, meta = use_log(partial(self.path_of, id_or_name), read_meta)
        return Entry(id_in(path), name_in(path), meta.get("workspace", ""), meta.get("created", ""))

    def path_of(self, id_or_name: str) -> Path:
        """Returns the session of that id, or else the newest of that name in this workspace.

        What is neither may be how only one id, or one name of this workspace, begins.
        """
        return self._look_twice(id_or_name, self._find)

    def _look_twice(self, id_or_name: str, look: Callable[[str], Path]) -> Path:
        """What is not found is looked for again while the names are held.

        A rename moves the file: a look that falls between its old and its new name sees neither.
        """
        try:
            return look(id_or_name)
        except SessionError as failure:
            if failure.err.kind is not ErrorKind.NOT_FOUND or not self.folder.is_dir():
                raise
        with self.hold_names():
            return look(id_or_name)

    def _find(self, id_or_name: str) -> Path:
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
        raise refuse_unknown(id_or_name)

    def _check_name(self, wanted: str) -> None:
        check_name(wanted)
        if wanted in self.promised or self._is_taken(wanted, clear=True):
            raise refuse_taken(wanted)

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
        self._index.forget(path, name_in(path))
        return True

    def _find_id(self, id: str) -> list[Path]:
        return [path for path in self.folder.glob(f"{id}_*.db") if id_in(path) == id]

    def _find_beginning(self, text: str) -> list[Path]:
        """Raises where several begin so; only as many are opened as it takes to say so."""
        ids = self.folder.glob(f"{text}*_*.db") if len(text) >= BEGINNING else ()
        by_id = sorted(path for path in ids if id_in(path).startswith(text))
        by_name = [
            path
            for path in self.folder.glob(f"*_{text}*.db")
            if name_in(path).startswith(text) and path not in by_id[:CANDIDATES]
        ]
        own = islice(self._open_own(sorted(by_name)), CANDIDATES)
        found = [*by_id[:CANDIDATES], *(path for _, path in own)][:CANDIDATES]
        if len(found) < 2:
            return found
        raise refuse_unclear(text, [(id_in(path), name_in(path)) for path in found])

    def fetch_own(self, id: str) -> Path:
        """Returns the session of exactly that id; one of another workspace is not there."""
        return self._look_twice(id, self._find_own)

    def _find_own(self, id: str) -> Path:
        known = (self._look_up_id(id) or self._find_id(id)) if is_valid_name(id) else []
        if own := self._keep_own(known):
            return own[0]
        raise refuse_foreign(id)

    def _find_named(self, name: str) -> list[Path]:
        found = (path for path in self.folder.glob(f"*_{name}.db") if name_in(path) == name)
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


def use_log(find: Callable[[], Path], use: Callable[[Path], T]) -> T:
    """Uses the file that was found, and the one that is found then if a rename moved it in between."""
    path = find()
    try:
        return use(path)
    except PlanckError:
        if path.exists():
            raise
    return use(find())


def _close(store: SqliteStore | NewerLog) -> None:
    store.close()


def _fill(store: SqliteStore, what: "Contents") -> None:
    try:
        store.adopt(what.events, what.blobs)
    finally:
        for source in (what.events, what.blobs):
            if isinstance(source, Generator):  # one that was not read to its end has its file open
                source.close()


def is_left_behind(path: Path) -> bool:
    """Whether a session never began, and nobody is about to begin it: its process ended first."""
    # The lock before the log: the other way round, a session that begins and is closed between the two looks
    # is taken for one that never began, and is removed.
    if is_locked(companion(path, "lock")):
        return False
    try:
        with closing(SqliteReader.open(path)) as log:
            return log.head == 0 and log.damage is None
    except StoreError:
        return not path.exists()


if TYPE_CHECKING:
    _: type[LocalLibrary] = FileLibrary
