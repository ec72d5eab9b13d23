"""What a command in the sandbox gets of the user's git configuration: who commits, how files are compared.

The files themselves stay hidden. A URL, a header or a helper in them may hold a password.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from planck.workspace.git.repository import read_config, read_variable
from planck.workspace.paths.paths import stamp_file

_HANDED_OVER = {
    "user": ("name", "email"),
    "author": ("name", "email"),
    "committer": ("name", "email"),
    "init": ("defaultbranch",),
    "core": ("autocrlf", "eol", "safecrlf", "whitespace", "quotepath", "abbrev", "excludesfile"),
    "safe": ("directory",),
    "pull": ("rebase", "ff"),
    "push": ("default",),
    "rebase": ("autostash", "autosquash", "updaterefs"),
    "merge": ("ff", "conflictstyle"),
    "diff": ("algorithm", "renames", "colormoved", "mnemonicprefix", "noprefix"),
    "rerere": ("enabled",),
    "color": ("ui",),
    "log": ("date",),
}
_LFS = """[filter "lfs"]
	clean = git-lfs clean -- %f
	smudge = git-lfs smudge -- %f
	process = git-lfs filter-process
	required = true
"""
_MAX_BYTES = 32 << 10
"""A pipe holds twice as much."""
_MAX_INCLUDES = 10
"""Git's own limit of what includes what."""


def read_settings(workspace: str) -> bytes:
    """Returns a configuration for git in a workspace, or nothing."""
    text = ""
    for file in _list_files():
        for section, key, value in _follow(file, workspace):
            if key in _HANDED_OVER.get(section, ()):
                value = value.replace("\\", "\\\\").replace('"', '\\"')
                text += f'[{section}]\n\t{key} = "{value}"\n'
            elif (section, key, value) == ("filter", "process", "git-lfs filter-process"):
                text += _LFS
    content = os.fsencode(text)
    return content if len(content) <= _MAX_BYTES else b""


def find_excludes(workspace: str) -> str:
    """Returns the file with what git ignores in every repository of the user; it may not exist.

    Empty where the workspace is not in a repository, or the user has set it so.
    """
    from planck.workspace.git.checkout import find_top
    from planck.workspace.git.sources import find_git_folder

    above = find_top(Path(workspace))
    if above is None:
        return ""
    found = os.path.join(read_variable("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git/ignore")
    top = str(above)
    git = find_git_folder(top)
    for file in ("/etc/gitconfig", *_list_files(), *([f"{git.common}/config"] if git else [])):
        for section, key, value in _follow(file, workspace):
            if (section, key) == ("core", "excludesfile"):
                found = os.path.join(top, os.path.expanduser(value)) if value else ""
    return found


def _list_files() -> Iterator[str]:
    """Yields what git takes for the user's own, each overruled by the next."""
    if file := read_variable("GIT_CONFIG_GLOBAL"):
        yield file
        return
    yield os.path.join(read_variable("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git/config")
    yield os.path.expanduser("~/.gitconfig")


def _follow(file: str, workspace: str, depth: int = 0) -> Iterator[tuple[str, str, str]]:
    """Yields settings, with those of the files that it includes for this repository."""
    stamp = stamp_file(file)
    for section, name, key, value in read_config(file, stamp) if stamp is not None else ():
        if key != "path" or section not in ("include", "includeif"):
            yield section, key, value
        elif depth < _MAX_INCLUDES and (section == "include" or _applies(name, file, workspace)):
            included = os.path.normpath(os.path.join(os.path.dirname(file), os.path.expanduser(value)))
            yield from _follow(included, workspace, depth + 1)


def _applies(condition: str, file: str, workspace: str) -> bool:
    """Whether `includeIf` holds in a workspace; a condition on the branch does not, because it changes."""
    from planck.workspace.git.checkout import find_top  # few users have one
    from planck.workspace.git.sources import find_git_folder

    top = str(find_top(Path(workspace)) or workspace)
    git = find_git_folder(top)
    kind, _, pattern = condition.partition(":")
    if kind in ("gitdir", "gitdir/i"):
        pattern = os.path.expanduser(pattern)
        if pattern.startswith("./"):
            pattern = os.path.dirname(os.path.realpath(file)) + pattern[1:]
        elif not pattern.startswith("/"):
            pattern = f"**/{pattern}"
        places = (git.own, f"{top}/.git") if git else (f"{top}/.git",)
        return any(_is_like(place, pattern, kind[6:]) for place in places)
    kind, _, pattern = pattern.partition(":")
    if condition.startswith("hasconfig:") and kind == "remote.*.url" and git:
        config = f"{git.common}/config"
        remotes = [
            value
            for section, _, key, value in read_config(config, stamp_file(config))
            if (section, key) == ("remote", "url")
        ]
        return any(_is_like(url, pattern, "") for url in remotes)
    return False


def _is_like(text: str, pattern: str, flags: str) -> bool:
    if pattern.endswith("/"):
        pattern += "**"
    parts = re.split(r"(\*\*/|/\*\*$|\*|\?|\[[^]/]*\])", pattern)
    known = {"**/": "(?:.*/)?", "/**": "/.*", "*": "[^/]*", "?": "[^/]"}
    made = "".join(
        known.get(part, part.replace("[!", "[^", 1) if part[:1] == "[" else re.escape(part)) for part in parts
    )
    try:
        return re.fullmatch(made, text, re.IGNORECASE if flags else 0) is not None
    except re.error:
        return False
