"""Append, then publish: the one road from an agent to the log and its readers."""

from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING

import msgspec

from planck.records import codec
from planck.records.events import (
    DELTAS,
    Draft,
    Event,
    FileChanged,
    TurnEnd,
    View,
)
from planck.records.outcome import ErrorKind
from planck.records.ports import Clock
from planck.records.redact import Redactor
from planck.session.bus import Bus, Listener, Live, Reader, Spoken, Subscription
from planck.session.delta_redaction import PIECES, DeltaRedaction
from planck.store.store import Store, StoreError
from planck.toolkit.journal import Entry, Journal


class SessionJournal:
    def __init__(
        self, store: Store, bus: Bus, clock: Clock, *, redactor: Callable[[], Redactor] | None = None
    ) -> None:
        """`redactor` gives what takes the keys known by now out of what is stored or shown."""
        self._store = store
        self._bus = bus
        self._clock = clock
        self._redactor = redactor
        self._redaction = DeltaRedaction()
        self._tallies: list[Callable[[Event], None]] = []
        self.live: Live = Live()
        """It hears everything, also what nobody watches: somebody may join in the middle of a sentence."""
        store.watch(self)

    async def record(
        self, agent_id: str | None, turn: int, *facts: View, barrier: bool = False
    ) -> list[Event]:
        """Append the facts in one commit, then publish them; what fails to persist is not published.

        Facts handed in are recorded even if the caller is cancelled meanwhile.
        """
        return await self.record_all([Entry(agent_id, turn, fact) for fact in facts], barrier=barrier)

    async def record_all(self, entries: Sequence[Entry], *, barrier: bool = False) -> list[Event]:
        ts = self._clock.now()
        # One look for one commit: nothing else runs between its facts.
        redactor = (self._redactor() or None) if self._redactor else None
        drafts = [_draft(ts, entry, redactor, self._store.keep) for entry in entries]
        events = await self._store.append(drafts, _Effects(entries))
        if barrier:
            await self._store.barrier()
        return events

    @property
    def moves(self) -> bool:
        return self._store.moves

    def keep(self, blob: bytes, *, detached: bool = False) -> str:
        return self._store.keep(self._redactor()(blob) if self._redactor else blob, detached=detached)

    def recorded(self, agent_id: str) -> Iterator[Event]:
        return self._store.read(agent_id=agent_id)

    def publish(self, agent_id: str | None, turn: int, delta: View) -> None:
        if self._redactor is None:
            self._show(agent_id, turn, delta)
            return
        for entry in self._redaction.redact(agent_id, turn, delta, self._redactor()):
            self._show(entry.agent_id, entry.turn, entry.fact)

    def attach(self, reader: Reader) -> None:
        """From here on it gets what is published but the words, in the step that publishes it; see `Bus`."""
        self._bus.attach(reader)

    def listen(self, listener: Listener) -> None:
        """The same with the words: what agents say, think and put out while they do."""
        self._bus.listen(listener)

    def detach(self, reader: Reader) -> None:
        self._bus.unsubscribe(reader)

    @contextmanager
    def counting(self, count: Callable[[Event], None]) -> Iterator[None]:
        """Meanwhile it is given every event in the step that commits it, and no delta; it does not fail."""
        self._tallies.append(count)
        try:
            yield
        finally:
            self._tallies.remove(count)

    async def events(self, after: int = 0, live: bool = True) -> AsyncGenerator[Event, None]:
        """Yields the log from there on, then what happens, deltas included: no event missing, none twice.

        A reader that falls behind loses deltas only: it catches up from the store.
        """
        async with aclosing(self.follow(after, live)) as batches:
            async for events in batches:
                for event in events:
                    yield event

    async def follow(
        self, after: int = 0, live: bool = True, *, words: bool = True
    ) -> AsyncGenerator[Sequence[Event], None]:
        """Yields the events in batches; without `words`, no deltas of text or output."""
        subscription = self._bus.subscribe(words=words)
        caught_up = True
        try:
            while True:
                for event in self._store.read(after):
                    after = event.seq or after
                    yield (event,)
                if not live:
                    return
                if caught_up and not subscription.behind:
                    _drop_stale(subscription, after)
                else:
                    # Events were dropped between these deltas: which of them are stale can't be told.
                    subscription.queue.clear()
                    subscription.behind = False
                caught_up = False
                while True:
                    if subscription.queue:
                        events, after = _take(subscription.queue, after)
                        if events:
                            yield events
                    elif subscription.behind or subscription.ended:
                        break
                    else:
                        await subscription.wait()
                if subscription.ended and not subscription.queue and self._store.head <= after:
                    return
        finally:
            self._bus.unsubscribe(subscription)

    def on_commit(self, events: Sequence[Event]) -> None:
        """Publishes in the step that commits: a caller cancelled meanwhile leaves no gap for the readers."""
        for event in events:
            for entry in self._redaction.release_before(event):
                self._show(entry.agent_id, entry.turn, entry.fact)
            if self.live.agents:
                self.live.follow(event)
            for count in self._tallies:
                count(event)
            self._bus.publish(event)
            if event.type == TurnEnd.type:  # anybody's: there may be no moment in which nobody has a turn
                self._store.checkpoint()

    def close(self) -> None:
        """No more is published; readers get what is queued, then the end."""
        self._bus.close()

    def _show(self, agent_id: str | None, turn: int, delta: View) -> None:
        self.live.hear(agent_id, delta)
        if isinstance(delta, PIECES):
            if listeners := self._bus.listeners:
                spoken = Spoken(self._clock.now(), agent_id, turn, delta)
                for listener in listeners:
                    listener.hear(spoken)
            return
        if not self._bus.watched:
            return
        data = codec.encode(delta)
        if self._redactor:
            data = self._redactor()(data)
        self._bus.publish(Event(None, self._clock.now(), agent_id, turn, delta.type, msgspec.Raw(data)))


_MAX_INLINE = 1 << 20
"""Bytes of an old content that an event carries; a larger one would slow down every reader of the log."""


def _draft(ts: str, entry: Entry, redactor: Redactor | None, keep: Callable[[bytes], str]) -> Draft:
    fact = entry.fact
    if fact.type in DELTAS:
        raise StoreError(
            ErrorKind.EPHEMERAL_NOT_LOGGABLE,
            f"{fact.type!r} is a delta and is never stored. Publish it instead.",
        )
    if redactor is not None and isinstance(fact, FileChanged) and fact.before:
        before, keys = redactor.cut(fact.before)
        fact = msgspec.structs.replace(fact, before=before, keys=keys) if keys else fact
    if isinstance(fact, FileChanged) and fact.before and len(fact.before) > _MAX_INLINE:
        blob = keep(fact.before)  # after the keys were cut: a blob may leave the machine as an event may
        fact = msgspec.structs.replace(fact, before=None, was="file", blob=blob)
    try:
        data = codec.encode(fact)
    except (TypeError, ValueError, OverflowError, RecursionError) as e:
        text = f"A {fact.type!r} event cannot be written as JSON: {e}. Use only JSON values in it."
        raise StoreError(ErrorKind.LOG_ENCODE_FAILED, text) from e
    if redactor is not None:
        data = redactor(data)
    return Draft(ts, entry.agent_id, entry.turn, fact.type, msgspec.Raw(data))


class _Effects:
    """What one commit changes besides the log."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def on_commit(self, events: Sequence[Event]) -> None:
        for entry in self._entries:
            if entry.follower is not None:
                entry.follower.apply(entry.fact)


def _drop_stale(subscription: Subscription, after: int) -> None:
    # Deltas from before an event that the store already gave would repeat what that event says.
    queue = subscription.queue
    stale = 0
    for index, event in enumerate(queue, 1):
        if event.seq is not None and event.seq <= after:
            stale = index
    for _ in range(stale):
        queue.popleft()


def _take(queue: deque[Event], after: int) -> tuple[list[Event], int]:
    """Returns what goes on from `after`, and where it ends: before the first that was dropped."""
    taken: list[Event] = []
    while queue:
        event = queue.popleft()
        if event.seq is not None:
            if event.seq <= after:  # the reader asked for what comes later
                continue
            if event.seq != after + 1:
                queue.clear()
                break
            after = event.seq
        taken.append(event)
    return taken, after


if TYPE_CHECKING:
    _: type[Journal] = SessionJournal
