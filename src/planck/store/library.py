"""Where sessions are kept: found by id or name, listed, named, made and opened.

One contract suite runs over every implementation: files, memory, PostgreSQL.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import NamedTuple, Protocol

from planck.records.ports import Ids
from planck.store.sqlite.database import Durability
from planck.store.store import Store


class Entry(NamedTuple):
    """What a library knows of a session without its events."""

    id: str
    name: str
    workspace: str
    created: str


class Origin(NamedTuple):
    """The session that another one is a copy of, and the widest mode that the copy may have in a pool."""

    id: str
    ceiling: str = ""


class Contents(NamedTuple):
    """What a session begins with that was another's: the bytes of its events, and what they refer to."""

    events: Iterable[bytes]
    blobs: Iterable[bytes]
    origin: Origin | None = None
    """In a pool the copy gets the workspace and the options of this one."""


class Library(Protocol):
    """The sessions of one workspace, and by their ids those of others.

    What is not async waits for a disk or a database: it belongs into a thread where a loop runs.
    """

    def find(self, id_or_name: str) -> Entry:
        """Returns the session of that id, or else the newest of that name in this workspace.

        What is neither may be how only one id, or one name, begins; several: `not_unique`.
        """

    @property
    def indexed(self) -> bool:
        """Whether a name is looked up so quickly that it needs no thread."""

    def choose_name(self, wanted: str, ids: Ids) -> str:
        """Returns the wanted name if it is free, `not_unique` if not; without one, a random name that is."""

    async def create(
        self, id: str, wanted: str, ids: Ids, meta: Mapping[str, str], durability: Durability = "process"
    ) -> Store:
        """Makes the log of a new session under a name that is nobody else's; `meta` gets id and name."""

    async def open(self, id_or_name: str, durability: Durability = "process") -> Store:
        """Becomes the one writer of a session; `writer_conflict` names who already is."""

    def rename(self, store: Store, old: str, new: str) -> AbstractAsyncContextManager[None]:
        """Keeps a free name for an open session, which has it once the block ends without an error."""

    async def close(self, store: Store, id: str, name: str) -> None:
        """Closes a log that this library opened; from here on it is found by that name."""

    async def aclose(self) -> None:
        """Lets go of what the library itself holds; its sessions are closed before."""

    async def discard(self, store: Store) -> None:
        """Leaves nothing of a session that never began: its name is free again."""


class LocalLibrary(Library, Protocol):
    """A library whose logs can be read as files of this machine."""

    @property
    def folder(self) -> Path:
        """Where these files are."""

    def path_of(self, id_or_name: str) -> Path:
        """Returns the file of what `find` finds, with every event that is committed by now."""

    def fetch_own(self, id: str) -> Path:
        """Returns the session of exactly that id; one of another workspace is not there: `not_found`."""

    def has_id(self, id: str) -> bool: ...

    def fetch_all(self, *, everywhere: bool = False, limit: int | None = None) -> None:
        """Brings the newest files up to date, for whoever looks at the folder."""

    def list_detached(self, id: str, name: str = "") -> Iterator[bytes]:
        """Yields the blobs of a session that are not in its file (see `Store.keep`), or that of this name."""

    def find_owners(self, ids: Iterable[str]) -> Mapping[str, str]:
        """Returns the living nodes that have these sessions, by the sessions' ids."""

    def find_failures(self, ids: Iterable[str]) -> Mapping[str, str]:
        """Returns why no node of a pool continues these sessions; of others there is nothing to say."""

    def check_free(self, id_or_name: str) -> None:
        """Raises `writer_conflict`, which names the writer, where a session has one."""

    def remove(self, id_or_name: str) -> None:
        """Removes a session that nobody has open, for good."""

    async def copy(self, id: str, wanted: str, ids: Ids, meta: Mapping[str, str], what: Contents) -> Store:
        """As `create`, but the log begins with these events, byte for byte; all of them, or there is none."""

    async def take_in(self, id: str, meta: Mapping[str, str], what: Contents) -> Path:
        """Keeps a whole log that was made elsewhere, under the name in its `meta`."""
