"""Which names in a view git ignores: by the view's own .gitignore files, with its git run inside it."""

import os
from collections.abc import Sequence

from planck.workspace.git.plumbing import GitError, ask_git
from planck.workspace.git.settings import find_excludes
from planck.workspace.sandbox.nested import HEAVY_FOLDERS
from planck.workspace.views.view import View

_PATIENCE = 60.0
_ASK = ("check-ignore", "-z", "--stdin")
_ASK_RULES = ("check-ignore", "--no-index", "-z", "--stdin")
"""By the rules alone: with its index git refuses every question with a path in a submodule among them."""


def find_ignored(view: View, paths: Sequence[str]) -> set[str]:
    """Returns those that git ignores; without git, caches and dependencies by their usual names."""
    if (said := _ask(view, paths)) is not None:
        return {path for path in os.fsdecode(said).split("\0") if path}
    return {path for path in paths if os.path.basename(path) in HEAVY_FOLDERS}


def _ask(view: View, paths: Sequence[str]) -> bytes | None:
    """Returns git's answer; None where this is not a repository."""
    for words in (_ASK, _ASK_RULES):
        if (said := _ask_git(view, words, paths)) is not None:
            return said
    return None


def _ask_git(view: View, words: Sequence[str], paths: Sequence[str]) -> bytes | None:
    said = b"".join(os.fsencode(path) + b"\0" for path in paths)
    try:
        return ask_git(
            f"/proc/self/fd/{view.root}",
            words,
            {},
            excludes=find_excludes(view.base),
            said=said,
            before=view.words(),
            fds=(*view.fds, view.root),
            away_from=(view.base, view.path),
            patience=_PATIENCE,
        )
    except GitError as problem:
        return b"" if problem.err.details.get("exit_code") == 1 else None  # 1: it ignores none of them
