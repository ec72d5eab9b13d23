"""Where the work on a session of a pool is done: in a clone, a folder that all see, or one machine's."""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import compress
from pathlib import Path
from typing import Any

import msgspec

from planck.config.load import ConfigError
from planck.config.private import CLONES, find_private
from planck.config.schema import NodeEntry
from planck.config.trust import Trust, TrustError
from planck.records.outcome import ErrorKind
from planck.workspace.git.clones import Checkout, Clone
from planck.workspace.git.sources import (
    Source,
    check_git_folder,
    find_git_folder,
    list_link_folders,
    read_path,
    read_pattern,
    read_source,
    split_entry,
)
from planck.workspace.paths.paths import is_inside

log: logging.Logger = logging.getLogger(__name__)


class PoolError(ConfigError):
    """The pool can't do that, and why."""


class Workplace(msgspec.Struct, frozen=True):
    folder: Path
    own: bool = False
    """Whether it is the folder that this server was started in, with the trust that it was given there."""
    clone: Clone | None = None
    """None: what is done there stays there by itself."""
    record: str = ""
    """The commit that the folder was brought back to."""


def describe_source(repo: str, ref: str) -> dict[str, Any]:
    """Returns the workspace entry of a session's row; a path that is not a repository is a shared folder.

    A path is written down as it was given: each node resolves it by its own links.
    """
    source, path = read_source(repo, ref), read_path(repo)
    if path and os.path.isdir(path) and not _is_repository(path):
        if ref:
            raise PoolError(ErrorKind.INVALID_ARGS, f"{repo!r} is not a git repository. Leave out --ref.")
        return {"kind": "shared", "path": source.path}
    return {"kind": "git", "repo": path or source.address, "ref": ref}


def describe_folder(folder: Path, node: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the same for a folder of one machine, and what a node needs to have it."""
    return {"kind": "host", "path": str(folder), "node": node}, (name_label(node),)


def name_label(node: str) -> str:
    """Returns the label that only this node has."""
    return f"node:{node}"


class Places:
    """The folders of this node's sessions."""

    def __init__(
        self,
        home: Path,
        terms: NodeEntry,
        environ: Mapping[str, str],
        *,
        own: Path | None = None,
        sessions_dir: str = "",
    ) -> None:
        """`own` is the folder that the server was started in."""
        self._home = home
        self._folder = home / CLONES
        self._environ = environ
        self._own = own and os.path.realpath(own)
        self._sessions_dir = sessions_dir
        # Links are resolved once, here: those in a folder that agents work in may be theirs.
        accept = [_Entry(entry, read_pattern(entry)) for entry in terms.accept]
        trust = [_Entry(repo, read_pattern(repo), ref) for repo, ref in map(split_entry, terms.trust)]
        self._accept = accept
        usable = [self._is_usable(entry) for entry in (*accept, *trust)]
        self._accept = list(compress(accept, usable))
        self._trust = list(compress(trust, usable[len(accept) :]))

    def _is_usable(self, entry: "_Entry") -> bool:
        """Whether an entry of the node's lists names what its owner meant; says so if it has no effect."""
        if entry.wanted is None:
            log.warning(
                'node: %r is not a valid entry and is ignored. Run "planck doctor" to see how to write it.',
                entry.said,
            )
            return False
        for folder in list_link_folders(entry.said):
            if any(map(self._is_worked_in, (folder, *map(str, Path(folder).parents)))):
                log.warning(
                    "node: %r has no effect, because its path contains a link in %s that agents can change. "
                    "Name the target folder without that link.",
                    *(entry.said, folder),
                )
                return False
        return True

    def _is_worked_in(self, folder: str) -> bool:
        if folder == self._own:
            return True
        try:
            self._check_folder(Source("", "", "", "", folder), shared=True)
        except ConfigError:
            return False
        return True

    async def prepare(self, session: str, workspace: Mapping[str, Any]) -> Workplace:
        """Makes the folder ready, or raises why this node does not work there."""
        if workspace.get("kind") == "git":
            origins = [str(id) for id in workspace.get("origins") or ()]
            repo, ref = str(workspace["repo"]), str(workspace.get("ref") or "")
            return await self._prepare_clone(session, repo, ref, origins)
        found = os.path.realpath(str(workspace["path"]))
        if workspace.get("kind") == "host" and found == self._own:
            return Workplace(Path(str(workspace["path"])), own=True)
        source = Source("", "", "", "", found)
        self._check_folder(source, shared=True)
        if not os.path.isdir(found):
            raise PoolError(
                ErrorKind.NOT_FOUND,
                f"There is no folder {found!r} on this node. Make it available there "
                "(for example, mount it), or submit a repository's URL.",
            )
        if (
            self._list_trusted(source)
            and Trust(self._home, Path(found), environ=self._environ).examine().notice
        ):
            log.warning(
                "Session %s: `node.trust` has no effect on the folder %s, which has no branches. "
                'Review its files, then run "planck permissions trust -C %s".',
                *(session, found, found),
            )
        return Workplace(Path(found))

    async def _prepare_clone(self, session: str, repo: str, ref: str, origins: Sequence[str]) -> Workplace:
        source = read_source(repo, ref)
        if not source.scheme:
            source, address = await asyncio.to_thread(self._find_repository, source.path)
        else:
            self._check_accepted(source)
            address = source.address
        clone = Clone(self._folder / session, address, session, self._environ, origins)
        trusted = self._list_trusted(source)
        trust = Trust(self._home, clone.folder, environ=self._environ)
        if not trusted:
            trust.take_back()  # what the node's list no longer names

        def look(made: Checkout) -> None:
            """Trust is for the files of a named ref as they are now, not for what becomes of them."""
            trust.take_back()
            if any(fnmatchcase(name, wanted) for name in made.refs for wanted in trusted):
                with suppress(TrustError):  # of links and too many files nobody knows what they come to
                    trust.give(Trust(self._home, made.folder, environ=self._environ).examine().content)

        record = await clone.prepare(ref, look if trusted else None)
        if trusted and trust.examine().notice:
            log.warning(
                "Session %s: the tools, hooks and servers in %s do not run, because its files are not from a "
                "trusted ref (trusted: %s). "
                "Add REPOSITORY#BRANCH to `node.trust`, "
                'or review the files and run "planck permissions trust -C %s".',
                *(session, source.shown, ", ".join(trusted), clone.folder),
            )
        return Workplace(clone.folder, clone=clone, record=record)

    def _find_repository(self, path: str) -> tuple[Source, str]:
        """Returns a repository of this machine and its git folder; raises if git would read anything else."""
        folder = path if os.path.isdir(path) else f"{path}.git"
        source = Source("", "", "", "", os.path.realpath(folder))
        self._check_folder(source)
        found = find_git_folder(source.path)
        if found is None:
            raise PoolError(
                ErrorKind.NOT_FOUND,
                f"There is no Git repository at {path!r} on this node. Make it available there "
                "(for example, mount it), or submit the repository's URL.",
            )
        for place in dict.fromkeys((found.common, found.own)):
            self.check_private(place)
            # A linked worktree's folder lies in its repository's, which is compared itself.
            above = (source.path,) if place == found.common else (source.path, found.common)
            if not is_inside(place, above):
                owner = os.path.dirname(place) if os.path.basename(place) == ".git" else place
                self._check_accepted(Source("", "", "", "", owner))
            if why := check_git_folder(place):
                raise PoolError(ErrorKind.PERMISSION_DENIED, f"Cannot clone {path!r}: {why}")
        return source, found.own

    def _check_folder(self, source: Source, *, shared: bool = False) -> None:
        self.check_private(source.path)
        self._check_accepted(source, shared=shared)
        if not any(entry.said.startswith("/") and entry.wanted == source for entry in self._accept):
            self._check_apart(source.path)

    def check_repo(self, repo: str) -> None:
        """Raises for a folder that is private; what is cloned is looked at when it is."""
        if path := read_path(repo):
            self.check_private(path)

    def check_private(self, path: str) -> None:
        """Raises for a private place, no matter who names it."""
        if place := find_private(path, self._home, self._environ, self._sessions_dir, strict=True):
            raise PoolError(
                ErrorKind.PERMISSION_DENIED,
                f"Sessions cannot work in {path!r}: {place!r} is private on this node. "
                "Submit a project folder instead.",
            )

    def _check_apart(self, path: str) -> None:
        """Refuses a folder whose files decide what this node runs, unless it is named without a `*`."""
        homes = (self._home, self._environ.get("HOME") or "/root")
        if any(is_inside(os.path.realpath(home), (path,)) for home in homes):
            raise PoolError(
                ErrorKind.PERMISSION_DENIED,
                f"{path!r} contains the settings of this node's user. Submit another folder, or add this "
                "one, without `*`, to `node.accept` in the node's configuration.",
            )

    def _check_accepted(self, source: Source, *, shared: bool = False) -> None:
        """`shared`: it is worked in, and not cloned; a file URL names repositories only."""
        entries = (entry for entry in self._accept if not (shared and entry.said.startswith("file:")))
        if not any(entry.names(source) for entry in entries):
            raise PoolError(
                ErrorKind.PERMISSION_DENIED,
                f"This node does not work on {source.shown!r}. "
                "Add it to `node.accept` in the node's configuration.",
            )

    def _list_trusted(self, source: Source) -> list[str]:
        """Returns the refs of a repository that the node's list names."""
        return [entry.ref for entry in self._trust if entry.names(source)]


class _Entry(msgspec.Struct, frozen=True):
    """An entry of `node.accept` or `node.trust`."""

    said: str
    wanted: Source | None
    ref: str = ""

    def names(self, source: Source) -> bool:
        return self.wanted is not None and source.matches(self.wanted)


def _is_repository(path: str) -> bool:
    return os.path.lexists(os.path.join(path, ".git")) or os.path.isfile(os.path.join(path, "HEAD"))
