"""A commit on a branch by git's plumbing: neither the working tree nor the user's index is touched."""

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.git.plumbing import GitError, ask_git
from planck.workspace.recording.states import NOTHING, State

_NONE = "0" * 40


class BranchError(PlanckError):
    """No commit can be made there."""


class _Entry(msgspec.Struct, frozen=True):
    mode: str
    blob: str


class Branch:
    """A branch of the repository that a workspace lies in, new or there already."""

    def __init__(self, workspace: str, name: str, environment: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._environment = environment
        self.name = name
        try:
            self._git("check-ref-format", "--branch", name)
        except GitError:
            raise BranchError(
                ErrorKind.INVALID_ARGS,
                f"{name!r} is not a name that git takes for a branch. Use another one.",
            ) from None
        try:
            # Paths of the workspace begin there in the repository's trees.
            self._prefix = (
                self._git("rev-parse", "--show-prefix").decode(errors="surrogateescape").strip("\n")
            )
        except GitError:
            raise BranchError(
                ErrorKind.NOT_FOUND, f"{workspace!r} is not in a git repository. Land it without a branch."
            ) from None
        ref = f"branch refs/heads/{name}"
        if ref in self._git("worktree", "list", "--porcelain").decode(errors="replace").splitlines():
            raise BranchError(
                ErrorKind.INVALID_ARGS,
                f"The branch {name!r} is checked out. Name another branch, or a new one.",
            )
        self._tip = self._look_up(f"refs/heads/{name}^{{commit}}")
        self._parent = self._tip or self._look_up("HEAD^{commit}")
        self._entries = dict(self._list())

    def read(self, path: str) -> State:
        """Returns what the branch has under a path of the workspace; folders are nothing to git."""
        entry = self._entries.get(self._prefix + path)
        if entry is None:
            return NOTHING
        content = self._git("cat-file", "blob", entry.blob) if entry.mode != "160000" else b""
        if entry.mode == "120000":
            return State("link", target=os.fsdecode(content))
        return State("file", content, 0o755 if entry.mode == "100755" else 0o644)

    def commit(self, changes: Iterable[tuple[str, State]], message: str) -> str:
        """Makes one commit of these changes on top of the branch, and returns its name."""
        with tempfile.TemporaryDirectory(prefix="planck-index-") as folder:
            index = str(Path(folder) / "index")
            if self._parent:
                self._git("read-tree", self._parent, index=index)
            removed, made = [], []
            for path, state in changes:
                place = os.fsencode(self._prefix + path)
                if state == NOTHING:
                    removed.append(b"0 %s\t%s" % (_NONE.encode(), place))
                else:
                    link = state.kind == "link"
                    content = os.fsencode(state.target) if link else state.content or b""
                    mode = b"120000" if link else b"100755" if state.mode & 0o100 else b"100644"
                    blob = self._git("hash-object", "-w", "--stdin", said=content).strip()
                    made.append(b"%s %s\t%s" % (mode, blob, place))
            # Removals first: a file may become a folder.
            said = b"\0".join([*removed, *made, b""])
            self._git("update-index", "-z", "--index-info", said=said, index=index)
            tree = self._git("write-tree", index=index).decode().strip()
        parents = ("-p", self._parent) if self._parent else ()
        unnamed = not self._is_named()
        commit = self._git("commit-tree", tree, *parents, said=message.encode(), as_planck=unnamed)
        name = commit.decode().strip()
        self._git("update-ref", f"refs/heads/{self.name}", name, self._tip or _NONE)
        return name

    def _is_named(self) -> bool:
        """Whether git knows who commits here."""
        try:
            self._git("var", "GIT_COMMITTER_IDENT")
        except GitError:
            return False
        return True

    def _list(self) -> Iterable[tuple[str, _Entry]]:
        if not self._parent:
            return
        for line in self._git("ls-tree", "-r", "-z", "--full-tree", self._parent).split(b"\0"):
            if line:
                about, _, path = line.partition(b"\t")
                mode, _, blob = about.decode().split(" ")
                yield os.fsdecode(path), _Entry(mode, blob)

    def _look_up(self, name: str) -> str:
        try:
            return self._git("rev-parse", "--verify", "--quiet", name).decode().strip()
        except GitError:
            return ""

    def _git(self, *words: str, said: bytes = b"", index: str = "", as_planck: bool = False) -> bytes:
        return ask_git(self._workspace, words, self._environment, said=said, index=index, as_planck=as_planck)
