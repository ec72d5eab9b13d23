"""Deltas without known keys: a key may come in pieces."""

from collections.abc import Callable

import msgspec

from planck.llm.redact import Redactor
from planck.records.events import Event, TextDelta, ThinkingDelta, ToolEnd, ToolProgress, View, view

Show = Callable[[str | None, int, View], None]
Piece = TextDelta | ThinkingDelta | ToolProgress
PIECES = TextDelta, ThinkingDelta, ToolProgress

_ENDS_OF_ALL = frozenset({"turn_end", "agent_ended"})


class Passing:
    """Holds back the end of a text while it may be the beginning of a key: less than the length of one.

    An agent has one answer at a time, of text or thinking, and an output for each call that runs.
    """

    def __init__(self, show: Show) -> None:
        self._show = show
        self._held: dict[tuple[str | None, str], tuple[int, Piece]] = {}

    def publish(self, agent_id: str | None, turn: int, delta: View, redactor: Redactor) -> None:
        if not isinstance(delta, PIECES):
            self._let_go(agent_id)
            self._show(agent_id, turn, delta)
            return
        stream = delta.id if isinstance(delta, ToolProgress) else ""
        held = self._held.get((agent_id, stream))
        if held and type(held[1]) is not type(delta):
            self._let_go(agent_id, stream)
            held = None
        shown, kept = redactor.split(held[1].text + delta.text if held else delta.text)
        if kept:
            self._held[agent_id, stream] = turn, msgspec.structs.replace(delta, text=kept)
        elif held:
            del self._held[agent_id, stream]
        if shown:
            self._show(
                agent_id, turn, delta if shown == delta.text else msgspec.structs.replace(delta, text=shown)
            )

    def before(self, event: Event) -> None:
        """What is held of a text goes out before the event that completes it."""
        if not self._held:
            return
        if event.type in _ENDS_OF_ALL:
            for agent_id, stream in [key for key in self._held if key[0] == event.agent_id]:
                self._let_go(agent_id, stream)
        elif event.type == "assistant_message":
            self._let_go(event.agent_id)
        elif event.type == ToolEnd.type and isinstance(ended := view(event), ToolEnd):
            self._let_go(event.agent_id, ended.id)

    def forget(self) -> None:
        """For when nobody watches: a later reader must not get the end of what it did not see."""
        self._held.clear()

    def _let_go(self, agent_id: str | None, stream: str = "") -> None:
        if held := self._held.pop((agent_id, stream), None):
            self._show(agent_id, *held)
