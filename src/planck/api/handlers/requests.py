"""Requests that a client may send again: what a key started is found by that key, also after a restart."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from weakref import WeakValueDictionary

import msgspec

from planck.api.errors import ApiError
from planck.api.exchange import Call
from planck.api.session_cache import SessionCache
from planck.headless import Pool, make_key, name_session
from planck.records.events import FileChanged, Forked, PermissionDecision, RequestKey, SessionStarted, view
from planck.records.outcome import ErrorKind, PlanckError

_LOOKED_AT = 100
"""Sessions, for a question that this start of the server does not know."""


class Request(msgspec.Struct, frozen=True):
    """One that makes a session."""

    id: str = ""
    """Of the session, where a key decides it."""
    recorded: RequestKey | None = None
    done: bool = False
    """Whether the session is there already."""


class Requests:
    def __init__(self, cache: SessionCache) -> None:
        self._cache = cache
        self._under_way: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def new_id(self) -> str:
        return os.urandom(16).hex()

    def read_key(self, call: Call, *asked: str) -> RequestKey | None:
        key = call.header("idempotency-key")
        return make_key(key, *asked, call.body) if key else None

    @asynccontextmanager
    async def once(self, call: Call, source: str = "") -> AsyncIterator[Request]:
        """Gives what the same request came to; one at a time for each key.

        The key names the session, so it is found without looking at any other.
        """
        recorded = self.read_key(call, source)
        if recorded is None:
            yield Request()
            return
        id = name_session(self._cache.planck.workspace, source, recorded.key)
        lock = self._under_way.setdefault(id, asyncio.Lock())
        async with lock:
            there = await self._is_there(id)
            first = await asyncio.to_thread(self._find_start, id) if there else None
            if there and (first is None or first.digest != recorded.digest):
                raise ApiError(
                    409,
                    ErrorKind.NOT_UNIQUE,
                    f"The key {recorded.key!r} was already used for a different request. Use a new key.",
                )
            yield Request(id, recorded, there)

    async def _is_there(self, id: str) -> bool:
        """Says whether the session of a key is there: nothing that has a log is ever cleared away for a key.

        What was cut short before anything was recorded is nobody's; in a pool its row is gone on with.
        """
        try:
            await asyncio.to_thread(self._cache.archive.check_own, id)
        except PlanckError:
            return False
        if isinstance(self._cache.planck, Pool) or self._cache.find(id):
            return True
        if await asyncio.to_thread(self._cache.archive.has_after, id, 0):
            return True
        await self._cache.delete(id, "admin")
        return False

    def _find_start(self, id: str) -> RequestKey | None:
        """Returns the request that made the session, as far as its log knows."""
        found = None
        with closing(self._cache.archive.recorded(id)) as events:
            for event in events:
                if event.type in (SessionStarted.type, Forked.type):
                    fact = view(event)
                    if isinstance(fact, SessionStarted | Forked):
                        found = fact.request or found
        return found

    @asynccontextmanager
    async def alone(self, session_id: str, request: RequestKey | None) -> AsyncIterator[None]:
        """Lets one request of a key act on a session at a time: the next finds what it came to."""
        if request is None:
            yield
            return
        async with self._under_way.setdefault(f"{session_id}/{request.key}", asyncio.Lock()):
            yield

    def find_decision(self, question_id: str) -> PermissionDecision | None:
        """Returns what was answered to a question of an earlier start; looks at the newest sessions' logs.

        Not in a pool, where the question is another node's as a rule, and the logs are far away.
        """
        if isinstance(self._cache.planck, Pool):
            return None
        for info in self._cache.archive.sessions(limit=_LOOKED_AT):
            with suppress(PlanckError), closing(self._cache.archive.recorded(info.id)) as events:
                for event in events:
                    if event.type == PermissionDecision.type:
                        fact = view(event)
                        if isinstance(fact, PermissionDecision) and fact.request_id == question_id:
                            return fact
        return None

    def find_undo(self, id: str, request: RequestKey) -> str:
        """Returns the call of an undo with that key, or nothing; reads the log, which few requests do."""
        with closing(self._cache.archive.recorded(id)) as events:
            for event in events:
                if event.type != FileChanged.type or not isinstance(fact := view(event), FileChanged):
                    continue
                if isinstance(fact.request, RequestKey) and fact.request.key == request.key:
                    if fact.request.digest != request.digest:
                        raise ApiError(
                            409,
                            ErrorKind.NOT_UNIQUE,
                            f"The key {request.key!r} was already used for a different undo. Use a new key.",
                        )
                    return fact.call_id
        return ""
