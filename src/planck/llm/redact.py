"""Known key values, taken out of any text before it is stored or shown."""

from collections.abc import Iterable

from planck.records import codec

REDACTED = "[redacted]"
_SHORTEST = 8
"""A shorter value would blank out ordinary words, and is no key."""


def redact(text: str, secrets: Iterable[str]) -> str:
    for secret in _longest_first(secrets):
        text = text.replace(secret, REDACTED)
    return text


class Redactor:
    """The same for encoded JSON, as the log has it; made once for all the keys that are known."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = _longest_first(secrets)
        forms = (form for secret in known for form in (secret.encode(), codec.encode(secret)[1:-1]))
        self._needles = tuple(dict.fromkeys(forms))

    def __repr__(self) -> str:
        return f"Redactor({len(self._needles)} values)"

    def __call__(self, data: bytes) -> bytes:
        for needle in self._needles:
            if needle in data:
                data = data.replace(needle, REDACTED.encode())
        return data


def _longest_first(secrets: Iterable[str]) -> list[str]:
    """So that a key which holds another goes whole."""
    return sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True)
