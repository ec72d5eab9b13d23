"""The arguments of `Planck`, `start`, `resume` and `run`: each name, type and default once, and its check."""

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

import msgspec

from planck.config.load import ConfigError
from planck.context.compaction import BUILT_IN
from planck.llm.provider import Provider
from planck.permissions.approver import Approver
from planck.records.authority import Mode
from planck.records.nearest import did_you_mean
from planck.records.outcome import ErrorKind
from planck.records.specs import RunOptions
from planck.store.names import check_id
from planck.toolkit.tool import Tool

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from planck.config.trust import Trust
    from planck.headless.embedding.hooks import Hooks
    from planck.headless.embedding.teams import AnyTeam
    from planck.sidecar.discovery import Compact
    from planck.store.store import Store


class PlanckArguments(TypedDict, total=False):
    """What `Planck` takes beside its folders, and `run` passes on to it."""

    environ: Mapping[str, str] | None
    flags: Mapping[str, Any] | None
    trust: "bool | Trust"
    providers: Mapping[str, Provider] | None
    approver: Approver | None
    add_dirs: Iterable[Path | str]
    compactors: "Mapping[str, Compact] | None"
    tracer: "Tracer | None"


class SessionArguments(TypedDict, total=False):
    """What a session takes each time that it is opened: by `start`, `resume` and `run`."""

    model: str
    mode: Mode | str | None
    max_steps: int | None
    max_budget_usd: float | None
    max_tokens: int | None
    dry_run: bool | None
    tools: Sequence[Tool]
    settings: RunOptions | None
    deps: Any
    hooks: "Sequence[Hooks]"
    store: "Store | None"


class StartArguments(SessionArguments, total=False):
    """What a new session takes besides: `start`, and `run` without `resume`."""

    name: str
    id: str
    stored: bool
    history: Sequence[Mapping[str, Any]]
    compactor: str


class _FirstArguments(TypedDict, total=False):
    home: Path | str | None
    workspace: Path | str | None
    team: "str | os.PathLike[str] | AnyTeam | None"
    resume: str
    timeout: float | None


class RunArguments(_FirstArguments, PlanckArguments, StartArguments, total=False):
    """What `run` takes: all of it, behind what `help` shows first."""


_DEFAULTS: dict[str, Any] = {
    "trust": False,
    "add_dirs": (),
    "model": "",
    "tools": (),
    "hooks": (),
    "name": "",
    "id": "",
    "stored": True,
    "history": (),
    "compactor": "",
    "resume": "",
}
"""What holds where an argument is left out, or None; None for the others."""

_NOTHING_SAID = RunOptions()

A = TypeVar("A")
F = TypeVar("F", bound=Callable[..., Any])


def spell_out(shape: type) -> Callable[[F], F]:
    """Shows each argument of a function that takes `**arguments: Unpack[shape]` to `help` and `inspect`."""

    def decorate(function: F) -> F:
        own = inspect.signature(function)
        named = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        added = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_DEFAULTS.get(name),
                # A name that only checkers import stays a text.
                annotation=getattr(kind, "__forward_arg__", kind),
            )
            for name, kind in shape.__annotations__.items()
        ]
        function.__signature__ = own.replace(parameters=[*named, *added])  # type: ignore[attr-defined]
        return function

    return decorate


def complete(function: Callable[..., Any], shape: type[A], given: A) -> A:
    """Returns the arguments of a function with the defaults of those that were left out.

    Raises for a wrong one, and for an unknown one in the words of Python.
    """
    known, said = shape.__annotations__, cast(Mapping[str, Any], given)
    for name in said:
        if name not in known:
            hint = did_you_mean(name, inspect.signature(function).parameters)
            raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}{hint}")
    check_options(**said)
    return cast(A, {name: _DEFAULTS.get(name) if said.get(name) is None else said[name] for name in known})


def select(shape: type[A], given: Mapping[str, Any]) -> A:
    """Returns those arguments that a function takes, of all that `run` was given."""
    return cast(A, {name: given[name] for name in shape.__annotations__})


def add_options(options: RunOptions, settings: RunOptions | None, given: Mapping[str, Any]) -> RunOptions:
    """Returns the options with what `settings` say, and then the arguments; a default says nothing."""
    said: dict[str, Any] = {}
    for name in RunOptions.__struct_fields__:
        if settings is not None and (found := getattr(settings, name)) != getattr(_NOTHING_SAID, name):
            said[name] = found
        if (found := given.get(name)) is not None and found != "":
            said[name] = found
    return msgspec.structs.replace(options, **said)


class WrongArgument(ConfigError, TypeError):
    """An argument of a type that can't be used; the message names it by its keyword."""


def refuse(message: str) -> WrongArgument:
    return WrongArgument(ErrorKind.INVALID_ARGS, message)


_TEXT_OPTIONS = (
    *("model", "name", "id", "resume", "compactor"),
    *("agent", "system_prompt", "append_system_prompt", "effort", "fallback_model"),  # of RunOptions
)
_FLAGS = ("dry_run", "stored")
_COUNTS = ("max_steps", "max_tokens")


def check_options(**given: Any) -> None:
    """Raises for an option of `start`, `resume` or `run` that has a wrong type; None is not said."""
    for name, value in given.items():
        if value is None:
            continue
        wanted = ""
        if name in _TEXT_OPTIONS and not isinstance(value, str):
            wanted = "a string"
        elif name == "mode" and not isinstance(value, str):
            wanted = "a string such as 'ask', or a Mode"
        elif name in _FLAGS and not isinstance(value, bool):
            wanted = "True or False"
        elif name in _COUNTS and (isinstance(value, bool) or not isinstance(value, int)):
            wanted = "a whole number"
        elif name == "max_budget_usd" and (isinstance(value, bool) or not isinstance(value, int | float)):
            wanted = "a number of US dollars"
        elif name == "timeout" and (isinstance(value, bool) or not isinstance(value, int | float)):
            wanted = "a number of seconds"
        elif name == "settings" and not isinstance(value, RunOptions):
            wanted = "a RunOptions object"
        elif name == "settings":
            said = msgspec.structs.asdict(value)
            check_options(**said)
            if not isinstance(said["team"], str):  # as an argument it may also be an object
                raise refuse(f"team of settings must be a string, not {said['team']!r}.")
        elif name in ("allowed_tools", "disallowed_tools") and not _are_names(value):
            wanted = "a list of strings"
        elif name == "tools" and (isinstance(value, str) or not isinstance(value, Iterable)):
            wanted = "a list of tools"
        elif name == "store":
            check_methods(name, value, ("append", "read", "keep", "aclose"))
        if wanted:
            raise refuse(f"{name} must be {wanted}, not {value!r}.")
    if id := given.get("id"):
        check_id(id)


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def check_folder(name: str, folder: Path | str | None) -> None:
    """Raises for a folder that the program names and that is not there."""
    if folder is None:
        return
    if not isinstance(folder, str | os.PathLike):
        raise refuse(f"{name} must be a path, not {folder!r}.")
    if name == "workspace" and folder and not os.path.isdir(folder):
        what = "is not a folder" if os.path.exists(folder) else "does not exist"
        raise ConfigError(
            ErrorKind.NOT_FOUND,
            f"The workspace {os.fspath(folder)!r} {what}. Create the folder, or pass another one.",
        )


def read_folders(name: str, folders: Any) -> tuple[Path | str, ...]:
    """Returns them, also those of a generator, which gives them only once; raises for what is not a path."""
    if isinstance(folders, str | os.PathLike) or not isinstance(folders, Iterable):
        raise refuse(f"{name} must be a list of folders, not {folders!r}.")
    found = tuple(folders)
    for folder in found:
        check_folder(name, folder)
    return found


def check_mapping(name: str, given: Any) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise refuse(f"{name} must be a mapping, not {given!r}.")


def check_environ(given: Mapping[str, Any] | None) -> None:
    check_mapping("environ", given)
    for name, value in (given or {}).items():
        if not isinstance(value, str):
            raise refuse(f"environ[{name!r}] must be a string, not {value!r}.")


def check_compactors(given: Any) -> None:
    check_mapping("compactors", given)
    for name, write in (given or {}).items():
        if name in BUILT_IN or not isinstance(name, str):
            raise refuse(f"compactors: {name!r} is not a free name. Choose another one.")
        if not callable(write):
            raise refuse(f"compactors[{name!r}] must be a function of messages, not {write!r}.")


def check_methods(name: str, given: Any, methods: Collection[str]) -> None:
    """Raises for an object that can't do what it is passed for."""
    lacking = [method for method in methods if not callable(getattr(given, method, None))]
    if given is not None and (lacking or isinstance(given, type)):
        what = "an object, not a class" if isinstance(given, type) else f"an object with {lacking[0]}()"
        raise refuse(f"{name} must be {what}: {given!r} cannot be used.")
