"""Reading what a project or a user wrote for agents: capped, and with nothing hidden in it."""

import os

from planck.records.visible import spell_out

MAX_BYTES = 64 * 1024


def read_text(fd: int, limit: int) -> str:
    """Returns the text behind a descriptor up to the limit, with a line that says so where there is more."""
    size = os.fstat(fd).st_size
    data = bytearray()
    while len(data) <= limit and (chunk := os.read(fd, limit + 1 - len(data))):
        data += chunk
    if len(data) <= limit:
        return spell_out(data.decode("utf-8", "replace"))
    text = spell_out(bytes(data[:limit]).decode("utf-8", "ignore"))
    return f"{text}\n…[truncated, showing up to {limit} of {max(size, len(data))} bytes]"
