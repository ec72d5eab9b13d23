from operator import add

import msgspec
from msgspec.structs import astuple


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one or more model calls; `input_tokens` excludes what the cache served or took."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*map(add, astuple(self), astuple(other)))

    @property
    def context_tokens(self) -> int:
        """How full the window was after the call."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens


class Tally:
    """What model calls used that no recorded answer stands for, until somebody takes it to record it."""

    __slots__ = ("_answered", "_cut", "_in_flight")

    def __init__(self) -> None:
        self._answered = self._cut = self._in_flight = _NOTHING

    def count(self, so_far: Usage) -> None:
        """The server has counted this much of the call in flight."""
        self._in_flight = so_far

    def cut(self) -> None:
        """The call in flight ended without an answer: what was counted of it is paid for."""
        if self._in_flight is not _NOTHING:
            self._cut += self._in_flight
            self._in_flight = _NOTHING

    def answer(self, usage: Usage) -> None:
        """It was answered; `usage` is what is still to be recorded of it."""
        self._answered += usage
        self._in_flight = _NOTHING

    def take(self) -> tuple[Usage, Usage]:
        """Returns what was answered and what was cut; from here on nothing was."""
        self.cut()
        taken = self._answered, self._cut
        self._answered = self._cut = _NOTHING
        return taken


_NOTHING = Usage()
