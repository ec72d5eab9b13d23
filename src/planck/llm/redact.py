"""Known key values, taken out of any text before it is stored or shown."""

from collections.abc import Iterable

REDACTED = "[redacted]"
_SHORTEST = 6
"""A shorter value would blank out ordinary words, and is no key."""


def redact(text: str, secrets: Iterable[str]) -> str:
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST and secret in text:
            text = text.replace(secret, REDACTED)
    return text
