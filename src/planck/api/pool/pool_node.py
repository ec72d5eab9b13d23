"""This server's place in a pool: its node, the sessions that it works on, and the way to the others."""

import asyncio
import hashlib
import logging
from contextlib import suppress

from planck.api.access import Access
from planck.api.app import Handler
from planck.api.operations import OPERATIONS
from planck.api.pool.forwarder import Forwarder
from planck.api.pool.node_worker import NodeWorker
from planck.api.session_cache import SessionCache
from planck.closing import close_all
from planck.headless import BootClock, Inbox, Node, Pool, Terms, ThreadWatchdog, TokenRow
from planck.records.outcome import PlanckError

log: logging.Logger = logging.getLogger(__name__)

_ASK_AGAIN = 0.2
"""Seconds between two questions for tokens: whoever guesses asks the database no more often."""


class PoolNode:
    def __init__(self, pool: Pool, cache: SessionCache, inbox: Inbox, access: Access, terms: Terms) -> None:
        self.pool = pool
        self._access = access
        self._terms = terms
        self._shift = NodeWorker(pool, cache, inbox)
        self._clock = BootClock()
        self._node = Node(pool.roster, self._shift, pool.me, terms, self._clock)
        pool.database.follow_lease(self._node.check_lease)
        self._elsewhere = Forwarder(pool, cache, access.token)
        self._tasks: list[asyncio.Future[None]] = []
        self._asked = 0.0
        self._learning: asyncio.Future[bool] | None = None
        self._telling: set[asyncio.Future[None]] = set()

    def wrap(self, handlers: dict[str, Handler]) -> dict[str, Handler]:
        """Returns the handlers, those of single sessions with a way to whichever node has one."""
        return {
            operation.name: self._elsewhere.wrap(operation, handlers[operation.name])
            for operation in OPERATIONS
        }

    async def begin(self) -> "asyncio.Future[None]":
        """Enters the node, and its token for the others; returns what ends only where it can't go on."""
        digest = hashlib.sha256(self._access.token.encode()).hexdigest()
        who = f"node {self.pool.me.name}"
        await self.pool.roster.add_token(TokenRow(digest=digest, who=who, role="admin"))
        for row in await self.pool.roster.tokens():
            if row.who == who and row.digest != digest:  # of a start that was killed
                await self.pool.roster.revoke_token(row.digest)
        await self.learn()
        self._node.watch(ThreadWatchdog(self._clock, self._node.check_lease))
        running = asyncio.ensure_future(self._node.run())
        self._tasks = [
            running,
            asyncio.ensure_future(self._keep_learning()),
            asyncio.ensure_future(self._keep_pace()),
            asyncio.ensure_future(self._shift.listen()),
            asyncio.ensure_future(self._drain()),
        ]
        for task in self._tasks[1:]:
            task.add_done_callback(_note_end)
        entered = asyncio.ensure_future(self._node.entered.wait())
        await asyncio.wait({running, entered}, return_when=asyncio.FIRST_COMPLETED)
        entered.cancel()
        return running

    async def learn(self) -> bool:
        """Asks for the tokens of the pool, with all who want to know at this moment; False: it can't.

        The question is sent after it was asked for: a token that was made a moment ago is good.
        """
        if self._learning is None:
            self._learning = asyncio.ensure_future(self._learn_soon())
        return await asyncio.shield(self._learning)

    async def _learn_soon(self) -> bool:
        try:
            await asyncio.sleep(max(0.0, self._asked + _ASK_AGAIN - self._clock.monotonic()))
        finally:
            self._learning = None  # whoever comes from here on wants a newer answer
        self._asked = self._clock.monotonic()
        try:
            rows = await self.pool.roster.tokens()
        except (PlanckError, OSError):
            return False
        self._access.admit_guests({bytes.fromhex(row.digest): row.role for row in rows})
        return True

    async def _keep_learning(self) -> None:
        """A token that was taken back is good for nothing soon."""
        while True:
            await asyncio.sleep(self._terms.beat_s)
            await self.learn()

    async def _keep_pace(self) -> None:
        """Looks for work when somebody hints at some, and for what all nodes may ask of the providers."""
        loop, paces, terms = asyncio.get_running_loop(), self.pool.shares.paces, self._terms
        heard = -terms.lease_s
        paces.on_limited = self._tell_limited
        while True:
            try:
                common = await self.pool.roster.read_common(terms.lease_s)
            except (PlanckError, OSError):
                await asyncio.sleep(terms.beat_s / 5)
                continue
            if common.nodes > 1 and loop.time() - heard > terms.fence_s:
                paces.not_before = loop.time() + terms.beat_s  # until then the others count without this one
            heard = loop.time()
            paces.nodes = max(1, common.nodes)
            for scope, seconds in common.cold.items():
                paces.back_off(scope, seconds)
            await self.pool.roster.wait(terms.beat_s)
            self._node.wake()
            await asyncio.sleep(min(_ASK_AGAIN, terms.beat_s / 5))  # of many hints one will do

    def _tell_limited(self, scope: str, seconds: float) -> None:
        task = asyncio.ensure_future(self._share_limit(scope, seconds))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _share_limit(self, scope: str, seconds: float) -> None:
        with suppress(PlanckError, OSError):  # the others are refused themselves then
            await self.pool.roster.back_off(scope, seconds)

    async def _drain(self) -> None:
        """Once the node is told to: lets what is here end, then hands the rest to others."""
        await self._node.drain()
        await self._shift.hand_over()

    async def stop(self) -> None:
        """Interrupts what runs and leaves it to the others; `leave` comes when nothing acts any more."""
        await self._end_tasks()
        await self._shift.hand_over()

    async def _end_tasks(self) -> None:
        tasks = [*self._tasks, *self._telling]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def leave(self) -> None:
        """From here on others may have all that was this node's."""
        await self._node.leave()

    async def aclose(self) -> None:
        # The tasks too, where nobody stopped it: a server that was cancelled leaves none.
        await close_all(self._end_tasks, self._revoke, self._elsewhere.aclose, self.pool.aclose)

    async def _revoke(self) -> None:
        digest = hashlib.sha256(self._access.token.encode()).hexdigest()
        with suppress(PlanckError, OSError, TimeoutError):
            async with asyncio.timeout(self._terms.beat_s):
                await self.pool.roster.revoke_token(digest)


def _note_end(task: "asyncio.Future[None]") -> None:
    """A node without one of its loops still works on what it has: whoever runs it must know."""
    if not task.cancelled() and (failure := task.exception()):
        log.error("A background task on this node failed. Restart the node.", exc_info=failure)
