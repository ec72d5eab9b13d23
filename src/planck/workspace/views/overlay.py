"""A view: an overlay over the workspace's own path, in namespaces that three descriptors hold, no process.

On disk it is `<home>/<id>/`: `upper` (what was changed in it), `work` (the kernel's), and `lock`, which is
locked while a process has the view: the kernel would mount one `upper` twice, and only warn.
"""

import asyncio
import ctypes
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from planck.records.authority import Confinement
from planck.records.outcome import ErrorKind
from planck.workspace.process.containment import bash, system_program
from planck.workspace.sandbox.sandbox import Wrapped
from planck.workspace.views.mounting import Opener, ViewError

if TYPE_CHECKING:
    from planck.workspace.views.planner import Planner

_libc = ctypes.CDLL(None, use_errno=True)


class OverlayView:
    """As `view.View` wants it."""

    exact = True
    backend = "overlay"

    def __init__(self, id: str, base: str, home: str, layers: Sequence[str], opener: Opener) -> None:
        """Mounts it, also one that was mounted before; waits for the disk, so call it in a thread."""
        self.id = id
        self.base = base
        self.layers: tuple[str, ...] = tuple(layers)
        self._home = home
        self.folder: str = f"{home}/{id}"
        owner = _find_owner(base)
        self._lock = _prepare(self.folder, owner)
        try:
            self._user, self._mounts, root = opener.open(
                {"base": base, "home": home, "layers": list(layers), "view": id, "owner": owner}
            )
        except BaseException:
            os.close(self._lock)
            raise
        self.root: int = root
        self._words = _words(self._user, self._mounts, owner)
        self._planner: Planner | None = None
        self._owner = owner
        self.closed: bool = False

    @property
    def fds(self) -> tuple[int, ...]:
        return self._user, self._mounts

    @property
    def path(self) -> str:
        return self.base

    @property
    def upper(self) -> str:
        return f"{self.folder}/upper"

    def words(self) -> Sequence[str]:
        """What goes before a command: it then runs in the view, in the folder in which it is started."""
        return self._words

    def confine(self, confinement: Confinement) -> Confinement:
        return confinement

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Only of this thread, and without an `await` in it: others act as root meanwhile."""
        if self._owner is None:
            yield
            return
        _libc.setfsgid(self._owner[1])
        _libc.setfsuid(self._owner[0])
        try:
            yield
        finally:
            _libc.setfsuid(0)
            _libc.setfsgid(0)

    def prepare(self, confinement: Confinement) -> None:
        self._find_planner().prepare(confinement)

    def wrap(self, confinement: Confinement) -> Wrapped:
        return self._find_planner().wrap(confinement)

    def _find_planner(self) -> "Planner":
        if self._planner is None:
            from planck.workspace.views.planner import Planner  # imports all of the sandbox

            self._planner = Planner(self.fds, self._owner, self._words)
        return self._planner

    async def aclose(self) -> None:
        """Lets go of it; what was changed stays in `upper`."""
        if not self.closed:
            self.closed = True
            await asyncio.to_thread(self._close)  # the unmounting syncs its files

    async def drop(self) -> None:
        """Removes it with all that was changed in it."""
        if not self.closed:
            self.closed = True
            await asyncio.to_thread(self._close, remove=True)

    def _close(self, *, remove: bool = False) -> None:
        if self._planner is not None:
            self._planner.close()
        for fd in (self._user, self._mounts, self.root):
            os.close(fd)
        if remove:
            remove_folder(self.folder)
        os.close(self._lock)


def remove_folder(folder: str) -> None:
    """Removes a view's folder; `work` holds one of mode 000."""
    with suppress(OSError):
        os.chmod(f"{folder}/work/work", 0o700)
    shutil.rmtree(folder, onerror=_open_and_retry)


def _open_and_retry(function: object, path: str, info: object) -> None:
    """A command may have closed a folder of its own."""
    with suppress(OSError):
        os.chmod(os.path.dirname(path), 0o700)
        if os.path.isdir(path) and not os.path.islink(path):
            os.chmod(path, 0o700)
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


def is_in_use(folder: str) -> bool:
    """Whether a process has that view open."""
    try:
        held = os.open(f"{folder}/lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(held)
    return False


def _prepare(folder: str, owner: Sequence[int] | None) -> int:
    """Makes what is missing of a view's folder, and returns its lock."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for place in (folder, f"{folder}/upper", f"{folder}/work"):
            if not os.path.isdir(place):
                os.mkdir(place, 0o700)
            if owner:
                os.chown(place, *owner)
        held = os.open(f"{folder}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise _disk_error(problem, folder) from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise ViewError(
            ErrorKind.WRITER_CONFLICT,
            f"The view {os.path.basename(folder)!r} is open in another process. End that process first.",
        ) from None
    return held


def _disk_error(problem: OSError, folder: str) -> ViewError:
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        why = f"The disk of {folder!r} is full. Free some space, or set views.folder to another disk"
    else:
        why = f"The folder {folder!r} cannot be used for a view: {problem.strerror}. Check its permissions"
    return ViewError(ErrorKind.WRITE_FAILED, f"{why}.")


def _find_owner(base: str) -> list[int] | None:
    """Returns the user that root becomes, as in the sandbox; None: the user that we are."""
    if os.geteuid() != 0:
        return None
    found = os.stat(base)
    return [found.st_uid, found.st_gid] if found.st_uid != 0 else None


def _words(user: int, mounts: int, owner: Sequence[int] | None) -> tuple[str, ...]:
    become: tuple[str, ...] = ()
    if owner:
        # Before it enters: in the view's user namespace root has no number of its own.
        setpriv = system_program("setpriv") or "setpriv"
        become = (setpriv, "--reuid", str(owner[0]), "--regid", str(owner[1]), "--clear-groups", "--")
    enter = (f"--user=/proc/self/fd/{user}", f"--mount=/proc/self/fd/{mounts}")
    # A command has no use for the namespaces: with them and another hole it could leave its own.
    close = "".join(f"exec {fd}>&-; " for fd in (user, mounts))
    rest = (
        (bash(), "--noprofile", "--norc", "-c", f'{close}exec "$@"', "bash")
        if bash().endswith("bash")
        else ()
    )
    # `--wd=.` is opened before it enters: a folder of the view by its descriptor, whatever its name is then.
    nsenter = (system_program("nsenter") or "nsenter", *enter, "--preserve-credentials", "--wd=.", "--")
    return (*become, *nsenter, *rest)


def probe(folder: str) -> str:
    """Opens a view below that folder, and removes it; returns why that does not work, or nothing."""
    there = folder
    while not os.path.isdir(there):
        there = os.path.dirname(there)
    opener = Opener()
    try:
        with tempfile.TemporaryDirectory(prefix="planck-probe-", dir=there) as home:
            os.mkdir(f"{home}/base")
            view = OverlayView("view", f"{home}/base", home, (), opener)
            view._close(remove=True)
    except ViewError as refused:
        return refused.err.message
    except OSError as problem:
        return f"{there!r} cannot be used: {problem.strerror}"
    finally:
        opener.close()
    return ""
