"""Deltas that come close together as one: no client is sent more than it can show."""

import asyncio
from typing import Protocol

from planck.records.events import Event, ToolProgress, UsageDelta
from planck.session.bus import Spoken

PACE = 1 / 30
"""Seconds between two frames of deltas of one agent."""


class Receiver(Protocol):
    def send(self, event: Event) -> None: ...


class Pacing:
    """Joins the deltas of each agent; what is recorded goes at once, behind what came before it."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._agents: dict[str | None, _Agent] = {}

    def hear(self, spoken: Spoken) -> None:
        delta = spoken.delta
        call = delta.id if isinstance(delta, ToolProgress) else ""
        self._find(spoken.agent_id).add((delta.type, call), spoken)

    def push(self, event: Event) -> None:
        if event.type == UsageDelta.type:
            self._find(event.agent_id).add((event.type, ""), event)
            return
        if agent := self._agents.get(event.agent_id):
            agent.flush()
        self._receiver.send(event)

    def flush(self) -> None:
        """Everything that waits goes now."""
        for agent in tuple(self._agents.values()):  # the last client may be cut off by it
            agent.flush()

    def _find(self, agent_id: str | None) -> "_Agent":
        agent = self._agents.get(agent_id)
        if agent is None:
            agent = self._agents[agent_id] = _Agent(self._receiver)
        return agent

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

    def add(self, key: tuple[str, str], came: Spoken | Event) -> None:
        loop = asyncio.get_running_loop()
        if not self._waiting and loop.time() >= self._next:
            self._next = loop.time() + PACE
            self._receiver.send(came.event if isinstance(came, Spoken) else came)
            return
        stream = self._waiting.get(key)
        if stream is None:
            stream = self._waiting[key] = _Stream()
        stream.add(came)
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
        self._newest: Spoken | Event | None = None
        self._texts: list[str] = []

    def add(self, came: Spoken | Event) -> None:
        self._newest = came
        if isinstance(came, Spoken):
            self._texts.append(came.delta.text)

    def join(self) -> Event:
        newest = self._newest
        assert newest is not None
        if isinstance(newest, Event):
            return newest
        return newest.event if len(self._texts) < 2 else newest.say("".join(self._texts))
