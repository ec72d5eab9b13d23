"""What an undo does to each name: planned from what is there now, and then done, all of it or nothing."""

import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

import msgspec

from planck.records.diffs import diff_bytes
from planck.records.outcome import ErrorKind
from planck.records.redact import REDACTED
from planck.session.merge import merge
from planck.session.undo_story import Change, OldContents, UndoError, is_content, is_opened, is_unfinished
from planck.workspace.paths.beneath import escape, unescape
from planck.workspace.paths.paths import Root, Slot, WorkspaceError
from planck.workspace.recording.facts import NO_MODE, is_local
from planck.workspace.recording.states import NOTHING, State

_MAX_SHOWN = 1 << 20
"""Bytes of a file that is compared line by line; what is larger is not a text that somebody reads."""


class Step(msgspec.Struct, frozen=True):
    """What happens to one name."""

    path: str
    now: State
    then: State
    calls: tuple[str, ...]
    by: str
    conflict: str = ""
    local: bool = False
    """Whether git ignores the file, so that its content must not leave this machine."""

    @property
    def diff(self) -> str:
        return "\n".join(describe_change(self.now, self.then, self.path, hidden=self.local))

    @property
    def wanted(self) -> bool:
        """Whether the undo changes anything here."""
        return not self.conflict and self.now != self.then


def describe_change(before: State, after: State, path: str, *, hidden: bool = False) -> list[str]:
    """Returns the rows of a diff; what a diff of lines can't show stands in rows that begin with `\\`."""
    contents = (before.content, after.content)
    files = [state.kind == "file" for state in (before, after)]
    notes = []
    rows: list[str] = []
    if hidden and any(files):
        notes.append("Git ignores this file, so its content is not shown")
    elif any(is_binary(content) for content in contents):
        sizes = " -> ".join(f"{len(content):,} bytes" for content in contents if content is not None)
        notes.append(f"Not a text that can be compared: {sizes}")
    elif files == [content is not None for content in contents]:
        rows = diff_bytes(before.content, after.content, path)
    notes += _list_notes(before, after)
    if notes and not rows:
        rows = diff_bytes(b"", b"\n", path)[:2]
    return [*rows, *(f"\\ {note}" for note in notes)]


def is_binary(content: bytes | None) -> bool:
    """Whether a file is not shown line by line: it has a NUL, as git decides it, or is too large."""
    return content is not None and (len(content) > _MAX_SHOWN or b"\0" in content[:8000])


def _list_notes(before: State, after: State) -> list[str]:
    notes = []
    if before.kind != after.kind or before.kind == "link":
        if before.kind != "file" and (name := _name(before)):
            notes.append(f"{name} removed")
        if after.kind != "file" and (name := _name(after)):
            notes.append(f"{name} created")
    elif before.mode != after.mode and NO_MODE not in (before.mode, after.mode):
        notes.append(f"Permissions {before.mode & 0o7777:04o} -> {after.mode & 0o7777:04o}")
    return notes


def _name(state: State) -> str:
    if state.kind == "link":
        return f"Link to {state.target!r}"
    return {"folder": "Folder", "other": "Pipe or device"}.get(state.kind, "")


class Places:
    """The names below a root as a plan sees them: what an earlier step makes of a folder counts already."""

    def __init__(self, root: Root, *, imported: bool) -> None:
        self._root = root
        self._imported = imported

    def look(self, path: str) -> State | None:
        """Returns what is there; None where nobody may look."""
        try:
            return self.peek(path)
        except WorkspaceError:
            return None

    def peek(self, path: str) -> State:
        try:
            with self.open(path, create=False) as slot:
                self.require_same(slot)
                return slot.look()
        except WorkspaceError as refused:
            if refused.err.kind is ErrorKind.NOT_FOUND or "not_a_folder" in refused.err.details:
                return NOTHING
            raise

    def open(self, path: str, *, create: bool = True) -> AbstractContextManager[Slot]:
        return self._root.writing(self.spell(path), create=create)

    def spell(self, path: str) -> str:
        """Returns the name that a path in the log stands for, also where nothing has it now."""
        raw = unescape(path)
        literal = raw == path or (not path.startswith("/") and bool(self._root.present([path])))
        found = path if literal else raw
        return found if found.startswith("/") else f"./{found}"  # `~` is an ordinary character here

    def require_same(self, slot: Slot) -> None:
        """The log has the real place: where a link leads elsewhere now, somebody put it there since."""
        path = escape(os.path.normpath(slot.path))
        if slot.relative != path:
            raise WorkspaceError(
                ErrorKind.WRITE_FAILED,
                f"{path!r} now leads to {slot.relative!r} through a newer link; remove that link first",
            )

    def list_names(self, path: str) -> list[str]:
        with self.open(path, create=False) as slot:
            return slot.list_names()

    def find_closed(self, steps: Sequence[Step]) -> list[Step]:
        """Returns steps that open folders which the owner may not write, where names in them are replaced.

        A command can write to a file in such a folder, but a rename needs the folder. Their modes stay.
        """
        known = {step.path for step in steps}
        found = []
        for path in dict.fromkeys(os.path.dirname(step.path) for step in steps):
            now = None if path in ("", "/") or path in known else self.look(path)
            if now is not None and now.kind == "folder" and now.mode & 0o300 != 0o300:
                found.append(Step(path, now, now, (), ""))
        return found

    def plan(self, changes: Iterable[Change], old: OldContents) -> list[Step]:
        """Returns a step for each path, the newest change first."""
        by_path: dict[str, list[Change]] = {}
        for change in changes:
            by_path.setdefault(change.fact.path, []).append(change)
        steps: dict[str, Step] = {}
        for path in sorted(by_path):  # what is above comes before what is in it
            steps[path] = self._plan_one(path, by_path[path], old, steps)
        _keep_full_folders(steps, self)
        newest = sorted(by_path, key=lambda path: -max(one.order for one in by_path[path]))
        return [steps[path] for path in newest]

    def _plan_one(
        self, path: str, changes: Sequence[Change], old: OldContents, steps: dict[str, Step]
    ) -> Step:
        calls = tuple(dict.fromkeys(change.fact.call_id for change in changes))
        by = ", ".join(dict.fromkeys(change.agent for change in changes))
        local = any(is_local(change.fact) for change in changes)

        def refuse(why: str, now: State = NOTHING) -> Step:
            return Step(path, now, now, calls, by, why, local)

        above = [steps[one] for one in list_above(path) if one in steps]
        try:
            # Where a folder is made first, nothing is in it, whatever a link of that name leads to now.
            made = any(one.wanted and one.now.kind != "folder" for one in above)
            now = NOTHING if made else self.peek(path)
        except WorkspaceError as refused:
            why = refused.err.details.get("why")
            # An imported log is confined in every mode.
            step = "change it yourself" if self._imported else "set the session to mode `full` first"
            return refuse(f"{why}; {step}" if why else refused.err.message)
        if now.kind == "file" and now.content is None:
            return refuse("the file is too large to restore; restore it yourself", now)
        state = now
        for change in reversed(changes):
            reverted = _revert(state, change, old)
            if isinstance(reverted, str):
                return refuse(reverted, now)
            state = reverted
        if state != now and state.kind == "other" and not stat.S_ISFIFO(max(state.mode, 0)):
            return refuse("it was a socket or a device, which cannot be restored", now)
        if state != now and state.kind != "nothing":
            blocked = next((one.path for one in above if one.conflict and one.now.kind != "folder"), "")
            if blocked:
                return refuse(f"its folder {blocked!r} is not restored", now)
            if self._imported and leads_out(path, state):
                return refuse(f"the session was imported, and the link would lead to {state.target!r}", now)
        return Step(path, now, state, calls, by, local=local)


REMOVE = 1
"""The phase in which names are removed that become nothing, or another kind."""


class Doing(NamedTuple):
    order: tuple[int, int, str]
    step: Step
    state: State
    """What the name is given; the last of a step is its `then`."""


def order_steps(steps: Iterable[Step]) -> list[Doing]:
    """Returns what is done to names, in order: what is in the way is removed, the deepest first; then folders
    are made, then files and links are put, and at last folders get their modes."""
    doing: list[Doing] = []
    inner = {one for step in steps for one in list_above(step.path)}

    def add(phase: int, step: Step, state: State, *, deepest: bool = False) -> None:
        depth = step.path.count("/")
        doing.append(Doing((phase, -depth if deepest else depth, step.path), step, state))

    for step in steps:
        now, then = step.now, step.then
        folders = "folder" in (now.kind, then.kind)
        opened = State("folder", mode=now.mode | 0o700)
        if now.kind == "folder" and step.path in inner and opened != now:
            add(0, step, opened)
        if now.kind != "nothing" and then.kind != now.kind and (folders or then.kind == "nothing"):
            add(REMOVE, step, NOTHING, deepest=True)
        if then.kind == "folder":
            if now.kind != "folder":
                add(2, step, State("folder", mode=then.mode | 0o700))
            add(4, step, then, deepest=True)
        elif then.kind != "nothing":
            add(3, step, then)
    return sorted(doing, key=lambda one: one.order)


def require_unchanged(found: State, step: Step) -> Step:
    """Raises where a name is not what the plan has seen; returns the step with the permissions of now.

    No diff shows permissions, so they stay as somebody set them meanwhile, unless the undo changes them.
    """
    same = msgspec.structs.replace(step.now, mode=found.mode)
    keeps = step.now.mode == step.then.mode and step.now.kind == step.then.kind
    if found != step.now and (found != same or (step.then.kind != "nothing" and not keeps)):
        raise UndoError(ErrorKind.EDIT_CONFLICT, f"{step.path!r} changed meanwhile. Run the undo again.")
    then = msgspec.structs.replace(step.then, mode=found.mode) if keeps else step.then
    return msgspec.structs.replace(step, now=found, then=then)


def _keep_full_folders(steps: dict[str, Step], places: Places) -> None:
    """A folder goes only if it is empty then; the deepest is decided first, because one that stays counts."""
    below: dict[str, dict[str, str]] = {}
    for path in steps:
        below.setdefault(os.path.dirname(path), {})[os.path.basename(places.spell(path))] = path
    for path in sorted(steps, key=lambda one: -one.count("/")):
        step = steps[path]
        if not step.wanted or step.now.kind != "folder" or step.then.kind == "folder":
            continue
        inner = below.get(path, {})
        try:
            names = {*places.list_names(path), *inner}
        except WorkspaceError as refused:
            steps[path] = msgspec.structs.replace(step, conflict=refused.err.message)
            continue
        left = [escape(one) for one in sorted(names) if one not in inner or not _goes(steps[inner[one]])]
        if left:
            more = f" and {len(left) - 1} more" if len(left) > 1 else ""
            why = f"the folder still contains {left[0]!r}{more}"
            steps[path] = msgspec.structs.replace(step, then=step.now, conflict=why)


def _goes(step: Step) -> bool:
    return not step.conflict and step.then.kind == "nothing"


def _revert(state: State, change: Change, old: OldContents) -> State | str:
    """Returns the name without this change; or why that can't be had."""
    before, after = old.before(change.fact), old.after(change)
    if before.kind == "file" and before.content is None:
        return old.why_missing(change.fact)
    if REDACTED in before.target or REDACTED in after.target:
        return "the target of the link contains an API key, which is not in the log; change the link yourself"
    if before.kind == after.kind == "file":
        return _revert_file(state, change, before, after)
    if before.kind == after.kind == "folder":
        if state.kind != "folder":
            return _say_other(state)
        return before if is_opened(state, after.mode) or state.mode == before.mode else state
    if after.kind == "file" and state.kind == "file" and is_content(state, change.fact):
        return before
    if _is_same(state, after):
        return before
    if _is_same(state, before):
        return before if state.kind == "folder" and is_unfinished(state, before.mode) else state
    if state.kind == "nothing" and "nothing" not in (before.kind, after.kind):
        return before  # an undo that was killed between its two steps, or somebody who made room for it
    if before.kind == "nothing" and after.kind == "file" and state.kind == "file":
        return "the file was changed after it was created"
    return _say_other(state)


def _revert_file(state: State, change: Change, before: State, after: State) -> State | str:
    if state.kind != "file":
        return "the file no longer exists" if state.kind == "nothing" else _say_other(state)
    assert state.content is not None
    assert before.content is not None
    if after.content is None:
        if not is_content(state, change.fact):
            return "the file was changed later, and the log does not contain what this call wrote"
        after = msgspec.structs.replace(after, content=state.content)
    mode = state.mode
    if NO_MODE not in (before.mode, after.mode) and state.mode == after.mode:
        mode = before.mode
    if state.content in (after.content, before.content):
        return State("file", before.content, mode)
    assert after.content is not None
    merged = merge(after.content, state.content, before.content)
    return "later edits change the same lines" if merged is None else State("file", merged, mode)


def _is_same(state: State, other: State) -> bool:
    """Whether both are the same thing; of a folder only that it is one."""
    if state.kind != other.kind:
        return False
    if state.kind == "file":
        return state.content is not None and state.content == other.content
    return state.kind in ("folder", "nothing") or (state.target, state.mode) == (other.target, other.mode)


def _say_other(state: State) -> str:
    if state.kind == "nothing":
        return "it no longer exists"
    return f"its name now belongs to a {'pipe or device' if state.kind == 'other' else state.kind}"


def leads_out(path: str, state: State) -> bool:
    """Whether a link at that path leads out of the workspace, or may do so."""
    inside = os.path.normpath(os.path.join(os.path.dirname(path), state.target))
    return state.kind == "link" and (inside.startswith(("/", "..")) or path.startswith("/"))


def list_above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts)) if parts[:count] != [""]]
