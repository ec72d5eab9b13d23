import msgspec


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one or more model calls; `input_tokens` excludes what the cache served or took."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )

    @property
    def context_tokens(self) -> int:
        """How full the window was after the call."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens + self.output_tokens
