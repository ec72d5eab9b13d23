"""What lies in the folder of views: which sessions have work there, how much, and what may go.

Only what holds nobody's work is ever removed without a word: layers, and views in which nothing was changed,
once they are a day old. The rest is for the user, whom `planck doctor` tells of it.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from planck.workspace.views.overlay import is_in_use, remove_folder

_COPIED, _HIDES = "user.overlay.origin", "user.overlay.opaque"
_DAY_S = 86_400.0
"""Younger folders may belong to a session that starts at this moment."""


class Held(msgspec.Struct, frozen=True):
    """What one session has in the folder of views."""

    session: str
    """Its id."""
    folder: str
    bytes: int
    """Of what was changed in its views; layers can be made again."""
    age_s: float
    changed: bool
    in_use: bool


def survey(folder: str) -> list[Held]:
    """Returns what each session has there, the oldest first."""
    found = []
    with suppress(OSError):
        for name in os.listdir(folder):
            place = f"{folder}/{name}"
            if os.path.isdir(place):
                found.append(look_at(name, place))
    return sorted(found, key=lambda held: -held.age_s)


def look_at(session: str, folder: str) -> Held:
    """Returns what one session has in its folder, which need not be there."""
    views = [f"{folder}/{name}" for name in _list(folder) if name != "layers"]
    uppers = [f"{view}/upper" for view in views if os.path.isdir(f"{view}/upper")]
    made = sorted((name for name in _list(f"{folder}/layers") if name.isdecimal()), key=int, reverse=True)
    layers = [f"{folder}/layers/{name}" for name in made]
    newest = max((_time_of(place) for place in (folder, f"{folder}/layers", *uppers)), default=0.0)
    return Held(
        session,
        folder,
        sum(_measure(upper) for upper in uppers),
        max(time.time_ns() / 1e9 - newest, 0.0),
        any(has_changes(upper, layers) for upper in uppers),
        any(is_in_use(view) for view in views),
    )


def clean_up(folder: str, but: str = "") -> None:
    """Removes what holds no work, of all sessions but one; waits for the disk."""
    for held in survey(folder):
        if held.session != but and not held.changed and not held.in_use and held.age_s > _DAY_S:
            remove_folder(held.folder)


def has_changes(upper: str, layers: Sequence[str]) -> bool:
    """Whether anything was changed in a view; of a worktree that is not known, so it counts as changed.

    `layers`: the folders of its layers, topmost first.
    """
    try:
        if os.path.lexists(f"{upper}/.git"):
            return True
        with os.scandir(upper) as entries:
            return any(_holds_change(entry, entry.name, layers) for entry in entries)
    except OSError:
        return True


def _holds_change(entry: "os.DirEntry[str]", path: str, layers: Sequence[str]) -> bool:
    """A folder of the workspace is also there when something in it was made and removed again."""
    if not entry.is_dir(follow_symlinks=False) or _is_new(entry.path):
        return True
    mode = entry.stat(follow_symlinks=False).st_mode
    for layer in layers:
        with suppress(OSError):
            if os.lstat(f"{layer}/{path}").st_mode != mode:
                return True
            break
    with os.scandir(entry.path) as entries:
        return any(_holds_change(one, f"{path}/{one.name}", layers) for one in entries)


def _is_new(folder: str) -> bool:
    """Whether it was made in the view: the kernel marks the copy of one that was there before."""
    names = os.listxattr(folder, follow_symlinks=False)
    return _COPIED not in names or _HIDES in names


def _measure(folder: str) -> int:
    return sum(found.st_blocks * 512 for found in _walk(folder))


def _walk(folder: str) -> Iterator[os.stat_result]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                yield entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    yield from _walk(entry.path)


def _list(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _time_of(place: str) -> float:
    try:
        return os.lstat(place).st_mtime
    except OSError:
        return 0.0
