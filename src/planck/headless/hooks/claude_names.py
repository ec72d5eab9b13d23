"""What Claude Code calls our tools and their arguments: hooks are written for its names."""

import os
from collections.abc import Mapping
from typing import Any

from planck.records.tools import find_row


def name_for_hooks(tool: str) -> str:
    """What a hook reads as `tool_name`; a tool that Claude Code has none of keeps its own."""
    return (*find_row(tool).claude, tool)[0]


def spell_all(tool: str) -> tuple[str, ...]:
    """Every name by which a matcher may mean a tool."""
    return (tool, *find_row(tool).claude)


def add_keys(tool: str, args: Any, folder: str) -> Any:
    """Arguments with Claude Code's keys beside ours; a `file_path` is absolute, as it is there."""
    if not isinstance(args, dict):
        return args
    theirs = {key: args[own] for own, key in find_row(tool).keys.items() if own in args and key not in args}
    if isinstance(path := theirs.get("file_path"), str):
        theirs["file_path"] = os.path.join(folder, path)
    return {**args, **theirs, **_add_shapes(tool, args, theirs)}


def _add_shapes(tool: str, args: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """What MultiEdit and the tools for notebooks call the same: a guard of theirs looks there."""
    added: dict[str, Any] = {}
    if tool == "edit" and "edits" not in args:
        one = {key: args[key] for key in ("old_string", "new_string", "replace_all") if key in args}
        added["edits"] = [one]
    if str(theirs.get("file_path", "")).endswith(".ipynb"):
        added["notebook_path"] = theirs["file_path"]
    return added


def take_keys(tool: str, told: Mapping[str, Any], answered: Mapping[str, Any]) -> dict[str, Any]:
    """A hook's new arguments in our keys: whichever spelling it changed counts, its own first.

    `told` is what it was given; what it leaves out is gone.
    """
    added = ("edits", "notebook_path")
    taken = {key: value for key, value in answered.items() if key not in added or value != told.get(key)}
    for own, key in find_row(tool).keys.items():
        if key not in taken:
            continue
        changed = taken.pop(key)
        if own not in taken or changed != told.get(key):
            taken[own] = changed
    return taken
