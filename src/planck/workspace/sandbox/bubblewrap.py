"""Bubblewrap: a read-only view of the machine in which only the writable roots can be written.

What is protected inside them: `guard`. What no mount stops: `system_calls`.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from planck.own_code import list_early, list_own, list_sites
from planck.records.authority import Confinement
from planck.records.outcome import ErrorKind, say_extra
from planck.workspace.git.settings import read_settings
from planck.workspace.paths.paths import is_inside
from planck.workspace.process.containment import Containment, sandbox_program, system_program
from planck.workspace.process.pipes import Pipes
from planck.workspace.sandbox.closed import find_unsound
from planck.workspace.sandbox.guard import ProtectedMounts
from planck.workspace.sandbox.nested import Nested
from planck.workspace.sandbox.sandbox import Looks, OwnCode, SandboxError, Wrapped
from planck.workspace.sandbox.stubs import Stubs
from planck.workspace.sandbox.system_calls import bubblewrap_filter
from planck.workspace.sandbox.view import NOTHING, View, can_reach, find_view

PRIVATE = ("/tmp", "/run", "/var/tmp")
"""Each command has its own: sockets of the desktop, of docker and of agents live there."""
_SIZES = {"/tmp": 2 << 30, "/var/tmp": 512 << 20, "/run": 64 << 20, "/dev/shm": 1 << 30}
"""Bytes: they are memory, which no other limit of a command counts."""
_REFUSED = "/proc/version"
"""A file that nobody can open for writing, and that never blocks, in the place of a pipe."""


class Bubblewrap:
    level = Containment.BUBBLEWRAP
    writes = True

    def __init__(self, program: str | None = None) -> None:
        program = program or sandbox_program()
        if program is None:
            raise SandboxError(
                ErrorKind.SANDBOX_UNAVAILABLE,
                f'bubblewrap is not installed (run "apt-get install bubblewrap", or {say_extra("sandbox")})',
            )
        calls = bubblewrap_filter()
        if calls is None:
            machine = os.uname().machine
            raise SandboxError(
                ErrorKind.SANDBOX_UNAVAILABLE,
                f"bubblewrap is not supported on {machine}, because Planck has no system call filter for it",
            )
        self._program = program
        self._calls = calls
        self._pipes = Pipes()
        self._nested: dict[tuple[str, tuple[str, ...]], Nested] = {}

    def takes_long(self, confinement: Confinement) -> bool:
        # `wrap` refuses an unsound root; nobody walks the whole disk before that.
        sound = (root for root in confinement.writable if not find_unsound(root, self._program))
        return any(self._find_nested(root, confinement).takes_long for root in sound)

    def look(self, confinement: Confinement) -> Looks:
        return {root: self._find_nested(root, confinement).look() for root in confinement.writable}

    def _find_nested(self, root: str, confinement: Confinement) -> Nested:
        key = (root, tuple(confinement.protected))
        return self._nested.setdefault(key, Nested(*key))

    def wrap(
        self, confinement: Confinement, looks: Looks | None = None, own: OwnCode | None = None
    ) -> Wrapped:
        roots, writable = confinement.roots, confinement.writable
        for root in writable:
            if why := find_unsound(root, self._program):
                raise SandboxError(ErrorKind.SANDBOX_UNAVAILABLE, why)
        owner = _find_owner(writable or roots)
        words = [*_as_owner(owner), self._program, *_NAMESPACES]
        if not confinement.network:
            words.append("--unshare-net")
        words += ("--ro-bind", "/", "/", "--dev", "/dev", *_sized("/dev/shm"), "--remount-ro", "/dev")
        words += ("--proc", "/proc")
        if os.geteuid() == 0:
            words += ("--ro-bind", "/proc/sys", "/proc/sys")  # root could write there, capabilities or not
        for folder in PRIVATE:
            if os.path.isdir(folder) and not os.path.islink(folder):
                words += _sized(folder)
        if confinement.network:
            words += _names_of_hosts()
        # A link in a hidden home is made by the view, which can't where its file is mounted already.
        links = {place for place in confinement.seen if os.path.islink(place)}
        links = {place for place in links if is_inside(place, confinement.hidden)}
        seen = _outermost(place for place in confinement.seen if place not in links and _to_be_shown(place))
        for place in seen:
            words += ("--ro-bind", place, place)
        view = find_view(confinement, owner, (*PRIVATE, *seen))
        inner = _masks(confinement, owner, seen, view)
        starts = [os.path.dirname(root) for root in roots] + [*{*roots}.difference(writable)]
        for pipe in self._pipes.look([*starts, os.path.expanduser("~")], hides=view.hides):
            if view.shows(pipe) and not is_inside(pipe, (*writable, *PRIVATE, *confinement.masked)):
                inner += ("--ro-bind", _REFUSED, pipe)
        words += view.words
        stubs = Stubs(writable)
        passed: list[int] = []
        try:
            if (home := view.home) and (settings := read_settings(roots[0] if roots else "/")):
                passed.append(_pipe(settings))
                words += ("--perms", "0444", "--file", str(passed[0]), f"{home}/.gitconfig")
            guard = ProtectedMounts(writable, stubs)
            for root in sorted(writable):
                found = looks.get(root) if looks is not None else None
                found = found or self._find_nested(root, confinement).look()
                guard.protect_root(root, confinement.protected)
                for place in found.unseen:
                    guard.close(place)
                for place in found.places:
                    guard.protect_nested(place)
            if writable:
                _protect_own(guard, own or find_own_code(writable))
            words += (*guard.mounts(), *inner, "--setenv", "TMPDIR", "/tmp")
            check = guard.check()
            passed.append(_pipe(self._calls))
        except BaseException:
            for fd in passed:
                os.close(fd)
            stubs.release()
            raise
        words += ("--seccomp", str(passed[-1]), "--")
        return Wrapped(
            tuple(words), self.level, guard.release, tuple(passed), check, guard.note(), stubs.places
        )


def find_own_code(writable: Sequence[str]) -> OwnCode:
    early = {folder: tuple(modules) for folder, modules in list_early(writable).items()}
    return OwnCode(tuple(list_own(writable)), tuple(list_sites(writable)), early)


def _protect_own(guard: ProtectedMounts, found: OwnCode) -> None:
    """Protects what of this runtime lies in the roots, or would be part of it at the next start."""
    for place in found.own:
        guard.protect_nested(place)
    for place in found.sites:
        guard.protect_way(place)
    for folder, modules in found.early.items():
        if not is_inside(folder, found.own):
            guard.protect_early(folder, modules)


_NAMESPACES = (
    *("--new-session", "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc"),
    "--as-pid-1",  # bwrap's own init would keep every descriptor that it was started with
    *("--cap-drop", "ALL"),  # no user namespace in it: `system_calls` refuses one, which is 0.3 ms faster
)


def _outermost(places: Iterable[str]) -> list[str]:
    """Nothing can be mounted on a link in a folder that is shown already: a venv's interpreter is one."""
    kept: list[str] = []
    for place in sorted(set(places)):
        if not is_inside(place, kept):
            kept.append(place)
    return kept


def _to_be_shown(place: str) -> bool:
    """In a private place, but not all of it, and nothing that could be talked to."""
    if not is_inside(place, PRIVATE) or place in PRIVATE:
        return False
    try:
        return not stat.S_ISSOCK(os.stat(place).st_mode)
    except OSError:
        return False


def _masks(
    confinement: Confinement, owner: os.stat_result | None, seen: Sequence[str], view: View
) -> list[str]:
    """The words for what can't be read though it lies in what a command sees."""
    roots, words = confinement.roots, list[str]()
    for place in view.masked:
        try:
            found = os.lstat(place)
            if stat.S_ISLNK(found.st_mode):  # since it was looked up
                found = os.stat(place := os.path.realpath(place))
        except OSError:
            continue  # what we can't see, a command of the same user can't
        if is_inside(place, PRIVATE) and not is_inside(place, (*roots, *seen)):
            continue  # nobody sees it anyway
        if owner and not can_reach(place, owner):
            continue  # nor could bubblewrap, which runs as that user, mount anything there
        if not stat.S_ISDIR(found.st_mode):
            words += ("--ro-bind", "/dev/null", place)
            continue
        words += (*NOTHING, place)
        for shown in confinement.shown:
            if is_inside(shown, (place,)) and os.path.realpath(shown) == shown and os.path.exists(shown):
                words += ("--ro-bind", shown, shown)
    return words


def _sized(folder: str) -> tuple[str, ...]:
    return ("--size", str(min(_SIZES[folder], _memory() // 4)), "--tmpfs", folder)


@cache
def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _pipe(content: bytes) -> int:
    """A descriptor from which it is read once."""
    read_end, write_end = os.pipe2(os.O_CLOEXEC)
    with open(write_end, "wb") as pipe:
        pipe.write(content)
    return read_end


def _names_of_hosts() -> Iterator[str]:
    """`/etc/resolv.conf` is often a link into `/run`, which is private."""
    target = os.path.realpath("/etc/resolv.conf")
    if is_inside(target, PRIVATE) and os.path.isfile(target):
        yield from ("--ro-bind", target, target)


def _as_owner(owner: os.stat_result | None) -> Iterator[str]:
    """Root without capabilities is nobody in another's folder: become its owner first."""
    if owner and (setpriv := system_program("setpriv")):
        yield from (setpriv, "--reuid", str(owner.st_uid), "--regid", str(owner.st_gid))
        yield from ("--clear-groups", "--")


def _find_owner(roots: Sequence[str]) -> os.stat_result | None:
    """Returns the folder of the user that root becomes; None: commands run as the user that we are."""
    if os.geteuid() != 0 or not roots:
        return None
    owner = os.stat(roots[0])
    return owner if owner.st_uid != 0 and system_program("setpriv") is not None else None
