"""A session in PostgreSQL: committed there by its epoch, copied to this machine, then published."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planck.closing import close_all
from planck.records import codec
from planck.records.events import Draft, Event
from planck.records.outcome import Err, ErrorKind
from planck.store.chain import Row, find_digest, link, name_blob, parse_blob_name
from planck.store.postgres import rows
from planck.store.postgres.commit_queue import Append, Blob, CommitQueue
from planck.store.postgres.mirror import Mirror
from planck.store.store import CommitListener, Store, StoreError
from planck.store.threads import finish_blocking

if TYPE_CHECKING:
    from planck.store.postgres.commit_queue import Writer


class PostgresStore:
    """The one writer of a log in its epoch; a later epoch refuses all that comes after."""

    moves = True

    def __init__(
        self,
        engine: CommitQueue,
        id: str,
        epoch: int,
        mirror: Mirror,
        *,
        claimed: bool = False,
        damage: Err | None = None,
    ) -> None:
        """`claimed`: the roster gave it to this node, and takes it back; else closing it lets go of it."""
        self.id = id
        self.epoch = epoch
        self._engine = engine
        self._mirror = mirror
        self._queue: list[_Batch] = []
        self._flying: list[_Batch] = []
        self._held: dict[bytes, Blob] = {}
        """Blobs by their digests that go into the next commit."""
        self._kept: set[bytes] = set()
        self._listener: CommitListener | None = None
        self._refusal: StoreError | None = None
        """Why nothing is written any more."""
        self._closed = False
        self._claimed = claimed
        self._settled = asyncio.Event()
        self.damage = damage
        engine.enter(self)

    async def append(self, drafts: Sequence[Draft], then: CommitListener | None = None) -> list[Event]:
        self._check_writable()
        batch = _Batch(drafts, then, asyncio.get_running_loop().create_future())
        self._queue.append(batch)
        self._engine.wake(self)
        cancelled: asyncio.CancelledError | None = None
        while not batch.committed.done():
            try:
                await asyncio.wait({batch.committed})
            except (
                asyncio.CancelledError
            ) as e:  # a cancelled caller must know whether its facts are in the log
                cancelled = e
        if batch.failure:
            batch.committed.exception()
            raise batch.failure
        batch.committed.result()
        if cancelled:
            raise cancelled
        return batch.events

    async def barrier(self) -> None:
        """What PostgreSQL answered for is on its disk."""

    def read(self, after: int = 0, *, agent_id: str | None = None) -> Iterator[Event]:
        return self._mirror.read(after, agent_id=agent_id)

    def read_back(self, before: int | None = None, limit: int = 512) -> list[Event]:
        return self._mirror.read_back(before, limit)

    def keep(self, blob: bytes, *, detached: bool = False) -> str:
        digest = find_digest(blob)
        if digest not in self._kept and not (detached and digest in self._held):
            self._held[digest] = Blob(digest, blob, detached)
        return name_blob(digest)

    def blob(self, name: str) -> bytes:
        prefix = parse_blob_name(name)
        for digest, kept in self._held.items():
            if prefix and digest.startswith(prefix):
                return kept.blob
        late = self._mirror.find_late_blob(prefix) if prefix else None
        return self._mirror.file.blob(name) if late is None else late

    def watch(self, listener: CommitListener) -> None:
        self._listener = listener

    @property
    def head(self) -> int:
        return self._mirror.head

    @property
    def meta(self) -> dict[str, str]:
        return self._mirror.file.meta

    @property
    def abandoned(self) -> bool:
        """Whether it was given up, or taken over: whoever has it next finds work cut short."""
        return self._refusal is not None

    @property
    def closed(self) -> bool:
        return self._closed

    def checkpoint(self) -> None:
        self._mirror.file.checkpoint()

    def take(self) -> Append | None:
        if self._flying or self._refusal or not (self._queue or self._held):
            return None
        self._flying, self._queue = self._queue, []
        seq, previous, rows = self._mirror.head, self._mirror.head_hash, list[Row]()
        for batch in self._flying:
            rows += batch.rows
            for draft in batch.drafts:
                seq += 1
                event = Event(seq, draft.ts, draft.agent_id, draft.turn, draft.type, draft.data)
                data = codec.encode(event)
                previous = link(previous, data)
                rows.append((seq, data, previous))
                batch.events.append(event)
        mirror = self._mirror
        return Append(self, self.epoch, mirror.head, mirror.head_hash, rows, [*self._held.values()])

    def settle(self, append: Append, failure: StoreError | None) -> None:
        if self._refusal:  # it was abandoned meanwhile: whoever waited knows
            return
        flying, self._flying = self._flying, []
        if failure is None:
            copied = {kept.digest: kept.blob for kept in append.blobs if not kept.detached}
            self._mirror.add(append.rows, copied)
            self._kept.update(copied)
            for kept in append.blobs:
                if self._held.get(kept.digest) is kept:  # else it is wanted in the copies by now
                    del self._held[kept.digest]
        elif failure.err.kind is ErrorKind.WRITER_CONFLICT:
            self._refusal = failure
            flying, self._queue = flying + self._queue, []
            self._engine.leave(self)
        for batch in flying:
            batch.finish(failure, self._listener)
        if self._queue:
            self._engine.wake(self)
        self._settled.set()

    def abandon(self, why: StoreError) -> None:
        self._refusal = self._refusal or why
        waiting, self._flying, self._queue = self._flying + self._queue, [], []
        for batch in waiting:
            batch.finish(why, None)
        self._settled.set()

    async def take_in(self, rows: Sequence[Row], blobs: Mapping[bytes, bytes]) -> None:
        """Commits what another log numbered, which the caller checked; only before anything is appended."""
        batch = _Batch((), None, asyncio.get_running_loop().create_future())
        batch.rows = rows
        self._held.update({digest: Blob(digest, blob, detached=False) for digest, blob in blobs.items()})
        self._queue.append(batch)
        self._engine.wake(self)
        await batch.committed
        if batch.failure:
            raise batch.failure

    def change_meta(self, changes: Mapping[str, str]) -> None:
        """Changes what the copy says of itself; the name is in the session's row."""
        self._mirror.file.change_meta(changes)

    @property
    def path(self) -> Path:
        """Where the copy is."""
        return self._mirror.file.path

    async def aclose(self) -> None:
        """Commits what is queued, then lets go of the session: whoever wants it next may have it at once."""
        if not self._closed:
            close_mirror = partial(finish_blocking, self._mirror.file.close)
            await close_all(self._drain, self._leave, close_mirror, self._let_go)

    async def _drain(self) -> None:
        while (self._flying or self._queue or self._held) and not self._refusal:
            self._settled.clear()
            self._engine.wake(self)
            await self._settled.wait()
            if not (self._flying or self._queue) and self._held:
                break  # they could not be kept, and nothing names them

    def _leave(self) -> None:
        self._closed = True
        self._engine.leave(self)
        late, self._flying, self._queue = self._flying + self._queue, [], []
        for batch in late:  # the closing was cancelled: what is on its way may get into the log, or not
            why = f"Session {self.id!r} was closed before this was written. Open it again to continue."
            batch.finish(StoreError(ErrorKind.LOG_WRITE_FAILED, why), None)

    async def _let_go(self) -> None:
        if not self._refusal and not self._claimed:
            await rows.finish(rows.release_row(self._engine.queries, self.id, self.epoch))

    def _check_writable(self) -> None:
        if self._refusal:
            raise StoreError(self._refusal.err.kind, self._refusal.err.message, self._refusal.err.details)
        if self._closed:
            raise StoreError(
                ErrorKind.LOG_WRITE_FAILED,
                f"Session {self.id!r} is not open for writing. Open it again to continue.",
            )


class _Batch:
    """What one caller handed in, and what became of it."""

    __slots__ = ("committed", "drafts", "events", "failure", "rows", "then")

    def __init__(
        self, drafts: Sequence[Draft], then: CommitListener | None, committed: "asyncio.Future[None]"
    ) -> None:
        self.drafts = drafts
        self.then = then
        self.rows: Sequence[Row] = ()
        """What has its numbers already."""
        self.events: list[Event] = []
        self.failure: StoreError | None = None
        self.committed = committed

    def finish(self, failure: StoreError | None, listener: CommitListener | None) -> None:
        self.failure = failure
        try:
            if self.then and not failure:
                self.then.on_commit(self.events)
            if listener and not failure:
                listener.on_commit(self.events)
        except Exception as e:  # the flusher is every session's: a listener's fault is its own caller's
            self.committed.set_exception(e)
        else:
            self.committed.set_result(None)


if TYPE_CHECKING:
    _: type[Store] = PostgresStore
    __: type[Writer] = PostgresStore
