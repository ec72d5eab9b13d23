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
        return bool((await asyncio.wait({future}, timeout=seconds))[0])


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
