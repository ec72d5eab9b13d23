"""What an agent reads of a landing that was refused."""

from collections.abc import Sequence

import msgspec

from planck.records.events import LandingConflict
from planck.session.landing.plan import MAX_BYTES, MAX_PATHS
from planck.workspace.views.proposal import Proposal

NAMED = 20


class Failed(msgspec.Struct, frozen=True):
    """What the checks say of the merged files, where they do not all pass."""

    exit_code: int | None
    """Of the first that failed."""
    text: str
    """For the agent, or (`final`) for the one that gave it the task."""
    final: bool = False
    """Whether the agent is not asked to try again."""


def find_excess(proposal: Proposal) -> str:
    size = sum(
        len(state.content or b"")
        for change in proposal.changes.values()
        for state in (change.base, change.theirs)
    )
    if len(proposal.changes) <= MAX_PATHS and size <= MAX_BYTES:
        return ""
    return (
        f"Your changes did not land: {len(proposal.changes):,} names with {size >> 20:,} MiB are more than "
        f"one landing may have ({MAX_PATHS:,} names, {MAX_BYTES >> 20} MiB). Remove what does not belong to "
        "your work, or have git ignore it, and end your turn again."
    )


def describe_conflicts(conflicts: Sequence[LandingConflict], marked: Sequence[str]) -> str:
    rows = [f"- {one.path}: {one.why}" for one in conflicts[:NAMED]]
    more = f"\n- and {len(conflicts) - NAMED} more" if len(conflicts) > NAMED else ""
    where = (
        "Files that both sides changed have both versions between `<<<<<<< workspace` and `>>>>>>>`, or the "
        "workspace's version is in a file of the same folder, `NAME.planck-conflict`. "
        if marked
        else ""
    )
    return (
        "Your changes did not land in the workspace, because they conflict with what others changed:\n"
        + "\n".join(rows)
        + more
        + f"\nYour view now has the workspace's files of this moment, with your changes on top. {where}"
        "Resolve each conflict, remove the markers, run your tests again, and give your whole report again."
    )
