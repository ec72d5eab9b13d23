"""What git would take from a repository when the user runs it: places outside `.git` that it names.

A command that could write them would run with the user's rights at the next `git status` or `git commit`.
"""

import os
import re
import shlex
import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache

from planck.workspace.paths import is_inside, stamp_file
from planck.workspace.regular import read_regular

_MAX_FILE = 1 << 20
_MAX_INDEX = 64 << 20
_RUN = frozenset(
    {"fsmonitor", "sshcommand", "askpass", "editor", "pager", "program", "textconv", "command", "clean"}
    | {"smudge", "process", "driver", "helper", "external", "cmd", "attributesfile"}
)
"""Keys of a configuration whose value git runs, or whose file says what it runs."""
_GITLINK = 0o160000


def places_of(git: str, worktree: str, roots: Sequence[str]) -> Iterator[str]:
    """Those inside the roots, there or not, of a repository whose `.git` is a folder or a file."""
    folder = git if os.path.isdir(git) else _target(git)
    if not folder:
        return
    common = os.path.normpath(os.path.join(folder, _first_line(f"{folder}/commondir") or "."))
    named = [*({folder, common} - {git})]
    for file in (f"{common}/config", f"{folder}/config.worktree", *_of_the_user()):
        named += _named_by(file, worktree)
    named += (f"{worktree}/{path}/.git" for path in _submodules(f"{folder}/index"))
    for place in named:
        real = os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))
        if is_inside(real, roots) and not any(is_inside(root, (real,)) for root in roots):
            yield real


def _target(file: str) -> str:
    word, _, target = _first_line(file).partition(":")
    folder = os.path.realpath(os.path.join(os.path.dirname(file), target.strip()))
    return folder if word == "gitdir" and os.path.isdir(folder) else ""


def _first_line(file: str) -> str:
    try:
        return os.fsdecode(read_regular(file, _MAX_FILE)).partition("\n")[0].strip()
    except OSError:
        return ""


def _of_the_user() -> tuple[str, ...]:
    home = os.path.expanduser("~")
    return f"{home}/.gitconfig", f"{home}/.config/git/config"


def _named_by(file: str, worktree: str) -> Iterator[str]:
    stamp = stamp_file(file)
    if stamp is None:
        return
    for section, key, value in _read_config(file, stamp):
        if key == "hookspath":
            folder = os.path.join(worktree, value)
            # What husky names runs the scripts beside it.
            yield os.path.dirname(folder) if os.path.basename(folder) == "_" else folder
        elif key == "path" and section in ("include", "includeif"):
            yield os.path.join(os.path.dirname(file), value)
        elif key in _RUN or (section == "alias" and value.startswith("!")):
            for word in _words(value.lstrip("!")):
                if os.path.isfile(path := os.path.join(worktree, word)):
                    yield path


@lru_cache(maxsize=256)
def _read_config(file: str, stamp: object) -> tuple[tuple[str, str, str], ...]:
    """Sections, keys and values; `stamp` is that of the file, so that a change is read."""
    try:
        text = os.fsdecode(read_regular(file, _MAX_FILE))
    except OSError:
        return ()
    found, section = [], ""
    for line in text.replace("\\\n", "").splitlines():
        if head := re.match(r"\s*\[\s*([\w.-]+)[^\]]*\]\s*(.*)", line):
            section, line = head[1].lower(), head[2]
        if pair := re.match(r"\s*([A-Za-z][\w-]*)\s*=\s*(.*?)\s*$", line):
            found.append((section, pair[1].lower(), re.sub(r'\\(.)|"', r"\1", pair[2])))
    return tuple(found)


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return value.split()


def _submodules(index: str) -> Sequence[str]:
    """Paths where git expects another repository; `git status` goes into each."""
    stamp = stamp_file(index)
    return _read_index(index, stamp) if stamp is not None else ()


@lru_cache(maxsize=64)
def _read_index(index: str, stamp: object) -> tuple[str, ...]:
    try:
        data = read_regular(index, _MAX_INDEX)
    except OSError:
        return ()
    if data[:4] != b"DIRC" or struct.pack(">I", _GITLINK) not in data:
        return ()
    try:
        return tuple(_gitlinks(data))
    except (struct.error, ValueError, IndexError):
        return ()  # git would refuse it too


def _gitlinks(data: bytes) -> Iterator[str]:
    version, count = struct.unpack(">II", data[4:12])
    at, path = 12, b""
    for _ in range(count):
        (mode,) = struct.unpack(">I", data[at + 24 : at + 28])
        (flags,) = struct.unpack(">H", data[at + 60 : at + 62])
        start = at + (64 if flags & 0x4000 else 62)
        dropped = 0
        if version == 4:  # the end of the path before is left out, and its length given
            dropped, start = _length(data, start)
        end = data.index(b"\0", start)
        path = (path[: len(path) - dropped] if version == 4 else b"") + data[start:end]
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8
        if mode == _GITLINK:
            yield os.fsdecode(path)


def _length(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
