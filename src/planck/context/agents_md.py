"""AGENTS.md: what a project says to whoever works on it."""

import os
import stat
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path

import msgspec

from planck.context.texts import MAX_BYTES, read_text
from planck.workspace.paths.paths import has_entry
from planck.workspace.paths.regular import locate_open

NAMES = ("AGENTS.md", "CLAUDE.md")
"""In each folder the first that is there counts."""


class Instructions(msgspec.Struct, frozen=True):
    text: str
    paths: tuple[Path, ...] = ()
    """Nearest last: in the order in which the texts stand."""
    notices: tuple[str, ...] = ()


def find_instructions(
    cwd: Path, workspace: Path, home: Path | None = None, *, nearest: bool = False
) -> Instructions:
    """Reads the user's own of the home, then those from the git root down to `cwd`, or the nearest of these.

    Without a git root none above the workspace counts. Where all are too long together, the user's own and
    the nearest stay whole longest.
    """
    notices: list[str] = []
    left = MAX_BYTES
    # A link of the user's own may lead anywhere: dotfiles do.
    own = _read(home, Path(home.anchor), home, left, notices) if home else None
    left -= _size(own)
    top = _find_top(cwd, workspace)
    texts: list[tuple[Path, str]] = []
    for folder in _walk_up(cwd, top):
        if left <= 0 or (own and folder == home):
            break
        if read := _read(folder, top, workspace, left, notices):
            texts.insert(0, read)
            left -= _size(read)
            if nearest:
                break
    if own:
        texts.insert(0, own)
    headed = [f"# Project instructions ({path})\n\n{text}" for path, text in texts if text]
    return Instructions("\n\n".join(headed), tuple(path for path, _ in texts), tuple(notices))


def prepend_agents_md(system_prompt: str | None, cwd: str | os.PathLike[str]) -> str:
    """Puts the nearest AGENTS.md, from `cwd` upwards to the git root, before a prompt; no `cwd`, no file.

    A CLAUDE.md counts only where no folder up to the git root has an AGENTS.md.

    Example:

        prompt = prepend_agents_md("You review code.", ".")
    """
    prompt = system_prompt or ""
    if not os.fspath(cwd):
        return prompt
    start = Path(cwd).expanduser().absolute()
    root = Path(start.anchor)
    top = _find_top(start, root)
    for name, folder in product(NAMES, _walk_up(start, top)):
        within = folder if top == root else top  # without a project, a link leads nowhere
        if read := _read(folder, within, within, MAX_BYTES, [], (name,)):
            return "\n\n".join(part for part in (read[1], prompt) if part)
    return prompt


def list_places(cwd: Path, workspace: Path, home: Path) -> list[str]:
    """Returns every place that decides what is found, for whoever watches for a change, at each turn."""
    folders = _list_upwards(cwd)
    found = next((n for n, folder in enumerate(folders) if has_entry(f"{folder}.git")), None)
    if found is None:
        top = _as_prefix(workspace)
        found = folders.index(top) if top in folders else 0
    places = [f"{folder}{name}" for folder in folders[: found + 1] for name in (".git", *NAMES)]
    return places + [f"{_as_prefix(home)}{name}" for name in NAMES]


@lru_cache(64)
def _list_upwards(folder: Path) -> list[str]:
    return [_as_prefix(folder), *map(_as_prefix, folder.parents)]


def _as_prefix(folder: Path) -> str:
    return os.path.join(folder, "")


def _find_top(cwd: Path, workspace: Path) -> Path:
    """Returns the first folder upwards that holds `.git`, a file or a directory; else the workspace."""
    for folder in (cwd, *cwd.parents):
        if os.path.lexists(folder / ".git"):
            return folder
    return workspace if workspace in (cwd, *cwd.parents) else cwd


def _size(read: tuple[Path, str] | None) -> int:
    return len(read[1].encode()) if read else 0


def _walk_up(cwd: Path, top: Path) -> Iterator[Path]:
    for folder in (cwd, *cwd.parents):
        yield folder
        if folder == top:
            return


def _read(
    folder: Path,
    top: Path,
    workspace: Path,
    limit: int,
    notices: list[str],
    names: Sequence[str] = NAMES,
) -> tuple[Path, str] | None:
    for name in names:
        path = folder / name
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as failure:
            notices.append(f"{path} is not used: {failure.strerror}; check its permissions")
            continue
        try:
            if refusal := _why_refused(fd, path, top, workspace):
                notices.append(f"{path} is not used: {refusal}")
                continue
            return path, read_text(fd, limit).strip()
        finally:
            os.close(fd)
    return None


def _why_refused(fd: int, path: Path, top: Path, workspace: Path) -> str:
    """Says why a file that is there may not speak: somebody else's, from elsewhere, or no file at all."""
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        return "it is not a regular file; replace it with one"
    try:
        real = Path(locate_open(fd, path))
    except OSError as failure:
        return str(failure.strerror)
    if not any(real.is_relative_to(os.path.realpath(place)) for place in (top, workspace)):
        return f"it is a link to {str(real)!r}, outside the project; replace it with a copy"
    if found.st_uid not in (os.geteuid(), 0, os.stat(workspace).st_uid):
        return f"it belongs to another user (uid {found.st_uid}); change its owner"
    return ""
