"""A store of a page of code: a session as JSON lines in one file, as a program may write it."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from planck import ErrorKind
from planck.records.events import Draft, Event
from planck.store.store import CommitListener, StoreError


class LineStore:
    moves = False
    damage = None

    def __init__(self, file: Path) -> None:
        self._file = file.open("a+b")
        self._listener: CommitListener | None = None
        self.meta: dict[str, str] = {}
        self._events: list[Event] = []
        self._blobs: dict[str, bytes] = {}
        self._file.seek(0)
        for line in self._file:
            if line.startswith(b"{"):
                self._events.append(msgspec.json.decode(line, type=Event))
            else:
                blob = base64.b64decode(line)
                self._blobs[_name(blob)] = blob

    async def append(self, drafts: Sequence[Draft], then: CommitListener | None = None) -> list[Event]:
        if self.closed:
            raise StoreError(ErrorKind.LOG_WRITE_FAILED, "The store is closed. Open it again.")
        numbered = enumerate(drafts, self.head + 1)
        events = [Event(seq, one.ts, one.agent_id, one.turn, one.type, one.data) for seq, one in numbered]
        self._file.write(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
        self._file.flush()
        self._events += events
        for listener in (then, self._listener):
            if listener:
                listener.on_commit(events)
        return events

    async def barrier(self) -> None: ...

    def checkpoint(self) -> None: ...

    def read(self, after: int = 0, *, agent_id: str | None = None) -> Iterator[Event]:
        after = max(after, 0)
        while after < len(self._events):
            event = self._events[after]
            after += 1
            if agent_id in (None, event.agent_id):
                yield event

    def read_back(self, before: int | None = None, limit: int = 512) -> list[Event]:
        last = self.head if before is None else min(max(before - 1, 0), self.head)
        return self._events[max(last - limit, 0) : last]

    def keep(self, blob: bytes, *, detached: bool = False) -> str:
        name = _name(blob)
        if self._blobs.setdefault(name, blob) is blob:
            self._file.write(base64.b64encode(blob) + b"\n")
        return name

    def blob(self, name: str) -> bytes:
        if name in self._blobs:
            return self._blobs[name]
        raise StoreError(ErrorKind.RESOURCE_MISSING, f"Blob {name!r} is not here.")

    def watch(self, listener: CommitListener) -> None:
        self._listener = listener

    @property
    def head(self) -> int:
        return len(self._events)

    @property
    def closed(self) -> bool:
        return self._file.closed

    async def aclose(self) -> None:
        self._file.close()


def _name(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()
