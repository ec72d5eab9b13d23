"""What a view changed: its upper folder against the layers below it, name by name.

An overlay keeps in `upper` every name that was written, a character device 0:0 for each that was removed,
and `user.overlay.opaque` on a folder that hides the one below. The layers are copies that nothing changes,
in the same format: so the comparison needs neither the mount nor the workspace.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from planck.records.authority import PROTECTED
from planck.workspace.paths.paths import TEMPORARY
from planck.workspace.recording.states import NOTHING, State, read_stamp, read_state

Ignored = Callable[[Sequence[str]], Iterable[str]]
"""Returns those of the paths that git ignores; they never land."""


class Proposed(msgspec.Struct, frozen=True):
    """One name that a view changed."""

    base: State
    """What it was when the view was opened, or rebased."""
    theirs: State
    """What it is in the view."""


class Proposal(msgspec.Struct, frozen=True):
    changes: Mapping[str, Proposed]
    """By raw path from the root on, a folder before what is in it."""
    ignored: tuple[str, ...] = ()
    """Names that git ignores and that stay in the view; of a folder its own name only."""


def read_proposal(upper: int, layers: Sequence[int], ignored: Ignored = lambda paths: ()) -> Proposal:
    """Returns exactly what differs between a view and its base.

    `upper` and `layers` are open folders, the topmost layer first. Protected names (.git and the like) are
    left out: what has them in a view are stubs of the sandbox. It reads files; call it in a thread.
    """
    base = Layers(layers)
    changes: dict[str, Proposed] = {}
    left_out: list[str] = []
    folders = [""]
    while folders:
        # Level by level: one question about ignored names for each level, not for each folder.
        level = [path for folder in folders for path in _list_folder(upper, folder)]
        skipped = {*ignored(level)} if level else set()
        left_out += sorted(skipped)
        folders = []
        for path in level:
            if path in skipped:
                continue
            before = base.find(path)
            if is_whiteout(upper, path):
                changes |= {gone: Proposed(was, NOTHING) for gone, was in base.walk(path)}
                continue
            theirs = read_state(upper, path)
            if theirs != before:
                changes[path] = Proposed(before, theirs)
            if theirs.kind == "folder":
                folders.append(path)
                hidden = base.list(path) if is_opaque(upper, path) else ()
            else:
                hidden = base.list(path)
            there = {*_list_folder(upper, path)} if hidden and theirs.kind == "folder" else set()
            for name in hidden:
                if name not in there:
                    changes |= {gone: Proposed(was, NOTHING) for gone, was in base.walk(name)}
    if removed := [path for path, change in changes.items() if change.theirs == NOTHING]:
        # What git ignores is in no layer, but an ignored name may be tracked in one layer and not any more.
        for path in ignored(removed):
            del changes[path]
    return Proposal(dict(sorted(changes.items())), tuple(left_out))


def read_copy(top: int, layers: Sequence[int], ignored: Ignored = lambda paths: ()) -> Proposal:
    """The same for a worktree: a whole copy, which git made without empty folders and with its own modes."""
    base = Layers(layers)
    found = read_proposal(top, layers, ignored)
    changes = {path: change for path, change in found.changes.items() if not _is_gits(change)}
    there = {path for path, state in base.walk_all() if read_stamp(top, path) == NOTHING}
    gone = there - {*ignored(sorted(there))} if there else set()
    # An empty folder was never there; one whose files were all removed went with them.
    full = {os.path.dirname(path) for path in gone}
    for path in gone:
        was = base.find(path)
        if was.kind != "folder" or path in full:
            changes[path] = Proposed(was, NOTHING)
    return Proposal(dict(sorted(changes.items())), found.ignored)


def _is_gits(change: Proposed) -> bool:
    """Whether only git's own way to check out makes a difference: of permissions it keeps one bit."""
    base, theirs = change.base, change.theirs
    if base.kind == theirs.kind == "folder":
        return True
    same = base.kind == theirs.kind == "file" and base.content is not None and base.content == theirs.content
    return same and (base.mode ^ theirs.mode) & 0o100 == 0


class Layers:
    """The merged content of layers, as an overlay over them shows it."""

    def __init__(self, layers: Sequence[int]) -> None:
        self._layers = tuple(layers)
        self._stacks: dict[str, tuple[int, ...]] = {"": self._layers}

    def find(self, path: str) -> State:
        """Returns what has this name in the topmost layer that says something about it."""
        for layer in self._stack(os.path.dirname(path)):
            if is_whiteout(layer, path):
                return NOTHING
            if (state := read_state(layer, path)) != NOTHING:
                return state
        return NOTHING

    def list(self, folder: str) -> list[str]:
        """Returns the paths of what is in a folder; nothing, where it is not a folder."""
        found = {path for layer in self._stack(folder) for path in _list_folder(layer, folder)}
        return sorted(path for path in found if self.find(path) != NOTHING)

    def walk_all(self) -> Iterator[tuple[str, State]]:
        """Yields everything, a folder before what is in it."""
        for name in self.list(""):
            yield from self.walk(name)

    def walk(self, path: str) -> Iterator[tuple[str, State]]:
        """Yields a name and all below it."""
        state = self.find(path)
        if state == NOTHING:
            return
        yield path, state
        if state.kind == "folder":
            for name in self.list(path):
                yield from self.walk(name)

    def _stack(self, folder: str) -> tuple[int, ...]:
        """Returns the layers that a folder is merged from."""
        if folder in self._stacks:
            return self._stacks[folder]
        merged: list[int] = []
        for layer in self._stack(os.path.dirname(folder)):
            found = _look(layer, folder)
            if found is None:
                continue
            if not stat.S_ISDIR(found.st_mode):
                break
            merged.append(layer)
            if is_opaque(layer, folder):
                break
        self._stacks[folder] = tuple(merged)
        return self._stacks[folder]


def compare_layers(old: Sequence[int], new: Sequence[int], added: Sequence[int]) -> dict[str, Proposed]:
    """Returns what differs between two stacks of layers.

    `added`: those on top of the old stack. Empty: the new stack does not continue it, and all is compared.
    """
    before, after = Layers(old), Layers(new)
    if added:
        names = {path for layer in added for path in read_proposal(layer, old).changes}
    else:
        names = {path for path, _ in (*before.walk_all(), *after.walk_all())}
    pairs = ((path, Proposed(before.find(path), after.find(path))) for path in sorted(names))
    return {path: pair for path, pair in pairs if pair.base != pair.theirs}


def is_whiteout(folder: int, path: str) -> bool:
    """Whether a name says that it was removed."""
    found = _look(folder, path)
    return found is not None and stat.S_ISCHR(found.st_mode) and found.st_rdev == 0


def is_opaque(folder: int, path: str) -> bool:
    """Whether a folder hides those below it."""
    fd = os.open(path, _FOLDER, dir_fd=folder)
    try:
        return os.getxattr(fd, _OPAQUE) == b"y"
    except OSError:
        return False
    finally:
        os.close(fd)


def _look(folder: int, path: str) -> os.stat_result | None:
    try:
        return os.stat(path, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _list_folder(top: int, folder: str) -> list[str]:
    """Returns the paths in a folder that may land, in order."""
    try:
        fd = os.open(folder or ".", _FOLDER, dir_fd=top)
    except (FileNotFoundError, NotADirectoryError):
        return []
    try:
        names = sorted(os.listdir(fd))
    finally:
        os.close(fd)
    above = f"{folder}/" if folder else ""
    return [above + name for name in names if name not in PROTECTED and not name.startswith(TEMPORARY)]


_OPAQUE = "user.overlay.opaque"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
