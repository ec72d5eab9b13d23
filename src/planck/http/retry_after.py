"""How long a server asks us to wait, in each spelling that vendors use."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, never negative; None where nothing usable is said.

    Points in time are read against the answer's own `Date`, so no clock of ours, right or wrong, takes part.
    """
    date = _moment(headers.get("date", ""))
    for name, value in _candidates(headers):
        seconds = _milliseconds(value) if name.endswith("-ms") else _seconds(value, date)
        if seconds is not None:
            return max(seconds, 0.0)
    return None


_SAID_NOW = ("retry-after-ms", "x-ms-retry-after-ms", "retry-after")
# Compiled when a server asks for a pause.
_RESETS = r"^(x-)?ratelimit-reset(-requests|-tokens|-after)?$|^anthropic-ratelimit-.*-reset$"
_DURATION = r"(\d+(?:\.\d+)?)(ms|h|m|s)"
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_EPOCH = 1e9
"""A bare number above it is a Unix time, in seconds or (above `_EPOCH_MS`) in milliseconds."""
_EPOCH_MS = 1e11


def _candidates(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    said = [(name, headers[name]) for name in _SAID_NOW if name in headers]
    return said + [(name, value) for name, value in headers.items() if re.match(_RESETS, name)]


def _milliseconds(value: str) -> float | None:
    number = _number(value)
    return None if number is None else number / 1000


def _seconds(value: str, date: float | None) -> float | None:
    number = _number(value)
    if number is not None:
        if number <= _EPOCH:
            return number
        at: float | None = number / 1000 if number > _EPOCH_MS else number
    else:
        units = re.findall(_DURATION, value)
        if units and re.sub(_DURATION, "", value).strip() == "":
            return sum(float(amount) * _UNITS[unit] for amount, unit in units)
        at = _moment(value)
    return None if at is None or date is None else at - date


def _number(value: str) -> float | None:
    try:
        number = float(value.strip())
    except ValueError:
        return None
    return number if isfinite(number) else None


def _moment(value: str) -> float | None:
    """A Unix time from an HTTP date or RFC 3339."""
    if not value:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        from email.utils import parsedate_to_datetime

        try:
            at = parsedate_to_datetime(value)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
    try:
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (OverflowError, ValueError):
        return None
