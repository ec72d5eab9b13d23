"""Authority shrinks on the way down: ceiling ∧ parent ∧ role ∧ mode. The functions here are pure."""

from collections.abc import Iterable, Sequence

import msgspec

from planck.records.authority import STRICTNESS, Authority, Mode
from planck.records.specs import EVERY_TOOL, AgentSpec, Role
from planck.records.tools import LOAD_SKILL, ORCHESTRATOR_TOOLS, TEAM_TOOLS
from planck.workspace.paths.paths import is_inside, place_root


def grant(parent: Authority, role: Role, tools: Iterable[str], skills: Iterable[str]) -> Authority:
    """Returns the authority of a child: what was asked for, and never more than its parent has.

    A worker leads nobody: it keeps no orchestrator's tool and spawns nothing.
    """
    depth = max(parent.spawn_depth - 1, 0)
    if role == "worker":
        tools, depth = set(tools).difference(ORCHESTRATOR_TOOLS), 0
    return meet(
        parent,
        msgspec.structs.replace(parent, tools=_names(tools), skills=_names(skills), spawn_depth=depth),
    )


def session_ceiling(mode: Mode, roots: tuple[str, ...], spawn_depth: int) -> Authority:
    """What no agent of the session exceeds; the roots are canonical, the workspace first."""
    return Authority(mode, roots=roots, network=True, spawn_depth=spawn_depth)


def authorise(specs: Iterable[AgentSpec], ceiling: Authority) -> list[AgentSpec]:
    """Gives each member that a session starts with what it may do: recorded, and shown."""
    return [msgspec.structs.replace(spec, authority=_member_authority(spec, ceiling)) for spec in specs]


def _member_authority(spec: AgentSpec, ceiling: Authority) -> Authority:
    if spec.role == "orchestrator":
        return ceiling
    return grant(ceiling, "worker", (*TEAM_TOOLS, *spec.tools), spec.skills)


def effective_authority(spec: AgentSpec, ceiling: Authority) -> Authority:
    """Names as granted at the start, rights as the session has them now: the user may resume with others."""
    if spec.authority is None:
        return _keep_within(ceiling, spec.roots, ceiling.roots)
    tools = None if EVERY_TOOL in (spec.authority.tools or ()) else spec.authority.tools
    if tools is not None and spec.skills:  # a skill that is granted can be read
        tools = tuple(sorted({*tools, LOAD_SKILL}))
    own = msgspec.structs.replace(
        spec.authority, mode=ceiling.mode, roots=ceiling.roots, network=ceiling.network, tools=tools
    )
    both = meet(ceiling, own)
    both = msgspec.structs.replace(both, roots=_order(both.roots, ceiling.roots))
    return _keep_within(both, spec.roots, ceiling.roots)


def _keep_within(authority: Authority, names: Sequence[str], roots: Sequence[str]) -> Authority:
    """A bound that a command could leave would be none: such an agent has at most mode `workspace`."""
    if not names:
        return authority
    places = tuple(place for place in (place_root(name, roots) for name in names) if place)
    return msgspec.structs.replace(authority, mode=stricter(authority.mode, Mode.WORKSPACE), writes=places)


def meet(one: Authority, other: Authority) -> Authority:
    """Returns the most that both allow."""
    return Authority(
        mode=stricter(one.mode, other.mode),
        tools=_common(one.tools, other.tools),
        skills=_common(one.skills, other.skills),
        roots=_common_roots(one.roots, other.roots),
        writes=_common_writes(one.writes, other.writes),
        network=one.network and other.network,
        spawn_depth=min(one.spawn_depth, other.spawn_depth),
    )


def stricter(one: Mode, other: Mode) -> Mode:
    return min(one, other, key=STRICTNESS.index)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _common(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return _names(set(one) & set(other))


def _order(roots: tuple[str, ...], by: tuple[str, ...]) -> tuple[str, ...]:
    """The workspace stays the first: a command of root's runs as the owner of that one."""
    if len(roots) < 2:
        return roots
    return tuple(sorted(roots, key=lambda root: [is_inside(root, (whole,)) for whole in by], reverse=True))


def _common_writes(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return _common_roots(one, other)


def _common_roots(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    roots = [root for root in one if is_inside(root, other)] + [
        root for root in other if is_inside(root, one)
    ]
    # Compared by text: roots are canonical when they enter an authority; `..` in one is nobody's subfolder.
    return _names(root for root in roots if ".." not in root.split("/"))
