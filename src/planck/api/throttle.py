"""Requests a second, for all clients together."""

from collections.abc import Callable

from planck.api.errors import ApiError
from planck.records.outcome import ErrorKind


class Throttle:
    """A bucket that fills at a rate and holds two seconds of it."""

    def __init__(self, rate: int, now: Callable[[], float]) -> None:
        self._rate = rate
        self._now = now
        self._left = float(2 * rate)
        self._seen = now()

    def spend(self) -> None:
        now = self._now()
        self._left = min(2.0 * self._rate, self._left + (now - self._seen) * self._rate)
        self._seen = now
        if self._left < 1:
            raise ApiError(
                429,
                ErrorKind.LIMIT_EXCEEDED,
                f"More than {self._rate} requests per second. Slow down and try again.",
            )
        self._left -= 1
