"""Deltas without known keys: a key may come in pieces."""

from collections.abc import Iterator

import msgspec

from planck.records.events import (
    AgentEnded,
    AssistantSaid,
    Event,
    TextBurst,
    TextDelta,
    ThinkingBurst,
    ThinkingDelta,
    ToolEnd,
    ToolProgress,
    TurnEnd,
    View,
    view,
)
from planck.records.redact import Redactor
from planck.toolkit.journal import Entry

PIECES = TextDelta, ThinkingDelta, ToolProgress
BURSTS = TextBurst, ThinkingBurst

_ENDS_OF_ALL = frozenset({TurnEnd.type, AgentEnded.type})


class DeltaRedaction:
    """Holds back the end of a text while it may be the beginning of a key: less than the length of one.

    An agent has one answer at a time, of text or thinking, and an output for each call that runs.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[str | None, str], Entry] = {}

    def redact(self, agent_id: str | None, turn: int, delta: View, redactor: Redactor) -> Iterator[Entry]:
        """Yields what may be shown by now: what was held first, then the delta as far as it is safe."""
        if not isinstance(delta, PIECES):
            yield from self._release(agent_id)
            yield Entry(agent_id, turn, delta)
            return
        if isinstance(delta, BURSTS):
            # One look at all of it is enough nearly always: it has no key, begins none and ends none.
            if (agent_id, "") not in self._held and redactor.split(delta.text) == (delta.text, ""):
                yield Entry(agent_id, turn, delta)
                return
            for one in delta.deltas:
                yield from self.redact(agent_id, turn, one, redactor)
            return
        stream = delta.id if isinstance(delta, ToolProgress) else ""
        held = self._held.get((agent_id, stream))
        if held and type(held.fact) is not type(delta):
            yield from self._release(agent_id, stream)
            held = None
        begun = held.fact.text if held and isinstance(held.fact, PIECES) else ""
        safe, kept = redactor.split(begun + delta.text)
        if kept:
            self._held[agent_id, stream] = Entry(agent_id, turn, msgspec.structs.replace(delta, text=kept))
        elif held:
            del self._held[agent_id, stream]
        if safe:
            same = safe == delta.text
            yield Entry(agent_id, turn, delta if same else msgspec.structs.replace(delta, text=safe))

    def release_before(self, event: Event) -> Iterator[Entry]:
        """Yields what is held of a text: it goes out before the event that completes it."""
        if not self._held:
            return
        if event.type in _ENDS_OF_ALL:
            for agent_id, stream in [key for key in self._held if key[0] == event.agent_id]:
                yield from self._release(agent_id, stream)
        elif event.type == AssistantSaid.type:
            yield from self._release(event.agent_id)
        elif event.type == ToolEnd.type and isinstance(ended := view(event), ToolEnd):
            yield from self._release(event.agent_id, ended.id)

    def _release(self, agent_id: str | None, stream: str = "") -> Iterator[Entry]:
        if held := self._held.pop((agent_id, stream), None):
            yield held
