"""What a command sees of homes: the roots in them, programs, and nothing else.

A home is one empty file system with a few folders bound into it, so that secrets that nobody thought of are
hidden, too. It is not writable: what should last is refused, and not lost. Caches are, for one command.
"""

import os
import stat
from collections.abc import Iterator, Sequence

from planck.own_code import follow
from planck.records.authority import Confinement
from planck.workspace.paths.paths import is_inside
from planck.workspace.sandbox.root_only import list_root_only

NOTHING = ("--perms", "0555", "--size", "4096", "--tmpfs")
_SIZE = 1 << 30
"""Bytes of a home: caches of builds. They are memory, as those of /tmp."""
_MAX_KNOWN = 1_000
CACHES = (".cache", ".npm", ".cargo", ".gradle", ".m2", ".nuget", ".yarn", ".bundle")
"""Folders in a home that programs write to before they do anything; what is lost there is made again."""


class View:
    """Decides what a command sees of the places around it, and which mounts make it so."""

    def __init__(
        self, confinement: Confinement, owner: os.stat_result | None, private: tuple[str, ...], home: str
    ) -> None:
        """`private` are the places that have other mounts already; commands run as the `owner`."""
        self._roots = confinement.roots
        self._writable = confinement.writable
        self._owner = owner
        self._private = private
        masks = (place for place in confinement.masked if self._holds_root(place))
        closed = {*confinement.hidden, *masks}.difference(self._roots)
        self._closed = {place for place in closed if os.path.isdir(place) and self._reaches(place)}
        self._homes = self._closed.intersection(confinement.hidden)
        self._shown = {place for place in self._list_shown(confinement) if self._reaches(place)}
        self._hides: dict[str, bool] = {}
        self.home: str = home if home in self._homes else ""
        """The user's own, if it is hidden."""
        self.words: tuple[str, ...] = tuple(self._make_words())
        """Mounts, outer places first: what lies deeper covers what is around it."""
        as_root = os.geteuid() == 0 and owner is None
        own = [place for place in list_root_only() if not _holds(place, confinement.seen)] if as_root else ()
        places = (*confinement.masked, *own)
        self.masked: tuple[str, ...] = tuple(sorted(place for place in places if self._is_masked(place)))
        """What must still be hidden in what is seen."""

    def shows(self, place: str) -> bool:
        """Whether the innermost of what holds a place is not a hidden one."""
        closed = max((len(one) for one in self._closed if is_inside(place, (one,))), default=0)
        around = (*self._roots, *self._shown)
        return not closed or any(len(one) > closed and is_inside(place, (one,)) for one in around)

    def hides(self, folder: str) -> bool:
        """Whether a command sees nothing of a folder; what is asked again is not worked out again."""
        if (known := self._hides.get(folder)) is None:
            if len(self._hides) > _MAX_KNOWN:
                self._hides.clear()
            around = (*self._roots, *self._shown)
            known = not self.shows(folder) and not any(is_inside(one, (folder,)) for one in around)
            self._hides[folder] = known
        return known

    def _is_masked(self, place: str) -> bool:
        """Nobody sees the others anyway; and what lies around a root was hidden before it."""
        return place not in self._roots and not self._holds_root(place) and self.shows(place)

    def _holds_root(self, place: str) -> bool:
        return any(root != place and is_inside(root, (place,)) for root in self._roots)

    def _make_words(self) -> Iterator[str]:
        made: set[str] = set()
        for place in sorted({*self._closed, *self._shown, *self._roots, *self._writable}):
            around = self._find_around(place)
            if around in self._closed:
                yield from self._make_folders(place, around, made)
            if place in self._writable:  # a member's may be a folder in a root that it can only read
                yield from ("--bind", place, place)
            elif place == "/":
                continue  # seen already: once more, it would cover what is mounted in it
            elif place in self._roots:
                yield from ("--ro-bind", place, place)
            elif place in self._closed:
                yield from self._hide(place, around)
            elif around in self._closed:
                yield from _show(place)

    def _find_around(self, place: str) -> str:
        holding = (one for one in (*self._closed, *self._shown, *self._roots) if one != place)
        return max((one for one in holding if is_inside(place, (one,))), key=len, default="")

    def _hide(self, place: str, around: str) -> Iterator[str]:
        if place not in self._homes:
            yield from (*NOTHING, place)
        elif around in self._closed or (is_inside(place, self._private) and not around):
            yield from ("--perms", "0555", "--dir", place)  # nothing is there already
        else:
            memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
            yield from ("--perms", "0555", "--size", str(min(_SIZE, memory // 4)), "--tmpfs", place)
        if place == self.home:
            for name in CACHES:
                yield from ("--perms", "0700", "--dir", f"{place}/{name}")

    def _make_folders(self, place: str, around: str, made: set[str]) -> Iterator[str]:
        """The folders between: bubblewrap's own would be writable, and what is put there be lost."""
        folder = around
        for step in os.path.relpath(os.path.dirname(place), around).split("/"):
            folder = os.path.normpath(os.path.join(folder, step))
            if folder != around and folder not in made and folder not in self._closed:
                made.add(folder)
                yield from ("--perms", "0555", "--dir", folder)

    def _list_shown(self, confinement: Confinement) -> Iterator[str]:
        yield from (place for place in confinement.shown if is_inside(place, self._closed))
        for place in confinement.seen:
            if not is_inside(place, self._closed) and not is_inside(os.path.realpath(place), self._closed):
                continue
            *links, end = follow(place)
            yield from (link for link in links if is_inside(link, self._closed))
            if is_inside(end, self._closed) and not any(is_inside(one, (end,)) for one in self._closed):
                yield end

    def _reaches(self, place: str) -> bool:
        """Whether bubblewrap, which runs as the owner, could mount anything there."""
        try:
            if self._owner is not None:
                return can_reach(place, self._owner)
            os.lstat(place)
        except PermissionError:
            return False  # root's, of whom the program in a view is none any more
        except OSError:
            return self._owner is None  # it may come
        return True


def _holds(folder: str, places: Sequence[str]) -> bool:
    return any(is_inside(place, (folder,)) for place in places)


def _show(place: str) -> Iterator[str]:
    try:
        mode = os.lstat(place).st_mode
        if stat.S_ISLNK(mode):
            yield from ("--symlink", os.readlink(place), place)
        elif not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
            return
    except OSError:
        pass  # it may come
    if os.path.realpath(place) == place:
        yield from ("--ro-bind-try", place, place)


_views: dict[tuple[object, ...], View] = {}


def find_view(confinement: Confinement, owner: os.stat_result | None, private: tuple[str, ...]) -> View:
    """Returns the view of a command: the same as before for the same rights, since it takes 1 ms."""
    home = os.path.realpath(os.path.expanduser("~"))
    ids = (owner.st_uid, owner.st_gid) if owner else None
    key = (*_places(confinement), ids, private, home)
    if key not in _views:
        if len(_views) > 64:
            _views.clear()
        _views[key] = View(confinement, owner, private, home)
    return _views[key]


def _places(rights: Confinement) -> tuple[tuple[str, ...], ...]:
    return rights.roots, rights.writable, rights.masked, rights.shown, rights.hidden, rights.seen


def can_reach(place: str, owner: os.stat_result) -> bool:
    """Whether a user may enter every folder above a place; a folder with an access list counts as open."""
    folder = os.path.dirname(place)
    while folder != "/":
        found = os.stat(folder)
        who = 6 if found.st_uid == owner.st_uid else 3 if found.st_gid == owner.st_gid else 0
        if not found.st_mode >> who & 1 and "system.posix_acl_access" not in os.listxattr(folder):
            return False
        folder = os.path.dirname(folder)
    return True
