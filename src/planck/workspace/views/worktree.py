"""The fallback where no overlay can be mounted: a git worktree, without what git ignores, at another path."""

import asyncio
import fcntl
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec

from planck.records.authority import Confinement
from planck.records.outcome import ErrorKind
from planck.workspace.git.checkout import may_start_programs
from planck.workspace.git.plumbing import GitError, ask_git
from planck.workspace.sandbox.sandbox import Wrapped, wrap
from planck.workspace.views.mounting import ViewError
from planck.workspace.views.overlay import remove_folder


class Worktree:
    """A commit of the workspace as it is, without what git ignores, checked out in `upper`."""

    exact = False
    backend = "worktree"

    def __init__(
        self, id: str, base: str, home: str, layers: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        """Takes one that is there."""
        self._environment = environment
        self.id = id
        self.base = base
        self.layers: tuple[str, ...] = tuple(layers)
        self.folder: str = f"{home}/{id}"
        self.upper: str = f"{self.folder}/upper"
        self.path: str = self.upper
        self._lock = os.open(f"{self.folder}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise ViewError(
                ErrorKind.WRITER_CONFLICT,
                f"The worktree {self.path!r} is in use by another process. End that process first.",
            ) from None
        self.root: int = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.closed: bool = False

    @classmethod
    def make(
        cls, id: str, base: str, home: str, layers: Sequence[str], environment: Mapping[str, str]
    ) -> "Worktree":
        folder = f"{home}/{id}"
        os.makedirs(folder, mode=0o711, exist_ok=True)
        index = f"{folder}/index"  # the user's own stays as it is
        try:
            head = _git(base, environment, "rev-parse", "--verify", "HEAD^{commit}")
            _git(base, environment, "read-tree", head, index=index)
            _git(base, environment, "add", "--all", index=index)
            tree = _git(base, environment, "write-tree", index=index)
            message = ("-m", "The state that a view began with")
            commit = _git(base, environment, "commit-tree", tree, "-p", head, *message)
            _git(base, environment, "worktree", "add", "--detach", "--quiet", f"{folder}/upper", commit)
        except GitError as problem:
            remove_folder(folder)
            raise ViewError(problem.err.kind, problem.err.message) from None
        return cls(id, base, home, layers, environment)

    @property
    def fds(self) -> tuple[int, ...]:
        return ()

    def words(self) -> Sequence[str]:
        return ()

    def confine(self, confinement: Confinement) -> Confinement:
        """The same rights at its own path; the workspace itself can be read, for git's folder is there."""
        writable = tuple(self._move(place) for place in confinement.writable)
        roots = (self.path, *confinement.roots)
        return msgspec.structs.replace(confinement, roots=roots, writable=writable)

    def _move(self, place: str) -> str:
        below = place == self.base or place.startswith(f"{self.base}/")
        return f"{self.path}{place[len(self.base) :]}" if below else place

    def acting(self) -> AbstractContextManager[None]:
        return nullcontext()

    def prepare(self, confinement: Confinement) -> None:
        pass

    def wrap(self, confinement: Confinement) -> Wrapped:
        return wrap(self.confine(confinement))

    async def aclose(self) -> None:
        if not self.closed:
            self.closed = True
            os.close(self.root)
            os.close(self._lock)

    async def drop(self) -> None:
        if not self.closed:
            self.closed = True
            await asyncio.to_thread(self._drop)

    def _drop(self) -> None:
        os.close(self.root)
        remove_folder(self.folder)
        os.close(self._lock)
        _git(self.base, self._environment, "worktree", "prune")


def refuse_worktree(base: str, environment: Mapping[str, str]) -> str:
    """Returns why there can be no worktree of a workspace, or nothing."""
    try:
        if _git(base, environment, "rev-parse", "--show-toplevel") != base:
            return "it is not the top of a git repository"
        _git(base, environment, "rev-parse", "--verify", "HEAD^{commit}")
    except GitError:
        return "it is not a git repository with a commit"
    if may_start_programs(Path(base)):
        return "its git configuration may start programs when files are added or checked out"
    return ""


def _git(base: str, environment: Mapping[str, str], *words: str, index: str = "") -> str:
    return os.fsdecode(ask_git(base, words, environment, index=index, as_planck=True)).strip()
