"""What a command in the sandbox gets of the user's git configuration: who commits, how files are compared.

The files themselves stay hidden. A URL, a header or a helper in them may hold a password.
"""

import os
from functools import lru_cache

from planck.workspace.git.repository import read_config
from planck.workspace.paths.paths import stamp_file

_HANDED_OVER = {
    "user": ("name", "email"),
    "init": ("defaultbranch",),
    "core": ("autocrlf", "eol", "safecrlf", "whitespace", "quotepath", "abbrev"),
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


def read_settings() -> bytes:
    """Returns a configuration for git, or nothing."""
    files = [os.path.expanduser(name) for name in ("~/.config/git/config", "~/.gitconfig")]
    return _read(tuple((file, stamp_file(file)) for file in files))


@lru_cache(maxsize=8)
def _read(files: tuple[tuple[str, object], ...]) -> bytes:
    text = ""
    for file, stamp in files:
        for section, key, value in _follow(file, stamp):
            if key in _HANDED_OVER.get(section, ()):
                value = value.replace("\\", "\\\\").replace('"', '\\"')
                text += f'[{section}]\n\t{key} = "{value}"\n'
            elif (section, key, value) == ("filter", "process", "git-lfs filter-process"):
                text += _LFS
    content = os.fsencode(text)
    return content if len(content) <= _MAX_BYTES else b""


def _follow(file: str, stamp: object) -> list[tuple[str, str, str]]:
    """With the files that it includes always; a changed one of those is read again with the first."""
    found: list[tuple[str, str, str]] = []
    for section, key, value in read_config(file, stamp) if stamp is not None else ():
        if section == "include" and key == "path":
            included = os.path.normpath(os.path.join(os.path.dirname(file), os.path.expanduser(value)))
            inner = stamp_file(included)
            found += read_config(included, inner) if inner is not None else ()
        else:
            found.append((section, key, value))
    return found
