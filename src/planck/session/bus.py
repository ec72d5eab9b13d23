"""What a session publishes, handed to its readers: bounded, and without waiting for any of them; and what
agents are saying at this moment, for a reader that joins in the middle of a sentence."""

import asyncio
from collections import deque
from typing import Protocol

import msgspec

from planck.records.events import (
    AgentEnded,
    AssistantSaid,
    Compacted,
    Event,
    Status,
    TextDelta,
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


class Reader(Protocol):
    def push(self, event: Event) -> None:
        """Takes what is published; it awaits nothing and does not fail."""

    def end(self) -> None:
        """Nothing more comes."""


class Bus:
    """From one journal to whoever watches now; never waits for a reader."""

    def __init__(self) -> None:
        self._subscriptions: list[Reader] = []
        self._closed = False

    @property
    def watched(self) -> bool:
        return bool(self._subscriptions)

    def publish(self, event: Event) -> None:
        for subscription in self._subscriptions:
            subscription.push(event)

    def subscribe(self) -> "Subscription":
        subscription = Subscription()
        self.attach(subscription)
        return subscription

    def attach(self, reader: Reader) -> None:
        """From here on it gets everything; at once the end, where that has come."""
        if self._closed:
            reader.end()
        else:
            self._subscriptions.append(reader)

    def unsubscribe(self, subscription: Reader) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def close(self) -> None:
        """Readers get what is queued, then the end."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.end()
        self._subscriptions = []


_QUEUED = 1000


class Subscription:
    """A bounded queue; when it is full, what comes is dropped, and a dropped event sets `behind`."""

    def __init__(self) -> None:
        self.queue: deque[Event] = deque()
        self.behind = False
        self.ended = False
        self._waiter: asyncio.Future[None] | None = None

    def push(self, event: Event) -> None:
        if len(self.queue) < _QUEUED:
            self.queue.append(event)
        elif event.seq is not None:
            self.behind = True
        self._wake()

    def end(self) -> None:
        self.ended = True
        self._wake()

    async def wait(self) -> None:
        """Returns once there is something to take, to catch up with, or the end."""
        if not (self.queue or self.behind or self.ended):
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

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
        self.agents: dict[str, _Speech] = {}
        """Those that have said something which the log does not know yet."""

    def snapshot(self) -> dict[str, LiveText]:
        """By agent; those that say nothing now are not in it."""
        said = {id: speech.show() for id, speech in self.agents.items()}
        return {id: text for id, text in said.items() if text != LiveText()}

    def hear(self, agent_id: str | None, delta: View) -> None:
        match delta:
            case TextDelta():
                self._speech(agent_id).text.add(delta.text)
            case ThinkingDelta():
                self._speech(agent_id).thinking.add(delta.text)
            case ToolProgress():
                self._speech(agent_id).output.setdefault(delta.id, _Tail()).add(delta.text)
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

    def _speech(self, agent_id: str | None) -> "_Speech":
        id = agent_id or ""
        if id not in self.agents:
            self.agents[id] = _Speech()
        return self.agents[id]


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
        self._pieces: deque[str] = deque()
        self._size = 0

    def add(self, piece: str) -> None:
        piece = piece[-TAIL:]
        self._pieces.append(piece)
        self._size += len(piece)
        while self._size - len(self._pieces[0]) >= TAIL:  # characters, each of one byte at least
            self._size -= len(self._pieces.popleft())

    def read(self) -> str:
        text = "".join(self._pieces)
        return text.encode(errors="replace")[-TAIL:].decode(errors="ignore")
