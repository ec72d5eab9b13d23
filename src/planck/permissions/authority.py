"""The shrinking lattice: effective = session ceiling ∧ parent ∧ role ∧ mode. Pure functions, nothing else."""

from collections.abc import Iterable

import msgspec

from planck.records.authority import STRICTNESS, Authority, Mode
from planck.records.specs import ORCHESTRATOR_TOOLS, Role


class Asked(msgspec.Struct, frozen=True):
    """What a spawn asks for; None means: whatever the parent has."""

    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    mode: Mode | None = None
    roots: tuple[str, ...] | None = None
    network: bool | None = None


class Granted(msgspec.Struct, frozen=True):
    authority: Authority
    ignored: tuple[str, ...]
    """What was asked for and not given, in the order asked."""


def granted(ceiling: Authority, parent: Authority, role: Role, asked: Asked) -> Granted:
    """The authority of a child, a subset of its parent's and of the session's whatever was asked."""
    top = meet(ceiling, parent)
    own = for_role(
        role,
        Authority(
            mode=top.mode if asked.mode is None else asked.mode,
            tools=_names(asked.tools),
            skills=_names(asked.skills),
            roots=top.roots if asked.roots is None else asked.roots,
            network=top.network if asked.network is None else asked.network,
            spawn_depth=max(top.spawn_depth - 1, 0),
        ),
    )
    authority = meet(top, own)
    ignored = (
        *(name for name in asked.tools if not holds(authority.tools, name)),
        *(name for name in asked.skills if not holds(authority.skills, name)),
        *((f"mode {asked.mode}",) if asked.mode not in (None, authority.mode) else ()),
        *(f"root {root}" for root in asked.roots or () if not _inside(root, authority.roots)),
        *(("network",) if asked.network and not authority.network else ()),
    )
    return Granted(authority, ignored)


def meet(one: Authority, other: Authority) -> Authority:
    """The most that both allow."""
    return Authority(
        mode=stricter(one.mode, other.mode),
        tools=_common(one.tools, other.tools),
        skills=_common(one.skills, other.skills),
        roots=_common_roots(one.roots, other.roots),
        network=one.network and other.network,
        spawn_depth=min(one.spawn_depth, other.spawn_depth),
    )


def for_role(role: Role, authority: Authority) -> Authority:
    """A worker leads nobody: it has no orchestrator's tool and spawns nothing."""
    if role == "orchestrator":
        return authority
    tools = None if authority.tools is None else _names(set(authority.tools).difference(ORCHESTRATOR_TOOLS))
    return msgspec.structs.replace(authority, tools=tools, spawn_depth=0)


def stricter(one: Mode, other: Mode) -> Mode:
    return min(one, other, key=STRICTNESS.index)


def holds(names: tuple[str, ...] | None, name: str) -> bool:
    return names is None or name in names


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))


def _common(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return _names(set(one) & set(other))


def _common_roots(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return _names(
        [root for root in one if _inside(root, other)] + [root for root in other if _inside(root, one)]
    )


def _inside(path: str, roots: tuple[str, ...]) -> bool:
    """By text: roots are canonical when they enter an authority, so `..` in one is nobody's subfolder."""
    if ".." in path.split("/"):
        return False
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)
