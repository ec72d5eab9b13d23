"""What a session publishes, handed to its readers: bounded, and without waiting for any of them; and what
agents are saying at this moment, for a reader that joins in the middle of a sentence."""

import asyncio
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Protocol

import msgspec

from planck.records import codec
from planck.records.events import (
    AgentEnded,
    AssistantSaid,
    Compacted,
    Event,
    Status,
    TextBurst,
    TextDelta,
    ThinkingBurst,
    ThinkingDelta,
    ToolEnd,
    ToolProgress,
    TurnEnd,
    TurnStart,
    View,
    view,
)

TAIL = 64 * 1024
"""Bytes that are kept of each text, from its end."""

_ENDS_OF_ALL = frozenset({TurnStart.type, TurnEnd.type, AgentEnded.type})
_ENDS_OF_ANSWER = frozenset({AssistantSaid.type, Compacted.type})


Piece = TextDelta | ThinkingDelta | ToolProgress
_BURSTS = TextBurst, ThinkingBurst  # not `|`, which makes a type at each delta


class Spoken(msgspec.Struct):
    """What an agent or a call puts out at once: as one event or one a delta, made when it is asked for."""

    _ts: str
    agent_id: str | None
    turn: int
    delta: Piece
    _event: Event | None = None
    _events: Sequence[Event] = ()

    @property
    def event(self) -> Event:
        """All of it."""
        if self._event is None:
            self._event = self.say(self.delta.text)
        return self._event

    @property
    def events(self) -> Sequence[Event]:
        """One for each delta."""
        if not self._events:
            delta = self.delta
            if isinstance(delta, _BURSTS):
                ts, agent_id, turn, type = self._ts, self.agent_id, self.turn, delta.type
                encode, raw = codec.encode, msgspec.Raw
                self._events = [
                    Event(None, ts, agent_id, turn, type, raw(encode({"text": text}))) for text in delta.texts
                ]
            else:
                self._events = (self._event or self.say(delta.text),)
        return self._events

    def say(self, text: str) -> Event:
        """Returns the event that says this instead."""
        said = {"text": text}
        if isinstance(self.delta, ToolProgress):
            said = {"id": self.delta.id, **said}
        data = msgspec.Raw(codec.encode(said))
        return Event(None, self._ts, self.agent_id, self.turn, self.delta.type, data)


class Reader(Protocol):
    def push(self, event: Event) -> None:
        """Takes what is published; it awaits nothing and does not fail."""

    def end(self) -> None:
        """Nothing more comes."""


class Listener(Reader, Protocol):
    def hear(self, spoken: Spoken) -> None:
        """Takes text, thoughts and tool output while they arrive; it awaits nothing and does not fail."""


class Bus:
    """Carries events from one journal to its present readers; never waits for a reader."""

    def __init__(self) -> None:
        self._readers: list[Reader] = []
        self.listeners: list[Listener] = []
        """Those of them that want the words too: while there is none, no event is made of any."""
        self._closed = False

    @property
    def watched(self) -> bool:
        return bool(self._readers)

    def publish(self, event: Event) -> None:
        for reader in self._readers:
            reader.push(event)

    def subscribe(self, *, words: bool = True) -> "Subscription":
        """`words`: also takes the deltas of an answer."""
        subscription = Subscription()
        if words:
            self.listen(subscription)
        else:
            self.attach(subscription)
        return subscription

    def attach(self, reader: Reader) -> None:
        """From here on it gets everything but the words; at once the end, where that has come."""
        if self._closed:
            reader.end()
        else:
            self._readers.append(reader)

    def listen(self, listener: Listener) -> None:
        """From here on it gets everything."""
        self.attach(listener)
        if not self._closed:
            self.listeners.append(listener)

    def unsubscribe(self, reader: Reader) -> None:
        if reader in self._readers:
            self._readers.remove(reader)
        self.listeners = [listener for listener in self.listeners if listener is not reader]

    def close(self) -> None:
        """Readers get what is queued, then the end."""
        self._closed = True
        for reader in self._readers:
            reader.end()
        self._readers, self.listeners = [], []


_QUEUED = 1000


class Subscription:
    """A bounded queue; when it is full, what comes is dropped, and a dropped event sets `behind`."""

    def __init__(self) -> None:
        self.queue: deque[Event] = deque()
        self.behind: bool = False
        self.ended: bool = False
        self._waiter: asyncio.Future[None] | None = None

    def push(self, event: Event) -> None:
        if len(self.queue) < _QUEUED:
            self.queue.append(event)
        elif event.seq is not None:
            self.behind = True
        self._wake()

    def hear(self, spoken: Spoken) -> None:
        if (room := _QUEUED - len(self.queue)) > 0:
            self.queue.extend(spoken.events[:room])
        self._wake()

    def end(self) -> None:
        self.ended = True
        self._wake()

    def wait(self) -> asyncio.Future[None]:
        """Done once there is something to take, to catch up with, or the end."""
        waiter = self._waiter = asyncio.get_running_loop().create_future()
        if self.queue or self.behind or self.ended:
            self._wake()
        return waiter

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter and not waiter.done():
            waiter.set_result(None)


class LiveText(msgspec.Struct, frozen=True):
    """The end of what an agent has said and its tools have put out since the log knows it."""

    text: str = ""
    thinking: str = ""
    output: dict[str, str] = {}
    """By call."""


class Live:
    """Follows one session: deltas add to it, and what the log takes in leaves it."""

    def __init__(self) -> None:
        self.agents: defaultdict[str, _Speech] = defaultdict[str, _Speech](_Speech)
        """Those that have said something which the log does not know yet."""

    def snapshot(self) -> dict[str, LiveText]:
        """By agent; those that say nothing now are not in it."""
        said = {id: speech.show() for id, speech in self.agents.items()}
        return {id: text for id, text in said.items() if text != LiveText()}

    def hear(self, agent_id: str | None, delta: View) -> None:
        match delta:
            case TextDelta():
                self.agents[agent_id or ""].text.add(delta.text)
            case ThinkingDelta():
                self.agents[agent_id or ""].thinking.add(delta.text)
            case ToolProgress():
                self.agents[agent_id or ""].output.setdefault(delta.id, _Tail()).add(delta.text)
            case Status(component="model", state="discarded"):  # the answer begins anew
                if speech := self.agents.get(agent_id or ""):
                    speech.forget_answer()
            case _:
                pass

    def follow(self, event: Event) -> None:
        """Takes in a recorded event: what it says is in the log, and not here any more."""
        speech = self.agents.get(event.agent_id or "")
        if speech is None:
            return
        if event.type in _ENDS_OF_ALL:  # an idle agent leaves nothing behind
            del self.agents[event.agent_id or ""]
        elif event.type in _ENDS_OF_ANSWER:
            speech.forget_answer()
        elif event.type == ToolEnd.type and isinstance(ended := view(event), ToolEnd):
            speech.output.pop(ended.id, None)


class _Speech:
    def __init__(self) -> None:
        self.text = _Tail()
        self.thinking = _Tail()
        self.output: dict[str, _Tail] = {}

    def forget_answer(self) -> None:
        self.text = _Tail()
        self.thinking = _Tail()

    def show(self) -> LiveText:
        return LiveText(
            self.text.read(), self.thinking.read(), {id: tail.read() for id, tail in self.output.items()}
        )


class _Tail:
    """The end of a text that comes in pieces; adding one costs the same however long the text is."""

    __slots__ = ("_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > 2 * TAIL:  # characters, each of one byte at least
            self._pieces = ["".join(self._pieces)[-TAIL:]]
            self._size = TAIL

    def read(self) -> str:
        text = "".join(self._pieces)
        return text.encode(errors="replace")[-TAIL:].decode(errors="ignore")
