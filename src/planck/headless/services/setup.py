"""What a first configuration is made of: a candidate that is tried before anything of it is kept."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import msgspec

from planck.config.environment import read_environment
from planck.config.keys.credentials import CredentialFile, Keyring, Saved, key_variables
from planck.config.load import ConfigError, edit_user_file, find_home
from planck.config.models import ModelTest, find_local_models, provider_entry
from planck.config.project import Project
from planck.config.schema import Config, ProviderEntry
from planck.headless.planck import Planck
from planck.http.transport import HttpTransport
from planck.llm import catalog
from planck.llm.endpoint import LOCAL_ROOTS
from planck.records.outcome import ErrorKind
from planck.records.specs import ModelSpec
from planck.toolkit.clock import SystemClock

_TRIED = "CANDIDATE"
"""Whose key a candidate's is while it is tried: in the environment of that try alone."""


class Candidate(msgspec.Struct, frozen=True):
    provider: str
    model: str
    base_url: str = ""
    key: str = ""

    @property
    def label(self) -> str:
        return f"{self.provider}/{self.model}"


class Setup:
    """Reads what is there, tries a candidate, keeps it: the steps that any frontend's first run takes."""

    def __init__(self, home: Path | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._environ = read_environment() if environ is None else environ
        self.home: Path = home or find_home(self._environ)
        # The project's folder says nothing here: what is set up is the user's own.
        self._project = Project(self.home, self.home, self._environ)
        self._ring = Keyring(CredentialFile(self.home), self._environ, SystemClock())
        self._transport = HttpTransport()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._transport.aclose()

    def check_home(self) -> None:
        """Raises before anything was asked where nothing could be written."""
        there = next(path for path in (self.home, *self.home.parents) if path.exists())
        if not there.is_dir() or not os.access(there, os.W_OK):
            raise ConfigError(
                ErrorKind.WRITE_FAILED, f"Cannot write to {there}. Fix its permissions, or set PLANCK_HOME."
            )

    def find_key(self, provider: str) -> str:
        """Where the key of a vendor comes from already; empty: from nowhere."""
        return self._ring.source(provider, provider_entry(self._project.config, provider))

    def default_model(self, vendor: str) -> str:
        return catalog.DEFAULTS[vendor]

    @property
    def local_addresses(self) -> list[str]:
        """Where servers of this machine are looked for."""
        addresses = self._project.config.addresses
        return [found for type, root in LOCAL_ROOTS.items() if (found := addresses.get(type, root))]

    async def find_local(self, problems: list[str]) -> list[ModelSpec]:
        """Appends to `problems` why the models of a server that answers cannot be used."""
        nothing_else = Config(addresses=self._project.config.addresses)
        return await find_local_models(
            nothing_else, Keyring(self._ring.file, {}, SystemClock()), self._transport, problems
        )

    async def list_names(self, address: str, key: str) -> list[str]:
        """Returns the models that a server with an OpenAI-compatible API says it has.

        Raises where it cannot be reached, or refuses the key.
        """
        from planck.llm.endpoint import Endpoint
        from planck.llm.local import list_names

        return await list_names(self._transport, Endpoint("", "openai", base_url=address, key=key))

    def check_name(self, candidate: Candidate) -> None:
        """Raises where a key that was kept for one address would go to another."""
        before = self._project.config.providers.get(candidate.provider)
        if not candidate.base_url or candidate.key or (before and before.base_url == candidate.base_url):
            return
        if candidate.provider in self._ring.file.read():
            raise ConfigError(
                ErrorKind.INVALID_ARGS,
                f"The key stored for {candidate.provider!r} belongs to another address. "
                "Use another name, or enter the key.",
            )

    def choose_name(self, address: str) -> str:
        """Names a server that has no name: as its address was named before, or anew."""
        known = self._project.config.providers
        for name in ("other", *(f"other-{number}" for number in range(2, 100))):
            if name not in known or known[name].base_url == address:
                return name
        raise ConfigError(
            ErrorKind.LIMIT_EXCEEDED, "Too many servers: 99 are configured. Remove some from `providers`."
        )

    async def test(self, candidate: Candidate) -> ModelTest:
        """Asks the candidate one small question, with its key in no file."""
        self.check_name(candidate)
        flags = {"providers": {candidate.provider: {**_describe(candidate), "identifier": _TRIED}}}
        environ = {**self._environ, f"{_TRIED}_API_KEY": candidate.key}
        project = Project(
            self.home, self.home, environ, flags if candidate.key or candidate.base_url else None
        )
        async with Planck.of(project) as planck:
            tested = await planck.try_model(candidate.label)
        if tested.error and candidate.key:
            from planck.llm.server_errors import IN_VARIABLE  # only for a refused key

            hint = IN_VARIABLE.format(variable=f"{_TRIED}_API_KEY", provider=candidate.provider)
            message = tested.error["message"].replace(hint, "Enter another key.")
            return msgspec.structs.replace(tested, error={**tested.error, "message": message})
        return tested

    def keep(self, candidate: Candidate) -> Iterator[Path]:
        """Writes the key and the model, and yields the files that it wrote."""
        if candidate.key:
            self._ring.file.put(candidate.provider, Saved(key=candidate.key))
            yield self._ring.file.path
        with edit_user_file(self.home) as config:
            config["default_model"] = candidate.label
            if candidate.base_url:
                own = {**_describe(candidate), "identifier": self._find_identifier(candidate.provider)}
                if candidate.provider not in self._ring.file.read():
                    own["has_api_key"] = False
                config.setdefault("providers", {})[candidate.provider] = own
        yield self.home / "config.json"

    def _find_identifier(self, provider: str) -> str:
        """One whose variable is nobody's: a vendor's key in the environment is not for this address."""
        name = re.sub(r"\W", "_", provider).upper()
        taken = {variable for vendor in catalog.DEFAULTS for variable in key_variables(ProviderEntry(vendor))}
        while f"{name}_API_KEY" in taken or f"{name}_API_KEY" in self._environ:
            name = f"MY_{name}"
        return name


def _describe(candidate: Candidate) -> dict[str, Any]:
    if candidate.base_url:
        return {"type": "openai", "base_url": candidate.base_url}
    return {"type": candidate.provider}
