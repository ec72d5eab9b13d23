"""The mounts inside the writable roots of one command, which keep it from what it must not change.

What is protected is mounted read-only. Each folder above it is mounted on itself: the kernel moves no mount
point, so that nobody can put such a folder away, change what is in it and bring it back.
"""

import os
import re
import shlex
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence

from planck.own_code import is_early
from planck.records.outcome import ErrorKind
from planck.workspace.git.repository import has_git, is_git_folder, places_of, places_of_the_user
from planck.workspace.paths.paths import is_inside
from planck.workspace.sandbox.remains import open_anyway, put_away
from planck.workspace.sandbox.sandbox import SandboxError
from planck.workspace.sandbox.stubs import Stubs, is_stub

MAX_MOUNTS = 200
"""Of one command; each is 0.2 ms, and more the more there are."""
_OBEYED = ("HEAD", "config", "config.worktree", "commondir", "hooks")
"""What git obeys of a repository's own folder."""
_ARCHIVES = (".zip", ".egg", ".whl", ".pyz")
"""Names that are never those of a project's folders: where absent, they can't be made at all."""
_ITSELF, _READ_ONLY = "--bind", "--ro-bind"


class ProtectedMounts:
    def __init__(self, roots: Sequence[str], stubs: Stubs) -> None:
        self._roots = roots
        self._stubs = stubs
        self._places: set[str] = set()
        self._absent: set[str] = set()
        self._no_folders: set[str] = set()
        """Those of them where git would fail at a folder."""
        self._closed: set[str] = set()
        """Read-only with everything in them: what they hold can't be protected one by one."""
        self._plain: list[str] = []
        """Roots that are no repositories."""
        self._early: dict[str, tuple[Collection[str], dict[str, _Identity]]] = {}
        """Folders with the modules that may not be made in them, and what of these is there already."""
        self._archives: dict[str, _Identity | None] = {}
        """Such folders and those above, with the file that is there already: Python takes a zip file, too."""
        self._pinned: list[str] = []
        self._too_full: list[str] = []

    def protect_root(self, root: str, names: Sequence[str]) -> None:
        """Protects what a root holds directly; raises where that can't be done, and the root stays closed."""
        for name in names:
            self.protect(f"{root}/{name}")
        if ".git" in names:
            self.protect_around(root)

    def protect(self, path: str) -> None:
        """Makes one name unwritable, unmovable and, where it is absent, impossible to make."""
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            if os.access(os.path.dirname(path), os.W_OK):  # else nobody can make it
                self._absent.add(path)
            return
        except OSError as problem:
            raise _protection_error(path, str(problem.strerror)) from None
        if is_stub(path, found):
            self._absent.add(path)  # left by a command that still runs, or by a runtime that was killed
        elif stat.S_ISLNK(found.st_mode):
            raise _protection_error(path, "it is a link, not the file or folder itself")
        elif stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode):
            if path not in self._places:
                self._places.add(path)
                if path.endswith("/.git"):
                    self._protect_named_by(path, os.path.dirname(path))
                elif os.path.lexists(f"{path}/HEAD"):  # a bare repository, whatever its name is
                    self._protect_named_by(path, path)
        else:
            raise _protection_error(path, "it is neither a file nor a folder")

    def protect_nested(self, path: str) -> None:
        """What can't be protected by itself, a link, is by closing the folder that holds it."""
        try:
            self.protect(path)
        except SandboxError:
            folder, target = os.path.dirname(path), os.path.realpath(path)
            if folder in self._roots:
                raise
            self._closed.add(folder)
            if target != path and self._is_below_a_root(target):
                self.protect_nested(target)

    def protect_way(self, place: str) -> None:
        """Protects a place, or the first folder on the way to it that is absent."""
        while is_inside(above := os.path.dirname(place), self._roots) and not _is_folder(above):
            place = above  # nobody makes it without this one
        if place.endswith("/.git") and not self._has_file(place):
            above = os.path.dirname(place)
            if above not in self._roots and os.path.isdir(above) and not _list(above):
                # A submodule that is not checked out. Nothing can be made in a read-only folder, and git
                # sees an empty one as before: it fails where it finds a `.git` that is none.
                place = above
            else:
                self._no_folders.add(place)
        self.protect_nested(place)

    @staticmethod
    def _has_file(place: str) -> bool:
        try:
            return not is_stub(place, os.lstat(place))
        except OSError:
            return False

    def protect_around(self, root: str) -> None:
        """Protects what a repository that the root lies in would take from it, and one that it is itself."""
        for place in places_of_the_user(self._roots):
            self.protect_way(place)
        around = root
        while (above := os.path.dirname(around)) != around:
            around = above
            if os.path.lexists(git := f"{around}/.git"):
                self._protect_named_by(git, around)
        if has_git(root):
            return
        if not is_git_folder(root):
            self._plain.append(root)
            return
        for name in _OBEYED:
            self.protect(f"{root}/{name}")
        self._protect_named_by(root, root)

    def protect_early(self, folder: str, modules: Collection[str]) -> None:
        """Protects the modules that Python would take from a folder before Planck's first line."""
        names = [name for name in _list(folder) if is_early(name, modules)]
        there = {name: found for name in names if (found := _identify(f"{folder}/{name}"))}
        self._early[folder] = modules, there
        for name in there:
            self.protect_nested(f"{os.path.realpath(folder)}/{name}")
        for place in self._list_steps(folder):
            is_file = os.path.isfile(place)
            self._archives[place] = _identify(place) if is_file else None
            if is_file or (place.endswith(_ARCHIVES) and not _list(place)):
                self.protect_nested(place)
                break

    def release(self) -> None:
        """A root that was no repository is none after the command: git takes any folder with `HEAD`,
        `objects` and `refs` for one, and a stub in their place would be seen by every `ls`.
        The same holds for modules that Python would take before us."""
        try:
            for folder, (modules, there) in self._early.items():
                self._put_away_early(folder, modules, there)
            for place, found in self._archives.items():  # after folders that a command closed are open again
                self._put_away_archive(place, found)
            for root in self._plain:
                self._put_away_head(root)
        finally:
            self._stubs.release()

    def _put_away_early(
        self, folder: str, modules: Collection[str], there: Mapping[str, "_Identity"]
    ) -> None:
        def is_new(held: int, name: str) -> bool:
            # Not by name alone: another command's file goes with that command, and the name is free again.
            return is_early(name, modules) and there.get(name, ()) != _identify(name, held)

        put_away(folder, self._roots, is_new, "of-no-agent")

    def _put_away_archive(self, place: str, found: "_Identity | None") -> None:
        """Python looks in a file of this name as it does in a folder, if it is a zip file."""
        folder, base = os.path.split(place)

        def is_archive(held: int, name: str) -> bool:
            return name == base and _is_file(name, held) and _identify(name, held) != found

        put_away(folder, self._roots, is_archive, "of-no-agent")

    def _list_steps(self, folder: str) -> list[str]:
        """Returns a folder and those above it, below the roots, outer before inner."""
        steps = []
        while is_inside(folder, self._roots) and folder not in self._roots:
            steps.append(folder)
            folder = os.path.dirname(folder)
        return steps[::-1]

    def _put_away_head(self, root: str) -> None:
        held = open_anyway(root, (root,))  # else a command closes its root, and nothing is seen in it
        if held is not None:
            os.close(held)
        if is_git_folder(root) and not has_git(root):
            put_away(root, (root,), lambda _, name: name == "HEAD", "of-no-repository")

    def close(self, folder: str) -> None:
        """Makes it read-only with everything in it, because there is too much in it, and says so."""
        self._closed.add(folder)
        self._too_full.append(folder)

    def mounts(self) -> list[str]:
        """Outer before inner: a mount hides what was mounted below it before."""
        places = dict.fromkeys(self._find_parents(), _ITSELF)
        places |= dict.fromkeys(self._places | self._closed, _READ_ONLY)
        if len(places) + len(self._absent) > MAX_MOUNTS:
            self._close_the_fullest(places)
        words: list[str] = []
        closed: list[str] = []
        for place in sorted({*places, *self._absent}):
            how = places.get(place)
            if closed and is_inside(place, closed):
                continue
            if how is None:
                words += self._stubs.make(place, folder=place not in self._no_folders)
                continue
            words += (how, place, place)
            (self._pinned if how == _ITSELF else closed).append(place)
        return words

    def check(self) -> str:
        """Shell that ends unless each folder that was to be mounted on itself is: a running command may have
        put a link in its place meanwhile, and bubblewrap follows it to a place outside, writable then.
        """
        if not self._pinned:
            return ""
        wanted = "|".join(shlex.quote(f"{_escape(place)} {source}") for place, source in self._sources())
        return (
            f'n=0; while read -r _ _ _ r p _; do case "$p $r" in {wanted}) n=$((n+1));; esac; '
            f"done </proc/self/mountinfo; [ $n -eq {len(self._pinned)} ] || "
            "{ echo 'a folder was replaced while the sandbox was being set up; try again' >&2; exit 125; }; "
        )

    def note(self) -> str:
        """What the command should know, for it will meet it."""
        if not self._too_full:
            return ""
        names = ", ".join(repr(os.path.basename(folder)) for folder in self._too_full)
        alone = len(self._too_full) == 1
        are, contain = ("is", "it contains") if alone else ("are", "they contain")
        return (
            f"[sandbox: {names} {are} read-only here, because {contain} too many folders or Git repositories "
            "to protect one by one]"
        )

    def _protect_named_by(self, git: str, worktree: str) -> None:
        for place in places_of(git, worktree, self._roots):
            self.protect_way(place)

    def _find_parents(self) -> set[str]:
        found: set[str] = set()
        for place in (*self._places, *self._closed, *self._absent):
            while (place := os.path.dirname(place)) not in found and is_inside(place, self._roots):
                if place not in self._roots:
                    found.add(place)
        return found

    def _close_the_fullest(self, places: dict[str, str]) -> None:
        tops: dict[str, list[str]] = {}
        for place in places:
            tops.setdefault(self._top(place), []).append(place)
        for top in sorted(tops, key=lambda top: -len(tops[top])):
            if len(places) <= MAX_MOUNTS // 2:
                return
            for place in tops[top]:
                del places[place]
            places[top] = _READ_ONLY
            if top not in self._too_full and len(tops[top]) > 1:
                self._too_full.append(top)

    def _top(self, place: str) -> str:
        root = max((root for root in self._roots if is_inside(place, (root,))), key=len)
        return f"{root}/{place[len(root) + 1 :].partition('/')[0]}"

    def _is_below_a_root(self, path: str) -> bool:
        return is_inside(path, self._roots) and not any(is_inside(root, (path,)) for root in self._roots)

    def _sources(self) -> Iterator[tuple[str, str]]:
        """Each folder with the place in its file system that the kernel names as the source of its mount."""
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
            mounts = [line.split(" ", 5)[3:5] for line in table]
        for place in self._pinned:
            path = _escape(place)
            source, point = max(
                (mount for mount in mounts if is_inside(path, (mount[1],))), key=lambda mount: len(mount[1])
            )
            yield place, f"{source.rstrip('/')}{path[len(point.rstrip('/')) :]}"


_Identity = tuple[int, int]
"""Device and inode."""


def _identify(path: str, folder: int | None = None) -> _Identity | None:
    try:
        found = os.stat(path, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_file(path: str, folder: int) -> bool:
    try:
        return not stat.S_ISDIR(os.stat(path, dir_fd=folder).st_mode)
    except OSError:
        return os.path.islink(f"/proc/self/fd/{folder}/{path}")  # what it leads to can be made later


def _is_folder(path: str) -> bool:
    """Whether it is there, and not only as the stub of a command that still runs."""
    return os.path.isdir(path) and not is_stub(path, os.stat(path))


def _list(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []  # no folder yet


def _escape(path: str) -> str:
    return re.sub(r"[ \t\n\\]", lambda found: f"\\{ord(found[0]):03o}", path)


def _protection_error(path: str, why: str) -> SandboxError:
    return SandboxError(
        ErrorKind.SANDBOX_UNAVAILABLE,
        f"{path!r} cannot be protected: {why}; put a real file or folder there, or work in another folder",
    )
