"""Which names in a view git ignores: by the view's own .gitignore files, with its git run inside it."""

import os
import subprocess
from collections.abc import Sequence

from planck.own_code import outside_path
from planck.workspace.git.settings import find_excludes
from planck.workspace.process.containment import system_program
from planck.workspace.sandbox.nested import HEAVY_FOLDERS
from planck.workspace.views.view import View

_PATIENCE = 60.0
_ASK = (
    *("-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "core.untrackedCache=false", "--no-optional-locks", "check-ignore", "-z", "--stdin"),
)


def find_ignored(view: View, paths: Sequence[str]) -> set[str]:
    """Returns those that git ignores; without git, caches and dependencies by their usual names."""
    git = system_program("git")
    if git is not None and (said := _ask(view, git, paths)) is not None:
        return {path for path in os.fsdecode(said).split("\0") if path}
    return {path for path in paths if os.path.basename(path) in HEAVY_FOLDERS}


def _ask(view: View, git: str, paths: Sequence[str]) -> bytes | None:
    """Returns git's answer; None where this is not a repository."""
    path = outside_path("/usr/local/bin:/usr/bin:/bin", (view.base, view.path))
    try:
        done = subprocess.run(
            [*view.words(), git, "-c", f"core.excludesFile={find_excludes(view.base)}", *_ASK],
            cwd=f"/proc/self/fd/{view.root}",
            pass_fds=(*view.fds, view.root),
            env={"PATH": path, "HOME": "/nonexistent", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            input=b"".join(os.fsencode(path) + b"\0" for path in paths),
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode in (0, 1) else None
