"""The logs of one workspace's sessions: made under a free name, opened again, or held while nobody runs."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planck.closing import close_all
from planck.config.keys.credentials import Keyring
from planck.records.events import (
    AgentStarted,
    Delivery,
    ErrorEvent,
    ModelChanged,
    Renamed,
    SessionStarted,
    view,
)
from planck.records.outcome import ErrorKind
from planck.records.ports import Clock, Ids
from planck.records.specs import AgentSpec, ForeignSpec, ModelSpec
from planck.session.bus import Bus
from planck.session.journal import SessionJournal
from planck.session.outputs import RECORDING, name_outputs
from planck.store.names import new_name
from planck.store.sqlite.database import Durability
from planck.store.store import SessionError, Store
from planck.store.threads import run_blocking
from planck.toolkit.journal import Entry

if TYPE_CHECKING:
    from planck.session.held import HeldSession
    from planck.store.library import Library, LocalLibrary
    from planck.workspace.paths.paths import Root


class SessionLog:
    """One open log, and the journal through which everything gets into it."""

    def __init__(
        self,
        store: Store,
        journal: SessionJournal,
        library: "Library | OwnStores",
        id: str,
        name: str,
        files: Path,
    ) -> None:
        """`files`: the folder beside the log of what is not in it."""
        self.files = files
        self.store = store
        self.journal = journal
        self.id = id
        self.name: str = name
        self.opened_at: int = store.head
        self._library = library

    @property
    def imported(self) -> bool:
        """Whether its events come from an export, so that its author may have written them."""
        return "imported" in self.store.meta

    @property
    def has_recordings(self) -> bool:
        """Whether there is something left of a command that was cut with its process."""
        return (self.files / RECORDING).is_dir()

    def describe_damage(self) -> list[ErrorEvent]:
        """Returns what opening it found wrong, to be recorded before anything else."""
        if damage := self.store.damage:
            return [ErrorEvent(kind=damage.kind, message=damage.message, details=damage.details)]
        return []

    def models(self) -> Iterator[ModelSpec]:
        """Every model that an agent of it has had."""
        for event in self.store.read():
            match view(event):
                case AgentStarted(agent=agent):
                    yield agent.model
                case ModelChanged(model=model):
                    yield model

    def foreign(self) -> Iterator[ForeignSpec]:
        """Every agent of it that is another program."""
        for event in self.store.read():
            match view(event):
                case AgentStarted(agent=AgentSpec(acp=ForeignSpec() as acp)):
                    yield acp

    async def rename(self, name: str) -> None:
        """Gives it another name, recorded now."""
        if name == self.name:
            return
        async with self._library.rename(self.store, self.name, name):
            await self.journal.record(None, 0, Renamed(name=name), barrier=True)
        self.name = name

    async def aclose(self) -> None:
        """Ends it; from here on it is found by the name that it has now."""
        await close_all(self.journal.close, partial(self._library.close, self.store, self.id, self.name))

    async def tell(self, text: str, ids: Ids) -> None:
        """Tells the living agents of a session that does not run: they see it with their next turn."""
        from planck.records.board import fold_events  # few sessions are held
        from planck.records.history import make_news

        entries: list[Entry] = []
        for row in fold_events(self.store.read()).agents:
            if row.status == "ended":
                continue
            news = make_news(ids.new(), row.id, text, user_knows=True)
            entries.append(Entry(row.id, 0, news))
            if not row.opened_by:  # a turn that was cut has open calls: the resume ends them, then shows it
                entries.append(Entry(row.id, 0, Delivery(ids=(news.id,), state="delivered")))
        await self.journal.record_all(entries)  # one commit: all of them are told, or none


class SessionLogs:
    """Opens sessions: their names, stores and journals."""

    def __init__(
        self, library: "LocalLibrary", workspace: Path, ids: Ids, clock: Clock, keys: Keyring
    ) -> None:
        self._library = library
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
        meta = {"workspace": str(self._workspace), "created": self._clock.now()}
        with self._room.take():
            store = await self._library.create(id, wanted, self._ids, meta, durability)
            self._room.fill(store)
        try:
            yield self._wrap(store, id, store.meta["name"])
        except BaseException:
            await self._library.discard(store)
            raise

    @asynccontextmanager
    async def create_in_memory(self, id: str, wanted: str) -> AsyncGenerator[SessionLog, None]:
        choose = partial(self._library.choose_name, wanted, self._ids)
        name = choose() if self._library.indexed else await run_blocking(choose)
        from planck.store.memory import MemoryStore  # only without a file

        yield self._wrap(MemoryStore(), id, name)

    @asynccontextmanager
    async def create_in(self, store: Store, id: str, wanted: str) -> AsyncGenerator[SessionLog, None]:
        """Begins in a store of the program's, which must be empty."""
        if store.head:
            raise SessionError(
                ErrorKind.NOT_UNIQUE,
                "The store has a session already. Resume it with Planck.resume(store=...).",
            )
        yield self._wrap(store, id, wanted or new_name(self._ids), OwnStores())

    def open_in(self, store: Store) -> SessionLog:
        """Opens the session of a store of the program's again."""
        started, name = None, ""
        for event in store.read():
            match view(event):
                case SessionStarted() as fact:
                    started, name = fact, fact.name
                case Renamed() as renamed:
                    name = renamed.name
        if started is None:
            raise SessionError(
                ErrorKind.NOT_FOUND, "The store has no session yet. Use Planck.start(store=...)."
            )
        return self._wrap(store, started.id, name, OwnStores())

    async def open(self, id_or_name: str, durability: Durability = "process") -> SessionLog:
        """Opens a stored one, by its id, or by its name: the newest of this workspace."""
        with self._room.take():
            store = await self._library.open(id_or_name, durability)
            self._room.fill(store)
        return self._wrap(store, store.meta["id"], store.meta["name"])

    @asynccontextmanager
    async def hold(self, id_or_name: str, root: "Root") -> "AsyncGenerator[HeldSession, None]":
        """Keeps everybody else from opening it meanwhile; its agents are not woken."""
        from planck.session.held import hold  # what holds a session is an undo

        async with hold(await self.open(id_or_name), root, self._ids, self._keys) as held:
            yield held

    @asynccontextmanager
    async def hold_log(self, id_or_name: str, root: "Root") -> AsyncGenerator[SessionLog, None]:
        """The same for others who write facts of it."""
        from planck.session.held import hold_log

        async with hold_log(await self.open(id_or_name), root, self._ids, self._keys) as log:
            yield log

    def _wrap(self, store: Store, id: str, name: str, own: "OwnStores | None" = None) -> SessionLog:
        journal = SessionJournal(store, Bus(), self._clock, redactor=self._keys.redactor)
        files = name_outputs(self._library.folder, id)
        return SessionLog(store, journal, own or self._library, id, name, files)


class OwnStores:
    """Replaces a library for a session whose store the program has."""

    @asynccontextmanager
    async def rename(self, store: Store, old: str, new: str) -> AsyncGenerator[None, None]:
        yield

    async def close(self, store: Store, id: str, name: str) -> None:
        await store.aclose()


class _Room:
    """How many logs a process may have open: each is five files, and other things need some too."""

    def __init__(self) -> None:
        self._open: list[Store] = []
        self._coming = 0

    @contextmanager
    def take(self) -> Iterator[None]:
        import resource  # not where no session has a file

        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._open = [store for store in self._open if not store.closed]
        if files > 0 and len(self._open) + self._coming >= max(files // 10, 1):  # else it is RLIM_INFINITY
            raise SessionError(
                ErrorKind.LIMIT_EXCEEDED,
                f"Too many open sessions: {len(self._open) + self._coming}. The limit is one tenth of the "
                f"{files} files that this process may open. Close a session, or raise the file limit with "
                '"ulimit -n" before you start the process.',
                {"open": len(self._open) + self._coming, "files": files},
            )
        self._coming += 1
        try:
            yield
        finally:
            self._coming -= 1

    def fill(self, store: Store) -> None:
        self._open.append(store)
