"""Where each value of the configuration comes from."""

from typing import Any

import msgspec

from planck.config.keys.secrets import hide
from planck.config.load import MERGED, ConfigError, Loaded, name_unknown_key
from planck.config.schema import KEYS, Config, describe_key
from planck.records.outcome import ErrorKind


class Origin(msgspec.Struct, frozen=True):
    """One value: what it is, which place decided it, and which places were overruled, lowest first."""

    key: str
    value: Any
    source: str
    overruled: tuple[str, ...]
    description: str


def show_config(config: Config) -> dict[str, Any]:
    """Returns the effective configuration without secrets."""
    return _hide_secrets(msgspec.to_builtins(config))


def _hide_secrets(values: dict[str, Any]) -> dict[str, Any]:
    """Returns values of the configuration without secrets and without what only the loader sets."""
    shown: dict[str, Any] = hide(values)
    shown.pop("addresses", None)
    for entry in shown.get("providers", {}).values():
        entry.pop("withhold_key", None)
    return shown


def _omit_defaults(value: Any) -> Any:
    """Returns plain values, without the fields of structs that have their default."""
    if isinstance(value, msgspec.Struct):
        plain = {}
        for field in msgspec.structs.fields(value):
            factory = field.default_factory
            default = field.default if factory is msgspec.NODEFAULT else factory()
            if (own := getattr(value, field.name)) != default:
                plain[field.encode_name] = _omit_defaults(own)
        return plain
    if isinstance(value, dict):
        return {key: _omit_defaults(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_omit_defaults(inner) for inner in value]
    return msgspec.to_builtins(value)


def explain_config(loaded: Loaded, key: str = "", *, defaults: bool = True) -> list[Origin]:
    """Returns where every key comes from, or one (`limits` or `limits.steps`).

    `defaults`: whether providers, models and other entries show the fields that have their default.
    """
    wanted = [k for k in _list_keys(loaded) if not key or k == key or k.startswith(f"{key}.")]
    if not wanted:
        raise ConfigError(ErrorKind.NOT_FOUND, name_unknown_key(key, key, _list_keys(loaded)))
    values = show_config(loaded.config)
    if not defaults:
        for name, value in _hide_secrets(_omit_defaults(loaded.config)).items():
            values[name] = {**values[name], **value} if name in MERGED else value
    return [_find_origin(loaded, k, values) for k in wanted]


def _list_keys(loaded: Loaded) -> list[str]:
    values = show_config(loaded.config)
    found: list[str] = []
    for key in KEYS:
        if key in MERGED:
            found += [f"{key}.{part}" for part in values[key]] or [key]
        else:
            found.append(key)
    return found


def _find_origin(loaded: Loaded, key: str, values: dict[str, Any]) -> Origin:
    top, _, part = key.partition(".")
    sources = [layer.origin(top) for layer in loaded.layers if _says(layer.values, top, part)]
    value = values[top]
    if part:
        value = value[part]
    if top == "models":  # concatenated: every place counts, none is overruled
        return Origin(key, value, ", ".join(reversed(sources)) or "built-in", (), describe_key(key))
    last = sources[-1] if sources else "built-in"
    return Origin(key, value, last, tuple(sources[:-1]), describe_key(key))


def _says(values: dict[str, Any], top: str, part: str) -> bool:
    if top not in values:
        return False
    return not part or (isinstance(values[top], dict) and part in values[top])
