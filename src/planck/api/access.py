"""Who may speak to the server: one token for each start, and cookies that its own page gets for a code."""

import asyncio
import hashlib
import hmac
import os
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from planck.api.rights import ROLES, Role

CODE_SECONDS = 60.0
COOKIE_SECONDS = 12 * 3600
_COOKIES = 64
"""One more sends the oldest away."""

Way = Literal["token", "cookie"]


class Caller(NamedTuple):
    """Somebody who may speak to the server."""

    way: Way
    role: Role
    """A cookie has every role: its code was given to the person who started the server."""


class Access:
    """The secrets of one start: they end with it. Only digests of cookies and codes are kept."""

    def __init__(self, token: str, port: int, now: Callable[[], float]) -> None:
        """`now` counts seconds, as the loop does."""
        self.token = token
        self.port = port
        self.cookie_name: str = f"planck_{port}"
        self._token = token.encode()
        self._now = now
        self._guests: Mapping[bytes, Role] = {}
        """By the digest of a token: the role of somebody whom the pool of servers knows."""
        self._changed = asyncio.Event()
        self._codes: dict[bytes, float] = {}
        self._cookies: dict[bytes, float] = {}

    def find_role(self, sent: list[bytes]) -> Role | None:
        """Returns what the token may do; None: it is none of ours.

        Takes every `Authorization` header of a request: exactly one, and a right one.
        """
        if len(sent) != 1:
            return None
        scheme, _, given = sent[0].partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        given = given.lstrip(b" ")
        if hmac.compare_digest(given, self._token):
            return ROLES[-1]
        return self._guests.get(_digest(given.decode("latin-1")))

    def admit_guests(self, guests: Mapping[bytes, Role]) -> None:
        """Takes the tokens of the pool, in place of those that were known."""
        if guests != self._guests:
            self._guests = guests
            self._tell()

    async def wait_for_change(self) -> None:
        """Returns when a token or a cookie may have ended, so that open streams are checked again."""
        now = self._now()
        self._cookies = {key: until for key, until in self._cookies.items() if until > now}
        soonest = min(self._cookies.values(), default=None)
        try:
            async with asyncio.timeout(None if soonest is None else soonest - now):
                await self._changed.wait()
        except TimeoutError:
            pass

    def _tell(self) -> None:
        told, self._changed = self._changed, asyncio.Event()
        told.set()

    def make_code(self) -> str:
        code = os.urandom(16).hex()
        self._codes[_digest(code)] = self._now() + CODE_SECONDS
        return code

    def redeem(self, code: str) -> str | None:
        """Returns the key for a cookie; a code is good once, for a minute."""
        until = self._codes.pop(_digest(code), 0.0)
        if until < self._now():
            return None
        while len(self._cookies) >= _COOKIES:
            del self._cookies[next(iter(self._cookies))]
            self._tell()
        key = os.urandom(32).hex()
        self._cookies[_digest(key)] = self._now() + COOKIE_SECONDS
        return key

    def has_cookie(self, headers: list[bytes]) -> bool:
        return any(self._cookies.get(_digest(key), 0.0) > self._now() for key in self.find_keys(headers))

    def revoke(self, headers: list[bytes]) -> None:
        """Ends the cookies that were sent; all of them where none was: then the token's owner asks."""
        keys = self.find_keys(headers)
        for key in keys:
            self._cookies.pop(_digest(key), None)
        if not keys:
            self._cookies.clear()
        self._tell()

    def find_keys(self, headers: list[bytes]) -> list[str]:
        """Returns each value of our cookie; of other servers on this host there may be others."""
        found = []
        for header in headers:
            for pair in header.decode("latin-1").split(";"):
                name, _, value = pair.strip().partition("=")
                if name == self.cookie_name:
                    found.append(value)
        return found


def _digest(secret: str) -> bytes:
    """A lookup by digest takes the same time whatever the secret begins with."""
    return hashlib.sha256(secret.encode(errors="replace")).digest()
