"""What a node's log says while its database is away: once that it is, once that it is back, never nothing."""

import asyncio
import logging
from typing import Any

import pytest

from planck.headless.pool.node import Node
from planck.store.roster import NodeRow
from tests.memory_roster import MemoryRoster
from tests.pool.test_simulation import TERMS, LoopClock
from tests.virtual_time import run_virtual


class AwayRoster(MemoryRoster):
    """Gives no answer for a while, as a link that is cut without a word."""

    away = False

    async def beat(self, *args: Any) -> Any:
        if self.away:
            raise TimeoutError
        return await super().beat(*args)

    async def claim(self, *args: Any, **more: Any) -> Any:
        if self.away:
            raise TimeoutError
        return await super().claim(*args, **more)


class NoWork:
    held: tuple[str, ...] = ()

    def begin(self, row: Any) -> None:
        raise AssertionError("there is none")

    def fence(self) -> None: ...

    async def abandon(self) -> None: ...

    async def settle(self) -> None: ...


def test_a_database_that_is_away_is_said_once_with_a_reason_and_when_it_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def play() -> None:
        roster = AwayRoster()
        me = NodeRow(name="north", instance="1", version="1", capacity=1)
        node = Node(roster, NoWork(), me, TERMS, LoopClock())
        running = asyncio.ensure_future(node.run())
        for away in (False, True, False):
            roster.away = away
            await asyncio.sleep(20)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    with caplog.at_level(logging.WARNING):
        run_virtual(play())
    said = sorted(record.getMessage() for record in caplog.records)
    assert said == [
        "Claiming sessions failed: no answer in time. Retrying.",
        "Heartbeat failed: no answer in time. Retrying.",
        "No heartbeat was confirmed for 20 s; the machine may have been suspended. "
        "This node stops working on its sessions and joins again.",
        'Recovered from "Claiming sessions failed" after 10 failed attempts.',
        'Recovered from "Heartbeat failed" after 15 failed attempts.',
    ]
