"""Where the work on a session of a pool is done: in a clone, a folder that all see, or one machine's."""

import fnmatch
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from planck.config.load import ConfigError
from planck.config.schema import NodeEntry
from planck.records.outcome import ErrorKind
from planck.workspace.clones import Clone, check_source
from planck.workspace.paths import is_inside


class Place(msgspec.Struct, frozen=True):
    folder: Path
    trusted: bool
    clone: Clone | None = None
    """None: what is done there stays there by itself."""
    record: str = ""
    """The commit that the folder was brought back to."""


def describe_source(repo: str, ref: str) -> dict[str, Any]:
    """Returns what a session's row says of its workspace; a path that is no repository is a shared folder."""
    check_source(repo, ref)
    if repo.startswith("/") and os.path.isdir(repo) and not _is_repository(repo):
        if ref:
            raise ConfigError(ErrorKind.INVALID_ARGS, f"{repo!r} is no git repository: leave out --ref")
        return {"kind": "shared", "path": os.path.realpath(repo)}
    return {"kind": "git", "repo": repo, "ref": ref}


def describe_folder(folder: Path, node: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the same for a folder of one machine, and what a node needs to have it."""
    return {"kind": "host", "path": str(folder), "node": node}, (name_label(node),)


def name_label(node: str) -> str:
    """Returns the label that only this node has."""
    return f"node:{node}"


class Places:
    """The folders of this node's sessions."""

    def __init__(self, home: Path, terms: NodeEntry, environ: Mapping[str, str]) -> None:
        self._home = home
        self._folder = home / "work"
        self._terms = terms
        self._environ = environ

    async def prepare(self, session: str, workspace: Mapping[str, Any]) -> Place:
        """Makes the folder ready, or raises why this node does not work there."""
        if workspace.get("kind") == "git":
            return await self._prepare_clone(session, str(workspace["repo"]), str(workspace.get("ref") or ""))
        path = Path(str(workspace["path"]))
        self._check(str(path))
        if not path.is_dir():
            raise ConfigError(
                ErrorKind.NOT_FOUND,
                f"{str(path)!r} is not there on this node; mount it, or submit with a URL",
            )
        own = workspace.get("kind") == "host"
        if not own and not _matches(str(path), self._terms.accept):
            self._check_apart(path)
        return Place(path, own or _matches(str(path), self._terms.trust))

    async def _prepare_clone(self, session: str, repo: str, ref: str) -> Place:
        self._check(repo)
        clone = Clone(self._folder / session, repo, session, self._environ)
        record = await clone.prepare(ref)
        return Place(clone.folder, _matches(repo, self._terms.trust), clone, record)

    def _check_apart(self, path: Path) -> None:
        """Refuses a folder whose files decide what this node runs: who submits is not who set it up."""
        found = os.path.realpath(path)
        homes = [os.path.realpath(home) for home in (self._home, self._environ.get("HOME") or "/root")]
        if is_inside(found, homes[:1]) or any(is_inside(home, (found,)) for home in homes):
            raise ConfigError(
                ErrorKind.PERMISSION_DENIED,
                f"{str(path)!r} has the settings of this node's user in it; submit a folder of its own, or "
                "name this one in `node.accept` of the node's configuration",
            )

    def _check(self, source: str) -> None:
        if self._terms.accept and not _matches(source, self._terms.accept):
            raise ConfigError(
                ErrorKind.PERMISSION_DENIED,
                f"this node does not work on {source!r}; add it to `node.accept` of its configuration",
            )


def _matches(source: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(source, pattern) for pattern in patterns)


def _is_repository(path: str) -> bool:
    return os.path.lexists(os.path.join(path, ".git")) or os.path.isfile(os.path.join(path, "HEAD"))
