"""The logs of one workspace's sessions: made under a free name, opened again, or held while nobody runs."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planck.config.credentials import Keyring
from planck.records.events import (
    AgentStarted,
    Delivery,
    ModelChanged,
    Renamed,
    View,
    view,
)
from planck.records.outcome import ErrorKind
from planck.records.ports import Clock, Ids
from planck.records.specs import ModelSpec
from planck.session.bus import Bus
from planck.session.directory import SessionDirectory, SessionError, is_left_behind
from planck.session.journal import SessionJournal
from planck.session.names import name_in
from planck.store.database import Durability
from planck.store.directory import remove_log
from planck.store.memory import MemoryStore
from planck.store.sqlite import NewerLog, SqliteStore
from planck.store.store import Store
from planck.store.threads import finish_blocking, hand_over, run_blocking

if TYPE_CHECKING:
    from planck.session.undo import Plan as UndoPlan
    from planck.session.undo import Selection


class SessionLog:
    """One open log, and the journal through which everything gets into it."""

    def __init__(
        self, store: Store, journal: SessionJournal, directory: SessionDirectory, id: str, name: str
    ) -> None:
        self.store = store
        self.journal = journal
        self.id = id
        self.name = name
        self.opened_at = store.head
        self._directory = directory

    @property
    def imported(self) -> bool:
        """Whether its events are the words of whoever made an export."""
        return "imported" in self.store.meta

    def models(self) -> Iterator[ModelSpec]:
        """Every model that an agent of it has had."""
        for event in self.store.read():
            match view(event):
                case AgentStarted(agent=agent):
                    yield agent.model
                case ModelChanged(model=model):
                    yield model

    async def rename(self, name: str) -> None:
        """Gives it another name, recorded now; its file has it once nobody has that open: see `close`."""
        if name == self.name:
            return
        promise = partial(self._directory.promise, name, self._path)
        await hand_over(promise, lambda _: self._directory.break_promise(name, self._path))
        try:
            await self.journal.record(None, 0, Renamed(name=name), barrier=True)
            if isinstance(self.store, SqliteStore):
                self.store.change_meta({"name": name})
        except BaseException:
            self._directory.break_promise(name, self._path)
            raise
        self._directory.break_promise(self.name, self._path)
        self.name = name

    def close(self) -> None:
        """Ends it; a file whose log has another name by now is moved, now or when it is closed again."""
        self.journal.close()
        self.store.close()
        self._move()

    async def aclose(self) -> None:
        """The same, but what waits for the disk does so beside the loop."""
        self.journal.close()
        await self.store.aclose()
        if self._path and name_in(self._path) != self.name:
            await finish_blocking(self._move)

    @property
    def _path(self) -> Path | None:
        return self.store.path if isinstance(self.store, SqliteStore) else None

    def _move(self) -> None:
        if isinstance(self.store, SqliteStore) and name_in(self.store.path) != self.name:
            self._directory.move(self.store, self.id, self.name)

    async def tell(self, text: str, ids: Ids) -> None:
        """Tells the living agents of a session that does not run: they see it with their next turn."""
        from planck.records.board import fold_events  # few sessions are held
        from planck.records.history import make_news

        for row in fold_events(self.store.read()).agents:
            if row.status == "ended":
                continue
            news = make_news(ids.new(), row.id, text)
            facts: list[View] = [news]
            if not row.opened_by:  # a turn that was cut has open calls: the resume ends them, then shows it
                facts.append(Delivery(ids=(news.id,), state="delivered"))
            await self.journal.record(row.id, 0, *facts)

    @asynccontextmanager
    async def close_on_failure(self) -> AsyncGenerator[None, None]:
        """Sees to it that a session that could not be opened leaves no lock behind."""
        try:
            yield
        except BaseException:
            await self.store.aclose()
            raise


class SessionLogs:
    """Names, stores and journals, for whoever opens a session."""

    def __init__(self, folder: Path, workspace: Path, ids: Ids, clock: Clock, keys: Keyring) -> None:
        self._directory = SessionDirectory(folder, workspace)
        self._workspace = workspace
        self._ids = ids
        self._clock = clock
        self._keys = keys
        self._room = _Room()

    @asynccontextmanager
    async def create(self, id: str, wanted: str, durability: Durability) -> AsyncGenerator[SessionLog, None]:
        """Makes the log of a new session, under a name that no other of this workspace has.

        One whose session could not be begun is gone again, and its name is free.
        """
        with self._room.take():
            store = await hand_over(partial(self._create, id, wanted, durability), self._discard)
            self._room.fill(store)
        try:
            yield self._wrap(store, id, store.meta["name"])
        except BaseException:
            await finish_blocking(self._discard, store)
            raise

    @asynccontextmanager
    async def create_in_memory(self, id: str, wanted: str) -> AsyncGenerator[SessionLog, None]:
        choose = partial(self._directory.choose_name, wanted, self._ids)
        name = choose() if self._directory.indexed else await run_blocking(choose)
        yield self._wrap(MemoryStore(), id, name)

    async def open(self, id_or_name: str, durability: Durability = "process") -> SessionLog:
        """Opens a stored one, by its id, or by its name: the newest of this workspace."""
        with self._room.take():
            store = await hand_over(partial(self._open, id_or_name, durability), _close)
            self._room.fill(store)
        return self._wrap(store, store.meta["id"], store.meta["name"])

    def _create(self, id: str, wanted: str, durability: Durability) -> SqliteStore:
        claim = self._directory.claim(id, wanted, self._ids)
        meta = {"id": id, "name": claim.name, "workspace": str(self._workspace), "created": self._clock.now()}
        try:
            return SqliteStore.create(claim.path, meta, durability=durability, lock=claim.lock)
        except BaseException:
            self._remove(claim.path)
            raise

    def _discard(self, store: SqliteStore) -> None:
        store.close()
        self._remove(store.path)

    def _remove(self, path: Path) -> None:
        with suppress(OSError):
            remove_log(path)
        self._directory.forget(path)

    def _open(self, id_or_name: str, durability: Durability) -> SqliteStore | NewerLog:
        path = self._directory.find(id_or_name)
        if is_left_behind(path):
            raise SessionError(
                ErrorKind.NOT_FOUND,
                f"the session {name_in(path)!r} never began: its process ended first; start another",
            )
        return SqliteStore.open(path, durability=durability)

    @contextmanager
    def hold(self, id_or_name: str, added: Sequence[str] = ()) -> Iterator["HeldSession"]:
        """Keeps everybody else from opening it meanwhile; its agents are not woken."""
        store = self._open(id_or_name, "process")
        log = self._wrap(store, store.meta["id"], store.meta["name"])
        try:
            yield HeldSession(log, (str(self._workspace), *added), self._ids, self._keys)
        finally:
            log.close()

    def _wrap(self, store: Store, id: str, name: str) -> SessionLog:
        journal = SessionJournal(store, Bus(), self._clock, redactor=self._keys.redactor)
        return SessionLog(store, journal, self._directory, id, name)


def _close(store: SqliteStore | NewerLog) -> None:
    store.close()


class _Room:
    """How many logs a process may have open: each is six files, and other things need some too."""

    def __init__(self) -> None:
        self._open: list[SqliteStore | NewerLog] = []
        self._coming = 0

    @contextmanager
    def take(self) -> Iterator[None]:
        import resource  # not where no session has a file

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._open = [store for store in self._open if not store.closed]
        if files > 0 and len(self._open) + self._coming >= max(files // 10, 1):  # else it is RLIM_INFINITY
            raise SessionError(
                ErrorKind.LIMIT_EXCEEDED,
                f"{len(self._open) + self._coming} sessions are open, a tenth of the {files} files that this "
                "process may have; close one, or raise the limit before it starts: ulimit -n",
                {"open": len(self._open) + self._coming, "files": files},
            )
        self._coming += 1
        try:
            yield
        finally:
            self._coming -= 1

    def fill(self, store: SqliteStore | NewerLog) -> None:
        self._open.append(store)


class HeldSession:
    """A stored session that is not running, of which files can be undone."""

    def __init__(self, log: SessionLog, places: Sequence[str], ids: Ids, keys: Keyring) -> None:
        self._log = log
        self._places = places
        self._ids = ids
        self._keys = keys

    def undo_plan(self, selection: "Selection") -> "UndoPlan":
        from planck.session import undo  # most sessions never undo

        return undo.plan(self._log.store, self._places, selection, self._keys.redactor())

    async def undo(self, plan: "UndoPlan") -> str:
        from planck.session import undo

        id = await undo.apply(plan, self._places, self._ids, self._log.journal)
        if text := undo.describe_undone(plan):
            await self._log.tell(text, self._ids)
        return id
