"""One subscription a session, each frame encoded once, for any number of clients that never hold it up."""

import asyncio
from collections import deque
from collections.abc import Iterator

import msgspec

from planck.headless.pacing import Pacing
from planck.records import codec
from planck.records.events import Event, frame
from planck.records.outcome import ErrorKind, PlanckError
from planck.session.bus import Spoken
from planck.session.logs import SessionLog

_MAX_FRAMES = 1_000
_MAX_BYTES = 16 << 20
"""What may wait for one client; more, and it is cut off."""
_IN_A_ROW = 64
"""Frames of the log that are read for one client before others get their turn."""

LIVE = "live"
"""The type of the frame between the log and what happens: what agents are saying at that moment."""


class FeedFrame(msgspec.Struct, frozen=True, gc=False):
    data: bytes
    """The event's JSON, one line; of type `live`: `{agent_id: {text, thinking, output}}`."""
    seq: int | None
    """None: a delta, or `live`."""
    type: str
    agent_id: str | None = None


class Behind(PlanckError):
    """This client took too long; it goes on without a gap with `feed(after=behind.seq)`."""

    def __init__(self, seq: int) -> None:
        super().__init__(
            ErrorKind.LIMIT_EXCEEDED,
            f"The client read too slowly and fell behind after event {seq}. Open the feed again from there.",
        )
        self.seq = seq


class Feed:
    """The frames of one session, encoded once for all its clients."""

    def __init__(self, log: SessionLog, *, joined: bool) -> None:
        """`joined`: deltas of an agent that come close together are one frame, at most 30 a second."""
        self.ended: bool = False
        self._log = log
        self._clients: list[FeedClient] = []
        self._pacing = Pacing(self) if joined else None

    def open(self, after: int) -> "FeedClient":
        """Returns a client that gets the log after that number first, then `live`, then what happens."""
        return FeedClient(self, after)

    def read(self, after: int) -> Iterator[FeedFrame]:
        return (self._encode(event) for event in self._log.store.read(after))

    @property
    def head(self) -> int:
        return self._log.store.head

    def join(self, client: "FeedClient") -> FeedFrame:
        """Takes in a client that has the whole log: from here on it gets what happens.

        No await stands between its last look at the log and this: no event is missing, none comes twice.
        """
        if not self._clients and not self.ended:
            self._log.journal.listen(self)
        if self._pacing:
            self._pacing.flush()  # what the others get now, the newcomer has in `live`
        self._clients.append(client)
        return FeedFrame(codec.encode(self._log.journal.live.snapshot()), None, LIVE)

    def leave(self, client: "FeedClient") -> None:
        if client in self._clients:
            self._clients.remove(client)
            if not self._clients:
                self._log.journal.detach(self)
                if self._pacing:
                    self._pacing.stop()

    def push(self, event: Event) -> None:
        if self._pacing:
            self._pacing.push(event)
        else:
            self.send(event)

    def hear(self, spoken: Spoken) -> None:
        if self._pacing:
            self._pacing.hear(spoken)
        else:
            for event in spoken.events:
                self.send(event)

    def send(self, event: Event) -> None:
        made = self._encode(event)
        for client in tuple(self._clients):  # one that is cut off leaves
            client.push(made)

    def end(self) -> None:
        if self._pacing:
            self._pacing.flush()
            self._pacing.stop()
        self.ended = True
        for client in self._clients:
            client.wake()

    def _encode(self, event: Event) -> FeedFrame:
        return FeedFrame(frame(event, self._log.id), event.seq, event.type, event.agent_id)


class FeedClient:
    """Iterates over frames; a wait for the next one may be cancelled, and none is lost by that.

    It ends with the session, or raises `Behind`.
    """

    def __init__(self, feed: Feed, after: int) -> None:
        self.seq: int = after
        """Of the newest event that was handed out."""
        self._feed = feed
        self._log: Iterator[FeedFrame] | None = None
        self._joined = False
        self._closed = False
        self._behind = False
        self._queue: deque[FeedFrame] = deque()
        self._bytes = 0
        self._in_a_row = 0
        self._waiter: asyncio.Future[None] | None = None

    def __aiter__(self) -> "FeedClient":
        return self

    async def __anext__(self) -> FeedFrame:
        while not self._closed:
            if self._behind:
                raise Behind(self.seq)
            if not self._joined:
                if self._in_a_row >= _IN_A_ROW:
                    self._in_a_row = 0
                    await asyncio.sleep(0)
                return self._read_log()
            if self._queue:
                return self._take()
            if self._feed.ended:
                break
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        raise StopAsyncIteration

    def take(self, most: int) -> list[FeedFrame]:
        """Returns what is at hand, of the log too, without waiting: about so many bytes together."""
        found: list[FeedFrame] = []
        while most > 0 and not (self._closed or self._behind):
            if not self._joined:
                found.append(self._read_log())
            elif self._queue:
                found.append(self._take())
            else:
                break
            most -= len(found[-1].data)
        return found

    async def aclose(self) -> None:
        self._closed = True
        self._queue.clear()
        self._feed.leave(self)
        self.wake()

    def push(self, made: FeedFrame) -> None:
        """Takes a frame if there is room; else this client is cut off: it comes back to the log."""
        if self._queue and (len(self._queue) >= _MAX_FRAMES or self._bytes + len(made.data) > _MAX_BYTES):
            self._behind = True
            self._queue.clear()
            self._feed.leave(self)
        else:
            self._queue.append(made)
            self._bytes += len(made.data)
        self.wake()

    def wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter and not waiter.done():
            waiter.set_result(None)

    def _read_log(self) -> FeedFrame:
        """The next frame of the log; at its end the client joins the others."""
        while True:
            self._log = self._log or self._feed.read(self.seq)
            if found := next(self._log, None):
                self._in_a_row += 1
                return self._hand_out(found)
            self._log = None
            if self._feed.head <= self.seq:
                self._joined = True
                return self._feed.join(self)

    def _take(self) -> FeedFrame:
        made = self._queue.popleft()
        self._bytes -= len(made.data)
        return self._hand_out(made)

    def _hand_out(self, made: FeedFrame) -> FeedFrame:
        self.seq = made.seq or self.seq
        return made
