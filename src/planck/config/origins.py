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
    values: dict[str, Any] = hide(msgspec.to_builtins(config))
    values.pop("addresses")
    for entry in values["providers"].values():
        entry.pop("withhold_key")
    return values


def explain_config(loaded: Loaded, key: str = "") -> list[Origin]:
    """Returns where every key comes from, or one (`limits` or `limits.steps`)."""
    wanted = [k for k in _list_keys(loaded) if not key or k == key or k.startswith(f"{key}.")]
    if not wanted:
        raise ConfigError(ErrorKind.NOT_FOUND, name_unknown_key(key, key, _list_keys(loaded)))
    return [_find_origin(loaded, k) for k in wanted]


def _list_keys(loaded: Loaded) -> list[str]:
    values = show_config(loaded.config)
    found: list[str] = []
    for key in KEYS:
        if key in MERGED:
            found += [f"{key}.{part}" for part in values[key]] or [key]
        else:
            found.append(key)
    return found


def _find_origin(loaded: Loaded, key: str) -> Origin:
    top, _, part = key.partition(".")
    sources = [layer.origin(top) for layer in loaded.layers if _says(layer.values, top, part)]
    value = show_config(loaded.config)[top]
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
