"""What the file tools share: who has seen which content, and where long outputs lie."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

MAX_FILE = 8 << 20
"""Bytes of a file that is written or edited as a whole."""

Place = str
"""`Root.place`: one name for all spellings of a file."""


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Seen:
    """What each agent last saw of each file, by digest; and a lock per file for read-compare-replace."""

    def __init__(self) -> None:
        self._digests: dict[tuple[str, Place], str] = {}
        self._locks: dict[Place, tuple[asyncio.Lock, int]] = {}

    def note(self, agent_id: str, place: Place, content_digest: str) -> None:
        self._digests[agent_id, place] = content_digest

    def last(self, agent_id: str, place: Place) -> str | None:
        return self._digests.get((agent_id, place))

    @asynccontextmanager
    async def alone(self, place: Place) -> AsyncIterator[None]:
        """No other call of this session changes the file meanwhile; waiters go in order of arrival."""
        lock, users = self._locks.get(place, (asyncio.Lock(), 0))
        self._locks[place] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[place]
            if users == 1:
                del self._locks[place]
            else:
                self._locks[place] = lock, users - 1


class Spills:
    """Whole outputs that were too long for the model, one file per call."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def file(self, call_id: str) -> Path | None:
        """None for an id that is no plain name: it can't have a file."""
        return self._folder / f"{call_id}.txt" if re.fullmatch(r"[\w.-]{1,128}", call_id) else None
