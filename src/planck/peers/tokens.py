"""What the user signed in with at MCP servers: `mcp-auth.json` of the home, which only the user can read."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planck.config.keys.credentials import SIGN_INS
from planck.http.address import canonical
from planck.records import codec
from planck.workspace.paths.regular import read_regular

if TYPE_CHECKING:
    import httpx2

_MAX_BYTES = 1 << 20


class TokenFile:
    """The tokens of one server at one address; another address under the same name has none."""

    def __init__(self, home: Path, name: str, url: str) -> None:
        self.url = url
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

    def update(self, key: str, value: Any) -> None:
        self._write_all({**self._read_all(), self._key: {**self.read(), key: value}})

    def forget(self) -> bool:
        """Takes them out; False: there were none."""
        known = self._read_all()
        if known.pop(self._key, None) is None:
            return False
        self._write_all(known)
        return True

    def _read_all(self) -> dict[str, Any]:
        try:
            found = codec.decode(read_regular(self._file, _MAX_BYTES))
        except (OSError, codec.DecodeError):
            return {}
        return found if isinstance(found, dict) else {}

    def _write_all(self, known: dict[str, Any]) -> None:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._file.with_name(f".mcp-auth.{os.getpid()}")
        with suppress(FileNotFoundError):
            fresh.unlink()
        with open(fresh, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(codec.encode(known))
        os.replace(fresh, self._file)
