from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Raw

from planck.records import codec
from planck.records.events import Draft, Event
from planck.records.outcome import Err, ErrorKind
from planck.store.chain import find_digest, name_blob, parse_blob_name
from planck.store.store import CommitListener, Store, StoreError, find_last


class MemoryStore:
    """A log that lives as long as the process: `--no-session`, and tests."""

    moves = False

    def __init__(self, meta: Mapping[str, str] | None = None) -> None:
        self._events: list[Event] = []
        self._blobs: dict[bytes, bytes] = {}
        self._listener: CommitListener | None = None
        self.meta: dict[str, str] = dict(meta or {})
        self.damage: Err | None = None
        self._closed = False

    async def append(self, drafts: Sequence[Draft], then: CommitListener | None = None) -> list[Event]:
        if self._closed:
            raise StoreError(ErrorKind.LOG_WRITE_FAILED, "The session is closed. Open it again to continue.")
        first = len(self._events) + 1
        events = [
            Event(seq, draft.ts, draft.agent_id, draft.turn, draft.type, Raw(codec.trimmed(draft.data)))
            for seq, draft in enumerate(drafts, first)
        ]
        self._events += events
        if then:
            then.on_commit(events)
        if self._listener:
            self._listener.on_commit(events)
        return events

    async def barrier(self) -> None:
        pass

    def read(self, after: int = 0, *, agent_id: str | None = None) -> Iterator[Event]:
        after = max(0, after)
        # To the end as it is then, as from a file: a reader may hold an event while others are appended.
        while after < len(self._events):
            event = self._events[after]
            after += 1
            if agent_id is None or event.agent_id == agent_id:
                yield event

    def read_back(self, before: int | None = None, limit: int = 512) -> list[Event]:
        last = find_last(len(self._events), before)
        return self._events[max(0, last - limit) : last]

    def keep(self, blob: bytes, *, detached: bool = False) -> str:
        digest = find_digest(blob)
        self._blobs[digest] = blob
        return name_blob(digest)

    def blob(self, name: str) -> bytes:
        prefix = parse_blob_name(name)
        for digest, blob in self._blobs.items():
            if prefix and digest.startswith(prefix):
                return blob
        raise StoreError(ErrorKind.RESOURCE_MISSING, f"Blob {name!r} is not in this session. Check its name.")

    def watch(self, listener: CommitListener) -> None:
        self._listener = listener

    @property
    def head(self) -> int:
        return len(self._events)

    def checkpoint(self) -> None:
        pass

    def close(self) -> None:
        self._closed = True

    async def aclose(self) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        return self._closed

    def reopen(self) -> None:
        """Lets the log be written again by the one who opens it now."""
        self._closed = False


if TYPE_CHECKING:
    _: type[Store] = MemoryStore
