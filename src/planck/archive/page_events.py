"""A log as an exported page shows it: without what nobody sees, what is hidden, and what is too much."""

from collections import deque
from collections.abc import Iterable
from functools import partial
from itertools import accumulate, takewhile
from typing import Any

import msgspec

from planck.archive.hiding import Hiding, decode_data, list_parts
from planck.records import codec
from planck.records.events import VIEWS, AssistantSaid, Event, list_types
from planck.records.redact import Redactor

_LEVELS = (4000, 400)
"""Characters of a text that are kept; the fewer where all events would not fit."""
_ENVELOPE = 100
"""Bytes of an event beside its data."""
_SKELETON = list_types("skeleton")
_UNSEEN = {type: view.unseen for type, view in VIEWS.items()}


class Chosen(msgspec.Struct, frozen=True):
    """The events of a page, each as JSON that can stand in a document."""

    events: tuple[bytes, ...]
    left_out: int
    """How many older ones are not there."""
    shortened: int
    """In how many of them a text was cut."""


def choose_events(events: Iterable[Event], hide: Hiding | None, redactor: Redactor, room: int) -> Chosen:
    """Keeps the newest that fit into `room` bytes, and the skeleton of the rest."""
    drawing = _Drawing(hide, redactor)
    bones, rest, total = _gather(events, drawing, room)
    room_left = room - sum(len(frame) + 2 for _, frame in bones)
    frames: list[Frame] = []
    for limit in _LEVELS:
        frames = [*map(partial(drawing.draw, limit=limit), rest)]
        if sum(len(frame) + 2 for _, frame in frames) <= room_left:
            break
    else:
        fitting = takewhile(
            lambda size: size <= room_left, accumulate(len(f) + 2 for _, f in reversed(frames))
        )
        frames = frames[len(frames) - sum(1 for _ in fitting) :]
    kept = sorted((*bones, *frames))
    shortened = sum(seq in drawing.cut for seq, _ in kept)
    return Chosen(tuple(frame for _, frame in kept), total - len(kept), shortened)


Frame = tuple[int, bytes]


def _gather(
    events: Iterable[Event], drawing: "_Drawing", room: int
) -> tuple[list[Frame], deque[Event | Frame], int]:
    """Returns the skeleton as frames, the newest of the rest that may fit, and how many there were in all.

    What can't fit is not even drawn, and what is kept is bounded, however long the log is.
    """
    bones: list[Frame] = []
    rest: deque[Event | Frame] = deque()
    sizes: deque[int] = deque()
    bones_size = size = total = 0
    for event in events:
        total += 1
        data_size = len(event.data)
        long = data_size > _LEVELS[0]
        one = drawing.draw(event, _LEVELS[0]) if long or event.type in _SKELETON else event
        if event.type in _SKELETON and isinstance(one, tuple) and bones_size + len(one[1]) <= room // 4:
            bones.append(one)
            bones_size += len(one[1]) + 2
            continue
        rest.append(one)
        sizes.append(_ENVELOPE + min(data_size, _LEVELS[-1]))
        size += sizes[-1]
        while size > room:
            rest.popleft()
            size -= sizes.popleft()
    return bones, rest, total


class _Drawing:
    """Makes frames of events."""

    def __init__(self, hide: Hiding | None, redactor: Redactor) -> None:
        self._hide = hide
        self._redactor = redactor
        self.cut: set[int] = set()
        """The events of which a text was shortened."""

    def draw(self, event: Event | Frame, limit: int) -> Frame:
        seq, frame = event if isinstance(event, tuple) else (event.seq or 0, self._draw_whole(event))
        if len(frame) <= limit:  # then no text in it is longer
            return seq, frame
        cutter = _Cutter(limit)
        value = cutter.cut(codec.decode(frame))
        if not cutter.cuts:
            return seq, frame
        self.cut.add(seq)
        return seq, escape(codec.encode(value))

    def _draw_whole(self, event: Event) -> bytes:
        data = self._redactor(bytes(event.data)) if self._redactor else bytes(event.data)
        unseen = _UNSEEN.get(event.type, ())
        if self._hide or unseen or b'"signature"' in data:
            value = decode_data(data)
            for name in unseen:
                value.pop(name, None)
            if event.type == AssistantSaid.type:
                _drop_signatures(value)
            data = codec.encode(self._hide(event.type, value) if self._hide else value)
        shown = Event(event.seq, event.ts, event.agent_id, event.turn, event.type, msgspec.Raw(data))
        return escape(codec.encode(shown))


class _Cutter:
    """Keeps the beginning and the end of a text that is too long, and says how much is between them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.cuts = 0

    def cut(self, value: Any) -> Any:
        match value:
            case str() if len(value) > self._limit + 100:  # what was cut already is not cut again
                self.cuts += 1
                half = self._limit // 2
                return f"{value[:half]}\n… {len(value) - 2 * half:,} characters omitted …\n{value[-half:]}"
            case dict():
                if "media_type" in value and isinstance(value.get("data"), str):
                    return {**value, "data": ""}  # a picture is not shown, and half of one is none
                return {key: self.cut(one) for key, one in value.items()}
            case list():
                return [self.cut(one) for one in value]
        return value


def escape(data: bytes) -> bytes:
    """JSON that can't end the element it stands in, nor be read otherwise by anything that reads scripts."""
    data = data.replace(b"<", b"\\u003c")
    return data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")


def _drop_signatures(data: dict[str, Any]) -> None:
    """Drops what is of no use to anybody but the model that made it."""
    for part in list_parts(data):
        if part.get("type") == "thinking":
            part.pop("signature", None)
            part.pop("data", None)
