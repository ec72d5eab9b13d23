"""What is kept of a command's output: head and tail in fixed memory, the whole in a bounded file."""

import os
import re
from collections import deque
from pathlib import Path

from planck.records.ports import KnownKeys

KEEP_BYTES = 16_000
SPILL_BYTES = 8 << 20
"""Past this the file ends; the tail in memory still shows how the command ended."""


class OutputTail:
    """Takes chunks as they come; memory stays below twice `keep` whatever the command prints.

    Known keys are in none of it, also where one comes in two chunks or stands where the middle is left out.
    """

    def __init__(
        self,
        keep: int = KEEP_BYTES,
        spill: Path | None = None,
        *,
        spill_all: bool = False,
        keys: KnownKeys | None = None,
    ) -> None:
        self.total: int = 0
        self._newlines = 0
        self._open_line = False
        self._keys = keys
        self._held = b""
        self.spilled: Path | None = None
        """The file with the whole output; None while head and tail are all of it."""
        self._head_size = keep // 2
        self._tail_size = keep - self._head_size
        self._keep = keep
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_held = 0
        self._spill = spill
        self._spill_from = 0 if spill_all else keep
        self._file: int | None = None
        self._written = 0

    def add(self, chunk: bytes) -> None:
        if self._keys is not None:
            chunk, self._held = self._keys().split_bytes(self._held + chunk)
        self._take(chunk)

    @property
    def lines(self) -> int:
        """Of the whole output; the last one may be without its end."""
        return self._newlines + self._open_line

    def _take(self, chunk: bytes) -> None:
        self.total += len(chunk)
        if chunk:
            self._newlines += chunk.count(b"\n")
            self._open_line = chunk[-1:] != b"\n"
        if self.total > self._spill_from and self._spill is not None:
            self._write(chunk)
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._push(chunk[-self._tail_size :])

    def text(self) -> str:
        """At most `keep` bytes of output, cut only between characters, with the marker where it was cut."""
        tail = b"".join((*self._tail, self._held))[-self._tail_size :]
        if self.total + len(self._held) <= self._keep:
            return drop_controls((bytes(self._head) + tail).decode(errors="replace"))
        marker = f"…[truncated, showing up to {self._keep} of {self.total} bytes]"
        head_text = drop_controls(_whole_end(bytes(self._head)).decode(errors="replace"))
        tail_text = drop_controls(_whole_start(tail).decode(errors="replace"))
        return f"{head_text}\n{marker}\n{tail_text}"

    def close(self) -> None:
        held, self._held = self._held, b""  # the output ended: it was the beginning of no key
        if held:
            self._take(held)
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _push(self, chunk: bytes) -> None:
        self._tail.append(chunk)
        self._tail_held += len(chunk)
        while self._tail_held - len(self._tail[0]) >= self._tail_size:
            self._tail_held -= len(self._tail.popleft())
        if len(self._tail) > 512:  # many tiny writes: one object again
            whole = b"".join(self._tail)[-self._tail_size :]
            self._tail = deque([whole])
            self._tail_held = len(whole)

    def _write(self, chunk: bytes) -> None:
        if self._file is None:
            if self._spill is None or self.spilled is not None:
                return
            chunk = bytes(self._head) + b"".join(self._tail) + chunk
            self._file = _create(self._spill)
            if self._file is None:
                self._spill = None
                return
            self.spilled = self._spill
        chunk = chunk[: SPILL_BYTES - self._written]
        try:
            written = os.write(self._file, chunk) if chunk else 0
        except OSError:  # a full disk must not take the command's result along
            written = 0
        self._written += written
        if written < len(chunk) or self._written >= SPILL_BYTES:
            self.close()


# CSI, OSC/DCS/APC/PM/SOS strings (ended by BEL or ST), then two-byte escapes. No body holds a beginning,
# so that each character is read once.
_ESCAPES = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = {
    **{code: None for code in range(0x20) if chr(code) not in "\n\t"},
    **dict.fromkeys(range(127, 160)),
}


def drop_controls(text: str) -> str:
    """Removes what could steer a terminal; a carriage return ends a line."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(_ESCAPES, "", text).translate(_CONTROLS)


def _create(path: Path) -> int | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None


def _whole_end(data: bytes) -> bytes:
    """Without the first part of a character that the cut split."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if length > back else data
        if byte < 0x80:
            break
    return data


def _whole_start(data: bytes) -> bytes:
    for skip in range(min(4, len(data))):
        if data[skip] & 0xC0 != 0x80:
            return data[skip:]
    return data
