"""The logs of one workspace's sessions: made under a free name, opened again, or held while nobody runs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
from planck.records.ports import Clock, Ids
from planck.records.specs import ModelSpec
from planck.session.bus import Bus
from planck.session.directory import SessionDirectory
from planck.session.journal import SessionJournal
from planck.store.database import Durability
from planck.store.memory import MemoryStore
from planck.store.sqlite import SqliteStore
from planck.store.store import Store

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
        self._directory.promise(name)
        try:
            await self.journal.record(None, 0, Renamed(name=name), barrier=True)
            if isinstance(self.store, SqliteStore):
                self.store.change_meta({"name": name})
        except BaseException:
            self._directory.promised.discard(name)
            raise
        self._directory.promised.discard(self.name)
        self.name = name

    def close(self) -> None:
        """Ends it; a file whose log has another name by now is moved, now or when it is closed again."""
        self.journal.close()
        self.store.close()
        if isinstance(self.store, SqliteStore) and self.store.path.stem.partition("_")[2] != self.name:
            self._directory.move(self.store, self.id, self.name)

    async def tell(self, text: str, ids: Ids) -> None:
        """Tells the living agents of a session that does not run: they see it with their next turn."""
        from planck.records.board import fold_events  # few sessions are held
        from planck.team.mail import make_news

        for row in fold_events(self.store.read()).agents:
            if row.status == "ended":
                continue
            news = make_news(ids.new(), row.id, text)
            facts: list[View] = [news]
            if not row.opened_by:  # a turn that was cut has open calls: the resume ends them, then shows it
                facts.append(Delivery(ids=(news.id,), state="delivered"))
            await self.journal.record(row.id, 0, *facts)

    @contextmanager
    def close_on_failure(self) -> Iterator[None]:
        """Sees to it that a session that could not be opened leaves no lock behind."""
        try:
            yield
        except BaseException:
            self.store.close()
            raise


class SessionLogs:
    """Names, stores and journals, for whoever opens a session."""

    def __init__(self, folder: Path, workspace: Path, ids: Ids, clock: Clock, keys: Keyring) -> None:
        self._directory = SessionDirectory(folder, workspace)
        self._workspace = workspace
        self._ids = ids
        self._clock = clock
        self._keys = keys

    def create(self, id: str, wanted: str, durability: Durability) -> SessionLog:
        """Makes the log of a new session, under a name that no other of this workspace has."""
        with self._directory.hold_names():
            name = self._directory.choose_name(wanted, self._ids)
            meta = {"id": id, "name": name, "workspace": str(self._workspace), "created": self._clock.now()}
            path = self._directory.make_path(id, name)
            store = SqliteStore.create(path, meta, durability=durability)
        return self._wrap(store, id, name)

    def create_in_memory(self, id: str, wanted: str) -> SessionLog:
        return self._wrap(MemoryStore(), id, self._directory.choose_name(wanted, self._ids))

    def open(self, id_or_name: str, durability: Durability = "process") -> SessionLog:
        """Opens a stored one, by its id, or by its name: the newest of this workspace."""
        store = SqliteStore.open(self._directory.find(id_or_name), durability=durability)
        return self._wrap(store, store.meta["id"], store.meta["name"])

    @contextmanager
    def hold(self, id_or_name: str, added: Sequence[str] = ()) -> Iterator["HeldSession"]:
        """Keeps everybody else from opening it meanwhile; its agents are not woken."""
        log = self.open(id_or_name)
        try:
            yield HeldSession(log, (str(self._workspace), *added), self._ids, self._keys)
        finally:
            log.close()

    def _wrap(self, store: Store, id: str, name: str) -> SessionLog:
        journal = SessionJournal(store, Bus(), self._clock, redactor=self._keys.redactor)
        return SessionLog(store, journal, self._directory, id, name)


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
