"""One line a request: when, which operation, of which session, with which status; nothing that it said."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from planck.records.ports import Clock

_LARGEST = 5 << 20
_SECONDS = 1.0
"""Lines are written together: one write for each request costs as much as the answer."""


class AccessLog:
    """A file for the user only; the one before it is kept, older ones are not."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._lines: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        if self._timer:
            self._timer.cancel()
        self._write()

    def note(self, what: str, status: int) -> None:
        """Ignores what ends after the log was closed: the folder may be another server's by then."""
        if self._closed:
            return
        self._lines.append(f"{self._clock.now()} {what} {status}\n")
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SECONDS, self._write)

    def _write(self) -> None:
        """A disk that is full costs lines, and no request."""
        self._timer = None
        lines, self._lines = self._lines, []
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            fd = os.open(self._path, flags, 0o600)
            try:
                os.write(fd, "".join(lines).encode())
                if os.fstat(fd).st_size > _LARGEST:
                    self._path.replace(self._path.with_suffix(".log.1"))
            finally:
                os.close(fd)
