"""What fails again and again while a database is away: said when it begins and when it is over."""

import logging

from planck.records.outcome import say_exception


class Outage:
    def __init__(self, log: logging.Logger, what: str) -> None:
        """`what` says what does not work: `Heartbeat failed`."""
        self._log = log
        self._what = what
        self._failures = 0

    def note(self, problem: BaseException) -> None:
        if not self._failures:
            why = say_exception(problem).rstrip(".")
            self._log.warning("%s: %s. Retrying.", self._what, why)
        self._failures += 1

    def end(self) -> None:
        """It works; says so where it did not."""
        if self._failures:
            tries = "attempt" if self._failures == 1 else "attempts"
            self._log.warning('Recovered from "%s" after %d failed %s.', self._what, self._failures, tries)
        self._failures = 0
