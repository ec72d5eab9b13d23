"""This server's place in a pool: its node, the sessions that it works on, and the way to the others."""

import asyncio
import hashlib
import logging
from contextlib import suppress

from planck.api.access import Access
from planck.api.app import Handler
from planck.api.keeper import Keeper
from planck.api.operations import OPERATIONS
from planck.api.pool import Elsewhere
from planck.api.shift import Shift
from planck.headless import Inbox, Node, Pool, SystemClock, Terms, ThreadWatchdog, TokenRow
from planck.records.outcome import PlanckError

log = logging.getLogger(__name__)

_ASK_AGAIN = 0.2
"""Seconds between two questions for tokens: whoever guesses asks the database no more often."""


class Station:
    def __init__(self, pool: Pool, keeper: Keeper, inbox: Inbox, access: Access, terms: Terms) -> None:
        self.pool = pool
        self._access = access
        self._terms = terms
        self._shift = Shift(pool, keeper, inbox)
        self._clock = SystemClock()
        self._node = Node(pool.roster, self._shift, pool.me, terms, self._clock)
        self._elsewhere = Elsewhere(pool, keeper, access.token)
        self._tasks: list[asyncio.Future[None]] = []
        self._asked = 0.0

    def wrap(self, handlers: dict[str, Handler]) -> dict[str, Handler]:
        """Returns the handlers, those of single sessions with a way to whichever node has one."""
        return {
            operation.name: self._elsewhere.wrap(operation, handlers[operation.name])
            for operation in OPERATIONS
        }

    async def begin(self) -> "asyncio.Future[None]":
        """Enters the node, and its token for the others; returns what ends only where it can't go on."""
        digest = hashlib.sha256(self._access.token.encode()).hexdigest()
        await self.pool.roster.add_token(
            TokenRow(digest=digest, who=f"node {self.pool.me.name}", role="admin")
        )
        await self.learn()
        self._node.watch(ThreadWatchdog(self._clock, self._node.fence))
        running = asyncio.ensure_future(self._node.run())
        self._tasks = [
            running,
            asyncio.ensure_future(self._keep_learning()),
            asyncio.ensure_future(self._shift.listen()),
            asyncio.ensure_future(self._drain()),
        ]
        entered = asyncio.ensure_future(self._node.entered.wait())
        await asyncio.wait({running, entered}, return_when=asyncio.FIRST_COMPLETED)
        entered.cancel()
        return running

    async def learn(self) -> bool:
        """Asks for the tokens of the pool; False: it did so a moment ago, or can't."""
        now = self._clock.monotonic()
        if now - self._asked < _ASK_AGAIN:
            return False
        self._asked = now
        try:
            rows = await self.pool.roster.tokens()
        except (PlanckError, OSError):
            return False
        self._access.guests = {bytes.fromhex(row.digest): row.role for row in rows}
        return True

    async def _keep_learning(self) -> None:
        """A token that was taken back is good for nothing soon."""
        while True:
            await asyncio.sleep(self._terms.beat_s)
            await self.learn()

    async def _drain(self) -> None:
        """Once the node is told to: lets what is here end, then hands the rest to others."""
        await self._node.drain()
        await self._shift.hand_over()

    async def stop(self) -> None:
        """Interrupts what runs, leaves it to the others, and leaves the roster."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._shift.hand_over()
        await self._node.leave()

    async def aclose(self) -> None:
        digest = hashlib.sha256(self._access.token.encode()).hexdigest()
        with suppress(PlanckError, OSError, TimeoutError):
            async with asyncio.timeout(self._terms.beat_s):
                await self.pool.roster.revoke_token(digest)
        await self._elsewhere.aclose()
        await self.pool.aclose()
