"""The sessions that this server has open: opened on demand, put to sleep when idle, never too many."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

from msgspec.structs import replace

from planck.api.errors import ApiError
from planck.api.live_session import LiveSession
from planck.api.rights import Role, check_mode, find_ceiling
from planck.api.shapes import Holder
from planck.api.tally import Tally
from planck.closing import close_all
from planck.headless import Archive, OpenSession, Planck, Pool, carry_over
from planck.records.authority import STRICTNESS, Mode
from planck.records.events import RequestKey
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import RunOptions

log: logging.Logger = logging.getLogger(__name__)
T = TypeVar("T")
_ID = re.compile(r"[0-9a-f]{16}")
"""An id that Planck made. It is not looked up as a name."""


class SessionCache:
    def __init__(self, planck: Planck | Pool, holder: Holder, *, limit: int, idle: float) -> None:
        """`limit`: open sessions at a time; `idle`: seconds after which one that nobody uses is closed."""
        self.planck = planck
        self.tally: Tally = Tally()
        self._holder = holder
        self._node = planck.me.name if isinstance(planck, Pool) else None
        self._limit = limit
        self._idle = idle
        self._live: dict[str, LiveSession] = {}
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Each as long as somebody holds it or waits for it."""
        self._coming = 0
        self._ended: set[str] = set()
        self._left: dict[str, int] = {}
        """Where the logs ended of what was open here: one that is longer was somebody else's since."""
        self.closed: bool = False
        self.changes: int = 0
        """Grows whenever a session is opened, closed or put to sleep here."""
        self._changed = asyncio.Event()

    @property
    def archive(self) -> Archive:
        return self.planck.archive

    @property
    def open_sessions(self) -> list[LiveSession]:
        return [*self._live.values()]

    @property
    def busy(self) -> list[str]:
        """The sessions that are being opened or closed."""
        coming = self.planck.coming if isinstance(self.planck, Pool) else ()
        return [*coming, *(id for id, lock in self._opening.items() if lock.locked())]

    def find(self, id: str) -> LiveSession | None:
        return self._live.get(id)

    async def find_id(self, id_or_name: str) -> str:
        """Returns the id of the newest session with that name in this workspace.

        An id, or text that names no session, is returned unchanged: its handler then reports `not_found`.
        """
        if id_or_name in self._live or _ID.fullmatch(id_or_name):
            return id_or_name
        try:
            info = await asyncio.to_thread(self.archive.info, id_or_name)
        except PlanckError as failure:
            if failure.err.kind in (ErrorKind.NOT_FOUND, ErrorKind.NOT_UNIQUE):
                return id_or_name
            raise  # it is there, and cannot be read now
        return info.id if info.name == id_or_name else id_or_name

    def has_ended(self, id: str) -> bool:
        """Whether somebody closed or deleted it: its streams are over, until it is opened again."""
        return id in self._ended

    async def check(self, id: str, role: Role) -> None:
        """Raises where a session is in a mode that the role may not use, or would be once it is opened.

        Nothing is awaited after the mode of one that is open was read: what follows at once acts on that.
        """
        if find_ceiling(role) is None:
            return
        if id not in self._live:
            for mode in await self._foresee_modes(id):
                check_mode(role, mode)
        if live := self._live.get(id):
            check_mode(role, live.session.mode)

    async def _foresee_modes(self, id: str) -> list[str]:
        """Returns the mode that the log ends with, and of a pool the one that this node would open it in."""
        modes: list[str] = []
        if isinstance(self.planck, Pool):
            if (row := await self.planck.find_row(id)) is None or not row.head:
                return [self.planck.foresee_mode(row)] if row else []
            modes.append(self.planck.foresee_mode(row))
        await asyncio.to_thread(self.archive.check_own, id)
        return [*modes, (await asyncio.to_thread(self.archive.info, id)).mode]

    async def start(self, role: Role, options: RunOptions, request: RequestKey | None = None) -> LiveSession:
        """Starts it for somebody with this role: never in a wider mode than the role may use."""
        async with self._taking_place():
            live = await self._keep(await self._start(options, request, find_ceiling(role)))
        self._ended.discard(live.session.id)  # a key names the session that it named before a delete
        return live

    async def _start(
        self, options: RunOptions, request: RequestKey | None, ceiling: Mode | None
    ) -> OpenSession:
        if isinstance(self.planck, Pool):  # the ceiling holds on whichever node opens the session later
            return await self.planck.start(options, request, ceiling)
        if ceiling:
            wanted = Mode(options.mode or self.planck.config.permissions.mode)
            options = replace(options, mode=min(wanted, ceiling, key=STRICTNESS.index))
        return await self.planck.start(settings=options, request=request)

    @asynccontextmanager
    async def using(self, id: str, role: Role) -> AsyncIterator[LiveSession]:
        """Gives the session, opened now if it has to be; it is not put to sleep meanwhile.

        Raises where the role may not use it. One that is at rest is not even opened then: that alone may
        let its agents go on.
        """
        await self.check(id, role)
        while (live := await self._open(id)).session.closed:
            pass  # closed between the two
        live.users += 1
        try:
            with live.lent(role):
                yield live
        finally:
            live.users -= 1
            live.used = asyncio.get_running_loop().time()

    async def _open(self, id: str) -> LiveSession:
        async with self._alone(id):
            if live := self._live.get(id):
                return live
            await asyncio.to_thread(self.archive.check_own, id)
            async with self._taking_place():
                live = await self._keep(await self._resume(id))
            self._ended.discard(id)
            return live

    async def _resume(self, id: str) -> OpenSession:
        """Opens it as it was left: a sleep must not widen what its agents may do, nor what they may spend."""
        if isinstance(self.planck, Pool):  # which looks at its own row too
            return await self.planck.resume(id)
        known = self._left.pop(id, None)
        configured = self.planck.config.permissions.mode
        return await self.planck.reopen(
            id, lambda left: carry_over(left, configured, ours=left.head == known, alone=False)
        )

    @asynccontextmanager
    async def _alone(self, id: str) -> AsyncIterator[None]:
        """One at a time opens or closes a session: its lock is free only when it is closed to the end."""
        lock = self._opening.setdefault(id, asyncio.Lock())
        async with lock:
            yield

    async def close(self, id: str, role: Role) -> None:
        """Closes it if it is open here; its streams end too, because a user said so."""
        try:
            async with self._alone(id):
                await self._end(id, role)
        finally:
            self.tell()

    async def delete(self, id: str, role: Role) -> None:
        """Closes it, and removes it for good; who comes second finds nothing any more."""
        async with self._alone(id):
            await self._end(id, role)
            await asyncio.to_thread(self.archive.delete, id)
        self.tell()

    async def rename(self, id: str, name: str, role: Role) -> None:
        async with self._alone(id):
            await self.check(id, role)
            if live := self._live.get(id):
                await live.session.rename(name)
            else:
                await asyncio.to_thread(self.archive.check_own, id)
                await self.archive.rename(id, name)

    async def check_free(self, id: str) -> None:
        """Raises where it is none of ours, or another process has it; what we do with it is over first."""
        async with self._alone(id):
            await self._check_free(id)

    async def _check_free(self, id: str) -> None:
        if id not in self._live:
            await asyncio.to_thread(self.archive.check_own, id)
            await asyncio.to_thread(self.archive.check_free, id)

    async def _end(self, id: str, role: Role) -> None:
        await self.check(id, role)
        await self._check_free(id)
        if live := self._live.get(id):  # opened for the pool meanwhile, perhaps
            check_mode(role, live.session.mode)
        self._ended.add(id)
        if live := self._live.pop(id, None):
            await self._close(live)

    async def keep(self, opening: Callable[[T], Awaitable[OpenSession]], what: T) -> LiveSession:
        """Keeps a session that somebody else opens, until `let_go`: it is not put to sleep meanwhile."""
        async with self._taking_place():
            live = await self._keep(await opening(what))
        live.users += 1
        self._ended.discard(live.session.id)
        return live

    async def let_go(self, live: LiveSession) -> None:
        """Closes what `keep` opened; its streams go on, with what the log gets elsewhere."""
        live.users -= 1
        id = live.session.id
        try:
            async with self._alone(id):
                if self._live.get(id) is live:
                    del self._live[id]
                await live.aclose()
        finally:
            self.tell()

    async def drop_lost(self, id: str) -> None:
        """Closes what another node has taken over: it can't be written here, and may come back."""
        async with self._alone(id):
            if (live := self._live.get(id)) and not live.users:
                del self._live[id]
                await self._close(live)
        self.tell()

    async def abandon(self) -> None:
        """Lets go of everything that is open: it is others' by now, and nothing can be written."""
        live, self._live = self.open_sessions, {}
        await asyncio.gather(*map(self._close, live), return_exceptions=True)
        self.tell()

    async def _close_idle(self, live: LiveSession) -> None:
        """Not if somebody has come meanwhile."""
        id = live.session.id
        async with self._alone(id):
            if self._live.get(id) is live and not (live.at_work or live.users):
                del self._live[id]
                await self._close(live)
        self.tell()

    async def _close(self, live: LiveSession) -> None:
        id = live.session.id
        # Each session of a pool has a Planck of its own.
        forget = [partial(self.planck.forget, id)] if isinstance(self.planck, Pool) else []
        await close_all(live.aclose, *forget)
        self._left[id] = live.board.seq

    def forget(self, id: str) -> None:
        """Somebody else deleted it: its streams are over."""
        self._ended.add(id)

    async def put_to_sleep(self) -> None:
        """Closes what nobody has used for a while; its file stays, and its streams go on."""
        now = asyncio.get_running_loop().time()
        for live in self._list_idle():
            if now - live.used >= self._idle:
                await self._close_idle(live)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(max(self._idle / 4, 0.05))
            try:
                await self.put_to_sleep()
            except PlanckError:
                log.exception("Could not close an idle session")

    async def aclose(self) -> None:
        """Takes no new work; every turn ends as interrupted."""
        self.closed = True
        live, self._live = self.open_sessions, {}
        ended = await asyncio.gather(*map(_stop, live), return_exceptions=True)
        self.tell()
        for failure in ended:  # one that fails leaves no other open
            if isinstance(failure, Exception):
                log.error("Could not close a session", exc_info=failure)

    def tell(self) -> None:
        """Wakes whoever waits for a session to be opened, closed, or to go on."""
        self.changes += 1
        told, self._changed = self._changed, asyncio.Event()
        told.set()

    async def wait_for_change(self, seen: int) -> None:
        """Returns once `changes` is another number than `seen`: at once, where it already is."""
        while self.changes == seen:
            await self._changed.wait()

    async def wait_until_closed(self) -> None:
        """Returns once the server stops, and its sessions are closed."""
        while not self.closed:
            await self.wait_for_change(self.changes)

    @asynccontextmanager
    async def _taking_place(self) -> AsyncIterator[None]:
        if self.closed:
            raise ApiError(503, ErrorKind.INTERRUPTED, "The server is shutting down. Start it again.")
        if len(self._live) + self._coming >= self._limit:
            idle = sorted(self._list_idle(), key=lambda live: live.used)
            if not idle:
                raise ApiError(
                    503,
                    ErrorKind.LIMIT_EXCEEDED,
                    f"{self._limit} sessions are running, which is the limit. Close one, or wait.",
                )
            await self._close_idle(idle[0])
        self._coming += 1
        try:
            yield
        finally:
            self._coming -= 1

    def _list_idle(self) -> list[LiveSession]:
        return [live for live in self._live.values() if not (live.at_work or live.users)]

    async def _keep(self, session: OpenSession) -> LiveSession:
        live = LiveSession(session, self._holder, self.tally, self.tell, self._node)
        try:
            await live.follow(self.archive)
            self._live[session.id] = live
        except BaseException:
            await live.aclose()
            raise
        finally:
            if isinstance(self.planck, Pool):
                self.planck.coming.discard(session.id)
        self.tell()
        return live


async def _stop(live: LiveSession) -> None:
    try:
        await live.session.stop()
    finally:
        await live.aclose()
