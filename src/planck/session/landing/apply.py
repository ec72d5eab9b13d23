"""Making the changes of a landing in the workspace: each is compared in the last moment, and put by a rename.

What a killed process left is told by looking: a name is as after, as before, or on the way between them. So
the same function applies a landing for the first time and finishes it after a crash.
"""

from collections.abc import Iterable
from contextlib import suppress

import msgspec

from planck.records.outcome import ErrorKind
from planck.session.undo_steps import REMOVE, Places, Step, order_steps
from planck.workspace.paths.paths import WorkspaceError
from planck.workspace.recording.states import NOTHING, State


class Stop(msgspec.Struct, frozen=True):
    """A name that was not changed."""

    step: Step
    found: State
    """What it is."""
    why: str = ""
    """Why it can't be changed; empty: somebody changed it meanwhile."""


def apply(places: Places, steps: Iterable[Step], landing: str) -> Stop | None:
    """Makes the changes that are not made yet; returns where it stopped, or None once all are made."""
    for (phase, _, _), step, state in order_steps(steps):
        found = NOTHING
        try:
            with places.open(step.path, create=False) as slot:
                places.require_same(slot)
                found = slot.look()
                if found == step.then or (phase == REMOVE and found.kind == step.then.kind):
                    continue
                if not _is_on_the_way(found, step):
                    return Stop(step, found)
                slot.put(state, mark=landing)
        except WorkspaceError as refused:
            gone = refused.err.kind is ErrorKind.NOT_FOUND or "not_a_folder" in refused.err.details
            if gone and step.then == NOTHING:
                continue  # its folder is gone or something else by now, and so is the name
            if refused.err.kind is ErrorKind.EDIT_CONFLICT:
                return Stop(step, places.peek(step.path))
            return Stop(step, found, str(refused.err.details.get("why") or refused.err.message))
    return None


def sweep(places: Places, steps: Iterable[Step], landing: str) -> None:
    """Removes the temporary files that a killed process left."""
    for step in steps:
        with suppress(WorkspaceError), places.open(step.path, create=False) as slot:
            slot.sweep(landing)


def _is_on_the_way(found: State, step: Step) -> bool:
    """Whether nobody but this landing changed the name: it is as before, or between two steps of it."""
    if found == step.now:
        return True
    if found == NOTHING:  # removed, to be made as something else
        return step.now != NOTHING and step.now.kind != step.then.kind
    if found.kind != "folder":
        return False
    if step.now.kind != "folder" and found.mode == 0o700:  # made, and its permissions not set yet
        return True
    # A folder is open to its owner while names are made or removed in it.
    return any(state.kind == "folder" and found.mode == state.mode | 0o700 for state in (step.now, step.then))
