"""Keys: the environment first, then the credential file, which only its owner can read.

`<home>/credentials.json` is written whole or not at all, with mode 0600, and holds an API key or an OAuth
token for each provider. Nothing here is ever logged, and no error shows a key.
"""

import asyncio
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from planck.config.schema import KEYLESS, Config, ProviderEntry
from planck.http.errors import AuthError
from planck.http.transport import Transport
from planck.llm.endpoint import Endpoint
from planck.llm.provider import ProviderError
from planck.records import codec
from planck.records.outcome import ErrorKind
from planck.records.ports import Clock, add_seconds
from planck.records.redact import Redactor
from planck.workspace.paths.paths import Root, WorkspaceError, stamp_file
from planck.workspace.paths.regular import read_regular

if TYPE_CHECKING:
    from planck.llm.oauth import Client, Grant

FILE = "credentials.json"
SIGN_INS = "mcp-auth.json"
"""Beside it: what the user signed in with at MCP servers, written by `peers/tokens`."""
_OF_SIGN_INS = frozenset(
    {"access_token", "refresh_token", "id_token", "client_secret", "registration_access_token"}
)
_VARIABLES = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
}
SECRETIVE = ("key", "token", "secret", "passw", "pwd", "auth", "credential", "cookie", "signature")
"""What names of secrets have in them."""
_MAX_BYTES = 1 << 20
_EARLY = 60.0
"""Seconds before its end at which a token is renewed: a request must not outlive it on the way."""


class Saved(msgspec.Struct, frozen=True, omit_defaults=True):
    """One provider's entry in the file: an API key, or a token with what renews it."""

    key: str = ""
    access_token: str = ""
    refresh_token: str = ""
    expires: str = ""
    """UTC, as a `Clock` tells it; empty: never."""
    account_id: str = ""

    def __repr__(self) -> str:
        return "Saved()"


class CredentialFile:
    def __init__(self, home: Path) -> None:
        self.path: Path = home / FILE
        self._places = str(self.path), str(home / SIGN_INS)

    def read(self) -> dict[str, Saved]:
        """Every saved entry; none where there is no file."""
        try:
            content = self.path.read_bytes()
            if self.path.stat().st_mode & 0o077:  # copied or restored by a tool that lost its mode
                self.path.chmod(0o600)
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise AuthError(
                ErrorKind.AUTH_READ_FAILED,
                f"Cannot read {str(self.path)!r}: {problem.strerror}. Check its owner and permissions.",
            ) from None
        try:
            return codec.decode_as(content, _File).providers
        except codec.DecodeError:
            raise AuthError(
                ErrorKind.CORRUPT_AUTH,
                f"The credential file {str(self.path)!r} is damaged. "
                'Rename it and run "planck auth login PROVIDER" again.',
            ) from None

    def identity(self) -> object:
        """What is another after each change of the files; asked before every word that is written down."""
        own, sign_ins = self._places  # of a `Path` it takes three times as long
        if not os.access(own, os.F_OK) and not os.access(sign_ins, os.F_OK):  # most users have neither
            return None
        return stamp_file(own), stamp_file(sign_ins)

    def find_sign_ins(self) -> Iterator[str]:
        """Yields what is secret of the sign-ins at MCP servers."""
        try:
            found = codec.decode(read_regular(self._places[1], _MAX_BYTES))
        except (OSError, codec.DecodeError):
            return
        waiting = [found]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                yield from (value[name] for name in _OF_SIGN_INS if isinstance(value.get(name), str))
                waiting += value.values()

    def put(self, provider: str, saved: Saved | None) -> None:
        """Save an entry, or with None forget it; the others stay, also against other processes."""
        with hold_keys(self.path):
            entries = self.read()
            entries.pop(provider, None)
            if saved is not None:
                entries[provider] = saved
            self._write(codec.encode({"version": 1, "providers": entries}))

    def _write(self, content: bytes) -> None:
        try:
            with Root(self.path.parent, protected=False).writing(FILE) as slot:
                slot.read(_MAX_BYTES)
                slot.replace(content, 0o600)
        except WorkspaceError as refusal:
            raise self._unwritable(refusal.err.message.rstrip(".")) from None
        except OSError as problem:
            raise self._unwritable(problem.strerror or str(problem)) from None

    def _unwritable(self, why: str) -> AuthError:
        return refuse_write(self.path, why)


@contextmanager
def hold_keys(file: Path) -> Iterator[None]:
    """As `hold_lock`, of a file of keys; makes its folder, and raises where that can't be made."""
    from planck.config.files import hold_lock  # only for a change

    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise refuse_write(file, problem.strerror or str(problem)) from None
    with hold_lock(file):
        yield


def refuse_write(file: Path, why: str) -> AuthError:
    return AuthError(
        ErrorKind.AUTH_WRITE_FAILED,
        f"Cannot write {str(file)!r}: {why}. Check the owner and permissions of its folder.",
    )


class _File(msgspec.Struct, frozen=True):
    providers: dict[str, Saved]
    version: int = 1


def key_variables(entry: ProviderEntry) -> tuple[str, ...]:
    """The names under which the environment may hold this provider's key."""
    if entry.withhold_key or (entry.type in KEYLESS and not entry.identifier):
        return ()
    return (f"{entry.identifier.upper()}_API_KEY",) if entry.identifier else _VARIABLES.get(entry.type, ())


class Keyring:
    """The keys of one runtime: asked for at every request, renewed by one for all."""

    def __init__(self, file: CredentialFile, environ: Mapping[str, str], clock: Clock) -> None:
        self.file = file
        self._environ = environ
        self._clock = clock
        self.renewing: defaultdict[str, asyncio.Lock] = defaultdict[str, asyncio.Lock](asyncio.Lock)
        self._secrets: set[str] = set()
        self._redactor: Redactor | None = None
        self._seen: object = None

    def redactor(self) -> Redactor:
        """Of every key that is known by now; the file is read again once another process has written it."""
        seen = self.file.identity()
        if self._redactor is None or seen != self._seen:
            self._seen = seen
            self._secrets.update(self._stored_secrets())  # what was a key once is never written down
            self._redactor = Redactor(self._secrets)
        return self._redactor

    def _stored_secrets(self) -> Iterator[str]:
        for name, value in self._environ.items():
            if name.endswith("_API_KEY"):
                yield value
        yield from self.file.find_sign_ins()
        try:
            entries = self.file.read().values()
        except AuthError:  # told to whoever needs the file; the log can do without
            return
        for saved in entries:
            yield from (saved.key, saved.access_token, saved.refresh_token)

    def learn(self, *secrets: str) -> None:
        if not self._secrets.issuperset(secrets):
            self._secrets.update(secrets)
            self._redactor = None

    def source(self, name: str, entry: ProviderEntry) -> str:
        """Where the key comes from: the variable's name, `file`, `sign-in`, or nothing."""
        if variable := self._find_variable(entry):
            return variable
        saved = self._find_saved(name, entry)
        return ("sign-in" if saved.access_token else "file") if saved else ""

    def _find_variable(self, entry: ProviderEntry) -> str:
        return next((name for name in key_variables(entry) if self._environ.get(name)), "")

    def _find_saved(self, name: str, entry: ProviderEntry) -> Saved | None:
        """What the file has for a provider that may have it: not for an address from a project's file."""
        if entry.withhold_key or (entry.type in KEYLESS and not entry.identifier and not entry.oauth):
            return None
        return self.file.read().get(name)

    def endpoint(self, name: str, entry: ProviderEntry, base_url: str) -> tuple[Endpoint, Saved | None]:
        key, headers, saved = "", dict(entry.headers), None
        if variable := self._find_variable(entry):
            key = self._environ[variable]
        elif saved := self._find_saved(name, entry):
            key = saved.key
            if saved.access_token:
                headers["authorization"] = f"Bearer {saved.access_token}"
                if entry.oauth and entry.oauth.account_header:
                    headers[entry.oauth.account_header] = saved.account_id
        endpoint = Endpoint(name, entry.type, entry.api, base_url, key, headers, variable)
        self.learn(*endpoint.secrets)
        return endpoint, saved

    def is_expired(self, saved: Saved) -> bool:
        return bool(saved.expires) and saved.expires <= add_seconds(self._clock.now(), _EARLY)

    def save(self, name: str, grant: "Grant") -> Saved:
        expires = add_seconds(self._clock.now(), grant.expires_in) if grant.expires_in else ""
        saved = Saved("", grant.access_token, grant.refresh_token, expires, grant.account_id)
        self.file.put(name, saved)
        self.learn(saved.access_token, saved.refresh_token)
        return saved


class KeyAccess:
    """One provider's key for the agents that share it."""

    def __init__(
        self, ring: Keyring, name: str, entry: ProviderEntry, transport: Transport, base_url: str
    ) -> None:
        self._ring = ring
        self._name = name
        self._entry = entry
        self._transport = transport
        self._base_url = base_url
        self._now: tuple[Endpoint, Saved | None] | None = None

    async def current(self) -> Endpoint:
        if self._now is None:
            self._now = self._read()
        endpoint, saved = self._now
        if not endpoint.base_url and self._entry.type in _VARIABLES and not endpoint.secrets:
            raise ProviderError(
                ErrorKind.NOT_AUTHENTICATED,
                f"No API key for {self._name!r}. Set {' or '.join(key_variables(self._entry))}, "
                f'or run "planck auth login {self._name}".',
            )
        if saved and saved.access_token and self._ring.is_expired(saved):
            return await self.renew(endpoint) or endpoint
        return endpoint

    async def renew(self, refused: Endpoint) -> Endpoint | None:
        """The lock makes it one renewal for all; whoever waited finds the new key and asks no more."""
        async with self._ring.renewing[self._name]:
            if self._now is not None and self._now[0] is not refused:
                return self._now[0]
            found = self._read()
            if found[0].secrets == refused.secrets:
                if not await self._refresh(found[1]):
                    return None
                found = self._read()
            self._now = found
            return found[0]

    async def _refresh(self, saved: Saved | None) -> bool:
        if saved is None or not saved.refresh_token or self._entry.oauth is None:
            return False
        try:
            from planck.llm import oauth  # only for an account

            grant = await oauth.renew(self._transport, client(self._entry), saved.refresh_token)
            self._ring.save(self._name, grant)
        except AuthError as failure:
            if self._read()[1] != saved:  # another process was faster, and our refresh token is spent
                return True
            raise ProviderError(failure.err.kind, failure.err.message, failure.err.details) from None
        return True

    def _read(self) -> tuple[Endpoint, Saved | None]:
        try:
            return self._ring.endpoint(self._name, self._entry, self._base_url)
        except AuthError as failure:
            raise ProviderError(failure.err.kind, failure.err.message, failure.err.details) from None


def client(entry: ProviderEntry) -> "Client":
    """The authorization server that an entry declares."""
    declared = entry.oauth
    if declared is None or entry.withhold_key:
        raise AuthError(
            ErrorKind.DEVICE_CODE_UNSUPPORTED,
            "This provider has no `oauth` endpoints in your configuration. Store an API key instead.",
        )
    from planck.llm.oauth import Client

    return Client(
        declared.client_id,
        declared.device_url,
        declared.token_url,
        declared.scope,
        bool(declared.account_header),
    )


def find_secrets(config: Config) -> Iterator[str]:
    """What no log may hold: passwords in addresses, and headers and variables that carry a key."""
    for entry in config.providers.values():
        yield from _find_passwords(entry.base_url)
        yield from _find_named(entry.headers)
    for server in config.mcpServers.values():
        if isinstance(server, dict):
            yield from _find_passwords(server.get("url"))
            yield from _find_named(server.get("headers"))
            yield from _find_named(server.get("env"))
            yield from _find_named({"client_secret": server.get("client_secret")})


def _find_passwords(address: Any) -> Iterator[str]:
    authority = address.partition("://")[2].partition("/")[0] if isinstance(address, str) else ""
    if "@" in authority:
        userinfo = authority.rpartition("@")[0]
        yield userinfo.partition(":")[2] or userinfo


def _find_named(values: Any) -> Iterator[str]:
    for name, value in values.items() if isinstance(values, dict) else ():
        # `$NAME` and `${NAME}` say where a key is, and are none.
        if (
            isinstance(value, str)
            and any(word in str(name).lower() for word in SECRETIVE)
            and "$" not in value
        ):
            yield value.rsplit(" ", 1)[-1]  # a token without its `Bearer`
