"""An event as the outside world sees it, and the lines of stream-json that are none."""

from collections.abc import Mapping
from typing import Any

import msgspec

from planck.records import codec
from planck.records.events import Event, View, frame
from planck.records.events import view as read_view
from planck.toolkit.clock import SystemClock


class SessionEvent(msgspec.Struct, eq=False, gc=False):
    """An event as the outside world sees it: attributes, or keys as in its JSON frame.

    Example:

        async for event in planck.stream("Say hello."):
            print(event.seq, event.type, event.data)
    """

    recorded: Event
    """The event itself, for what folds events: `records.board`."""
    session_id: str

    @property
    def seq(self) -> int | None:
        return self.recorded.seq

    @property
    def ts(self) -> str:
        return self.recorded.ts

    @property
    def agent_id(self) -> str | None:
        return self.recorded.agent_id

    @property
    def turn(self) -> int:
        return self.recorded.turn

    @property
    def type(self) -> str:
        return self.recorded.type

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = codec.decode(bytes(self.recorded.data))
        return data

    @property
    def view(self) -> View | None:
        """The event as an object of its class in `planck.records.events`; None for a type of a later version.

        if isinstance(event.view, ToolEnd): print(event.view.output)
        """
        return read_view(self.recorded)

    def frame(self) -> bytes:
        """The event's JSON, one line, without a newline."""
        return frame(self.recorded, self.session_id)

    def __getitem__(self, key: str) -> Any:
        if key not in ("seq", "ts", "session_id", "agent_id", "turn", "type", "data"):
            raise KeyError(key)
        return getattr(self, key)

    def __repr__(self) -> str:
        return f"SessionEvent({self.frame().decode()})"


def encode_frame(type: str, payload: msgspec.Struct | Mapping[str, Any], session_id: str) -> bytes:
    """Returns a line of stream-json that is not an event: `init` and `result`."""
    data = msgspec.Raw(codec.encode(payload))
    return frame(Event(None, SystemClock().now(), None, 0, type, data), session_id)
