"""Gives a view what the workspace has now, with the view's own changes on top.

Nothing is mounted again: the differences are written through the view's root, and from then on the view is
compared with the layers of now. So commands and descriptors in it stay as they are.
"""

import os
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from planck.session.landing.plan import UNRESOLVED, WORKSPACE, merge_states
from planck.session.merge import merge_marked
from planck.workspace.recording.states import NOTHING, State, put_state, read_state
from planck.workspace.views.proposal import Proposed


class Rebased(msgspec.Struct, frozen=True):
    carried: int
    """How many names of the view are not as in the workspace."""
    conflicts: tuple[str, ...] = ()
    """Raw paths whose two versions have to be brought together."""


def rebase(
    root: int, incoming: Mapping[str, Proposed], proposed: Mapping[str, Proposed], name: str
) -> Rebased:
    """Writes into a view what the workspace changed; both are what differs from the view's old base.

    `root` is the view's top folder, `name` stands at the view's side of markers. It may be run again after a
    crash. Raises `OSError` only where the view can't be written at all.
    """
    writes: dict[str, State] = {}
    conflicts: list[str] = []
    carried = 0
    for path in sorted({*incoming, *proposed}):
        base, ours, theirs = _find_sides(incoming.get(path), proposed.get(path))
        merged = merge_states(base, ours, theirs)
        if isinstance(merged, str):
            conflicts.append(path)
            writes |= _mark(path, (base, ours, theirs), name)
        elif merged != theirs:
            writes[path] = merged
        carried += isinstance(merged, str) or merged != ours
    write_states(root, writes)
    return Rebased(carried, tuple(conflicts))


def _find_sides(incoming: Proposed | None, proposed: Proposed | None) -> tuple[State, State, State]:
    if incoming is None:
        assert proposed is not None
        return proposed.base, proposed.base, proposed.theirs
    return incoming.base, incoming.theirs, proposed.theirs if proposed else incoming.base


def _mark(path: str, sides: tuple[State, State, State], name: str) -> dict[str, State]:
    """Returns what shows a conflict in the view: markers in a text, else the workspace's version beside it.

    Nothing lands while one of them is left.
    """
    base, ours, theirs = sides
    contents = [
        state.content for state in (ours, theirs) if state.kind == "file" and state.content is not None
    ]
    if len(contents) == 2 and not any(b"\0" in content for content in contents):
        marked = merge_marked(base.content or b"", contents[0], contents[1], WORKSPACE, name)
        if marked is not None and marked != contents[1]:
            return {path: State("file", marked, theirs.mode)}
    if theirs == NOTHING:  # it is there again, and may be removed again
        return {path: ours}
    keep = ours.kind == "file" and ours.content is not None
    return {path + UNRESOLVED: ours if keep else State("file", b"", 0o644)}


def write_states(root: int, writes: Mapping[str, State]) -> None:
    """Gives names below an open root these states; a folder that holds something else stays."""
    for path in sorted(writes, reverse=True):  # the deepest first
        found, wanted = read_state(root, path).kind, writes[path].kind
        if found not in ("nothing", wanted) and (wanted == "nothing" or "folder" in (found, wanted)):
            with suppress(OSError):  # a folder in which the view has something of its own stays
                put_state(root, path, NOTHING)
    folders = []
    for path in sorted(path for path in writes if writes[path] != NOTHING):
        _make_above(root, path)
        state = writes[path]
        if state.kind == "folder":
            folders.append(path)
            state = State("folder", mode=state.mode | 0o700)
        with suppress(IsADirectoryError, NotADirectoryError):  # the view has a folder there: its own change
            put_state(root, path, state)
    for path in reversed(folders):
        with suppress(OSError):
            put_state(root, path, writes[path])


def _make_above(root: int, path: str) -> None:
    above = os.path.dirname(path)
    if above and read_state(root, above) == NOTHING:
        _make_above(root, above)
        with suppress(OSError):
            put_state(root, above, State("folder", mode=0o755))
