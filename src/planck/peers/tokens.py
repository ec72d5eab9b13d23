"""What the user signed in with at MCP servers: `mcp-auth.json` of the home, which only the user can read."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from planck.config.keys.credentials import SIGN_INS, hold_keys, refuse_write
from planck.http.address import canonical
from planck.http.errors import AuthError
from planck.records import codec
from planck.records.outcome import ErrorKind
from planck.workspace.paths.regular import read_regular

if TYPE_CHECKING:
    import httpx2

_MAX_BYTES = 1 << 20


class OwnClient(msgspec.Struct, frozen=True):
    """What the user registered by hand at a server's authority, which registers nobody itself."""

    id: str
    secret: str
    issuer: str
    """The only authority that receives the secret; "" (any) if there is no secret."""

    def __repr__(self) -> str:
        return "OwnClient()"


class TokenFile:
    """The tokens of one server at one address; another address under the same name has none."""

    def __init__(self, home: Path, name: str, url: str, client: OwnClient | None = None) -> None:
        self.url = url
        self.client = client
        self._file = home / SIGN_INS
        self._key = codec.encode_str([name, canonical(url) or url])

    @property
    def known(self) -> bool:
        return "tokens" in self.read()

    def make_auth(self) -> "httpx2.Auth | None":
        """Returns what signs requests to the address; None: nobody signed in there."""
        if not self.known:
            return None
        from planck.peers.sign_in import make_auth  # loads the SDK, and is called when that is loaded

        return make_auth(self)

    def read(self) -> dict[str, Any]:
        entry = self._read_all().get(self._key)
        return entry if isinstance(entry, dict) else {}

    @property
    def scopes(self) -> str:
        """What the server asked for when a sign-in did not allow enough; the next one asks for it."""
        found = self.read().get("scopes")
        return found if isinstance(found, str) else ""

    def add_scopes(self, *scopes: str) -> None:
        """Keeps them beside those that were asked for before."""
        added = join_scopes(self.scopes, *scopes)
        if added != self.scopes:
            self.update("scopes", added)

    def update(self, key: str, value: Any) -> None:
        """Keeps one more thing; what others keep in the file stays, also against other processes."""
        with hold_keys(self._file):
            known = self._read_all(for_change=True)
            entry = known.get(self._key)
            known[self._key] = {**(entry if isinstance(entry, dict) else {}), key: value}
            self._write_all(known)

    def begin(self) -> "TokenDraft":
        """Returns what a new sign-in is kept in until it has succeeded; the tokens from before stay."""
        return TokenDraft(self._file, self._key, self.url, self.client, self.scopes)

    def forget(self) -> bool:
        """Takes them out; False: there were none."""
        if self._key not in self._read_all():
            return False
        with hold_keys(self._file):
            known = self._read_all(for_change=True)
            known.pop(self._key, None)
            self._write_all(known)
        return True

    def _read_all(self, *, for_change: bool = False) -> dict[str, Any]:
        """`for_change`: raises if the file cannot be read now, so that it is not replaced."""
        try:
            found = codec.decode(read_regular(self._file, _MAX_BYTES))
        except FileNotFoundError:
            return {}
        except codec.DecodeError:
            found = None
        except OSError as problem:
            if for_change:
                raise refuse_write(self._file, problem.strerror or str(problem)) from None
            return {}
        if for_change and not isinstance(found, dict):
            raise AuthError(
                ErrorKind.CORRUPT_AUTH,
                f"The file of sign-ins {str(self._file)!r} is damaged. "
                'Rename it and run "planck mcp login NAME" for each server.',
            )
        return found if isinstance(found, dict) else {}

    def _write_all(self, known: dict[str, Any]) -> None:
        fresh = self._file.with_name(f".mcp-auth.{os.getpid()}")
        try:
            with suppress(FileNotFoundError):
                fresh.unlink()
            with open(fresh, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(codec.encode(known))
                file.flush()
                os.fsync(file.fileno())  # else a power cut may leave the name with nothing behind it
            os.replace(fresh, self._file)
        except OSError as problem:
            raise refuse_write(self._file, problem.strerror or str(problem)) from None


class TokenDraft(TokenFile):
    """The same in memory, until `keep` replaces what is in the file in one step."""

    def __init__(self, file: Path, key: str, url: str, client: OwnClient | None, scopes: str) -> None:
        self.url = url
        self.client = client
        self._file = file
        self._key = key
        self._entry: dict[str, Any] = {"scopes": scopes} if scopes else {}

    def read(self) -> dict[str, Any]:
        return self._entry

    def update(self, key: str, value: Any) -> None:
        self._entry[key] = value

    def keep(self) -> None:
        with hold_keys(self._file):
            known = self._read_all(for_change=True)
            known[self._key] = self._entry
            self._write_all(known)


def join_scopes(*scopes: str | None) -> str:
    """Returns each scope once, in the order in which they came; what no scope may contain is left out."""
    words: Iterable[str] = " ".join(filter(None, scopes)).split(" ")
    found = dict.fromkeys(word for word in words if word and word.isascii() and word.isprintable())
    return " ".join(list(found)[:_MAX_SCOPES])


_MAX_SCOPES = 100


def find_origin(url: str) -> str:
    """Returns the scheme, host and port of an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
