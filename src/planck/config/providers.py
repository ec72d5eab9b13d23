"""The models of a project at work: who answers for one, at what price, over one pool of connections."""

from collections.abc import Mapping
from functools import partial

import msgspec

from planck.config.keys.credentials import SECRETIVE, CredentialFile, KeyAccess, Keyring, find_secrets
from planck.config.models import (
    DefaultModel,
    choose_default,
    find_price,
    is_known,
    provider_entry,
    resolve,
    resolve_pair,
)
from planck.config.project import Project
from planck.config.resources import Resources
from planck.config.schema import KEYLESS, ProviderEntry, QuotaEntry
from planck.http.address import canonical, read_network
from planck.http.transport import HttpTransport, Transport
from planck.llm.authorized import Authorized
from planck.llm.catalog import CatalogModel
from planck.llm.dialects.table import open_provider
from planck.llm.endpoint import Endpoint
from planck.llm.pace import ModelPace, Paces
from planck.llm.provider import Provider
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import Clock, Quotas
from planck.records.specs import ModelSpec, ProviderLimits


class Providers:
    def __init__(
        self,
        project: Project,
        clock: Clock,
        doubles: Mapping[str, Provider],
        shared: "Shares | None" = None,
    ) -> None:
        """`doubles` stand in the place of providers of their names. `shared`: what all sessions of a node
        have together."""
        self.keyring: Keyring = Keyring(CredentialFile(project.home), project.environ, clock)
        self._resources = project.resources
        self.keyring.learn(*find_secrets(self._resources.config))
        # A key that the user passes to commands is not stored with their output either.
        passed = self._resources.config.permissions.environment
        named = (name for name in passed if any(word in name.lower() for word in SECRETIVE))
        self.keyring.learn(*filter(None, map(project.environ.get, named)))
        self._environ = project.environ
        self._doubles = doubles
        self._transport: HttpTransport | None = None
        self._own = shared is None
        self._shares = shared or open_shares(project, clock)
        self.quotas: Quotas | None = self._shares.quotas
        """What all sessions of the user may take of a provider in a day; None: as much as they like."""

    def open(self, model: ModelSpec) -> Provider:
        """The provider that answers for a model; no connection is opened yet."""
        if model.provider in self._doubles:
            return self._doubles[model.provider]
        entry, address = self._find_entry(model)
        access = KeyAccess(self.keyring, model.provider, entry, self.transport, address)
        return Authorized(access, _Opener(model, self.transport))

    def locate(self, model: ModelSpec) -> tuple[str, str]:
        """Returns a model's provider type and the address that it is called at; empty: of a double."""
        if model.provider in self._doubles:
            return "", ""
        entry, address = self._find_entry(model)
        return entry.type, address

    def _find_entry(self, model: ModelSpec) -> tuple[ProviderEntry, str]:
        config = self._resources.config
        entry = provider_entry(config, model.provider)
        # An address of the model's own counts for a bare local type only; an empty one is the vendor's.
        own = model.base_url if model.provider in KEYLESS and model.provider not in config.providers else ""
        return entry, own or entry.base_url

    def find_pace(self, model: ModelSpec) -> ModelPace:
        """How often its provider is asked, by everybody here."""
        return ModelPace(self._shares.paces.find(model.provider), model.model)

    def price(self, model: ModelSpec) -> CatalogModel | None:
        """What says the price of a model; None where it is not known."""
        return find_price(self._resources.config, model)

    def is_double(self, provider: str) -> bool:
        return provider in self._doubles

    def resolve(self, name: str) -> ModelSpec:
        """Finds an alias or `provider/model`; an empty name means the default model."""
        config = self._resources.config
        provider, _, model = (name or config.default_model).partition("/")
        if provider in self._doubles and not self._is_described(provider, model):
            return ModelSpec(provider=provider, model=model)
        return resolve(config, name)

    def is_known(self, model: ModelSpec) -> bool:
        """Whether what the model can do was said by somebody; of a double it never is."""
        return model.provider not in self._doubles and is_known(self._resources.config, model)

    async def choose(self, name: str = "") -> ModelSpec:
        """Resolves a name, or the default."""
        if name or self._resources.config.default_model:
            return self.resolve(name)
        return (await self.choose_default()).model

    async def choose_default(self) -> DefaultModel:
        """The model that is used where none is named, and why that one; raises where there is none."""
        return await choose_default(self._resources.config, self.keyring, self.transport)

    def resolve_member(self, provider: str, model_id: str, base_url: str = "") -> ModelSpec:
        """A member's model; the provider is a key of `providers` or a type, the id an alias or its own."""
        if provider in self._doubles and not self._is_described(provider, model_id):
            return ModelSpec(provider=provider, model=model_id)
        return resolve_pair(self._resources.config, provider, model_id, base_url)

    def _is_described(self, provider: str, model: str) -> bool:
        """Whether an entry of `models` says what it is: then that counts for a double too."""
        entries = self._resources.config.models
        return any(entry.provider == provider and model in (entry.id, entry.model) for entry in entries)

    async def place(self, provider: str, model_id: str, base_url: str) -> tuple[ModelSpec, str] | Err:
        """A member's model as a tool call names it, and its address where the user never named that one."""
        config = self._resources.config
        try:
            model = self.resolve_member(provider, model_id, base_url)
        except PlanckError as failure:
            return failure.err
        # What the call did not name, and what a configured provider has, is the user's.
        if not base_url or not model.base_url or model.provider in config.providers:
            return model, ""
        address = canonical(model.base_url)
        if not address:
            return Err(
                ErrorKind.INVALID_ARGS, f"{base_url!r} is not an address; write it as http://HOST:PORT"
            )
        from planck.config.addresses import find_known  # few spawns name an address

        known = await find_known(config, self.transport, model.provider, model.base_url)
        # In the user's own spelling where it is known: what was compared is what is used.
        return (msgspec.structs.replace(model, base_url=known), "") if known else (model, address)

    @property
    def transport(self) -> HttpTransport:
        """One pool of connections for all agents, made when the first one needs it."""
        if self._transport is None:
            self._transport = HttpTransport(read_network(self._environ))
        return self._transport

    async def aclose(self) -> None:
        if self._own:
            self._shares.close()
        if self._transport is not None:
            await self._transport.aclose()


class Shares:
    """What all sessions of a process have together of the providers: a day's quotas, and how often to ask."""

    def __init__(self, quotas: Quotas | None, paces: Paces) -> None:
        self.quotas = quotas
        self.paces = paces

    def close(self) -> None:
        if self.quotas is not None:
            self.quotas.close()


def open_shares(project: Project, clock: Clock, store: str = "") -> Shares:
    """`store`: the database that the nodes share, where the configuration names none."""
    quotas = _open_quotas(project, clock, store or project.config.store) if project.config.quotas else None
    return Shares(quotas, Paces(_Rates(project.resources)))


def _open_quotas(project: Project, clock: Clock, store: str) -> Quotas:
    limits = _Limits(project.resources)
    if store:
        from planck.store.postgres.dev import find_url
        from planck.store.postgres.quotas import PostgresQuotas

        return PostgresQuotas(partial(find_url, store, project.home), limits, clock)
    from planck.store.sqlite.quotas import QuotaFile  # most users have none

    return QuotaFile(project.home / "quotas.db", limits, clock)


class _Limits:
    """The quotas of the configuration as it is now."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def __call__(self) -> Mapping[str, QuotaEntry]:
        return self._resources.config.quotas


class _Rates:
    """How often providers may be asked, by the configuration as it is now."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def __call__(self) -> Mapping[str, ProviderLimits]:
        return self._resources.config.limits.providers


class _Opener:
    """Opens a model's provider at the endpoint that its key is for."""

    def __init__(self, model: ModelSpec, transport: Transport) -> None:
        self._model = model
        self._transport = transport

    def __call__(self, endpoint: Endpoint) -> Provider:
        return open_provider(endpoint, self._model, self._transport)
