"""Configuration: built-in < home < project < environment < flags. The only reader of files and variables."""

import json
import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from planck.permissions.policy import Mode, stricter
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import Limits


class ConfigError(PlanckError):
    """A configuration that can't be used; the message names file, key and the way out."""


class ProviderEntry(msgspec.Struct, frozen=True):
    type: str
    api: str = ""
    base_url: str = ""
    identifier: str = ""
    headers: dict[str, str] = {}


class ModelEntry(msgspec.Struct, frozen=True):
    id: str
    model: str
    provider: str
    name: str = ""
    params: dict[str, Any] = {}
    context_window: int = 0
    max_output: int = 0


class Permissions(msgspec.Struct, frozen=True):
    mode: Mode = Mode.ASK
    rules: list[dict[str, Any]] = []


class Config(msgspec.Struct, frozen=True):
    default_model: str = ""
    default_team: str = ""
    sessions_dir: str = ""
    store: str = ""
    skills_dirs: list[str] = []
    teams_dirs: list[str] = []
    tools_dirs: list[str] = []
    sidecar: str | dict[str, str] = ""
    mcpServers: dict[str, Any] = {}
    hooks: dict[str, Any] = {}
    agents_md: str = ""
    permissions: Permissions = Permissions()
    limits: Limits = Limits()
    locale: str = ""
    providers: dict[str, ProviderEntry] = {}
    models: list[ModelEntry] = []


KEYS = Config.__struct_fields__


class Loaded(msgspec.Struct, frozen=True):
    config: Config
    notices: tuple[str, ...]
    """What the user should know: keys that were ignored, and why."""


def home_dir(environ: Mapping[str, str] | None = None) -> Path:
    environ = environment() if environ is None else environ
    return Path(environ.get("PLANCK_HOME") or Path.home() / ".planck").expanduser().absolute()


def environment() -> Mapping[str, str]:
    return dict(os.environ)  # noqa: TID251 - the one owner of the environment


def load(
    home: Path,
    workspace: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
    *,
    trusted: bool = False,
) -> Loaded:
    """Merge the layers; an untrusted project's file may only narrow."""
    notices: list[str] = []
    user = _read(home / "config.json", notices)
    project = _read(workspace / ".planck" / "config.json", notices)
    ceiling: Mode | None = None
    if project and not trusted:
        ceiling = _ceiling(project)
        notices.append(
            f"{workspace / '.planck' / 'config.json'} is not trusted: "
            "only what narrows is taken from it; pass --trust to use it in this run"
        )
        project = {}
    raw: dict[str, Any] = {}
    for layer in (user, project, _from_environment(environ), dict(flags or {})):
        raw = _merge(raw, layer)
    config = _convert(raw)
    if ceiling is not None:
        mode = stricter(ceiling, config.permissions.mode)
        permissions = msgspec.structs.replace(config.permissions, mode=mode)
        config = msgspec.structs.replace(config, permissions=permissions)
    return Loaded(config, tuple(notices))


def _read(path: Path, notices: list[str]) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as failure:
        raise ConfigError(ErrorKind.READ_FAILED, f"cannot read {str(path)!r}: {failure}") from None
    try:
        raw = json.loads(text)
    except ValueError as failure:
        raise ConfigError(
            ErrorKind.INVALID_ARGS, f"{str(path)!r} is not valid JSON: {failure}; correct it or move it away"
        ) from None
    if not isinstance(raw, dict):
        raise ConfigError(ErrorKind.INVALID_ARGS, f"{str(path)!r} must hold a JSON object")
    return {key: value for key, value in raw.items() if _known(key, path, notices)}


def _known(key: str, path: Path, notices: list[str]) -> bool:
    if key in KEYS:
        return True
    near = get_close_matches(key, KEYS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    notices.append(f"{path}: unknown key {key!r} is ignored{hint}")
    return False


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for key in KEYS:
        value = environ.get(f"PLANCK_{key.upper()}")
        if value is not None:
            try:
                found[key] = json.loads(value)
            except ValueError:
                found[key] = value
    return found


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**below, **above}
    for key in ("providers", "permissions", "limits"):
        if isinstance(below.get(key), dict) and isinstance(above.get(key), dict):
            merged[key] = {**below[key], **above[key]}
    if isinstance(below.get("models"), list) and isinstance(above.get("models"), list):
        merged["models"] = [*above["models"], *below["models"]]
    return merged


def _convert(raw: Mapping[str, Any]) -> Config:
    try:
        return msgspec.convert(raw, Config)
    except msgspec.ValidationError as failure:
        raise ConfigError(
            ErrorKind.INVALID_ARGS, f"configuration: {failure}; `planck config explain` shows each key"
        ) from None


def _ceiling(project: Mapping[str, Any]) -> Mode | None:
    mode = (project.get("permissions") or {}).get("mode")
    return Mode(mode) if mode in tuple(Mode) else None
