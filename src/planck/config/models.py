"""Which model a name means, what is known of it, and where its requests may go."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from planck.config.keys.credentials import Keyring
from planck.config.schema import KEYLESS, Config, ModelEntry, ProviderEntry
from planck.http.address import without_userinfo
from planck.http.transport import Transport
from planck.llm import catalog
from planck.llm.catalog import CatalogModel, Price
from planck.llm.endpoint import LOCAL_ROOTS
from planck.llm.provider import Provider, ProviderError, Request
from planck.records.events import Delivery, Envelope, Kind
from planck.records.history import History
from planck.records.messages import AssistantMessage
from planck.records.outcome import Err, ErrorKind, PlanckError, say_option
from planck.records.ports import Clock
from planck.records.specs import ModelSpec
from planck.records.usage import Usage

VENDORS = ("anthropic", "openai", "google")
_UNKNOWN_WINDOW = 128_000
_LOCAL_WINDOW = 32_768
"""The guess for a server on the user's own machine, which pays for its window in memory."""
_MOST_OUTPUT = 32_000
"""Of what a model may write, as much as is asked for: the limit is taken off the window before the answer."""
_TEST_SECONDS = 60.0


_KEYWORD = "model='PROVIDER/MODEL'"


class ModelError(PlanckError):
    """The model can't be used; the message says what to configure."""


def resolve(config: Config, name: str) -> ModelSpec:
    """An alias or `provider/model`; an empty name means the default model."""
    name = name or config.default_model
    if not name:
        raise ModelError(
            ErrorKind.NOT_FOUND,
            f"No model was given. Pass {say_option('-m PROVIDER/MODEL', _KEYWORD)}, "
            "or set default_model in the configuration.",
            {"no_model": True},
        )
    for entry in config.models:
        if entry.id == name:
            return _resolve_entry(config, entry)
    provider, _, model = name.partition("/")
    if not model:
        raise _not_found(
            f"{name!r} is not an alias in `models`. Write PROVIDER/MODEL, add the alias to `models`, "
            'or run "planck models list".'
        )
    known = provider_entry(config, provider)
    entries = [entry for entry in config.models if entry.provider == provider and entry.model == model]
    if entries:
        return _resolve_entry(config, entries[0])
    found = _find_in_catalog(provider, known, model)
    if found is None and not known.base_url and known.type not in KEYLESS:
        raise _not_found(
            'Check the name with "planck models list --all". If the catalog does not have the model, '
            f"add {model!r} to `models` in the configuration."
        )
    return _make_spec(known, found, ModelEntry(id="", model=model, provider=provider))


def _not_found(hint: str) -> ModelError:
    return ModelError(ErrorKind.NOT_FOUND, "Model not found.", {"hint": hint})


def resolve_pair(config: Config, provider: str, model_id: str, base_url: str = "") -> ModelSpec:
    """The model of a team's member; `base_url` counts for a bare local type only, which gets no key."""
    provider_entry(config, provider)
    for entry in config.models:
        if entry.id == model_id and provider in (entry.provider, provider_entry(config, entry.provider).type):
            return _resolve_entry(config, entry)
    if base_url and model_id and provider in KEYLESS and provider not in config.providers:
        return ModelSpec(provider=provider, model=model_id, base_url=base_url, context_window=_LOCAL_WINDOW)
    return resolve(config, f"{provider}/{model_id}")


def available(config: Config, current: ModelSpec) -> list[ModelSpec]:
    """The models that a team's members may use: the configured ones, and the one in use."""
    found = [_resolve_entry(config, entry) for entry in config.models]
    return found if current.label in {model.label for model in found} else [current, *found]


def provider_entry(config: Config, name: str) -> ProviderEntry:
    """A configured provider, or a bare type."""
    if name in config.providers:
        return config.providers[name]
    if name in VENDORS or name in KEYLESS:
        return ProviderEntry(type=name, base_url=config.addresses.get(name, ""))
    known = ", ".join(dict.fromkeys((*config.providers, *VENDORS, *KEYLESS)))
    hint = f"Known providers: {known}. Add others to `providers` in the configuration."
    raise ModelError(ErrorKind.INVALID_ARGS, f"Unknown provider: {name}.", {"hint": hint})


def find_price(config: Config, model: ModelSpec) -> CatalogModel | None:
    """The entry that says what a model costs, None where that is not known.

    The user's own word comes first; a server that takes no key is free; then comes the catalog.
    """
    try:
        entry = provider_entry(config, model.provider)
    except ModelError:
        return None
    known = _find_in_catalog(model.provider, entry, model.model)
    said = [own for own in config.models if own.provider == model.provider and own.model == model.model]
    own = next((own.price for own in said if own.id == model.id or not model.id), None)
    if own is not None:
        price = Price(0, own.input, own.output, own.cache_read, own.cache_write)
    elif not entry.has_api_key:
        price = Price(0, 0.0, 0.0, 0.0, 0.0)
    else:
        return known
    return replace(known or _UNKNOWN, prices=(price,))


_UNKNOWN = CatalogModel("", "", 0, 0, images=False, reasoning=False, tools=True, prices=())


class DefaultModel(msgspec.Struct, frozen=True):
    """The model that is used where none is named, and what made it that."""

    model: ModelSpec
    why: str
    problems: tuple[str, ...] = ()
    """Why the models of another local server were not considered."""


async def choose_default(config: Config, ring: Keyring, transport: Transport) -> DefaultModel:
    """`default_model`, else the first vendor's that there is a key for, else a local server's first."""
    if config.default_model:
        return DefaultModel(resolve(config, ""), "default_model in the configuration")
    if found := _choose_vendor(config, ring):
        return found
    problems: list[str] = []
    for model in await find_local_models(config, ring, transport, problems):
        return DefaultModel(model, f"the local server at {model.base_url}", tuple(problems))
    if problems:
        raise ModelError(
            ErrorKind.NOT_FOUND, " ".join(["No model is configured.", *problems]), {"no_model": True}
        )
    raise ModelError(
        ErrorKind.NOT_FOUND,
        f'No model is configured. Run "planck setup", pass {say_option("-m PROVIDER/MODEL", _KEYWORD)}, '
        'or try "planck demo", which needs no model.',
        {"no_model": True},
    )


def _choose_vendor(config: Config, ring: Keyring) -> DefaultModel | None:
    for vendor in VENDORS:
        if source := ring.source(vendor, provider_entry(config, vendor)):
            where = source if source.isupper() else "`planck auth`"
            return DefaultModel(
                resolve(config, f"{vendor}/{catalog.DEFAULTS[vendor]}"), f"a key from {where}"
            )
    return None


async def find_local_models(
    config: Config, ring: Keyring, transport: Transport, problems: list[str] | None = None
) -> list[ModelSpec]:
    """Returns the models of local servers, asked only if nothing else is configured.

    Appends to `problems` why those of a server that answers cannot be used.
    """
    if config.default_model or config.models or config.providers:
        return []
    if any(ring.source(vendor, ProviderEntry(type=vendor)) for vendor in VENDORS):
        return []
    roots = {type: config.addresses.get(type, root) for type, root in sorted(LOCAL_ROOTS.items())}
    from planck.llm.local import discover  # only where a server may be found

    found = await asyncio.gather(
        *(discover(transport, type, root, problems=problems) for type, root in roots.items() if root)
    )
    return [model for models in found for model in models]


class ModelRow(msgspec.Struct, frozen=True):
    """A row of `planck models list`."""

    provider: str
    id: str
    name: str
    model: str
    context_window: int
    base_url: str
    current: bool
    source: str
    """`config`, `local` or `catalog`."""
    has_key: bool
    input_usd: float | None
    """Per million tokens; null: not known."""
    output_usd: float | None

    @property
    def label(self) -> str:
        """What `-m` and `/model` take: an alias, else provider and model."""
        return self.id if self.id != self.model else f"{self.provider}/{self.model}"


async def list_models(
    config: Config, ring: Keyring, transport: Transport, *, everything: bool = False
) -> list[ModelRow]:
    """Returns the configured models, those of local servers, and the catalog's of vendors with a key."""
    from planck.llm.local import discover

    rows = [_make_row(config, ring, _resolve_entry(config, entry), "config") for entry in config.models]
    servers = [(name, entry) for name, entry in config.providers.items() if entry.type in KEYLESS]
    found = await asyncio.gather(
        *(
            discover(transport, entry.type, entry.base_url or LOCAL_ROOTS[entry.type], name)
            for name, entry in servers
        )
    )
    local = [model for models in found for model in models] or await find_local_models(
        config, ring, transport
    )
    rows += [_make_row(config, ring, model, "local") for model in local]
    default = _choose_vendor(config, ring)
    chosen = config.default_model or (default.model.label if default else local[0].label if local else "")
    for vendor in VENDORS:
        entry = provider_entry(config, vendor)
        own = entry.base_url == config.addresses.get(vendor, "")  # not a gateway of the configuration
        if own and (everything or ring.source(vendor, entry)):
            known = [
                resolve(config, f"{vendor}/{model.id}") for model in catalog.models(vendor) if model.tools
            ]
            rows += [_make_row(config, ring, model, "catalog") for model in known if not model.id]
    marked = [
        msgspec.structs.replace(row, current=chosen in (row.id, f"{row.provider}/{row.model}"))
        for row in rows
    ]
    if config.default_model and not any(row.current for row in marked):  # named nowhere else
        with suppress(ModelError):
            row = _make_row(config, ring, resolve(config, chosen), "config")
            marked.insert(0, msgspec.structs.replace(row, current=True))
    return marked


def catalog_date() -> str:
    """Returns the day of the snapshot that windows and prices come from."""
    return catalog.snapshot_date()


class ModelTest(msgspec.Struct, frozen=True):
    model: str
    ok: bool
    text: str
    duration_ms: int
    usage: Usage
    cost_usd: float | None
    error: dict[str, Any] | None = None


async def test_model(config: Config, model: ModelSpec, provider: Provider, clock: Clock) -> ModelTest:
    """Sends one small request to the model: whether key, address and name are right."""
    began = clock.monotonic()
    outcome = await _ask(provider)
    took = round((clock.monotonic() - began) * 1000)
    if isinstance(outcome, Err):
        error = outcome.envelope()["error"]
        return ModelTest(model.label, False, "", took, Usage(), None, error)
    price = find_price(config, model)
    cost = price.cost_usd(outcome.usage) if price else None
    return ModelTest(model.label, True, outcome.text.strip(), took, outcome.usage, cost)


async def _ask(provider: Provider) -> AssistantMessage | Err:
    told = History()
    told.apply(
        Envelope(id="t", kind=Kind.PROMPT, sender="user", receiver="t", text="Answer with the word: ok")
    )
    told.apply(Delivery(ids=("t",), state="delivered"))
    last: Any = None
    try:
        async with asyncio.timeout(_TEST_SECONDS):
            async for item in provider.stream(Request("test", "", told)):
                last = item
    except ProviderError as failure:
        return failure.err
    except TimeoutError:
        return Err(
            ErrorKind.TIMEOUT, f"No answer within {_TEST_SECONDS:g} s. Check the address and the network."
        )
    assert isinstance(last, AssistantMessage)
    return last


def _resolve_entry(config: Config, entry: ModelEntry) -> ModelSpec:
    known = provider_entry(config, entry.provider)
    return _make_spec(known, _find_in_catalog(entry.provider, known, entry.model), entry)


def _make_spec(provider: ProviderEntry, found: CatalogModel | None, entry: ModelEntry) -> ModelSpec:
    """What the user says, then what the catalog knows, then a guess."""
    guess = _LOCAL_WINDOW if provider.type in KEYLESS else _UNKNOWN_WINDOW
    output = min(found.max_output, _MOST_OUTPUT) if found and provider.type == "anthropic" else 0
    return ModelSpec(
        provider=entry.provider,
        model=entry.model,
        id=entry.id,
        name=entry.name or (found.name if found else ""),
        context_window=entry.context_window or (found.context_window if found else 0) or guess,
        max_output=entry.max_output or output,
        base_url=provider.base_url,
        params=entry.params,
        images=found is not None and found.images,
        reasoning=found is not None and found.reasoning,
    )


def is_known(config: Config, model: ModelSpec) -> bool:
    """Whether somebody said what the model can do: the catalog, or the local server that has it."""
    provider = provider_entry(config, model.provider)
    return provider.type in KEYLESS or _find_in_catalog(model.provider, provider, model.model) is not None


def _find_in_catalog(name: str, provider: ProviderEntry, model: str) -> CatalogModel | None:
    if not provider.base_url:
        return catalog.find(provider.type, model)
    # The vendor at that address; else a gateway of the user's, which bills for the model that it names.
    at_address = catalog.find("" if name in VENDORS else name, model, provider.base_url)
    return at_address or catalog.find(provider.type, model)


def _make_row(config: Config, ring: Keyring, model: ModelSpec, source: str) -> ModelRow:
    entry = provider_entry(config, model.provider)
    known = find_price(config, model)
    price = known.prices[0] if known and known.prices else None
    return ModelRow(
        provider=model.provider,
        id=model.id or model.model,
        name=model.name,
        model=model.model,
        context_window=model.context_window,
        base_url=without_userinfo(model.base_url),
        current=False,
        source=source,
        has_key=entry.type in KEYLESS or bool(ring.source(model.provider, entry)),
        input_usd=price.input if price else None,
        output_usd=price.output if price else None,
    )


def known_providers(config: Config) -> Mapping[str, ProviderEntry]:
    """The configured providers, and the vendors that need no configuration."""
    return {**{vendor: ProviderEntry(type=vendor) for vendor in VENDORS}, **config.providers}
