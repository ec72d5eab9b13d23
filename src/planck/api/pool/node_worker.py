"""The sessions that this node works on: each is seen to the end of its work, then let go."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from planck.api.live_session import LiveSession
from planck.api.rights import ROLES
from planck.api.session_cache import SessionCache
from planck.closing import close_all
from planck.headless import Command as PoolCommand
from planck.headless import Inbox, Outage, Pool, kill_children
from planck.headless import SessionRow as QueuedSession
from planck.records.events import ErrorEvent
from planck.records.outcome import Err, ErrorKind, PlanckError, name_exception

log: logging.Logger = logging.getLogger(__name__)

_HINTED = 2.0
"""Seconds between two looks for commands where nobody hints at one."""


class NodeWorker:
    def __init__(self, pool: Pool, cache: SessionCache, inbox: Inbox) -> None:
        self._pool = pool
        self._cache = cache
        self._inbox = inbox
        self._works: dict[str, asyncio.Task[None]] = {}
        self._rows: dict[str, QueuedSession] = {}
        self._obeyed: dict[tuple[str, str], bool] = {}
        """Commands that are being followed, or were (True) and may still be in the database: an interrupt
        counts once."""

    @property
    def held(self) -> Iterable[str]:
        return {*self._works, *self._cache.busy, *(live.session.id for live in self._cache.open_sessions)}

    def begin(self, row: QueuedSession) -> None:
        self._rows[row.id] = row
        self._works[row.id] = asyncio.ensure_future(self._run(row))

    async def _run(self, row: QueuedSession) -> None:
        try:
            await self._work(row)
        except Exception:  # this task's entry: it did what it could, and nobody waits for it
            log.exception("session %s could not be closed", row.id)
        finally:
            if self._rows.get(row.id) is row:
                del self._rows[row.id], self._works[row.id]

    def fence(self) -> None:
        self._pool.database.fence()
        kill_children()

    async def abandon(self) -> None:
        self._pool.keep_hold()
        works = [*self._works.values()]
        for task in works:
            task.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        await self._cache.abandon()

    async def settle(self) -> None:
        while self._works:
            await asyncio.wait({*self._works.values()})

    async def hand_over(self) -> None:
        """Interrupts what runs here; what is to go on after a loss goes on wherever there is room."""
        rows = dict(self._rows)
        for id, row in rows.items():
            live = self._cache.find(id)
            if live and live.at_work:  # else it is done, and about to be let go
                with suppress(PlanckError):
                    await live.session.stop()
                    await self._pool.pass_on(row)
        works = [*self._works.values()]
        for task in works:
            task.cancel()
        await asyncio.gather(*works, return_exceptions=True)

    async def _work(self, row: QueuedSession) -> None:
        try:
            live = await self._cache.keep(self._pool.open, row)
        except PlanckError as failure:
            await self._give_back(row, failure.err)
            return
        except Exception as failure:  # this task's entry: else it is taken, and fails, again and again
            log.exception("session %s", row.id)
            await self._give_back(row, Err(ErrorKind.INTERNAL_ERROR, name_exception(failure)))
            return
        try:
            await self._see_to_end(live, row)
        except PlanckError as failure:
            if failure.err.kind is not ErrorKind.WRITER_CONFLICT:  # then it is another node's by now
                log.exception("session %s", row.id)
        finally:
            await close_all(partial(self._cache.let_go, live), partial(self._pool.forget, row.id))

    async def _give_back(self, row: QueuedSession, err: Err) -> None:
        log.warning("Could not open session %s: %s", row.id, err)
        with suppress(PlanckError):
            await self._pool.give_back(row, err)

    async def _see_to_end(self, live: LiveSession, row: QueuedSession) -> None:
        session = live.session
        if row.attempts > 1 and row.head:
            if not await self._pool.tell_loss(session, row):
                return
            live.take_work(for_guest=True)  # the log does not say who asked for what goes on
        while True:
            await self._deliver(await self._pool.roster.commands([row.id]))
            await session.settled()
            await live.catch_up()
            await self._pool.put_on_record(session)
            await self._pool.roster.reset_attempts(row.id, row.epoch)
            if not await self._pool.roster.commands([row.id]):
                return

    async def listen(self) -> None:
        """Hands over what is left for the sessions that are here, as it comes."""
        silence = Outage(log, "Reading commands failed")
        while True:
            try:
                await self._pool.roster.wait(_HINTED)
                if held := [*self.held]:
                    await self._deliver_all(await self._pool.roster.commands(held))
            except PlanckError as problem:
                silence.note(problem)
                await asyncio.sleep(_HINTED)
            else:
                silence.end()

    async def _deliver_all(self, commands: list[PoolCommand]) -> None:
        """One session that is another node's by now keeps nothing from the others."""
        for id in dict.fromkeys(command.session for command in commands):
            try:
                await self._deliver(command for command in commands if command.session == id)
            except PlanckError as failure:
                if failure.err.kind is not ErrorKind.WRITER_CONFLICT:
                    raise

    async def _deliver(self, commands: Iterable[PoolCommand]) -> None:
        done = []
        for command in commands:
            key = command.session, command.id
            if (live := self._cache.find(command.session)) and key not in self._obeyed:
                self._obeyed[key] = False
                try:
                    await self._obey(live, command)
                except BaseException:
                    del self._obeyed[key]
                    raise
                self._obeyed[key] = True
            if self._obeyed.get(key):
                done.append(command)
        if done:
            await self._pool.roster.drop(done)
            for command in done:
                self._obeyed.pop((command.session, command.id), None)

    async def _obey(self, live: LiveSession, command: PoolCommand) -> None:
        """The mode may have changed since the command was left: what counts is the one that it meets here."""
        # The pool itself, and nodes of older versions, name no role.
        role = next((one for one in ROLES if one == command.by), ROLES[-1])
        try:
            with live.lent(role):
                await self._do(live, command)
        except PlanckError as refused:
            if refused.err.kind is ErrorKind.WRITER_CONFLICT:
                raise
            if refused.err.kind is ErrorKind.PERMISSION_DENIED:  # its sender is not connected any more
                await live.session.record(
                    ErrorEvent(kind=refused.err.kind, message=refused.err.message, details={})
                )
            log.warning("%s of %s: %s", command.kind, command.session, refused.err)

    async def _do(self, live: LiveSession, command: PoolCommand) -> None:
        data: dict[str, Any] = command.data
        match command.kind:
            case "prompt" | "steer":
                steer, agent = command.kind == "steer", data.get("agent", "")
                await live.session.prompt(data["text"], id=command.id, steer=steer, agent=agent)
                live.take_work(for_guest=command.by not in ("approve", "admin"))
            case "interrupt":
                live.session.interrupt(data.get("agent", ""))
            case "answer":
                self._inbox.answer(
                    data["id"],
                    data["digest"],
                    data["allow"],
                    data.get("scope", "once"),
                    data.get("reason", ""),
                )
            case "stop":
                await live.session.stop()
