"""The one flusher of a process: all that waits, of every session, goes to PostgreSQL as one statement.

The statement is the fence: a session's events are inserted only if its epoch and head are as its writer
thinks. An answer that was lost is asked for on the next connection: the hash says whether it was done.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from planck.records.outcome import ErrorKind, name_exception
from planck.store.chain import Row
from planck.store.postgres.connection import ANSWER, Database, Lost, Pauses, as_store_error
from planck.store.postgres.schema import prepare
from planck.store.store import StoreError

log: logging.Logger = logging.getLogger(__name__)

_MOST_BYTES = 16 << 20
"""In one statement: PostgreSQL takes a GiB, but all the others wait for it."""

_SLOWEST = 1 << 20
"""Bytes a second of a link that is still worth waiting for: what is given up is sent again, as a whole."""

_AGAIN = ("40P01", "40001")
"""A deadlock with one that is fenced, or a database that serialises: nothing was done, once more."""

_APPEND = """
WITH wanted AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])
        AS w(id, epoch, head, new_head, new_hash)
), moved AS (
    UPDATE sessions s SET head = w.new_head, hash = w.new_hash FROM wanted w
        WHERE s.id = w.id AND s.epoch = w.epoch AND s.head = w.head RETURNING s.id
), kept AS (
    INSERT INTO blobs (session, hash, bytes, aside) SELECT b.session, b.hash, b.bytes, b.aside
        FROM unnest($6::text[], $7::bytea[], $8::bytea[], $13::bool[]) AS b(session, hash, bytes, aside)
        JOIN moved m ON m.id = b.session
        ON CONFLICT (session, hash) DO UPDATE SET aside = false WHERE blobs.aside AND NOT excluded.aside
), put AS (
    INSERT INTO events SELECT e.session, e.seq, e.bytes, e.hash
        FROM unnest($9::text[], $10::bigint[], $11::bytea[], $12::bytea[]) AS e(session, seq, bytes, hash)
        JOIN moved m ON m.id = e.session
)
SELECT id FROM moved
"""


class Blob(NamedTuple):
    """Bytes that events refer to."""

    digest: bytes
    blob: bytes
    detached: bool
    """Copies of the log are made without it."""


class Append(NamedTuple):
    """What one session wants to have committed."""

    writer: "Writer"
    epoch: int
    head: int
    hash: bytes
    rows: Sequence[Row]
    blobs: Sequence[Blob]

    @property
    def new_head(self) -> int:
        return self.rows[-1][0] if self.rows else self.head

    @property
    def new_hash(self) -> bytes:
        return self.rows[-1][2] if self.rows else self.hash

    @property
    def size(self) -> int:
        return sum(len(row[1]) for row in self.rows) + sum(len(kept.blob) for kept in self.blobs)


class Writer(Protocol):
    @property
    def id(self) -> str: ...

    def take(self) -> Append | None:
        """Returns what waits by now, once: until it is settled there is nothing more."""

    def settle(self, append: Append, failure: StoreError | None) -> None:
        """It is committed, or it is not and never will be."""

    def abandon(self, why: StoreError) -> None:
        """Gives up the log without another word to it: whoever waits hears why."""


class CommitQueue:
    """Belongs to the loop on which it was started."""

    def __init__(self, url: str, *, patience: float | None = None) -> None:
        """`patience`: seconds without a connection after which every log is abandoned; None: somebody else
        sees to it."""
        self.url = url
        self.database: Database = Database(url)
        """For the appends alone: nothing else makes them wait."""
        self.queries: Database = Database(url)
        self._patience = patience
        self._writers: dict[str, Writer] = {}
        self._waiting: set[str] = set()
        self._wake = asyncio.Event()
        self._flusher: asyncio.Future[None] | None = None
        self._starting = asyncio.Lock()
        self._closed = False
        self._lost_since: float | None = None
        """When this outage began; None: the server answered the last statement, or nobody waits for it."""
        self.before_append: Callable[[], None] | None = None
        """Called before each append; it may fence this queue, and then nothing is sent."""
        self.flushes: int = 0
        """Statements sent so far."""

    @property
    def place(self) -> str:
        return self.database.place

    async def start(self) -> None:
        """Connects and brings the tables to this version; a second call does nothing."""
        async with self._starting:
            if self._flusher is None:
                await prepare(await self.database.connect(), self.place)
                self._flusher = asyncio.ensure_future(self._flush_for_ever())

    def enter(self, writer: Writer) -> None:
        self._writers[writer.id] = writer

    def leave(self, writer: Writer) -> None:
        if self._writers.get(writer.id) is writer:
            del self._writers[writer.id]

    def wake(self, writer: Writer) -> None:
        """Something of this writer waits."""
        self._waiting.add(writer.id)
        self._wake.set()

    def fence(self, why: StoreError) -> None:
        """Abandons every log that is open: from here on nothing of this process gets into them."""
        writers, self._writers = self._writers, {}
        self._waiting.clear()
        self._lost_since = None
        for writer in writers.values():
            writer.abandon(why)
        self.database.drop()  # a statement on its way is not waited for

    async def close(self) -> None:
        self._closed = True
        self._wake.set()
        if self._flusher is not None:
            await self._flusher
        await self.database.close()
        await self.queries.close()

    async def _flush_for_ever(self) -> None:
        while not self._closed or self._waiting:
            await self._wake.wait()
            self._wake.clear()
            while batch := self._collect():
                await self._flush(batch)
            if self._closed:
                return

    def _collect(self) -> list[Append]:
        """Takes what waits, sorted by id, so that two processes never wait for each other's rows."""
        batch, size = list[Append](), 0
        for id in sorted(self._waiting):
            if size > _MOST_BYTES:
                break
            self._waiting.discard(id)
            writer = self._writers.get(id)
            if writer is not None and (append := writer.take()):
                batch.append(append)
                size += append.size
        return batch

    async def _flush(self, batch: list[Append]) -> None:
        unsure = False
        while batch := [append for append in batch if self._is_open(append)]:
            try:
                if unsure:
                    # Whatever is in the way: until that is known, nobody may be told that it failed.
                    batch = self._settle_known(batch, await self._look_patiently(batch))
                    unsure = False
                    continue
                if self.before_append is not None:
                    self.before_append()
                    if not all(map(self._is_open, batch)):
                        continue
                self.flushes += 1
                patience = ANSWER + sum(append.size for append in batch) / _SLOWEST
                found = await self._ask(_APPEND, *_arrange(batch), timeout=patience)
                done = {row["id"] for row in found}
            except Lost as lost:
                log.warning("Lost the connection to the database at %s: %s. Reconnecting.", self.place, lost)
                unsure = True
                await self._reconnect()
            except StoreError as failure:  # no connection
                if failure.err.kind is not ErrorKind.NETWORK:
                    self._fail(batch, failure)
                    return
                await self._reconnect()
            except Exception as e:  # the server's own, whatever it is: a flusher that ends takes all along
                if getattr(e, "sqlstate", "") in _AGAIN:
                    continue
                await self._part(batch, e)
                return
            else:
                for append in batch:
                    if append.writer.id in done:
                        append.writer.settle(append, None)
                batch = [append for append in batch if append.writer.id not in done]
                # Fenced; or the second try of one whose first was still at work when it was looked for.
                unsure = bool(batch)
                if unsure:
                    self._settle_refused(batch, await self._look_patiently(batch))
                    return

    async def _ask(self, sql: str, *values: object, timeout: float = ANSWER) -> list[Any]:
        """Any answer ends an outage, an error of the server's too: the next one counts from its own begin."""
        try:
            answer = await self.database.ask(sql, *values, timeout=timeout)
        except (Lost, StoreError):
            raise
        except Exception:  # the server's own, which the caller reads
            self._lost_since = None
            raise
        self._lost_since = None
        return answer

    def _is_open(self, append: Append) -> bool:
        return self._writers.get(append.writer.id) is append.writer

    async def _part(self, batch: list[Append], e: Exception) -> None:
        """One session's bytes must not keep the others' back; where the server has no room, nobody has."""
        failure = as_store_error(self.place, e)
        if not isinstance(failure, StoreError):
            log.exception("An append failed")
            text = f"Saving events failed: {name_exception(e)}. See the log of this process."
            failure = StoreError(ErrorKind.INTERNAL_ERROR, text)
        if len(batch) == 1 or str(failure.err.details.get("sqlstate", "")).startswith("53"):
            self._fail(batch, failure)
            return
        for append in batch:
            await self._flush([append])

    def _fail(self, batch: list[Append], failure: StoreError) -> None:
        for append in batch:
            append.writer.settle(append, failure)

    async def _look(self, batch: list[Append]) -> dict[str, tuple[int, int, bytes]]:
        rows = await self._ask(
            "SELECT id, epoch, head, hash FROM sessions WHERE id = ANY($1::text[])",
            [append.writer.id for append in batch],
        )
        return {row["id"]: (row["epoch"], row["head"], row["hash"]) for row in rows}

    async def _look_patiently(self, batch: list[Append]) -> dict[str, tuple[int, int, bytes]]:
        """Asks until there is an answer, or nobody waits for it any more."""
        pauses = Pauses()
        while True:
            try:
                return await self._look(batch)
            except (Lost, StoreError):
                await self._reconnect()
            except Exception as e:  # the server's own: it has no memory, or too little time for us
                log.warning("Cannot query the database at %s: %s. Retrying.", self.place, name_exception(e))
                await asyncio.sleep(pauses.next())
                if self._closed:
                    self._fence_closed()
            if not any(self._is_open(append) for append in batch):
                return {}

    def _settle_known(self, batch: list[Append], found: dict[str, tuple[int, int, bytes]]) -> list[Append]:
        """New hash: it is in. Old: it is not, and is sent again. Neither: somebody else wrote."""
        again = []
        for append in batch:
            epoch, head, hash = found.get(append.writer.id, (-1, -1, b""))
            if hash == append.new_hash and head == append.new_head and append.rows:
                append.writer.settle(append, None)
            elif (epoch, head, hash) == (append.epoch, append.head, append.hash):
                again.append(append)
            else:
                append.writer.settle(append, refuse_writer(append.writer.id))
        return again

    def _settle_refused(self, batch: list[Append], found: dict[str, tuple[int, int, bytes]]) -> None:
        for append in batch:
            _, head, hash = found.get(append.writer.id, (-1, -1, b""))
            is_in = append.rows and (head, hash) == (append.new_head, append.new_hash)
            append.writer.settle(append, None if is_in else refuse_writer(append.writer.id))

    async def _reconnect(self) -> None:
        """Returns once there is a connection, or nobody waits for one any more."""
        loop, pauses = asyncio.get_running_loop(), Pauses()
        self._lost_since = loop.time() if self._lost_since is None else self._lost_since
        while self._writers and not self._closed:
            try:
                await self.database.connect()
                return
            except StoreError as failure:
                if self._patience is not None and loop.time() - self._lost_since > self._patience:
                    self.fence(failure)
                    return
            await asyncio.sleep(pauses.next())
        self._lost_since = None
        if self._closed:
            self._fence_closed()

    def _fence_closed(self) -> None:
        self.fence(
            StoreError(
                ErrorKind.NETWORK,
                f"The database at {self.place} was unreachable when Planck closed. "
                'Check it with "planck store check".',
            )
        )


def refuse_writer(id: str) -> StoreError:
    return StoreError(
        ErrorKind.WRITER_CONFLICT,
        f"Another node took over session {id!r}. This node can only read it now.",
    )


def _arrange(batch: Sequence[Append]) -> list[Any]:
    """Returns the columns of the statement."""
    blobs = [(append.writer.id, kept) for append in batch for kept in append.blobs]
    events = [(append.writer.id, *row) for append in batch for row in append.rows]
    return [
        [append.writer.id for append in batch],
        [append.epoch for append in batch],
        [append.head for append in batch],
        [append.new_head for append in batch],
        [append.new_hash for append in batch],
        [id for id, _ in blobs],
        [kept.digest for _, kept in blobs],
        [kept.blob for _, kept in blobs],
        [event[0] for event in events],
        [event[1] for event in events],
        [event[2] for event in events],
        [event[3] for event in events],
        [kept.detached for _, kept in blobs],
    ]
