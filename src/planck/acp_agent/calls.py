"""How a call of a tool is shown in an editor: its kind, its title, the files it is about, its diff."""

import os
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from planck.acp.schema import Content, Diff, Location, TextContent
from planck.records import codec
from planck.records.specs import FOREIGN
from planck.records.visible import fit_line

ToolKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]
_KINDS: dict[str, ToolKind] = {
    "read": "read",
    "list_dir": "read",
    "load_skill": "read",
    "list_skills": "read",
    "list_team": "read",
    "list_models": "read",
    "write": "edit",
    "edit": "edit",
    "glob": "search",
    "grep": "search",
    "bash": "execute",
    "update_plan": "think",
    "web_fetch": "fetch",
}
_SUBJECTS = ("command", "path", "pattern", "url", "prompt", "task", "identifier", "type", "name")
_MAX_TITLE = 200
_MAX_DIFF = 1 << 20
"""Bytes of a file of which the whole is shown; of a larger one only what is replaced."""


_FOREIGN: dict[str, ToolKind] = {f"{FOREIGN}_{kind}": kind for kind in get_args(ToolKind)}
"""Calls of a member that is another program: their kind is what it said."""


def find_kind(tool: str) -> ToolKind:
    return _KINDS.get(tool) or _FOREIGN.get(tool, "other")


def make_title(tool: str, args: Any, agent: str = "") -> str:
    """Returns `make test`, `edit prices.py`, `ask_agent tester`; of a worker `tester · make test`."""
    subject = ""
    if isinstance(args, Mapping):
        subject = next((str(args[key]) for key in _SUBJECTS if isinstance(args.get(key), str)), "")
        if tool in ("ask_agent", "delegate_task") and isinstance(args.get("identifier"), str):
            subject = args["identifier"]
        if tool in _FOREIGN and isinstance(args.get("title"), str):
            subject = args["title"]
    text = subject if subject and (tool == "bash" or tool in _FOREIGN) else f"{tool} {subject}".strip()
    return fit_line(f"{agent} · {text}" if agent else text, _MAX_TITLE)


def find_locations(workspace: str, tool: str, args: Any) -> tuple[Location, ...] | None:
    """Returns the file that a call is about; None for a tool that has none."""
    if find_kind(tool) not in ("read", "edit", "search") or not isinstance(args, Mapping):
        return None
    path = args.get("path")
    if not isinstance(path, str) or not path or "\0" in path:
        return None
    line = args.get("offset")
    first = line if isinstance(line, int) and not isinstance(line, bool) and line > 0 else None
    return (Location(path=make_absolute(workspace, path), line=first),)


def make_absolute(workspace: str, path: str) -> str:
    return os.path.normpath(os.path.join(workspace, path))


def make_diff(path: str, tool: str, args: Any, before: str | None) -> Diff | None:
    """Returns what `edit` or `write` makes of a file; None for other tools, and for arguments that are none.

    `before` is what the file holds, None where there is none; both sides are whole, unless it is too large.
    """
    if not isinstance(args, Mapping):
        return None
    if tool == "write" and isinstance(args.get("content"), str):
        return Diff(path=path, old_text=before, new_text=args["content"])
    old, new = args.get("old_string"), args.get("new_string")
    if tool != "edit" or not isinstance(old, str) or not isinstance(new, str):
        return None
    if before is not None and old not in before and "\r\n" in before:  # the tool keeps a file's line ends
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    if before is None or len(before) > _MAX_DIFF or not old or old not in before:
        return Diff(path=path, old_text=old, new_text=new)
    count = -1 if args.get("replace_all") is True else 1
    return Diff(path=path, old_text=before, new_text=before.replace(old, new, count))


def show_text(text: str) -> Content:
    return Content(content=TextContent(text=text))


def read_arguments(text: str) -> Any:
    """Returns a model's own arguments, as they are shown before anybody has checked them."""
    try:
        return codec.decode(text)
    except codec.DecodeError:
        return text
