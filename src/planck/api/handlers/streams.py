"""Server-sent events: the log after a number, one `live`, then what happens."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from itertools import chain

import msgspec

from planck.api.errors import ApiError
from planck.api.exchange import PIECE, FellBehind
from planck.api.live_session import LiveSession
from planck.api.metrics import Metrics
from planck.api.session_cache import SessionCache
from planck.headless import Behind, FeedFrame
from planck.records import codec
from planck.records.events import Event, frame
from planck.records.outcome import ErrorKind, PlanckError

PING_SECONDS = 15.0
STUCK_SECONDS = 20.0
"""A client that takes nothing for so long is cut."""
_POLL_SECONDS = 1.0
"""Between two looks at a log that another process writes."""
_IN_A_ROW = 64
_TOGETHER = 32 << 10
"""Bytes of small frames that are made ready at once for one client."""
PING = b"event: ping\ndata: {}\n\n"
_END = b"event: end\ndata: {}\n\n"
_NOTHING_SAID = b"{}"
_NOBODY = b"event: live\ndata: %s\n\n" % _NOTHING_SAID
LIVE = "live"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    clients: int = 256
    ping: float = PING_SECONDS
    stuck: float = STUCK_SECONDS
    result: float = 30.0
    """Seconds that a request for a result waits for one."""


class Filter(msgspec.Struct, frozen=True):
    """Which events a client wants; empty: all."""

    agent_id: str = ""
    types: frozenset[str] = frozenset()

    def takes(self, agent_id: str | None, type: str) -> bool:
        return (not self.agent_id or agent_id == self.agent_id) and (not self.types or type in self.types)


class _Place:
    """How far a client has come."""

    def __init__(self, seq: int, wanted: Filter) -> None:
        self.seq = seq
        self.wanted = wanted
        self.greeted = False


class Streams:
    """Counts the clients, and makes a stream for each."""

    def __init__(self, cache: SessionCache, metrics: Metrics, limits: Limits) -> None:
        self.limits = limits
        self._cache = cache
        self.metrics = metrics

    def check_room(self) -> None:
        if self.metrics.stream_clients >= self.limits.clients:
            raise ApiError(
                503,
                ErrorKind.LIMIT_EXCEEDED,
                f"{self.limits.clients} clients are connected, which is the limit. "
                "Close one, or try again later.",
            )

    async def follow(self, id: str, after: int, wanted: Filter, head: int) -> AsyncGenerator[bytes, None]:
        """Yields one session's events; an id from the future is answered with `reset`, then with everything.

        A session that is put to sleep keeps its streams: they go on when it is opened again.
        """
        cache = self._cache
        async with self.counted():
            if after > head:
                yield b"event: reset\ndata: %s\n\n" % codec.encode({"head": head})
                after = 0
            place = _Place(after, wanted)
            while not cache.closed:
                live = cache.find(id)
                changes = cache.changes
                source = self._from_session(live, place) if live else self._from_log(id, place)
                async with aclosing(source) as pieces:
                    async for piece in pieces:
                        yield piece
                if cache.has_ended(id) and not cache.find(id):
                    yield _END
                    return
                if live is None:
                    async with aclosing(self._wait(id, changes, place)) as pings:
                        async for ping in pings:
                            yield ping

    async def _from_session(self, live: LiveSession, place: _Place) -> AsyncGenerator[bytes, None]:
        try:
            feed = live.session.feed(place.seq, joined=True)
        except PlanckError:  # it was closed at this moment
            await asyncio.sleep(0)
            return
        async with aclosing(feed):
            while True:
                try:
                    async with asyncio.timeout(self.limits.ping):
                        made = await anext(feed)
                except TimeoutError:
                    yield PING
                    continue
                except StopAsyncIteration:
                    return
                except Behind:
                    raise FellBehind from None
                parts: list[bytes] = []
                for one in (made, *feed.take(_TOGETHER)):
                    parts += _format_wanted(one, place)
                place.seq = feed.seq
                for piece in _join(parts):
                    yield piece
                await asyncio.sleep(0)  # others have their turn, however long the log is

    async def _from_log(self, id: str, place: _Place) -> AsyncGenerator[bytes, None]:
        try:
            async with _opened(self._cache.archive.recorded(id, place.seq)) as events:
                for count, event in enumerate(events, 1):
                    place.seq = event.seq or place.seq
                    if place.wanted.takes(event.agent_id, event.type):
                        for piece in format_frame(frame(event, id), event.seq):
                            yield piece
                    if count % _IN_A_ROW == 0:
                        await asyncio.sleep(0)
        except PlanckError as failure:
            if failure.err.kind is ErrorKind.NETWORK:  # a database that is away for a while
                yield PING
                await asyncio.sleep(_POLL_SECONDS)
                return
            if failure.err.kind is not ErrorKind.NOT_FOUND:
                raise
            self._cache.forget(id)  # somebody deleted it elsewhere
            return
        if not place.greeted:
            place.greeted = True
            yield _NOBODY

    async def _wait(self, id: str, changes: int, place: _Place) -> AsyncGenerator[bytes, None]:
        """Until the session is opened or ended here, or another process has written to its log."""
        quiet = 0.0
        while self._cache.changes == changes:
            try:
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._cache.wait_for_change(changes)
                return
            except TimeoutError:
                quiet += _POLL_SECONDS
            if await asyncio.to_thread(self._cache.archive.has_after, id, place.seq):
                return
            if quiet >= self.limits.ping:
                quiet = 0.0
                yield PING

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[None]:
        self.metrics.stream_clients += 1
        try:
            yield
        finally:
            self.metrics.stream_clients -= 1


@asynccontextmanager
async def _opened(events: Generator[Event, None, None]) -> AsyncIterator[Iterator[Event]]:
    """Gives the events of a log that is opened beside the loop: it may have to come from a database."""
    opening = asyncio.ensure_future(asyncio.to_thread(next, events, None))
    try:
        first = await asyncio.shield(opening)
        yield iter(()) if first is None else chain((first,), events)
    finally:
        if not opening.done():
            await asyncio.wait({opening})
        with suppress(ValueError):  # cancelled a second time, while it is at work: it ends by itself
            events.close()


def _format_wanted(made: FeedFrame, place: _Place) -> list[bytes]:
    if made.type == LIVE and made.seq is None:
        # One that joins again, after a sleep or a long log, may have missed the beginning of a sentence.
        if place.greeted and made.data == _NOTHING_SAID:
            return []
        place.greeted = True
        return [b"event: live\ndata: %s\n\n" % made.data]
    if not place.wanted.takes(made.agent_id, made.type):
        return []
    return [*format_frame(made.data, made.seq)]


def _join(parts: list[bytes]) -> Iterator[bytes]:
    """Small ones leave together; large ones as they are, which no client has a copy of."""
    joined: list[bytes] = []
    size = 0
    for part in parts:
        if size + len(part) > PIECE and joined:
            yield b"".join(joined)
            joined, size = [], 0
        if len(part) > PIECE:
            yield part
        else:
            joined.append(part)
            size += len(part)
    if joined:
        yield b"".join(joined)


def format_frame(data: bytes, seq: int | None) -> Iterator[bytes]:
    """A fact has an id and a delta none, so that `Last-Event-ID` is always the last fact.

    What is large is not copied for each client.
    """
    head = b"data: " if seq is None else b"id: %d\ndata: " % seq
    if len(data) <= PIECE:
        yield b"%s%s\n\n" % (head, data)
    else:
        yield head
        yield data
        yield b"\n\n"
