"""Deltas without known keys: a key may come in pieces."""

from collections.abc import Iterator, Sequence

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

    def redact(self, agent_id: str | None, turn: int, delta: View, redactor: Redactor) -> Sequence[Entry]:
        """Returns what may be shown by now: what was held first, then the delta as far as it is safe."""
        if not isinstance(delta, PIECES):
            return *self._release(agent_id), Entry(agent_id, turn, delta)
        stream = delta.id if isinstance(delta, ToolProgress) else ""
        held = self._held.get((agent_id, stream))
        if not held and not redactor.may_hold(delta.text):  # nearly always
            return (Entry(agent_id, turn, delta),)
        if isinstance(delta, BURSTS):
            return [entry for one in delta.deltas for entry in self.redact(agent_id, turn, one, redactor)]
        shown: list[Entry] = []
        if held and type(held.fact) is not type(delta):
            shown += self._release(agent_id, stream)
            held = None
        begun = held.fact.text if held and isinstance(held.fact, PIECES) else ""
        safe, kept = redactor.split(begun + delta.text)
        if kept:
            self._held[agent_id, stream] = Entry(agent_id, turn, msgspec.structs.replace(delta, text=kept))
        elif held:
            del self._held[agent_id, stream]
        if safe:
            same = safe == delta.text
            shown.append(Entry(agent_id, turn, delta if same else msgspec.structs.replace(delta, text=safe)))
        return shown

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

    def _release(self, agent_id: str | None, stream: str = "") -> Sequence[Entry]:
        held = self._held.pop((agent_id, stream), None)
        return (held,) if held else ()
