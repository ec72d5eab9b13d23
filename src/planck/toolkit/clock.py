"""The real clock, the real source of ids, and mail in its order."""

import asyncio
import os
import time
from collections.abc import Sequence
from typing import Any

from planck.records.events import Envelope, Kind
from planck.records.ports import Clock, Ids, Schedule


class SystemClock:
    def __init__(self) -> None:
        self._second = -1
        self._prefix = ""

    def now(self) -> str:
        seconds, ns = divmod(time.time_ns(), 1_000_000_000)
        if seconds != self._second:  # formatting costs more than all the rest of a delta
            self._second = seconds
            self._prefix = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        return f"{self._prefix}.{ns // 1_000_000:03d}Z"

    def monotonic(self) -> float:
        return time.monotonic()  # noqa: TID251 - the adapter behind the port

    async def within(self, future: asyncio.Future[Any], seconds: float, key: str) -> bool:
        """As `asyncio.wait` of one future, which every tool call passes: without the sets around it."""
        if future.done():
            return True
        loop = future.get_loop()
        waiter = loop.create_future()

        def wake(_: object = None) -> None:
            if not waiter.done():
                waiter.set_result(None)

        future.add_done_callback(wake)
        timer = loop.call_later(seconds, wake)
        try:
            await waiter
        finally:
            timer.cancel()
            future.remove_done_callback(wake)
        return future.done()


class BootClock(SystemClock):
    """Counts the time for which the machine was suspended, where the platform can tell."""

    def monotonic(self) -> float:
        if _BOOTTIME is None:
            return super().monotonic()
        return time.clock_gettime(_BOOTTIME)


_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)
"""Linux only. The monotonic clocks of Linux and, perhaps, macOS stand still during a suspend."""


class RandomIds:
    def new(self, cause: str = "") -> str:
        return os.urandom(8).hex()


class InOrder:
    """Each opens a turn of its own as it came; only responses, which steering is too, join one."""

    def choose_opening(self, ready: Sequence[Envelope]) -> Envelope | None:
        return ready[0] if ready else None

    def choose_joining(self, ready: Sequence[Envelope]) -> Sequence[Envelope]:
        return [envelope for envelope in ready if envelope.kind is Kind.RESPONSE]


_: tuple[type[Clock], type[Ids], type[Schedule]] = (SystemClock, RandomIds, InOrder)
