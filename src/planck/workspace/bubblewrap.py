"""Bubblewrap: a read-only view of the machine in which only the writable roots can be written.

A protected name that is absent gets a mount point, which bubblewrap makes on the real disk: `Stubs` takes it
away when the last command of the root has ended, whichever process ran it.
"""

import fcntl
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from planck.records.authority import Confinement
from planck.records.outcome import ErrorKind
from planck.workspace.containment import Containment, sandbox_program, system_program
from planck.workspace.paths import is_inside
from planck.workspace.sandbox import SandboxError, Wrapped

_PRIVATE = ("/tmp", "/run", "/var/tmp")
"""Each command has its own: sockets of the desktop, of docker and of agents live there."""
_NESTED_LIMIT = 5_000
"""Folders looked at for repositories inside the workspace, nearest first: about 0.2 s, once."""
_NOT_SEARCHED = frozenset({"node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache", "target"})


class Bubblewrap:
    level = Containment.BUBBLEWRAP
    writes = True

    def __init__(self) -> None:
        program = sandbox_program()
        if program is None:
            raise SandboxError(
                ErrorKind.SANDBOX_UNAVAILABLE,
                "bubblewrap is not installed: apt-get install bubblewrap, "
                "or pip install 'planck-agents[sandbox]'",
            )
        self._program = program
        self._nested: dict[str, tuple[str, ...]] = {}

    def wrap(self, confinement: Confinement) -> Wrapped:
        roots, writable = confinement.roots, confinement.writable
        for root in writable:
            _require_sound(root)
            if is_inside(self._program, (root,)):
                raise SandboxError(
                    ErrorKind.SANDBOX_UNAVAILABLE,
                    f"{self._program} is inside {root}, where a command could replace it; "
                    "install bubblewrap or planck elsewhere (apt-get install bubblewrap, uv tool install)",
                )
        words = [*_as_owner(writable or roots), self._program, *_NAMESPACES]
        if not confinement.network:
            words.append("--unshare-net")
        words += ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
        words += ("--ro-bind", "/proc/sys", "/proc/sys")  # root could write there, capabilities or not
        for folder in _PRIVATE:
            if os.path.isdir(folder) and not os.path.islink(folder):
                words += ("--tmpfs", folder)
        if confinement.network:
            words += _names_of_hosts()
        seen = _outermost(place for place in confinement.seen if _to_be_shown(place))
        for place in seen:
            words += ("--ro-bind", place, place)
        for root in sorted({*roots}.difference(writable)):  # each mount is 0.2 ms
            words += ("--ro-bind", root, root)
        for root in sorted(writable):
            words += ("--bind", root, root)
        words += _masks((*confinement.masked, *_sockets(roots)), roots, seen)
        stubs = Stubs(writable)
        try:
            for root in sorted(writable):
                words += self._protect(root, confinement.protected, stubs)
        except BaseException:
            stubs.release()
            raise
        words += ("--setenv", "TMPDIR", "/tmp", "--")
        return Wrapped(tuple(words), self.level, stubs.release)

    def _protect(self, root: str, names: Sequence[str], stubs: "Stubs") -> Iterator[str]:
        if root not in self._nested:
            self._nested[root] = tuple(_nested(root, names))
        for name in names:
            yield from _read_only(f"{root}/{name}", root, stubs)
        for place in self._nested[root]:
            if os.path.lexists(place):
                yield from _read_only(place, root, stubs)


_NAMESPACES = (
    *("--new-session", "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc"),
    "--as-pid-1",  # bwrap's own init would keep every descriptor that it was started with
    *("--disable-userns", "--cap-drop", "ALL"),
)


class Stubs:
    """Mount points for absent names. A shared lock on each root says that a command uses them."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._made: list[str] = []
        self._locks = [lock for root in roots if (lock := _lock(root)) is not None]

    def mount(self, path: str) -> Iterator[str]:
        """Yields the words that put an empty thing there, read-only."""
        self._made.append(path)
        if path.endswith(".json"):
            yield from ("--ro-bind", "/dev/null", path)
        else:
            yield from ("--tmpfs", path, "--remount-ro", path)

    def make(self, path: str) -> None:
        """With the mode of a stub, by which it is known whoever made it: a killed runtime leaves some."""
        with suppress(OSError):  # another command of this root came first, or bubblewrap says what is wrong
            if path.endswith(".json"):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
                os.chmod(path, _STUB_FILE)
            else:
                os.mkdir(path, 0o700)
                os.chmod(path, _STUB_FOLDER)

    def release(self) -> None:
        try:
            if self._made and all(_alone(lock) for lock in self._locks):
                for path in self._made:
                    _remove_stub(path)
        finally:
            for lock in self._locks:
                os.close(lock)
            self._locks = []


_STUB_FOLDER, _STUB_FILE = 0o1755, 0o1644
"""The sticky bit tells a mount point from an empty folder or file of the user's, who may still use it."""


def _is_stub(path: str, found: os.stat_result) -> bool:
    if stat.S_ISDIR(found.st_mode):
        return stat.S_IMODE(found.st_mode) == _STUB_FOLDER and not os.listdir(path)
    return stat.S_ISREG(found.st_mode) and (stat.S_IMODE(found.st_mode), found.st_size) == (_STUB_FILE, 0)


def _lock(root: str) -> int | None:
    """Never waits: a command could hold the lock to stop us, and then all it keeps is an empty folder."""
    try:
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def _alone(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_stub(path: str) -> None:
    with suppress(OSError):  # another command's, or no stub any more
        found = os.lstat(path)
        if stat.S_ISDIR(found.st_mode):
            os.rmdir(path)  # refuses if anything is in it
        elif _is_stub(path, found):
            os.unlink(path)


def _read_only(path: str, root: str, stubs: Stubs) -> Iterator[str]:
    """The mounts that make one name unwritable, unmovable and, where it is absent, impossible to make."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        if os.access(root, os.W_OK):  # else nobody can make it
            stubs.make(path)
            yield from stubs.mount(path)
        return
    except OSError as problem:
        raise _protection_error(path, str(problem.strerror)) from None
    if _is_stub(path, found):
        yield from stubs.mount(path)  # left by a command that still runs, or by a runtime that was killed
        return
    if stat.S_ISLNK(found.st_mode):
        raise _protection_error(path, "it is a link, which a command could replace")
    if stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode):
        yield from ("--ro-bind", path, path)
    else:
        raise _protection_error(path, "it is no file and no folder")
    if stat.S_ISREG(found.st_mode) and path.endswith("/.git"):
        yield from _git_folder(path, root)


def _git_folder(path: str, root: str) -> Iterator[str]:
    """A `.git` file names the real folder: hooks and configuration are there."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            word, _, target = file.read(4096).partition(":")
    except OSError as problem:
        raise _protection_error(path, str(problem.strerror)) from None
    folder = os.path.realpath(os.path.join(os.path.dirname(path), target.strip()))
    if word == "gitdir" and os.path.isdir(folder) and is_inside(folder, (root,)) and folder != root:
        yield from ("--ro-bind", folder, folder)


def _nested(root: str, names: Sequence[str]) -> Iterator[str]:
    """Protected names below the root itself: repositories inside it, found once."""
    folders = deque([root])
    for _ in range(_NESTED_LIMIT):
        if not folders:
            return
        folder = folders.popleft()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            if entry.name in names:
                if folder != root and not entry.is_symlink():
                    yield entry.path
            elif entry.is_dir(follow_symlinks=False) and entry.name not in _NOT_SEARCHED:
                folders.append(entry.path)


def _outermost(places: Iterable[str]) -> list[str]:
    """Nothing can be mounted on a link in a folder that is shown already: a venv's interpreter is one."""
    kept: list[str] = []
    for place in sorted(set(places)):
        if not is_inside(place, kept):
            kept.append(place)
    return kept


def _to_be_shown(place: str) -> bool:
    """In a private place, but not all of it, and nothing that could be talked to."""
    if not is_inside(place, _PRIVATE) or place in _PRIVATE:
        return False
    try:
        return not stat.S_ISSOCK(os.stat(place).st_mode)
    except OSError:
        return False


def _masks(places: Sequence[str], roots: Sequence[str], seen: Sequence[str]) -> Iterator[str]:
    for place in sorted(set(places)):
        if is_inside(place, _PRIVATE) and not is_inside(place, (*roots, *seen)):
            continue  # nobody sees it anyway
        try:
            found = os.stat(place)
        except OSError:
            continue  # what we can't see, a command of the same user can't
        if place in roots or any(is_inside(root, (place,)) for root in roots):
            continue  # the workspace itself: the user chose it
        yield from ("--tmpfs", place) if stat.S_ISDIR(found.st_mode) else ("--ro-bind", "/dev/null", place)


def _sockets(roots: Sequence[str]) -> list[str]:
    """Sockets elsewhere that a command could talk to by their path: a read-only mount does not stop it."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
            paths = {line.rstrip("\n").partition("/")[2] for line in table if "/" in line}
    except OSError:
        return []
    return [
        path
        for path in (f"/{path}" for path in paths)
        if not is_inside(path, roots) and _is_open_socket(path)
    ]


def _is_open_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode) and os.access(path, os.W_OK)
    except (OSError, ValueError):
        return False


def _names_of_hosts() -> Iterator[str]:
    """`/etc/resolv.conf` is often a link into `/run`, which is private."""
    target = os.path.realpath("/etc/resolv.conf")
    if is_inside(target, _PRIVATE) and os.path.isfile(target):
        yield from ("--ro-bind", target, target)


def _as_owner(roots: Sequence[str]) -> Iterator[str]:
    """Root without capabilities is nobody in another's folder: become its owner first."""
    if os.geteuid() != 0 or not roots:
        return
    owner = os.stat(roots[0])
    if owner.st_uid != 0 and (setpriv := system_program("setpriv")) is not None:
        yield from (setpriv, "--reuid", str(owner.st_uid), "--regid", str(owner.st_gid))
        yield from ("--clear-groups", "--")


def _require_sound(root: str) -> None:
    if root == "/" or root != os.path.realpath(root):
        raise SandboxError(
            ErrorKind.SANDBOX_UNAVAILABLE, f"{root!r} can't be a writable root; choose a folder of your own"
        )


def _protection_error(path: str, why: str) -> SandboxError:
    return SandboxError(
        ErrorKind.SANDBOX_UNAVAILABLE, f"{path!r} can't be protected: {why}; no command is run"
    )
