"""Signing in to a provider and out of it, for any frontend."""

from collections.abc import Callable
from typing import Any

from planck.config.keys.credentials import Keyring, Saved, client, key_variables
from planck.config.models import known_providers, provider_entry
from planck.config.schema import Config
from planck.http.errors import AuthError
from planck.http.transport import Transport
from planck.llm import oauth
from planck.records.outcome import ErrorKind
from planck.records.ports import Clock


class Auth:
    def __init__(self, config: Config, ring: Keyring, transport: Transport, clock: Clock) -> None:
        self._config = config
        self._ring = ring
        self._transport = transport
        self._clock = clock

    def uses_device_code(self, provider: str) -> bool:
        entry = provider_entry(self._config, provider)
        return entry.oauth is not None and not entry.withhold_key

    def check_takes_key(self, provider: str) -> None:
        """Raises where the provider is one that is asked without a key."""
        if not provider_entry(self._config, provider).has_api_key:
            raise AuthError(
                ErrorKind.INVALID_ARGS,
                f"Provider {provider} needs no key, so none was stored: it would not be sent. If its server "
                f'takes one now, run "planck setup" again, or first remove `has_api_key` from '
                f"providers.{provider} in the configuration.",
            )

    def store_key(self, provider: str, key: str) -> None:
        """Keep an API key in the credential file; the environment, where set, still comes first."""
        self.check_takes_key(provider)
        if not key.strip() or any(char.isspace() or not char.isprintable() for char in key.strip()):
            raise AuthError(
                ErrorKind.INVALID_ARGS,
                "This is not an API key: a key is a single word. Nothing was stored. Enter the key again.",
            )
        self._ring.file.put(provider, Saved(key=key.strip()))

    async def sign_in(self, provider: str, show: Callable[[str, str], None]) -> None:
        """By device code: `show` gets the address and the code; returns when the token is stored."""
        server = client(provider_entry(self._config, provider))
        code = await oauth.request_code(self._transport, server)
        show(code.verification_uri_complete or code.verification_uri, code.user_code)
        grant = await oauth.poll(self._transport, server, code, self._clock)
        self._ring.save(provider, grant)

    def forget(self, provider: str) -> bool:
        """Whether there was something to forget; a variable of the environment stays."""
        if provider not in self._ring.file.read():
            return False
        self._ring.file.put(provider, None)
        return True

    def status(self) -> list[dict[str, Any]]:
        """Each provider, whether there is a key for it and where from; never the key."""
        rows = []
        for name, entry in known_providers(self._config).items():
            source = self._ring.source(name, entry)
            rows.append(
                {
                    "provider": name,
                    "type": entry.type,
                    "has_api_key": entry.has_api_key,
                    "authenticated": bool(source) or not entry.has_api_key,
                    "source": source,
                    "variables": list(key_variables(entry)),
                    "device_code": self.uses_device_code(name),
                }
            )
        return rows
