"""Which states a landing gives to which names: three of each, and both sides' changes where they agree."""

import os
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from planck.records.events import LandingConflict
from planck.session.merge import has_markers, merge
from planck.session.undo_steps import Places, Step, leads_out
from planck.workspace.git.branch import Branch
from planck.workspace.paths.beneath import escape
from planck.workspace.paths.paths import WorkspaceError
from planck.workspace.recording.states import NOTHING, State
from planck.workspace.views.proposal import Proposal, Proposed

WORKSPACE = "workspace"
"""Names the workspace's version between markers."""
UNRESOLVED = ".planck-conflict"
"""Ends the name of a file that keeps the workspace's version where both can't stand between markers."""
MAX_PATHS, MAX_BYTES = 20_000, 256 << 20
"""Of one landing: its before- and after-images are in the log."""

TOO_LARGE = "the file is larger than 64 MiB"


class Plan(msgspec.Struct, frozen=True):
    steps: tuple[Step, ...] = ()
    """By path: what a name is now, and what it becomes."""
    conflicts: tuple[LandingConflict, ...] = ()
    special: tuple[str, ...] = ()
    """Pipes, sockets and devices of the view: they never land."""


def make_plan(proposed: Mapping[str, Proposed], places: Places, landing: str, by: str) -> Plan:
    """Merges what a view changed into the workspace as it is now, and touches nothing.

    One side unchanged: the other one. Both are text: by lines, the mode apart. Anything else is a conflict,
    also a name that the agent may not write in the workspace: `places` refuses those.
    """
    proposed = {escape(path): change for path, change in proposed.items()}
    ours: dict[str, State] = {}
    wanted: dict[str, State] = {}
    conflicts: dict[str, str] = {}
    special: list[str] = []
    for path, change in proposed.items():
        if change.theirs.kind == "other":
            special.append(path)
            continue
        try:
            ours[path] = places.peek(path)
        except WorkspaceError as refused:
            conflicts[path] = str(refused.err.details.get("why") or refused.err.message)
            continue
        merged = refuse(path, change) or merge_states(change.base, ours[path], change.theirs)
        if isinstance(merged, str):
            conflicts[path] = merged
        elif merged != ours[path] and leads_out(path, merged):
            conflicts[path] = f"the link leads out of the workspace, to {merged.target!r}"
        elif merged != ours[path] and merged.kind == "file" and merged.mode & _SET_ID:
            # It would run as the user who lands it, for everybody, with content of an agent.
            conflicts[path] = "it sets the user or group id of who runs it; take that away (chmod ug-s)"
        elif merged != ours[path]:
            wanted[path] = merged
    for path in [*wanted]:
        _add_folders(path, proposed, places, ours, wanted, conflicts)
    # Deepest first: a folder that stays keeps the folder above it.
    for path in sorted(wanted, reverse=True):
        if ours[path].kind == "folder" and wanted[path].kind != "folder":
            names = [f"{path}/{name}" for name in places.list_names(path)]
            left = [name for name in names if wanted.get(name, _THERE) != NOTHING]
            if left and wanted[path] == NOTHING:
                del wanted[path]  # it holds what the workspace added, or what git ignores
            elif left:
                conflicts[path] = f"it is a folder in the workspace, with {os.path.basename(left[0])!r} in it"
    for path in conflicts.keys() & wanted.keys():
        del wanted[path]
    steps = [Step(path, ours[path], after, (landing,), by) for path, after in sorted(wanted.items())]
    found = [LandingConflict(path, conflicts[path]) for path in sorted(conflicts)]
    return Plan(tuple(steps), tuple(found), tuple(special))


def refuse(path: str, change: Proposed) -> str:
    """Says why what a view has under a name can't land, whatever the workspace has; empty: it can."""
    theirs = change.theirs
    if path.endswith(UNRESOLVED) and theirs != NOTHING:
        return f"remove it once {path.removesuffix(UNRESOLVED)!r} is as it should be"
    if theirs.kind != "file":
        return ""
    if theirs.content is None:
        return TOO_LARGE
    if has_markers(theirs.content, WORKSPACE) and not has_markers(change.base.content or b"", WORKSPACE):
        return f"there are conflict markers in it (<<<<<<< {WORKSPACE})"
    return ""


def merge_states(base: State, ours: State, theirs: State) -> State | str:
    """Returns what a name becomes, or why that can't be told."""
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


_THERE = State("other")
_SET_ID = 0o6000


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
    places: Places,
    ours: dict[str, State],
    wanted: dict[str, State],
    conflicts: dict[str, str],
) -> None:
    """Makes the folders above a name that the workspace has removed meanwhile."""
    if wanted[path] == NOTHING:
        return
    above = os.path.dirname(path)
    while above:
        state = wanted.get(above) or ours.get(above) or places.look(above)
        if state is None or state.kind == "folder":  # None: the agent may write in it, and not replace it
            return
        if state != NOTHING or above in conflicts:
            conflicts[path] = f"{above!r} is a {state.kind} in the workspace"
            return
        known = proposed.get(above)
        ours[above] = NOTHING
        wanted[above] = known.theirs if known else State("folder", mode=0o755)
        above = os.path.dirname(above)


def plan_branch(proposal: Proposal, branch: Branch) -> tuple[list[tuple[str, State]], list[LandingConflict]]:
    """Merges a proposal into a branch, as `make_plan` does into the workspace: files and links alone."""
    wanted: list[tuple[str, State]] = []
    conflicts: list[LandingConflict] = []
    for path, change in proposal.changes.items():
        base, theirs = _as_git(change.base), _as_git(change.theirs)
        ours = branch.read(path)
        merged = refuse(path, change) or merge_states(base, ours, theirs)
        if isinstance(merged, str):
            conflicts.append(LandingConflict(escape(path), merged))
        elif merged != ours:
            wanted.append((path, merged))
    return wanted, conflicts


def _as_git(state: State) -> State:
    if state.kind == "file":
        return replace(state, mode=0o755 if state.mode & 0o100 else 0o644)
    return state if state.kind == "link" else NOTHING
