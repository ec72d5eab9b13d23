"""What a person at the screen does, as whoever listens is told of it."""

from typing import NamedTuple


class Submitted(NamedTuple):
    text: str
    queue: bool = False
    """For when the turn has ended; otherwise it joins the one that runs."""


class Pressed(NamedTuple):
    action: str
    """Of `ACTIONS`, or `rewind` (Esc twice), `stop` (Ctrl+C), `quit` (Ctrl+C twice), `queued` (Up),
    `leave` (Ctrl+D twice)."""


class Closed(NamedTuple):
    """The terminal is gone, or its input has ended."""


Input = Submitted | Pressed | Closed
