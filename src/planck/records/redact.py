"""Known key values, taken out of any text before it is stored or shown."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import AnyStr

from planck.records import codec
from planck.records.events import Cut

REDACTED = "[redacted]"
_SHORTEST = 8
"""A shorter value would blank out ordinary words, and is no key."""


def redact(text: str, secrets: Iterable[str]) -> str:
    for secret in _longest_first(secrets):
        text = text.replace(secret, REDACTED)
    return text


class Redactor:
    """The same for encoded JSON, for whole files and for text in pieces; made once for all the known keys.

    False where there is no key.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._known = tuple(_longest_first(secrets))
        self._bytes = tuple(secret.encode() for secret in self._known)
        forms = (form for secret in self._known for form in (secret.encode(), codec.encode(secret)[1:-1]))
        self._needles = tuple(dict.fromkeys(forms))
        self._whole = re.compile(b"|".join(re.escape(secret.encode()) for secret in self._known))
        starts = dict.fromkeys(map(_start, self._known))
        # Without a key, nothing does.
        self.may_hold: Callable[[str], re.Match[str] | None] = re.compile("|".join(starts) or r"(?!)").search
        """Finds the beginning of a key, whole or cut off by the end of the text; much of it is none."""

    def __bool__(self) -> bool:
        return bool(self._known)

    def __repr__(self) -> str:
        return f"Redactor({len(self._needles)} values)"

    def __call__(self, data: bytes) -> bytes:
        for needle in self._needles:
            if data.find(needle) >= 0:  # `in` takes it for a number first: 2,000 instructions more
                data = data.replace(needle, REDACTED.encode())
        return data

    def cut(self, data: bytes) -> tuple[bytes, tuple[Cut, ...]]:
        """The same data with a mark for each key; `filled` brings them back."""
        kept, cuts, end = bytearray(), [], 0
        for found in self._whole.finditer(data) if self._known else ():
            kept += data[end : found.start()]
            cuts.append(Cut(len(kept), _digest(found[0])))
            kept += REDACTED.encode()
            end = found.end()
        return bytes(kept + data[end:]) if cuts else data, tuple(cuts)

    def filled(self, data: bytes, cuts: Sequence[Cut]) -> bytes | None:
        """What `cut` was given, byte for byte; None where one of its keys is not known."""
        known = {_digest(secret.encode()): secret.encode() for secret in self._known}
        whole, end = bytearray(), 0
        for cut in cuts:
            if cut.key not in known:
                return None
            whole += data[end : cut.at] + known[cut.key]
            end = cut.at + len(REDACTED)
        return bytes(whole + data[end:])

    def split(self, text: str) -> tuple[str, str]:
        """What can be shown of a text that goes on, and its end that may be the beginning of a key."""
        if not self.may_hold(text):  # nearly every piece
            return text, ""
        return _split(text, self._known, REDACTED)

    def split_bytes(self, data: bytes) -> tuple[bytes, bytes]:
        """The same for what a program writes, whatever its encoding."""
        return _split(data, self._bytes, REDACTED.encode())


def _split(text: AnyStr, secrets: Sequence[AnyStr], mark: AnyStr) -> tuple[AnyStr, AnyStr]:
    shown = text[:0]
    while True:
        end = at = len(text)
        length = 0
        for secret in secrets:
            if 0 <= (found := text.find(secret)) < at:
                at, length = found, len(secret)
            end = min(end, _beginning(text, secret))
        if at >= end:  # a whole key inside what may become a longer one waits with it
            return shown + text[:end], text[end:]
        shown += text[:at] + mark
        text = text[at + length :]


def _digest(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()[:16]


def _start(secret: str) -> str:
    """The pattern of its first characters, whole or cut off by the end of a text."""
    first = secret[:_SHORTEST]
    cut = (re.escape(first[:length]) + r"\Z" for length in range(len(first) - 1, 0, -1))
    return "|".join((re.escape(first), *cut))


def _beginning(text: AnyStr, secret: AnyStr) -> int:
    """Where the end of the text begins that `secret` could go on from; its length where there is none."""
    at = text.find(secret[:1], max(0, len(text) - len(secret) + 1))
    while at >= 0 and not secret.startswith(text[at:]):
        at = text.find(secret[:1], at + 1)
    return at if at >= 0 else len(text)


def _longest_first(secrets: Iterable[str]) -> list[str]:
    """So that a key which holds another goes whole."""
    return sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True)
