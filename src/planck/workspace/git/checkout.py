"""What a git repository is at: its branch, and whether something in it is not committed.

Nothing that the repository says is run for it. The branch is read from its files. `git status`, which a
configuration can make run filters, monitors and transports, is asked only where the repository's own
configuration has nothing but settings known to be harmless; else it is not known whether the tree is dirty.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from planck.own_code import outside_path
from planck.records.outcome import PlanckError
from planck.workspace.paths.paths import has_entry, is_inside, stamp_file
from planck.workspace.paths.regular import read_regular
from planck.workspace.process.containment import Containment, system_program

_MAX = 64 << 10
_PATIENCE = 0.3
"""Seconds that a start waits for `git status`; a tree that takes longer is not called clean or dirty."""
_HARMLESS = r"""\s*( [#;].* | \[(core|branch|remote|user|init|pull|push|gui|gc|advice|color)(\s+"[^"\\]*")?\]
    | (repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf
      |eol|safecrlf|quotepath|abbrev|name|email|url|pushurl|fetch|push|merge|remote|rebase|defaultbranch
      |default|ff|auto|tagopt|prune|vscode-merge-base|gk-[a-z-]+|ui)\s*(=[^\\]*)? )?\s*"""
_ASK = (
    *("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "core.untrackedCache=false", "-c", "core.attributesFile=/dev/null"),
    *("status", "--porcelain", "--ignore-submodules=all"),
)


class Checkout(msgspec.Struct, frozen=True):
    branch: str
    """Empty: it could not be read."""
    dirty: bool | None
    """None: not known."""

    def describe(self) -> str:
        """Says it in words; what is not known is left out."""
        if not self.branch:
            return "a repository that cannot be read"
        state = {True: ", with uncommitted changes", False: ", clean", None: ""}[self.dirty]
        return f"{self.branch}{state}"


async def look(folder: Path, environment: Mapping[str, str], patience: float = _PATIENCE) -> Checkout | None:
    """Returns what is checked out in a folder or above it; None where there is no repository."""
    top = find_top(folder)
    if top is None:
        return None
    git = _git_folder(top / ".git")
    branch = _read_branch(git)
    return Checkout(branch, await _is_dirty(top, git, environment, patience) if branch else None)


def may_start_programs(top: Path) -> bool:
    """Whether the own configuration of the repository at its top names what git would run, or may do so."""
    return not _is_harmless(_git_folder(top / ".git"))


def find_top(folder: Path) -> Path | None:
    """Returns the first folder upwards that holds `.git`, a file or a directory."""
    place = os.path.abspath(folder)
    while not has_entry(os.path.join(place, ".git")):
        place, below = os.path.dirname(place), place
        if place == below:
            return None
    return Path(place)


def list_outside(workspace: str) -> Iterator[str]:
    """Yields folders of git outside a workspace that belong to it: those of the repository that it lies in,
    and those of a linked worktree or a submodule.

    The file `.git` of an archive could name any repository. So a repository must name the workspace itself,
    and may refer to another one only if it is one of that one's worktrees.
    """
    from planck.workspace.git.repository import read_config
    from planck.workspace.git.sources import find_git_folder

    top = find_top(Path(workspace))
    if top is None:
        return
    git = str(top / ".git")
    if os.path.isdir(git):
        if str(top) != workspace:
            yield git
        return
    found = find_git_folder(str(top))
    if found is None or is_inside(found.own, (os.path.realpath(top),)):
        return
    if found.own != found.common:
        if not is_inside(found.own, (f"{found.common}/worktrees",)):
            return
        back = _read(Path(found.own, "gitdir")).rstrip("\n")
    else:
        config = f"{found.own}/config"
        named = [
            value
            for section, _, key, value in read_config(config, stamp_file(config))
            if (section, key) == ("core", "worktree")
        ]
        back = f"{named[-1]}/.git" if named else ""
    if back and os.path.realpath(os.path.join(found.own, back)) == os.path.realpath(git):
        yield from (found.own, found.common)


def _git_folder(path: Path) -> Path:
    """Follows the file that a worktree or a submodule has in its place."""
    if os.path.isfile(path):
        word, _, target = _read(path).partition(":")
        if word == "gitdir":
            return Path(os.path.join(path.parent, target.strip()))
    return path


def _read_branch(git: Path) -> str:
    head = _read(git / "HEAD").strip()
    if head.startswith("ref: "):
        name = head.removeprefix("ref: ").removeprefix("refs/heads/")
        return f"branch `{name}`" if name.isprintable() and len(name) < 256 and "`" not in name else ""
    return f"detached at {head[:12]}" if re.fullmatch(r"[0-9a-f]{40,64}", head) else ""


async def _is_dirty(top: Path, git: Path, environment: Mapping[str, str], patience: float) -> bool | None:
    program = system_program("git")
    if program is None or not _is_harmless(git):
        return None
    from planck.workspace.process.environment import allowed
    from planck.workspace.process.process import Command, run

    environment = allowed(environment)
    # A filter of the user's own configuration, like git-lfs, is a program that git looks for by its name.
    outside = {"PATH": outside_path(environment["PATH"], (os.path.realpath(top),))}
    safe = {**outside, "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    # A group of its own is enough for what starts nothing: the containment of commands takes longer to try.
    command = Command((program, *_ASK), top, {**environment, **safe}, level=Containment.PROCESS_GROUP)
    try:
        done = await run(command, patience)
    except PlanckError:  # not started
        return None
    if done.exit_code != 0:
        return None
    return any(re.match("[ MTADRCU?]{2} ", line) for line in done.output.splitlines())


def _is_harmless(git: Path) -> bool:
    """Whether the repository's own files name nothing that `git status` would run or follow."""
    common = Path(os.path.join(git, _read(git / "commondir").partition("\0")[0].strip() or "."))
    files = [_read(common / "config"), _read(git / "config.worktree")]
    harmless = re.compile(_HARMLESS, re.VERBOSE | re.IGNORECASE)  # few starts come here
    plain = all(harmless.fullmatch(line) for text in files for line in text.split("\n"))
    return bool(files[0]) and plain


def _read(path: Path) -> str:
    try:
        return os.fsdecode(read_regular(path, _MAX))
    except (OSError, ValueError):
        return ""
