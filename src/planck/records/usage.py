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
