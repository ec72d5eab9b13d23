"""The real clock and the real source of ids."""

import os
import time

from planck.records.ports import Clock, Ids


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


class RandomIds:
    def new(self) -> str:
        return os.urandom(8).hex()


_: tuple[type[Clock], type[Ids]] = (SystemClock, RandomIds)
