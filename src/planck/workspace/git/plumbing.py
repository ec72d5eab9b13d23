"""Git for the runtime's own needs: lists, objects, commits. Nothing that a repository says is run for it.

Git asks a repository's configuration for a file monitor, for hooks, for filters, and, where an object is
missing, for a server to fetch it from and the program that connects to it. Here each of them is turned off.
Filters can't be: a command that applies them is run only where the configuration names nothing to run.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from planck.own_code import outside_path
from planck.records.outcome import ErrorKind, PlanckError
from planck.workspace.git.checkout import may_start_programs
from planck.workspace.process.containment import system_program
from planck.workspace.process.environment import allowed

PLAIN = frozenset(
    {"cat-file", "check-ignore", "check-ref-format", "commit-tree", "hash-object", "ls-files", "ls-tree"}
    | {"read-tree", "rev-parse", "update-index", "update-ref", "var", "worktree list", "worktree prune"}
    | {"write-tree"}
)
"""They apply no filter, and start nothing but what is turned off below."""
FILTERING = frozenset({"add", "worktree add"})
_QUIET = (
    *("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "core.untrackedCache=false", "-c", "core.quotePath=false", "-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false", "-c", "commit.gpgSign=false", "-c", "submodule.recurse=false"),
)
_ALONE = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    # A partial clone fetches what it lacks, by a command of its own configuration: both, for old versions.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
}


class GitError(PlanckError):
    """Git is not here, did not start, did not finish, or refused; the message has what it said."""


def ask_git(
    folder: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    said: bytes = b"",
    index: str = "",
    excludes: str = "",
    as_planck: bool = False,
    before: Sequence[str] = (),
    fds: Sequence[int] = (),
    away_from: Sequence[str] = (),
    patience: float = 120.0,
) -> bytes:
    """Returns what git says in a folder. Waits, so call it in a thread.

    `index`: another file than the repository's. `excludes`: the user's own list of ignored names.
    `as_planck`: commit in that name. `before`: words that start it elsewhere, with `fds`. `away_from`:
    folders besides this one where no program is taken from.
    """
    git = system_program("git")
    if git is None:
        raise GitError(ErrorKind.NOT_FOUND, "git is not installed. Install it.")
    name = " ".join(words[:2]) if words[0] == "worktree" else words[0]
    if name in FILTERING:
        if may_start_programs(Path(folder)):
            raise GitError(
                ErrorKind.PERMISSION_DENIED,
                f"git {name} was not run, because the configuration of the repository {folder!r} may start "
                "programs.",
            )
    elif name not in PLAIN:
        raise ValueError(name)
    who = ("-c", "user.name=Planck", "-c", "user.email=planck@localhost") if as_planck else ()
    own = allowed(environment)
    variables = {**own, "PATH": outside_path(own["PATH"], (folder, *away_from)), **_ALONE}
    if index:
        variables["GIT_INDEX_FILE"] = index
    try:
        done = subprocess.run(
            [
                *before,
                git,
                *_QUIET,
                *(("-c", f"core.excludesFile={excludes}") if excludes else ()),
                *who,
                *words,
            ],
            cwd=folder,
            env=variables,
            pass_fds=tuple(fds),
            input=said,
            capture_output=True,
            timeout=patience,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise GitError(ErrorKind.WRITE_FAILED, f"git {name} failed: {problem}. Try again.") from None
    if done.returncode != 0:
        why = done.stderr.decode(errors="replace").strip()[-500:] or "it said nothing"
        raise GitError(
            ErrorKind.WRITE_FAILED,
            f"git {name} failed: {why}. Correct that first.",
            {"exit_code": done.returncode},
        )
    return done.stdout
