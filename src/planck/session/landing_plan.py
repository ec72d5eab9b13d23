"""Which states a landing gives to which names: three of each, and both sides' changes where they agree."""

import os
from collections.abc import Callable, Iterable, Mapping

import msgspec

from planck.session.merge import has_markers, merge
from planck.workspace.recording.states import NOTHING, State
from planck.workspace.views.proposal import Proposed

WORKSPACE = "workspace"
"""Names the workspace's version between markers."""
MAX_PATHS, MAX_BYTES = 20_000, 256 << 20
"""Of one landing: its before- and after-images are in the log."""

TOO_LARGE = "the file is larger than 64 MiB"


class Change(msgspec.Struct, frozen=True):
    """One name of the workspace, before and after a landing. The path is raw, from the root on."""

    path: str
    before: State
    after: State


class Conflict(msgspec.Struct, frozen=True):
    path: str
    why: str


class Plan(msgspec.Struct, frozen=True):
    changes: tuple[Change, ...] = ()
    """In the order in which they are made: see `order`."""
    conflicts: tuple[Conflict, ...] = ()
    special: tuple[str, ...] = ()
    """Pipes, sockets and devices of the view: they never land."""


class Tree(msgspec.Struct, frozen=True):
    """How to look at the workspace."""

    read: Callable[[str], State]
    list: Callable[[str], Iterable[str]]
    """Returns the paths of what is in a folder, ignored and protected names included."""


def make_plan(proposed: Mapping[str, Proposed], tree: Tree) -> Plan:
    """Merges what a view changed into the workspace as it is now, and touches nothing.

    One side unchanged: the other one. Both are text: by lines, the mode apart. Anything else is a conflict.
    """
    ours: dict[str, State] = {}
    wanted: dict[str, State] = {}
    conflicts: dict[str, str] = {}
    special: list[str] = []
    for path, change in proposed.items():
        if change.theirs.kind == "other":
            special.append(path)
            continue
        ours[path] = tree.read(path)
        merged = merge_states(change.base, ours[path], change.theirs)
        if isinstance(merged, str):
            conflicts[path] = merged
        elif merged != ours[path]:
            wanted[path] = merged
    for path in [*wanted]:
        _add_folders(path, proposed, tree, ours, wanted, conflicts)
    # Deepest first: a folder that stays keeps the folder above it.
    for path in sorted(wanted, reverse=True):
        if ours[path].kind == "folder" and wanted[path].kind != "folder":
            left = [name for name in tree.list(path) if wanted.get(name, _THERE) != NOTHING]
            if left and wanted[path] == NOTHING:
                del wanted[path]  # it holds what the workspace added, or what git ignores
            elif left:
                conflicts[path] = f"it is a folder in the workspace, with {os.path.basename(left[0])!r} in it"
    for path in conflicts.keys() & wanted.keys():
        del wanted[path]
    changes = order([Change(path, ours[path], after) for path, after in wanted.items()])
    return Plan(changes, tuple(Conflict(path, conflicts[path]) for path in sorted(conflicts)), tuple(special))


def merge_states(base: State, ours: State, theirs: State) -> State | str:
    """Returns what a name becomes, or why that can't be told."""
    if theirs.kind == "file":
        if theirs.content is None:
            return TOO_LARGE
        if has_markers(theirs.content, WORKSPACE) and not has_markers(base.content or b"", WORKSPACE):
            return f"there are conflict markers in it (<<<<<<< {WORKSPACE})"
    if ours in (theirs, base):
        return theirs
    if base == theirs:
        return ours
    if not base.kind == ours.kind == theirs.kind:
        return _describe_collision(base, ours, theirs)
    match theirs.kind:
        case "file":
            return _merge_files(base, ours, theirs)
        case "folder":
            mode = _merge_modes(base, ours, theirs)
            return mode if isinstance(mode, str) else State("folder", mode=mode)
        case _:
            return "both changed where the link leads"


def order(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Puts removals first, the deepest before what they are in; then the others, a folder before its content."""
    changes = sorted(changes, key=lambda change: change.path)
    gone = [change for change in reversed(changes) if change.after == NOTHING]
    return (*gone, *(change for change in changes if change.after != NOTHING))


_THERE = State("other")


def _merge_files(base: State, ours: State, theirs: State) -> State | str:
    contents = base.content, ours.content, theirs.content
    if contents[0] is None or contents[1] is None or contents[2] is None:
        return TOO_LARGE
    mode = _merge_modes(base, ours, theirs)
    if isinstance(mode, str):
        return mode
    if contents[1] in (contents[0], contents[2]):
        return State("file", contents[2], mode)
    if contents[0] == contents[2]:
        return State("file", contents[1], mode)
    if any(b"\0" in content for content in contents if content):
        return "both changed it, and it is not text"
    merged = merge(contents[0], contents[1], contents[2])
    return "both changed the same lines" if merged is None else State("file", merged, mode)


def _merge_modes(base: State, ours: State, theirs: State) -> int | str:
    if ours.mode in (base.mode, theirs.mode):
        return theirs.mode
    return ours.mode if base.mode == theirs.mode else "both changed its permissions"


def _describe_collision(base: State, ours: State, theirs: State) -> str:
    if ours == NOTHING:
        return "it was removed in the workspace"
    if theirs == NOTHING:
        return "the view removed it, and the workspace changed it"
    if base == NOTHING:
        return "both made it"
    return f"it is a {ours.kind} in the workspace"


def _add_folders(
    path: str,
    proposed: Mapping[str, Proposed],
    tree: Tree,
    ours: dict[str, State],
    wanted: dict[str, State],
    conflicts: dict[str, str],
) -> None:
    """Makes the folders above a name that the workspace has removed meanwhile, where nothing else is there."""
    if wanted[path] == NOTHING:
        return
    above = os.path.dirname(path)
    while above:
        state = wanted.get(above) or ours.get(above) or tree.read(above)
        if state.kind == "folder":
            return
        if state != NOTHING or above in conflicts:
            conflicts[path] = f"{above!r} is a {state.kind} in the workspace"
            return
        known = proposed.get(above)
        ours[above] = NOTHING
        wanted[above] = known.theirs if known else State("folder", mode=0o755)
        above = os.path.dirname(above)
