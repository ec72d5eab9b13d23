"""What a program passes to `Planck`, checked at once: a mistake is told before anything is made or asked."""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from planck.config.load import ConfigError
from planck.context.compaction import BUILT_IN
from planck.records.outcome import ErrorKind
from planck.records.specs import RunOptions
from planck.store.names import check_id


class WrongArgument(ConfigError, TypeError):
    """An argument of a type that can't be used; the message names it by its keyword."""


def refuse(message: str) -> WrongArgument:
    return WrongArgument(ErrorKind.INVALID_ARGS, message)


_TEXTS = ("model", "name", "id", "resume", "compactor")
_FLAGS = ("dry_run", "stored")
_COUNTS = ("max_steps", "max_tokens")


def check_options(**given: Any) -> None:
    """Raises for an option of `start`, `resume` or `run` that has a wrong type; None is not said."""
    for name, value in given.items():
        if value is None:
            continue
        wanted = ""
        if name in _TEXTS and not isinstance(value, str):
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
        elif name == "tools" and (isinstance(value, str) or not isinstance(value, Iterable)):
            wanted = "a list of tools"
        if wanted:
            raise refuse(f"{name} must be {wanted}, not {value!r}.")
    if id := given.get("id"):
        check_id(id)


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


def check_paths(name: str, folders: Any) -> None:
    if isinstance(folders, str | os.PathLike) or not isinstance(folders, Iterable):
        raise refuse(f"{name} must be a list of folders, not {folders!r}.")


def check_mapping(name: str, given: Any) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise refuse(f"{name} must be a mapping, not {given!r}.")


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
