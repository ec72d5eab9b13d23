"""A day's quotas of all nodes of a database: each takes a slice, and holds requests against that.

What was taken counts as spent until it is given back: a node that dies takes its slice along, so that the sum
over all nodes never exceeds the quota.
"""

import os
import socket
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from planck.records.amounts import count_micro
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import Clock, Quotas
from planck.store.postgres.connection import Database
from planck.store.postgres.line import Line
from planck.store.quotas import Quota, refuse_quota

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
        self._line: Line | None = None
        self._left: dict[str, int] = {}
        """What is left of this node's slices, by scope; less than nothing where a request took more than it
        said."""
        self._busy = threading.Lock()

    def counts_usd(self, provider: str) -> bool:
        quota = self._limits().get(provider)
        return quota is not None and quota.usd_per_day is not None

    def hold(self, provider: str, micro_usd: int, tokens: int) -> "SliceHold | Err | None":
        quota = self._limits().get(provider)
        if quota is None:
            return None
        day = self._clock.now()[:10]
        usd = None if quota.usd_per_day is None else count_micro(quota.usd_per_day)
        held: dict[str, int] = {}
        with self._busy:
            for unit, limit, asked in (("usd", usd, micro_usd), ("tokens", quota.tokens_per_day, tokens)):
                if limit is None:
                    continue
                scope = f"{provider} {unit} {day}"
                refusal = self._take(scope, provider, unit, limit, asked)
                if refusal is not None:
                    for taken, amount in held.items():
                        self._left[taken] += amount
                    return refusal
                self._left[scope] -= asked
                held[scope] = asked
        return SliceHold(self, held)

    def _take(self, scope: str, provider: str, unit: str, limit: int, asked: int) -> Err | None:
        """Sees to it that the slice has what is asked for; returns why not."""
        short = asked - self._left.setdefault(scope, 0)
        if short <= 0:
            return None
        try:
            if self._line is None:
                self._line = Line(self._find_url())
            spent, amount = self._line.run(
                partial(_take, scope=scope, limit=limit, short=short, node=self._node)
            )
        except PlanckError as failure:
            return Err(
                ErrorKind.READ_FAILED,
                f"the quotas of the store can't be kept: {failure.err.message}; try again, or take `quotas` "
                "out of your config.json",
            )
        if amount is None:
            return refuse_quota(provider, unit, limit, asked, spent - max(0, self._left[scope]), 0)
        self._left[scope] += amount
        return None

    def settle(self, held: Mapping[str, int], micro_usd: int, tokens: int) -> None:
        with self._busy:
            for scope, amount in held.items():
                spent = micro_usd if scope.rpartition(" ")[0].endswith(" usd") else tokens
                self._left[scope] += amount - spent

    def close(self) -> None:
        """Gives back what was not used; where that can't be done it counts as spent."""
        with self._busy:
            line, self._line = self._line, None
            if line is None:
                return
            try:
                for scope, left in self._left.items():
                    line.run(partial(_give_back, scope=scope, left=left, node=self._node))
            except PlanckError:
                pass
            self._left.clear()
            line.close()


class SliceHold:
    """What one request has set aside of its node's slices."""

    __slots__ = ("_held", "_quotas")

    def __init__(self, quotas: PostgresQuotas, held: Mapping[str, int]) -> None:
        self._quotas = quotas
        self._held = held

    def settle(self, micro_usd: int, tokens: int) -> None:
        held, self._held = self._held, {}
        self._quotas.settle(held, micro_usd, tokens)


async def _take(database: Database, scope: str, limit: int, short: int, node: str) -> tuple[int, int | None]:
    await database.read(_ENTER, scope, limit)
    (row,) = await database.read(_TAKE, scope, short, node, _SLICES)
    return row["spent"], row["amount"]


async def _give_back(database: Database, scope: str, left: int, node: str) -> None:
    await database.read(_GIVE_BACK, scope, left, node)


if TYPE_CHECKING:
    _: type[Quotas] = PostgresQuotas
