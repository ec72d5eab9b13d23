"""Requests that a client may send again: what was done for a key is done once, also after a restart."""

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from planck.records import codec
from planck.records.events import Envelope, Event, RequestKey, view
from planck.records.outcome import ErrorKind, PlanckError
from planck.session.bus import Reader
from planck.team.mail import Accepted

_KEY = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


class RequestError(PlanckError):
    """A key that can't be used, or that stands for another request already."""


def make_key(key: str, *asked: Any) -> RequestKey:
    """Returns the key of a request with the digest of what it asks for."""
    if not _KEY.fullmatch(key):
        raise RequestError(
            ErrorKind.INVALID_ARGS,
            f"{key[:140]!r} is not a valid key. Use 1 to 128 letters, digits and `_.:-`.",
        )
    return RequestKey(key, hashlib.sha256(codec.encode(asked)).hexdigest())


def name_session(workspace: Path, source: str, key: str) -> str:
    """Returns the id of the session that a key starts, or forks from `source`: it is found by it again."""
    whole = codec.encode([os.path.realpath(workspace), source, key])
    return hashlib.sha256(whole).hexdigest()[:16]


class Prompts:
    """The prompts of one session by their keys: a fold of its log, begun when the first key is used."""

    def __init__(self) -> None:
        self._done: dict[str, tuple[str, Accepted]] = {}
        self._ids: set[str] = set()
        """Of all messages: a key becomes one."""
        self._under_way: dict[str, asyncio.Future[None]] = {}

    def fold(self, events: Iterable[Event]) -> None:
        for event in events:
            self.push(event)

    def push(self, event: Event) -> None:
        if event.type != Envelope.type or not isinstance(fact := view(event), Envelope):
            return
        self._ids.add(fact.id)
        if isinstance(fact.request, RequestKey):
            accepted = Accepted(fact.id, event.seq or 0)
            self._done.setdefault(fact.request.key, (fact.request.digest, accepted))

    def end(self) -> None:
        """The session is closed: each waiting request finds that out for itself."""

    def find(self, request: RequestKey) -> Accepted | None:
        """Returns what was answered to it; None: it is new."""
        known = self._done.get(request.key)
        if known is None and request.key in self._ids:
            raise RequestError(
                ErrorKind.NOT_UNIQUE,
                f"The key {request.key!r} is already the id of a message in this session. Use a new key.",
            )
        if known is None:
            return None
        digest, accepted = known
        if digest != request.digest:
            raise RequestError(
                ErrorKind.NOT_UNIQUE, f"The key {request.key!r} belongs to another prompt. Use a new key."
            )
        return accepted

    @asynccontextmanager
    async def alone(self, request: RequestKey) -> AsyncIterator[Accepted | None]:
        """Gives the answer to the same request; None: do it now, for nobody else does meanwhile."""
        key = request.key
        while not (found := self.find(request)) and key in self._under_way:
            await asyncio.wait({self._under_way[key]})
        if found:
            yield found
            return
        over = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            yield None
        finally:
            del self._under_way[key]
            over.set_result(None)


_: type[Reader] = Prompts
