"""How a call of a tool is shown in an editor: its kind, its title, the files it is about, its diff."""

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from planck.acp.schema import Content, Diff, Location, TextContent
from planck.records import codec
from planck.records.tools import COMMAND_TOOLS, EXTERNAL_TOOLS, find_row, find_subject
from planck.records.visible import fit_line

_SUBJECTS = ("prompt", "task", "type")
"""What an editor shows of a call that has no other subject."""
_MAX_TITLE = 200
_MAX_DIFF = 1 << 20
"""Bytes of a file of which the whole is shown; of a larger one only what is replaced."""


def make_title(tool: str, args: Any, agent: str = "") -> str:
    """Returns `make test`, `edit prices.py`, `ask_agent tester`; of a worker `tester · make test`."""
    subject = find_subject(tool, args)
    if isinstance(args, Mapping):
        keys = ("title",) if tool in EXTERNAL_TOOLS else _SUBJECTS if not subject else ()
        subject = next((args[key] for key in keys if isinstance(args.get(key), str)), subject)
    alone = tool in COMMAND_TOOLS or tool in EXTERNAL_TOOLS
    text = subject if subject and alone else f"{tool} {subject}".strip()
    return fit_line(f"{agent} · {text}" if agent else text, _MAX_TITLE)


def find_locations(workspace: str, tool: str, args: Any) -> tuple[Location, ...] | None:
    """Returns the file that a call is about; None for a tool that has none."""
    if find_row(tool).kind not in ("read", "edit", "search") or not isinstance(args, Mapping):
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
    """Returns what a tool makes of a file; None where that is not shown, or its arguments do not tell.

    `before` is what the file holds, None where there is none; both sides are whole, unless it is too large.
    """
    if find_row(tool).shown != "diff" or not isinstance(args, Mapping):
        return None
    if isinstance(args.get("content"), str):
        return Diff(path=path, old_text=before, new_text=args["content"])
    old, new = args.get("old_string"), args.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    if before is not None and old not in before and "\r\n" in before:  # the tool keeps a file's line ends
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    if before is None or len(before) > _MAX_DIFF or not old or old not in before:
        return Diff(path=path, old_text=old, new_text=new)
    count = -1 if args.get("replace_all") is True else 1
    return Diff(path=path, old_text=before, new_text=before.replace(old, new, count))


def read_diff(path: str, before: bytes | None, after_sha256: str) -> Diff | None:
    """Returns what a command made of a file; None if that is not there any more, or is not a text."""
    old = b"" if before is None else before
    new = b""
    if after_sha256:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(fd, "rb") as file:
                new = file.read(_MAX_DIFF + 1)
        except OSError:
            return None
        if hashlib.sha256(new).hexdigest() != after_sha256:
            return None
    if len(old) > _MAX_DIFF or b"\0" in old or b"\0" in new:
        return None
    text = old.decode("utf-8", "replace")
    return Diff(path=path, old_text=None if before is None else text, new_text=new.decode("utf-8", "replace"))


def show_text(text: str) -> Content:
    return Content(content=TextContent(text=text))


def read_arguments(text: str) -> Any:
    """Returns a model's own arguments, as they are shown before anybody has checked them."""
    try:
        return codec.decode(text)
    except codec.DecodeError:
        return text
