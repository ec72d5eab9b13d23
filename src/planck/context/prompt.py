"""The system prompt of an agent: a base that never changes, project instructions, its own prompt, skills."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec

from planck.context.fitting import ROOMY, leave_out
from planck.records.authority import CHANGELESS, PROTECTED, Mode
from planck.records.specs import AgentSpec
from planck.records.tools import ASK, COMMAND_TOOLS, TEAM_TOOLS
from planck.records.visible import spell_out
from planck.toolkit.toolset import ToolSet

_NAMED = 32
"""Others that a prompt names: it would grow with the square of a large team."""
_DESCRIPTION = 200
"""Characters of what is said of another agent."""
SMALL = 16_384
"""Tokens of a window below which `# How to work` is the short one."""


class Prepared(msgspec.Struct, frozen=True):
    """What a turn begins with."""

    system: str
    tools: ToolSet


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Where the agents of a session work, as it was when they started."""

    workspace: str
    here: str
    """The folder that the user stands in, from the workspace on; empty: the workspace."""
    added: tuple[str, ...]
    """Folders beside the workspace."""
    platform: str
    shell: str
    date: str
    git: str
    """Branch and state in words; empty: no repository."""
    mode: Mode
    person: bool
    """Whether somebody can be asked."""
    own: str = ""
    """What backs a workspace of the agent's own, at `workspace`; empty: it works in the shared one."""
    confinable: frozenset[Mode]
    """The modes in which a sandbox works for commands here, as far as that is known without trying one."""


def build_system_prompt(*parts: str) -> str:
    """Joins the base, AGENTS.md, the agent's own prompt and its skills with blank lines, in this order."""
    return "\n\n".join(part for part in parts if part)


def compose_base(spec: AgentSpec, others: Sequence[AgentSpec], place: Environment, tools: ToolSet) -> str:
    """Writes what an agent is told of itself, the others and the place; kept with it, and never made again.

    `others` are the members of its team as it starts.
    """
    named = {other.id: other.name for other in others}
    delegator = named.get(spec.delegator_id, "")
    work = _read("work_small" if spec.model.context_window < SMALL else "work")
    shown = _list_shown(spec, tools, work)
    sections = {
        "You": _introduce(spec, others, delegator),
        "Environment": _describe_place(spec, place, tools, delegator, can_ask=ASK in shown),
        "How to work": work,
        "Team": _describe_teamwork(spec, shown),
    }
    return "\n\n".join(f"# {title}\n{text}" for title, text in sections.items() if text)


def describe_mode(mode: Mode, *, person: bool, escalates: bool, confined: bool) -> str:
    """Says what a permission mode allows, what the sandbox forbids, and how to ask for more.

    `confined`: a sandbox for this mode works here.
    """
    said = _lines("modes")
    asks = person and mode not in CHANGELESS
    if not confined:
        commands = said["no_sandbox_ask" if asks else "no_sandbox"]
    elif mode is Mode.WORKSPACE:
        commands = said["sandbox_workspace"]
    else:
        commands = said["sandbox_ask" if asks else "sandbox"]
    key = "ask_nobody" if mode is Mode.ASK and not person else mode.value
    protected = ", ".join(f"`{name}`" for name in PROTECTED)
    rows = [f"Permission mode `{mode.value}`: {said[key].format(commands=commands)}"]
    if asks and escalates and confined and mode is not Mode.FULL:
        rows.append(said["escalate"])
    if mode is Mode.WORKSPACE and not person:
        rows.append(said["denied"])
    return " ".join(rows).replace("{protected}", protected)


def escalates(tools: ToolSet) -> bool:
    """Whether the agent can ask for more rights by a call."""
    held = filter(None, map(tools.get, COMMAND_TOOLS))
    return any("escalate" in tool.parameters.get("properties", {}) for tool in held)


def describe_member(spec: AgentSpec) -> str:
    """Returns one line: how an agent is addressed, and what it is for."""
    purpose = spell_out(" ".join(spec.description.split()))
    if len(purpose) > _DESCRIPTION:
        purpose = f"{purpose[:_DESCRIPTION]}…"
    return f"{spec.name} (type {spec.type})" + (f": {purpose}" if purpose else "")


def _introduce(spec: AgentSpec, others: Iterable[AgentSpec], delegator: str) -> str:
    team = f' of the team "{spell_out(spec.team)}"' if spec.team else ""
    kind = "" if spec.type == spec.name else f" of type {spec.type}"
    lines = [
        f"You are {spec.name}, a coding agent{kind}{team} in Planck. You work for {delegator or 'the user'}."
    ]
    named = list(islice(others, _NAMED + 1))
    rows = [f"- {describe_member(other)}" for other in named[:_NAMED]]
    if len(named) > _NAMED:
        rows.append("- and more; `list_team` lists them all")
    if rows:
        lines += ["The other agents, whom you address by name:", *rows]
    return "\n".join(lines)


def _describe_place(
    spec: AgentSpec, place: Environment, tools: ToolSet, delegator: str, *, can_ask: bool
) -> str:
    said = _lines("modes")
    start = f"; you start in `{spec.cwd}`" if spec.cwd else ""
    stands = f"; the user is in `{place.here}`" if place.here else ""
    added = ", ".join(f"`{folder}`" for folder in place.added)
    only = ", ".join(f"`{folder}`" for folder in spec.roots)
    mode = Mode.WORKSPACE if only and place.mode is Mode.FULL else place.mode
    rows = [
        f"Workspace: `{place.workspace}`; paths are relative to it{start}{stands}.",
        said[f"own_{place.own}"] if place.own else "",
        f"You may also work in these folders, by absolute paths: {added}." if added else "",
        f"{place.platform}, shell {place.shell}, date {place.date}.",
        f"Git: {place.git}." if place.git else "",
        f"You may write only under {only}." if only else "",
        describe_mode(
            mode, person=place.person, escalates=escalates(tools), confined=mode in place.confinable
        ),
    ]
    if delegator:
        rows.append(said["delegator" if can_ask else "delegator_unasked"].format(delegator=delegator))
    else:
        rows.append(said["person" if place.person else "nobody"])
    return "\n".join(f"- {row}" for row in rows if row)


def _describe_teamwork(spec: AgentSpec, shown: Sequence[str]) -> str:
    """How to work in a team, by role; nothing for an agent without its tools."""
    if not any(name in shown for name in TEAM_TOOLS):
        return ""
    said = _lines("team")
    if spec.role == "worker":
        keys = ["messages", "worker", "own" if spec.workspace == "own" else "shared"]
    else:
        keys = ["messages", "lead", *(name for name in ("delegate_task",) if name in shown)]
    return "\n".join(f"- {said[key]}" for key in keys)


def _list_shown(spec: AgentSpec, tools: ToolSet, work: str) -> list[str]:
    """Names what a model with a small window will be shown, so that no word is said of the rest."""
    window = spec.model.context_window
    if window >= ROOMY:
        return tools.names()
    shown, _ = leave_out(tools.specs, work + _read("team"), window)
    return [one.name for one in shown]


@cache
def _read(name: str) -> str:
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()


@cache
def _lines(name: str) -> dict[str, str]:
    """What a file says under each key: `key: text`, one a line."""
    pairs = (line.partition(": ") for line in _read(name).splitlines())
    return {key: text for key, _, text in pairs if text}
