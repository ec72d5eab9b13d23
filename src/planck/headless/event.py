"""An event as the outside world sees it, and the lines of stream-json that are none."""

from collections.abc import Mapping
from typing import Any

import msgspec

from planck.records import codec
from planck.records.events import Event, frame
from planck.toolkit.clock import SystemClock


class SessionEvent:
    """An event as the outside world sees it: attributes, or keys as in its JSON frame."""

    __slots__ = ("_event", "session_id")

    def __init__(self, event: Event, session_id: str) -> None:
        self._event = event
        self.session_id = session_id

    @property
    def seq(self) -> int | None:
        return self._event.seq

    @property
    def ts(self) -> str:
        return self._event.ts

    @property
    def agent_id(self) -> str | None:
        return self._event.agent_id

    @property
    def turn(self) -> int:
        return self._event.turn

    @property
    def type(self) -> str:
        return self._event.type

    @property
    def recorded(self) -> Event:
        """The event itself, for what folds events: `records.board`."""
        return self._event

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = codec.decode(bytes(self._event.data))
        return data

    def frame(self) -> bytes:
        """The event's JSON, one line, without a newline."""
        return frame(self._event, self.session_id)

    def __getitem__(self, key: str) -> Any:
        if key not in ("seq", "ts", "session_id", "agent_id", "turn", "type", "data"):
            raise KeyError(key)
        return getattr(self, key)

    def __repr__(self) -> str:
        return f"SessionEvent({self.frame().decode()})"


def encode_frame(type: str, payload: msgspec.Struct | Mapping[str, Any], session_id: str) -> bytes:
    """Returns a line of stream-json that is no event: `init` and `result`."""
    data = msgspec.Raw(codec.encode(payload))
    return frame(Event(None, SystemClock().now(), None, 0, type, data), session_id)
