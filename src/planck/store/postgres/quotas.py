"""A day's quotas of all nodes of a database: each takes a slice, and holds requests against that.

What was taken counts as spent until it is given back: a node that dies takes its slice along, so that the sum
over all nodes never exceeds the quota.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from planck.records.amounts import count_micro
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import Clock, Quotas
from planck.store.postgres.blocking import BlockingDatabase
from planck.store.postgres.connection import Database
from planck.store.sqlite.quotas import Quota, refuse_quota

_SLICES = 20
"""A slice is this part of the quota, or what one request needs: 5 %."""

_ENTER = (
    "INSERT INTO quotas (scope, lim) VALUES ($1, $2) ON CONFLICT (scope) DO UPDATE SET lim = $2 "
    "WHERE quotas.lim <> $2"
)
_TAKE = """
WITH old AS (SELECT scope, lim, spent FROM quotas WHERE scope = $1 FOR UPDATE),
taken AS (
    SELECT scope, least(lim - spent, greatest($2::bigint, lim / $4)) AS amount FROM old
        WHERE lim - spent >= $2
), counted AS (
    UPDATE quotas q SET spent = q.spent + t.amount FROM taken t WHERE q.scope = t.scope
), noted AS (
    INSERT INTO slices (scope, node, "left") SELECT scope, $3, amount FROM taken
    ON CONFLICT (scope, node) DO UPDATE SET "left" = slices."left" + excluded."left"
)
SELECT old.spent, (SELECT amount FROM taken) AS amount FROM old
"""
_GIVE_BACK = (
    "WITH mine AS (DELETE FROM slices WHERE scope = $1 AND node = $3 RETURNING scope) "
    "UPDATE quotas q SET spent = greatest(0, q.spent - $2) FROM mine WHERE q.scope = mine.scope"
)


class PostgresQuotas:
    """`limits` are asked anew at each request, so that a change is seen. Any thread may hold and settle."""

    def __init__(
        self, find_url: Callable[[], str], limits: Callable[[], Mapping[str, Quota]], clock: Clock
    ) -> None:
        self._find_url = find_url
        self._node = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"
        self._limits = limits
        self._clock = clock
        self._database: BlockingDatabase | None = None
        self._left: dict[str, int] = {}
        """What is left of this node's slices, by scope; less than nothing where a request took more than it
        said."""
        self._busy = threading.Lock()
        self._opening = threading.Lock()
        self._taking = asyncio.Lock()

    def counts_usd(self, provider: str) -> bool:
        quota = self._limits().get(provider)
        return quota is not None and quota.usd_per_day is not None

    async def hold(self, provider: str, micro_usd: int, tokens: int) -> "SliceHold | Err | None":
        quota = self._limits().get(provider)
        if quota is None:
            return None
        day = self._clock.now()[:10]
        usd = None if quota.usd_per_day is None else count_micro(quota.usd_per_day)
        hold = SliceHold(self, {})
        try:
            for unit, limit, asked in (("usd", usd, micro_usd), ("tokens", quota.tokens_per_day, tokens)):
                if limit is None:
                    continue
                scope = f"{provider} {unit} {day}"
                while not self._set_aside(hold, scope, asked):
                    refusal = await self._refill(scope, provider, unit, limit, asked)
                    if refusal is not None:
                        hold.settle(0, 0)
                        return refusal
        except BaseException:  # cancelled: of what was set aside already nothing is spent
            hold.settle(0, 0)
            raise
        return hold

    def _set_aside(self, hold: "SliceHold", scope: str, asked: int) -> bool:
        """False where the slice has not so much."""
        with self._busy:
            if self._left.setdefault(scope, 0) < asked:
                return False
            self._left[scope] -= asked
            hold.held[scope] = asked
            return True

    async def _refill(self, scope: str, provider: str, unit: str, limit: int, asked: int) -> Err | None:
        """Takes a slice with room for what is asked; returns why not. No loop waits for the database."""
        try:
            line = await asyncio.to_thread(self._open_database)
            taking = line.begin(partial(self._take, scope=scope, limit=limit, asked=asked))
            waiting = asyncio.wrap_future(taking)
            waiting.add_done_callback(_hear)
            # To its end, also where whoever asked is gone: what was taken is there for the next.
            spent = await asyncio.shield(waiting)
        except PlanckError as failure:
            return Err(
                ErrorKind.READ_FAILED,
                f"Cannot enforce the quotas: {failure.err.message} "
                "To work without quotas, remove `quotas` from your config.json.",
            )
        if spent is None:
            return None
        return refuse_quota(provider, unit, limit, asked, spent - max(0, self._left[scope]), 0)

    def _open_database(self) -> BlockingDatabase:
        with self._opening:
            if self._database is None:
                self._database = BlockingDatabase(self._find_url())
            return self._database

    async def _take(self, database: Database, scope: str, limit: int, asked: int) -> int | None:
        """Returns what all have spent where nothing is left; on the line's own loop, one at a time."""
        async with self._taking:
            short = asked - self._left[scope]
            if short <= 0:
                return None  # another request has brought a slice meanwhile
            spent, amount = await _take(database, scope, limit, short, self._node)
            if amount is None:
                return spent
            with self._busy:
                self._left[scope] += amount
            return None

    def settle(self, held: Mapping[str, int], micro_usd: int, tokens: int) -> None:
        with self._busy:
            for scope, amount in held.items():
                spent = micro_usd if scope.rpartition(" ")[0].endswith(" usd") else tokens
                self._left[scope] = self._left.get(scope, 0) + amount - spent

    def close(self) -> None:
        """Gives back what was not used; where that can't be done it counts as spent."""
        with self._opening:
            line, self._database = self._database, None
        if line is None:
            return
        with self._busy:
            unused, self._left = self._left, {}
        try:
            for scope, left in [(scope, left) for scope, left in unused.items() if left]:
                line.run(partial(_give_back, scope=scope, left=left, node=self._node))
        except PlanckError:
            pass
        line.close()


class SliceHold:
    """What one request has set aside of its node's slices."""

    __slots__ = ("_quotas", "held")

    def __init__(self, quotas: PostgresQuotas, held: dict[str, int]) -> None:
        self._quotas = quotas
        self.held: dict[str, int] = held

    def settle(self, micro_usd: int, tokens: int) -> None:
        held, self.held = self.held, {}
        self._quotas.settle(held, micro_usd, tokens)


def _hear(waiting: "asyncio.Future[int | None]") -> None:
    """Nobody may wait for it any more: then nobody has to be told either."""
    if not waiting.cancelled():
        waiting.exception()


async def _take(database: Database, scope: str, limit: int, short: int, node: str) -> tuple[int, int | None]:
    await database.read(_ENTER, scope, limit)
    (row,) = await database.read(_TAKE, scope, short, node, _SLICES)
    return row["spent"], row["amount"]


async def _give_back(database: Database, scope: str, left: int, node: str) -> None:
    await database.read(_GIVE_BACK, scope, left, node)


if TYPE_CHECKING:
    _: type[Quotas] = PostgresQuotas
