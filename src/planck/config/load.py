"""Configuration: built-in < home < project < environment < flags. The only reader of files and variables."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from planck.config.environment import read_addresses
from planck.config.schema import KEYS, Config, ModelEntry, NodeEntry, Permissions, ProviderEntry, list_choices
from planck.config.trust import TrustState
from planck.permissions.authority import stricter
from planck.records.authority import Mode
from planck.records.nearest import did_you_mean, nearest
from planck.records.outcome import ErrorKind, PlanckError, say_option
from planck.records.specs import Limits
from planck.workspace.paths.regular import read_regular

_MAX_BYTES = 4 << 20
MERGED = ("providers", "permissions", "limits", "mcpServers")
"""Maps of which a higher layer replaces single entries; `models` concatenate; all else is replaced whole."""

SPENDING = ("budget", "quotas")
"""What the user spends; a variable of the environment, which scripts pass on, can't change it either."""
USER_ONLY = ("keys", "server", "node", "cluster", "undo", "views", *SPENDING)
"""What a project's file can't say, trusted or not."""


class ConfigError(PlanckError):
    """A configuration that can't be used; the message names file, key and the way out."""


class Layer(msgspec.Struct, frozen=True):
    """What one place says; `source` is a path, `environment`, or `flags`."""

    source: str
    values: dict[str, Any]

    def origin(self, key: str) -> str:
        return f"PLANCK_{key.upper()}" if self.source == "environment" else self.source

    @property
    def permissions(self) -> dict[str, Any]:
        """What it says of them, as it was read: a file's own mistakes may stand in it."""
        found = self.values.get("permissions")
        return found if isinstance(found, dict) else {}


class Loaded(msgspec.Struct, frozen=True):
    config: Config
    notices: tuple[str, ...]
    """What the user should know: keys that were ignored, and why."""
    layers: tuple[Layer, ...] = ()
    """Lowest first; the project's is not there, or holds only what narrows, where it is not trusted."""
    trusted: bool = False
    """Whether the workspace's own files may run things."""


def find_home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("PLANCK_HOME") or Path.home() / ".planck").expanduser().absolute()


@contextmanager
def edit_user_file(home: Path) -> Iterator[dict[str, Any]]:
    """Gives what is in the user's own `config.json` to change, and writes it back when the block ends well.

    A server's header may be a key: only the user reads the file from then on.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    from planck.config.files import hold_lock  # only for a change

    file = home / "config.json"
    with hold_lock(file), edit_json(file.resolve(), hidden=0o077) as config:
        yield config


@contextmanager
def edit_json(file: Path, *, hidden: int = 0) -> Iterator[dict[str, Any]]:
    """Gives the object in a file to change, and writes it back when the block ends well.

    Edits that another program made meanwhile are kept. `hidden`: the bits that its mode must not have.
    """
    from planck.workspace.paths.paths import Root

    with Root(file.parent, protected=False).writing(file.name) as slot:
        before, mode = slot.read(_MAX_BYTES) or (b"{}", 0o644)
        try:
            config = _read_json(before.decode().strip() or "{}")
        except (ValueError, RecursionError) as problem:
            raise ConfigError(
                ErrorKind.READ_FAILED, f"Cannot read {str(file)!r}: {problem}. Fix the file."
            ) from None
        if not isinstance(config, dict):
            raise ConfigError(
                ErrorKind.INVALID_ARGS, f"{str(file)!r} must contain a JSON object. Fix the file."
            )
        yield config
        if _has_comments(before):  # they can't be written back, and are the user's
            backup = file.with_name(f"{file.name}.bak")
            with suppress(FileNotFoundError):
                backup.unlink()
            with open(backup, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as old:
                old.write(before)
        slot.replace(json.dumps(config, indent=2, ensure_ascii=False).encode() + b"\n", mode & ~hidden)


def set_user_value(home: Path, key: str, text: str) -> Path:
    """Writes one value of the user's own file, or raises and changes nothing; `key` may go into maps.

    The text is JSON, or a word as it stands where it is none.
    """
    top = key.partition(".")[0]
    if top not in KEYS:
        raise ConfigError(ErrorKind.INVALID_ARGS, name_unknown_key(key, top, KEYS))
    try:
        value = text if top in _TEXTS else json.loads(text)
    except ValueError:
        value = text
    with edit_user_file(home) as config:
        *parents, last = key.split(".")
        place = config
        for name in parents:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                raise ConfigError(
                    ErrorKind.INVALID_ARGS, f"{name!r} in {key!r} is not a map. Set all of {name!r} instead."
                )
        place[last] = value
        file, unknown = str(home / "config.json"), list[_Unknown]()
        known = _keep_known({k: v for k, v in config.items() if k != "$schema"}, file, unknown)
        if wrong := [one for one in unknown if one.key == key]:
            raise ConfigError(ErrorKind.INVALID_ARGS, name_unknown_key(key, last, wrong[0].known))
        node = _convert(known, [Layer(file, known)]).node
        if key in ("node", "node.accept", "node.trust") and (unclear := _list_unclear(node)):
            raise ConfigError(ErrorKind.INVALID_ARGS, unclear[0])
    return home / "config.json"


def name_unknown_key(key: str, word: str, known: Iterable[str]) -> str:
    """Says that a key is not known; `word` is the part of it to compare with the `known` ones."""
    hint = did_you_mean(word, known) or "."
    return f'Unknown configuration key {key!r}{hint} Run "planck config explain" for a list of keys.'


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        from planck.config.files import parse_relaxed

        return parse_relaxed(text)


def _has_comments(content: bytes) -> bool:
    try:
        json.loads(content)
    except ValueError:
        return True
    return False


def config_files(home: Path, workspace: Path) -> tuple[Path, Path]:
    return home / "config.json", workspace / ".planck" / "config.json"


def load(
    home: Path, workspace: Path, environ: Mapping[str, str], flags: Mapping[str, Any], state: TrustState
) -> Loaded:
    """Merge the layers; an untrusted project's file may only narrow."""
    notices: list[str] = []
    trusted = state.trusted
    user_file, project_file = config_files(home, workspace)
    user = Layer(str(user_file), _read(user_file, notices, state.content.users))
    # What is taken over is what was hashed for the trust, not what the file holds a moment later.
    seen = state.content.config
    project = Layer(
        str(project_file), _read(project_file, notices, seen) if project_file != user_file else {}
    )
    for key in USER_ONLY:
        if project.values.pop(key, None) is not None:
            notices.append(f"{project_file}: {key!r} is ignored. It can only be set in {user_file}.")
    limits = project.values.get("limits")
    if isinstance(limits, dict) and limits.pop("providers", None) is not None:
        notices.append(f"{project_file}: 'limits.providers' is ignored. It can only be set in {user_file}.")
    if isinstance(servers := project.values.get("mcpServers"), dict):
        from planck.config.files import drop_client_keys

        notices += drop_client_keys(servers, str(project_file), str(user_file))
    variables = _read_variables(environ, notices)
    for place, values in ((project_file, project.values), ("PLANCK_PERMISSIONS", variables)):
        permissions = values.get("permissions")
        for key in ("readable", "environment"):
            if isinstance(permissions, dict) and permissions.pop(key, None) is not None:
                notices.append(f"{place}: 'permissions.{key}' is ignored. It can only be set in {user_file}.")
    for key in SPENDING:
        if variables.pop(key, None) is not None:
            notices.append(f"PLANCK_{key.upper()} is ignored. {key!r} can only be set in {user_file}.")
    above = (Layer("environment", variables), Layer("flags", dict(flags)))
    narrowing = None
    if project.values and not trusted:
        narrowing, project = project, Layer(project.source, {})
    elif project.permissions.get("mode") == Mode.FULL:
        option = say_option("--permission-mode full", "mode='full'")
        how = f"Only you can choose that mode: pass {option}."
        notices.append(f"{project_file}: mode 'full' is ignored. {how}")
        project.permissions.pop("mode")
    layers = (user, project, *above)
    raw: dict[str, Any] = {}
    for layer in layers:
        raw = _merge(raw, layer.values)
    config = _convert(raw, layers)
    notices += _list_unclear(config.node)
    config = _place(_withhold(config, project, above), read_addresses(environ))
    if narrowing:
        config, taken = _narrow(config, narrowing)
        layers = (user, *above, Layer(f"{project_file} (narrowing)", taken))
    return Loaded(config, tuple(notices), tuple(layer for layer in layers if layer.values), trusted)


def check_flags(flags: Mapping[str, Any]) -> None:
    """Raises for a key that there is not in what a program passes as `flags`."""
    unknown: list[_Unknown] = []
    _keep_known(dict(flags), "flags", unknown)
    if unknown:
        first = unknown[0]
        message = name_unknown_key(first.key, first.key.rpartition(".")[2], first.known)
        raise ConfigError(ErrorKind.INVALID_ARGS, f"flags: {message}")


def _read(path: Path, notices: list[str], seen: bytes | None = None) -> dict[str, Any]:
    try:
        if seen is None or len(seen) > _MAX_BYTES:
            seen = read_regular(path, _MAX_BYTES)
        text = seen.decode()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as failure:
        raise ConfigError(
            ErrorKind.READ_FAILED, f"Cannot read {str(path)!r}: {failure}. Fix or rename the file."
        ) from None
    try:
        raw = _read_json(text)
    except (ValueError, RecursionError) as failure:
        raise ConfigError(
            ErrorKind.INVALID_ARGS,
            f"{str(path)!r} is not valid JSON: {failure}. Fix or rename the file.",
        ) from None
    if not isinstance(raw, dict):
        raise ConfigError(
            ErrorKind.INVALID_ARGS,
            f"{str(path)!r} must contain a JSON object, such as {{}}. Fix or rename the file.",
        )
    raw.pop("$schema", None)
    unknown: list[_Unknown] = []
    found = _keep_known(raw, str(path), unknown)
    notices += [one.notice for one in unknown]
    return found


class _Unknown(msgspec.Struct, frozen=True):
    """A key that is ignored."""

    place: str
    key: str
    known: Sequence[str]
    """Those that could stand where its last part does."""

    @property
    def notice(self) -> str:
        if self.key in _NOT_BUILT:
            return f"{self.place}: key {self.key!r} is not supported yet and is ignored."
        hint = did_you_mean(self.key.rpartition(".")[2], self.known) or "."
        return f"{self.place}: unknown key {self.key!r} is ignored{hint}"


def _keep_known(raw: dict[str, Any], place: str, unknown: list[_Unknown]) -> dict[str, Any]:
    """The keys that we know, inside providers, models, permissions and limits too; lists the others."""
    found: dict[str, Any] = _pick(raw, KEYS, place, "", unknown)
    for key, fields in (("permissions", Permissions), ("limits", Limits)):
        if key in found:
            found[key] = _pick(found[key], fields.__struct_fields__, place, f"{key}.", unknown)
    providers = found.get("providers")
    if isinstance(providers, dict):
        fields_of = [name for name in ProviderEntry.__struct_fields__ if name != "withhold_key"]
        found["providers"] = {
            name: _pick(entry, fields_of, place, f"providers.{name}.", unknown)
            for name, entry in providers.items()
        }
    if isinstance(found.get("models"), list):
        found["models"] = [
            _pick(entry, ModelEntry.__struct_fields__, place, f"models[{n}].", unknown)
            for n, entry in enumerate(found["models"])
        ]
    return found


def _pick(raw: Any, known: Sequence[str], place: str, prefix: str, unknown: list[_Unknown]) -> Any:
    if not isinstance(raw, dict):
        return raw  # refused when it is converted
    unknown += [_Unknown(place, prefix + key, known) for key in raw if key not in known]
    return {key: value for key, value in raw.items() if key in known}


_NOT_BUILT = frozenset({"hosts"})
"""Promised keys: no other is meant by them."""
_TEXTS = frozenset(
    {"default_model", "default_team", "sessions_dir", "durability", "store", "agents_md", "locale", "server"}
)
_LISTS = frozenset({"skills_dirs", "teams_dirs", "tools_dirs"})


def _read_variables(environ: Mapping[str, str], notices: list[str]) -> dict[str, Any]:
    """Texts as they are, lists of directories as JSON or separated by `:`, all else as JSON."""
    variables = {f"PLANCK_{key.upper()}": key for key in KEYS}
    for name in environ:
        if name.startswith("PLANCK_") and name not in variables and name != "PLANCK_HOME":
            near = nearest(name.removeprefix("PLANCK_").lower(), [key.lower() for key in KEYS])
            if near:  # other programs may have variables of that prefix: only a near miss is worth a line
                meant = f"PLANCK_{near[0].upper()}"
                notices.append(f"{name} is not a variable that Planck reads. Did you mean {meant!r}?")
    found = {key: _parse(name, key, environ[name]) for name, key in variables.items() if environ.get(name)}
    unknown: list[_Unknown] = []
    known = _keep_known(found, "environment", unknown)
    notices += [one.notice for one in unknown]
    return known


def _parse(name: str, key: str, text: str) -> Any:
    if key in _TEXTS:
        return text
    try:
        return json.loads(text)
    except ValueError:
        if key in _LISTS:
            return text.split(os.pathsep)
        if key == "sidecar":
            return text
    raise ConfigError(
        ErrorKind.INVALID_ARGS,
        f'The value of {name} is not valid JSON. Run "planck config explain {key}" to see what it takes.',
    )


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**below, **above}
    for key in MERGED:
        if isinstance(below.get(key), dict) and isinstance(above.get(key), dict):
            merged[key] = {**below[key], **above[key]}
    if isinstance(below.get("models"), list) and isinstance(above.get("models"), list):
        merged["models"] = [*above["models"], *below["models"]]
    return merged


def _convert(raw: Mapping[str, Any], layers: Iterable[Layer]) -> Config:
    try:
        return msgspec.convert(raw, Config)
    except msgspec.ValidationError as failure:
        where, what = _find_culprit(layers, failure)
        raise ConfigError(
            ErrorKind.INVALID_ARGS,
            f'{where}: {what}. Run "planck config explain" to see what each key takes.',
        ) from None


def _list_unclear(node: NodeEntry) -> list[str]:
    """Returns a notice for each entry of the node's lists that names no repository."""
    if not node.accept and not node.trust:
        return []
    from planck.workspace.git.sources import read_pattern, split_entry  # few machines are nodes

    entries = [("accept", entry, entry) for entry in node.accept]
    entries += [("trust", entry, split_entry(entry)[0]) for entry in node.trust]
    return [
        f"node.{key}: {entry!r} is ignored, because it names neither a host nor an absolute path. "
        "Write SCHEME://HOST/PATH, USER@HOST:PATH or /PATH. `*` matches any part, "
        "and `*` alone matches everything."
        for key, entry, repo in entries
        if read_pattern(repo) is None
    ]


def _find_culprit(layers: Iterable[Layer], failure: msgspec.ValidationError) -> tuple[str, str]:
    """The place that is wrong by itself, so that the message can name it."""
    for layer in layers:
        for key, value in layer.values.items():
            try:
                msgspec.convert({key: value}, Config)
            except msgspec.ValidationError as own:
                return layer.origin(key), _say_choices(str(own).replace("`$.", "`"))
    return "configuration", str(failure)


def _say_choices(problem: str) -> str:
    path = problem.rpartition(" - at `")[2].rstrip("`")
    choices = list_choices(path) if problem.startswith("Invalid enum value") else []
    return f"{problem}. Allowed: {', '.join(choices)}" if choices else problem


def _withhold(config: Config, project: Layer, above: Iterable[Layer]) -> Config:
    """A key goes to the vendor or to an address of the user's own config, never to one from a project."""
    theirs = set(project.values.get("providers") or ())
    for layer in above:
        theirs -= set(layer.values.get("providers") or ())
    providers = {
        name: msgspec.structs.replace(entry, withhold_key=True)
        if (name in theirs and (entry.base_url or entry.oauth)) or not entry.has_api_key
        else entry
        for name, entry in config.providers.items()
    }
    return msgspec.structs.replace(config, providers=providers)


def _place(config: Config, addresses: dict[str, str]) -> Config:
    """A provider without an address of its own is where the environment says that its type is."""
    providers = {
        name: msgspec.structs.replace(entry, base_url=entry.base_url or addresses.get(entry.type, ""))
        for name, entry in config.providers.items()
    }
    return msgspec.structs.replace(config, providers=providers, addresses=addresses)


def _narrow(config: Config, project: Layer) -> tuple[Config, dict[str, Any]]:
    """Take from an untrusted project what takes rights away: a stricter mode, lower limits."""
    taken: dict[str, Any] = {}
    mode, rules = project.permissions.get("mode"), project.permissions.get("rules")
    if mode in tuple(Mode) and stricter(Mode(mode), config.permissions.mode) is not config.permissions.mode:
        permissions = msgspec.structs.replace(config.permissions, mode=Mode(mode))
        config = msgspec.structs.replace(config, permissions=permissions)
        taken["permissions"] = {"mode": mode}
    # Those that deny or ask: the gate puts them beside the user's own, and the strictest wins.
    found = [rule for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else []
    if stricter_rules := [rule for rule in found if rule.get("decision") in ("deny", "ask")]:
        taken["permissions"] = {**taken.get("permissions", {}), "rules": stricter_rules}
    limits = project.values.get("limits")
    lower = {
        key: value
        for key, value in (limits.items() if isinstance(limits, dict) else ())
        if type(value) is int and 0 <= value < getattr(config.limits, key)
    }
    if lower:
        try:
            narrowed = msgspec.convert({**msgspec.to_builtins(config.limits), **lower}, Limits)
        except msgspec.ValidationError:
            return config, taken
        config = msgspec.structs.replace(config, limits=narrowed)
        taken["limits"] = lower
    return config, taken
