"""Which model a name means, and where its requests may go."""

from collections.abc import Mapping

from planck.headless.config import Config, ModelEntry, ProviderEntry
from planck.llm.endpoint import Endpoint
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import ModelSpec

KEYLESS = frozenset({"ollama", "llama_cpp"})
_VARIABLES = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
}


class ModelError(PlanckError):
    """The model can't be used; the message says what to configure."""


def resolve(config: Config, name: str) -> ModelSpec:
    """An alias or `provider/model`; an empty name means the default model."""
    name = name or config.default_model
    if not name:
        raise ModelError(
            ErrorKind.NOT_FOUND,
            "no model is configured; pass -m PROVIDER/MODEL, set default_model in the config, "
            "or try `planck demo`, which needs none",
            {"no_model": True},
        )
    for entry in config.models:
        if entry.id == name:
            return _from_entry(config, entry)
    provider, slash, model = name.partition("/")
    if not slash:
        raise ModelError(ErrorKind.NOT_FOUND, f"Model not found. {name!r} is no alias in `models`.")
    known = _provider(config, provider)
    entries = [entry for entry in config.models if entry.provider == provider and entry.model == model]
    if entries:
        return _from_entry(config, entries[0])
    if not known.base_url:
        raise ModelError(
            ErrorKind.NOT_FOUND,
            f"Model not found. Add {model!r} to `models`, or a `base_url` to {provider!r}.",
        )
    return ModelSpec(provider=provider, model=model, base_url=known.base_url)


def resolve_pair(config: Config, provider: str, model_id: str, base_url: str = "") -> ModelSpec:
    """The model of a team's member; `base_url` counts for a bare local type only, which gets no key."""
    _provider(config, provider)
    for entry in config.models:
        if entry.id == model_id and provider in (entry.provider, _provider(config, entry.provider).type):
            return _from_entry(config, entry)
    if base_url and provider in KEYLESS and provider not in config.providers:
        return ModelSpec(provider=provider, model=model_id, base_url=base_url)
    return resolve(config, f"{provider}/{model_id}")


def available(config: Config, current: ModelSpec) -> list[ModelSpec]:
    """The models that a team's members may use: the configured ones, and the one in use."""
    found = [_from_entry(config, entry) for entry in config.models]
    return found if current.label in {model.label for model in found} else [current, *found]


def endpoint(config: Config, model: ModelSpec, environ: Mapping[str, str]) -> Endpoint:
    entry = _provider(config, model.provider)
    return Endpoint(
        name=model.provider,
        type=entry.type,
        api=entry.api,
        base_url=entry.base_url or (model.base_url if model.provider in KEYLESS else ""),
        key=_key(entry, environ),
        headers=entry.headers,
    )


def _from_entry(config: Config, entry: ModelEntry) -> ModelSpec:
    return ModelSpec(
        provider=entry.provider,
        model=entry.model,
        id=entry.id,
        name=entry.name,
        context_window=entry.context_window or 128_000,
        max_output=entry.max_output,
        base_url=_provider(config, entry.provider).base_url,
        params=entry.params,
    )


def _provider(config: Config, name: str) -> ProviderEntry:
    if name in config.providers:
        return config.providers[name]
    if name in _VARIABLES or name in KEYLESS:
        return ProviderEntry(type=name)
    raise ModelError(ErrorKind.INVALID_ARGS, f"Unknown provider: {name}.")


def _key(entry: ProviderEntry, environ: Mapping[str, str]) -> str:
    if entry.withhold_key or (entry.type in KEYLESS and not entry.identifier):
        return ""
    names = (f"{entry.identifier.upper()}_API_KEY",) if entry.identifier else _VARIABLES.get(entry.type, ())
    return next((environ[name] for name in names if environ.get(name)), "")
