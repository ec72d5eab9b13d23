"""What a landing would do, did, or why it did not, in lines of a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planck.records.visible import spell_out

if TYPE_CHECKING:
    from planck.headless import Landed, Waiting
    from planck.records.events import LandingConflict

_NAMED = 20


def preview(waiting: Waiting) -> str:
    """Shows the diff that is applied, and what stands in its way."""
    lines = [f"Changes of {waiting.agent}:", *waiting.diff.splitlines()]
    lines += [f"conflict  {one.path}: {one.why}" for one in waiting.conflicts]
    if ignored := waiting.prepared.proposal.ignored:
        lines.append(f"not landed, because git ignores it: {_name(ignored)}")
    if special := waiting.prepared.plan.special:
        lines.append(f"not landed, because it is a pipe, a socket or a device: {_name(special)}")
    return "\n".join(spell_out(line) for line in lines)


def describe_landed(landed: Landed, session: str) -> str:
    """`session`: its name, for the undo: it need not be the last one."""
    if not landed.paths and not landed.skipped:
        return "Nothing to change: the workspace has these changes already."
    lines = (
        [f"Landed {len(landed.paths)} {_plural(len(landed.paths))}: {_name(landed.paths)}"]
        if landed.paths
        else []
    )
    lines += [f"left alone, because it changed meanwhile: {path}" for path in landed.skipped]
    lines.append(f'Undo: "planck undo -r {session} --call {landed.landing}"')
    return "\n".join(spell_out(line) for line in lines)


def describe_conflicts(conflicts: Sequence[LandingConflict]) -> str:
    said = [f"{one.path}: {one.why}" if one.path else one.why for one in conflicts[:_NAMED]]
    more = f"; and {len(conflicts) - _NAMED} more" if len(conflicts) > _NAMED else ""
    return spell_out("; ".join(said) + more)


def _name(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more


def _plural(count: int) -> str:
    return "name" if count == 1 else "names"
