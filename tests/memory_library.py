"""The library's twin in memory: sessions that live as long as the process."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from planck.records.outcome import ErrorKind
from planck.records.ports import Ids
from planck.store.library import Entry, Library
from planck.store.memory import MemoryStore
from planck.store.names import (
    BEGINNING,
    CANDIDATES,
    check_name,
    is_same_place,
    is_valid_name,
    new_names,
    refuse_taken,
    refuse_taken_id,
    refuse_unclear,
    refuse_unknown,
)
from planck.store.sqlite.database import Durability
from planck.store.store import SessionError, Store, StoreError


class MemoryLibrary:
    def __init__(self, workspace: Path, shelf: "dict[str, MemoryStore] | None" = None) -> None:
        """`shelf` holds the sessions of all workspaces, oldest first; two libraries may share it."""
        self._place = str(workspace)
        self._shelf = {} if shelf is None else shelf
        self._reserved: set[str] = set()

    @property
    def indexed(self) -> bool:
        return True

    def find(self, id_or_name: str) -> Entry:
        return choose_among(
            id_or_name, Path(self._place), [_describe(store) for store in self._shelf.values() if store.head]
        )

    def choose_name(self, wanted: str, ids: Ids) -> str:
        if wanted:
            check_name(wanted)
            if self._is_taken(wanted):
                raise refuse_taken(wanted)
            return wanted
        return next(name for name in new_names(ids) if not self._is_taken(name))

    def _is_taken(self, name: str) -> bool:
        own = (store.meta for store in self._shelf.values())
        return name in self._reserved or any(
            meta["name"] == name and meta.get("workspace") == self._place for meta in own
        )

    async def create(
        self, id: str, wanted: str, ids: Ids, meta: Mapping[str, str], durability: Durability = "process"
    ) -> MemoryStore:
        if id in self._shelf:
            raise refuse_taken_id(id)
        store = MemoryStore({**meta, "id": id, "name": self.choose_name(wanted, ids)})
        self._shelf[id] = store
        return store

    async def open(self, id_or_name: str, durability: Durability = "process") -> MemoryStore:
        store = self._shelf[self.find(id_or_name).id]
        if not store.closed:
            raise StoreError(
                ErrorKind.WRITER_CONFLICT, f"{id_or_name!r} is open in this process. Close it first."
            )
        store.reopen()
        return store

    @asynccontextmanager
    async def rename(self, store: Store, old: str, new: str) -> AsyncGenerator[None, None]:
        if not new:
            raise SessionError(
                ErrorKind.INVALID_ARGS, "The new session name is empty. Use letters and digits."
            )
        check_name(new)
        if self._is_taken(new):
            raise refuse_taken(new)
        self._reserved.add(new)
        try:
            yield
            store.meta["name"] = new
        finally:
            self._reserved.discard(new)

    async def close(self, store: Store, id: str, name: str) -> None:
        await store.aclose()

    async def aclose(self) -> None:
        pass

    async def discard(self, store: Store) -> None:
        await store.aclose()
        self._shelf.pop(store.meta["id"], None)


def choose_among(id_or_name: str, workspace: Path, entries: Sequence[Entry]) -> Entry:
    """Returns what is meant, of sessions that have begun: see `Library.find`."""
    if is_valid_name(id_or_name):
        own = [entry for entry in entries if is_same_place(entry.workspace, workspace)]
        exact = [entry for entry in entries if entry.id == id_or_name]
        named = exact or [entry for entry in own if entry.name == id_or_name]
        if named:
            return max(named, key=lambda entry: entry.created)
        by_id = [entry for entry in entries if entry.id.startswith(id_or_name)]
        begun = by_id if len(id_or_name) >= BEGINNING else []
        begun += [entry for entry in own if entry.name.startswith(id_or_name) and entry not in begun]
        if len(begun) == 1:
            return begun[0]
        if begun:
            raise refuse_unclear(id_or_name, [(entry.id, entry.name) for entry in begun[:CANDIDATES]])
    raise refuse_unknown(id_or_name)


def _describe(store: MemoryStore) -> Entry:
    meta = store.meta
    return Entry(meta["id"], meta["name"], meta.get("workspace", ""), meta.get("created", ""))


if TYPE_CHECKING:
    _: type[Library] = MemoryLibrary
