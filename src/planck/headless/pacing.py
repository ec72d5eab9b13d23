"""Deltas that come close together as one: no client is sent more than it can show."""

import asyncio
from typing import Protocol

import msgspec
from msgspec.structs import replace

from planck.records import codec
from planck.records.events import Event, TextDelta, ThinkingDelta, ToolProgress, UsageDelta, view

PACE = 1 / 30
"""Seconds between two frames of deltas of one agent."""

_TEXTS = TextDelta, ThinkingDelta, ToolProgress


class Receiver(Protocol):
    def send(self, event: Event) -> None: ...


class Pacing:
    """Joins the deltas of each agent; what is recorded goes at once, behind what came before it."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._agents: dict[str | None, _Agent] = {}

    def push(self, event: Event) -> None:
        delta = view(event) if event.seq is None else None
        if isinstance(delta, (*_TEXTS, UsageDelta)):
            agent = self._agents.get(event.agent_id)
            if agent is None:
                agent = self._agents[event.agent_id] = _Agent(self._receiver)
            agent.add(event, delta)
            return
        if agent := self._agents.get(event.agent_id):
            agent.flush()
        self._receiver.send(event)

    def flush(self) -> None:
        """Everything that waits goes now."""
        for agent in tuple(self._agents.values()):  # the last client may be cut off by it
            agent.flush()

    def stop(self) -> None:
        """Nobody is left to send to."""
        for agent in self._agents.values():
            agent.forget()
        self._agents.clear()


class _Agent:
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._waiting: dict[tuple[str, str], _Stream] = {}
        """By type and call: streams of several calls do not mix."""
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0

    def add(self, event: Event, delta: TextDelta | ThinkingDelta | ToolProgress | UsageDelta) -> None:
        loop = asyncio.get_running_loop()
        if not self._waiting and loop.time() >= self._next:
            self._next = loop.time() + PACE
            self._receiver.send(event)
            return
        key = (event.type, delta.id if isinstance(delta, ToolProgress) else "")
        stream = self._waiting.get(key)
        if stream is None:
            stream = self._waiting[key] = _Stream()
        stream.add(event, delta)
        if self._timer is None:
            self._timer = loop.call_at(self._next, self._tick)

    def flush(self) -> None:
        streams, self._waiting = self._waiting, {}
        for stream in streams.values():
            self._receiver.send(stream.join())

    def forget(self) -> None:
        self._waiting.clear()
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        """One frame, of the stream that waits longest."""
        self._timer = None
        if not self._waiting:
            return
        loop = asyncio.get_running_loop()
        self._next = loop.time() + PACE
        stream = self._waiting.pop(next(iter(self._waiting)))
        if self._waiting:
            self._timer = loop.call_at(self._next, self._tick)
        self._receiver.send(stream.join())


class _Stream:
    """The deltas of one text, or the newest of the counts."""

    def __init__(self) -> None:
        self._event: Event | None = None
        self._delta: TextDelta | ThinkingDelta | ToolProgress | UsageDelta | None = None
        self._texts: list[str] = []

    def add(self, event: Event, delta: TextDelta | ThinkingDelta | ToolProgress | UsageDelta) -> None:
        self._event, self._delta = event, delta
        if isinstance(delta, _TEXTS):
            self._texts.append(delta.text)

    def join(self) -> Event:
        assert self._event is not None
        assert self._delta is not None
        if len(self._texts) < 2 or not isinstance(self._delta, _TEXTS):
            return self._event
        whole = replace(self._delta, text="".join(self._texts))
        return replace(self._event, data=msgspec.Raw(codec.encode(whole)))
