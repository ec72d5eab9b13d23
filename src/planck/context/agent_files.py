"""Agents of the user's own: a Markdown file each, as other programs have them too.

    .claude/agents/reviewer.md        ---
                                      name: reviewer
                                      description: Reads a diff and says what is wrong with it.
                                      tools: Read, Grep, Bash
                                      model: sonnet
                                      ---
                                      You review ...

Keys that we do not know are ignored. The text is a prompt like any other: nothing in it runs, and nothing in
it grants more than whoever starts the agent has.
"""

import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from planck.context import frontmatter
from planck.context.commands import CommandPlace, list_markdown, read_markdown
from planck.context.texts import MAX_BYTES
from planck.records.authority import Mode
from planck.records.specs import ForeignSpec
from planck.workspace.paths.paths import protected_name

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
_MAX_AGENTS = 500
_EVERYTHING = frozenset({"*", "all", "all tools", "inherit"})


class AgentFile(msgspec.Struct, frozen=True):
    name: str
    description: str
    prompt: str
    tools: tuple[str, ...] | None
    """As the file names them; None: all that there are."""
    without: tuple[str, ...]
    model: str
    skills: tuple[str, ...]
    file: Path
    scope: Literal["project", "home"]
    acp: ForeignSpec | None = None
    """The program that it is, in the place of a model and tools of ours."""


class AgentCatalog(msgspec.Struct, frozen=True):
    agents: dict[str, AgentFile] = {}
    problems: dict[Path, str] = {}
    """Why a file does not describe an agent, by file."""


def find_agents(places: Iterable[CommandPlace]) -> AgentCatalog:
    """Looks through the folders in order; the first of a name wins."""
    found: dict[str, AgentFile] = {}
    problems: dict[Path, str] = {}
    for place in places:
        for file in list_markdown(place):
            one = _read(place, file)
            if isinstance(one, str):
                problems[file] = one
            elif one.name not in found and len(found) < _MAX_AGENTS:
                found[one.name] = one
    return AgentCatalog(found, problems)


def _read(place: CommandPlace, file: Path) -> AgentFile | str:
    """Returns the agent of a file, or why it is none."""
    text = read_markdown(place, file)
    if text is None:
        return (
            "the file cannot be read, or it is a link that leads outside the project; "
            "fix its permissions, or replace the link with a copy"
        )
    if len(text.encode()) > MAX_BYTES:
        return f"the file is larger than {MAX_BYTES >> 10} KiB; shorten it"
    parsed = frontmatter.split(text)
    if parsed is None:
        return "the file has no front matter; add `name` and `description` between two lines of `---`"
    fields, body = parsed
    described = _join(fields.get("description"))
    if not described and not _join(fields.get("name")):
        return "the front matter has neither `name` nor `description`; add them"
    name = _join(fields.get("name"))
    if not _NAME.fullmatch(name):  # a display name: the file's own is the one to call it by
        name = file.stem
    tools, without = _read_tools(fields)
    acp = _read_foreign(fields.get("acp"), file)
    if isinstance(acp, str):
        return acp
    if acp and not _is_out_of_reach(place, file):
        return (
            "agents can write to this folder, so a file in it cannot name a program; "
            "move the file to .planck/agents"
        )
    return AgentFile(
        name,
        described,
        body.strip(),
        tools,
        (*without, *(_list(fields.get("disallowedTools")) or ())),
        _join(fields.get("model")),
        tuple(_list(fields.get("skills")) or ()),
        file,
        place.scope,
        acp,
    )


def _is_out_of_reach(place: CommandPlace, file: Path) -> bool:
    """Tells whether only the user writes it, by whatever name: a program gets the network, and variables."""
    if place.within is None:
        return True
    paths = (os.path.relpath(file, place.within), os.path.relpath(file.resolve(), place.within.resolve()))
    return all(protected_name(path) for path in paths)


def _read_foreign(value: Any, file: Path) -> ForeignSpec | str | None:
    """`acp: goose acp`, or a map of `command`, `env`, `mode` and `network`; why it is none of these."""
    if not value:
        return None
    given = value if isinstance(value, dict) else {"command": _join(value)}
    try:
        command = shlex.split(given.get("command", "").strip("[]").replace(",", " "))
        mode = given.get("mode") or None
        network = str(given.get("network", "true")).lower() not in ("false", "no")
        env = tuple(_list(given.get("env", "").strip("[]")) or ())
        foreign = ForeignSpec(tuple(command), env, Mode(mode) if mode else None, network, str(file.resolve()))
    except ValueError as problem:
        return f"`acp` is not valid: {problem}; correct it"
    return foreign if command else "`acp` has no `command`; add one, for example `goose acp`"


def _read_tools(fields: dict[str, Any]) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Returns what it is to have, and what not; both may be written as a map of names to yes and no."""
    value = fields.get("tools", fields.get("allowed-tools"))
    if isinstance(value, dict):
        return None, tuple(
            name for name, said in value.items() if str(said).lower() in ("false", "no", "deny")
        )
    names = _list(value)
    if names is None or any(name.lower() in _EVERYTHING for name in names):
        return None, ()
    return tuple(names), ()


def _list(value: Any) -> list[str] | None:
    """Names with commas or spaces between them, or a list; brackets belong to the name before them."""
    if value is None or value == "":
        return None
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return [found[0].split("(")[0] for found in re.finditer(r"[^\s,()]+(?:\([^()]*\))?", text)]


def _join(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value or "").strip()
