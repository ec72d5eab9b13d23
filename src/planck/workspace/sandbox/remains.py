"""Takes away what a command made where the user's next command would obey it.

Commands of agents run as the same user: they can make any name first and change the permissions of folders.
So the new name can't be foreseen, and permissions are set again. What is there all the same stops every
further command: it would run with the user's permissions.
"""

import logging
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from planck.own_code import follow
from planck.records.outcome import ErrorKind
from planck.workspace.paths.paths import is_inside
from planck.workspace.sandbox.sandbox import SandboxError

log: logging.Logger = logging.getLogger(__name__)

_MAX_KEPT = 40
"""Characters of the old name in the new one: a name can have 255 bytes already."""
_ROUNDS = 20
"""Links and closed folders on the way that are opened one after the other."""
left: set[str] = set()
"""What could not be taken away."""


def put_away(folder: str, roots: Sequence[str], is_meant: Callable[[int, str], bool], ending: str) -> None:
    """Renames each entry of a folder that is meant, so that its name ends otherwise.

    `is_meant` gets a descriptor of the folder and a name in it. Never raises: `refuse_remains` does.
    """
    held = open_anyway(folder, roots)
    if held is None:
        return
    try:
        for name in os.listdir(held):
            if is_meant(held, name) and not _take(held, name, ending):
                place = f"{os.readlink(f'/proc/self/fd/{held}')}/{name}"
                log.error("cannot rename or delete a file that a command created: %r", place)
                left.add(place)
    finally:
        os.close(held)


def refuse_remains() -> None:
    """Raises while something is left that would run with the user's permissions."""
    left.intersection_update([place for place in left if os.path.lexists(place)])
    if left:
        raise SandboxError(
            ErrorKind.SANDBOX_UNAVAILABLE,
            f"A command created {min(left)!r}, which would run with your permissions, and Planck cannot "
            "rename or delete it. No command is started while it exists. Delete it before you start Planck, "
            "Python or git in that folder",
        )


def open_anyway(folder: str, roots: Sequence[str]) -> int | None:
    """Opens a folder in the roots, though a command took the permissions for it or for those above.

    None: the folder does not exist, is not in the roots, or can be entered neither by us nor by a command.
    """
    for _ in range(_ROUNDS):
        try:
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except PermissionError:
            changed = [place for place in _list_way(folder, roots) if _permit(place, roots)]
            if not changed:
                return None
        except OSError:
            return None
        else:
            if is_inside(os.readlink(f"/proc/self/fd/{held}"), roots):
                return held
            os.close(held)
            return None
    return None


def _list_way(folder: str, roots: Sequence[str]) -> Iterator[str]:
    """Yields the folders in the roots on the way to one, outer before inner, as far as it can be followed."""
    for step in follow(folder):
        way = [step]
        while is_inside(above := os.path.dirname(way[-1]), roots):
            way.append(above)
        yield from reversed(way)


def _permit(place: str, roots: Sequence[str]) -> bool:
    """Lets the owner of a folder use it; returns whether that was needed and possible."""
    with suppress(OSError):
        held = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            name = f"/proc/self/fd/{held}"  # the folder itself, whatever is put in its place meanwhile
            mode = stat.S_IMODE(os.stat(name).st_mode)
            if mode & 0o700 != 0o700 and is_inside(os.readlink(name), roots):
                os.chmod(name, mode | 0o700)
                return True
        finally:
            os.close(held)
    return False


def _take(held: int, name: str, ending: str) -> bool:
    mode = stat.S_IMODE(os.fstat(held).st_mode)
    if mode & 0o300 != 0o300:
        with suppress(OSError):
            os.fchmod(held, mode | 0o300)
    import shutil  # few commands leave anything

    away = f"{name[:_MAX_KEPT]}.{os.urandom(8).hex()}.{ending}"
    ways: tuple[Callable[[], None], ...] = (
        lambda: os.rename(name, away, src_dir_fd=held, dst_dir_fd=held),
        lambda: os.unlink(name, dir_fd=held),  # a full disk has no room for another name
        lambda: shutil.rmtree(name, dir_fd=held),
    )
    for way in ways:
        with suppress(OSError, RecursionError):
            way()
            return True
    return not os.path.lexists(f"/proc/self/fd/{held}/{name}")  # taken by another command's end
