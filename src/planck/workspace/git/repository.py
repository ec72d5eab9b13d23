"""What git would take from a repository when the user runs it: places outside `.git` that it names.

A command that could write them would run with the user's rights at the next `git status` or `git commit`.
"""

import os
import re
import shlex
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from planck.workspace.paths.paths import is_inside, stamp_file
from planck.workspace.paths.regular import read_regular

_MAX_FILE = 1 << 20
_MAX_INDEX = 64 << 20
_MAX_INCLUDES = 10
"""Git's own limit of what includes what."""
_FOLDERS = frozenset({"hookspath", "templatedir"})
_NO_PROGRAM = frozenset({"user", "author", "committer", "branch"})
"""Sections whose words name no file; what stands elsewhere and is a file of the workspace is protected."""
_DATA = frozenset({"template", "excludesfile", "ignorerevsfile"})
_RUN = frozenset(
    {"fsmonitor", "sshcommand", "askpass", "editor", "pager", "program", "textconv", "command", "clean"}
    | {"smudge", "process", "driver", "helper", "external", "cmd", "attributesfile", "uploadpack"}
    | {
        "receivepack",
        "packobjectshook",
        "difffilter",
        "tunnel",
        "update",
        "path",
        "defaultkeycommand",
        "gitproxy",
    }
)
"""Keys whose value git runs, or whose file says what it runs: also when that is not there yet."""
_GIT_FOLDER = ("HEAD", "objects", "refs")
_GITLINK = 0o160000


def places_of(git: str, worktree: str, roots: Sequence[str]) -> Iterator[str]:
    """Those inside the roots, there or not, of a repository whose `.git` is a folder or a file."""
    folder = git if os.path.isdir(git) else _target(git)
    if not folder:
        return
    common = os.path.normpath(os.path.join(folder, _first_line(f"{folder}/commondir") or "."))
    configuration = _Configuration(worktree)
    for file in (*_of_the_user(), f"{common}/config", f"{folder}/config.worktree"):
        configuration.read(file)
    named = [*({folder, common} - {git}), *configuration.named]
    indexes = [f"{folder}/index"]
    hooks = list[str]()
    for place in {folder, common, f"{common}/hooks", *configuration.folders}:
        links, shared, files = _look_in(place, stamp_file(place))
        named += links
        indexes += shared
        if place not in (folder, common):
            hooks += files
    if hooks:
        from planck.workspace.git.hooks import list_run  # most repositories have none

        named += list_run(sorted(hooks), worktree, tuple(roots))
    for index in indexes:
        named += (f"{worktree}/{path}/.git" for path in _submodules(index, configuration.digest_size))
    yield from _keep_inside(named, roots)


def places_of_the_user(roots: Sequence[str]) -> Iterator[str]:
    """Those inside the roots that git takes for the user in every repository, because a variable says so."""
    files = [file for file in _name_by_variables() if is_inside(os.path.realpath(file), roots)]
    settings = [*_set_by_variables()]
    if files or settings:
        configuration = _Configuration(roots[0])
        for file in files:
            configuration.read(file)
        for section, key, value in settings:
            configuration.add(section, key, value)
        hooks = [file for folder in configuration.folders for file in _look_in(folder, stamp_file(folder))[2]]
        if hooks:
            from planck.workspace.git.hooks import list_run  # few users have one

            configuration.named += list_run(sorted(hooks), roots[0], tuple(roots))
        yield from _keep_inside([*files, *configuration.named], roots)


def _keep_inside(named: Iterable[str], roots: Sequence[str]) -> Iterator[str]:
    for place in named:
        real = os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))
        if is_inside(real, roots) and not any(is_inside(root, (real,)) for root in roots):
            yield real


def is_obeyed(path: str, root: str) -> bool:
    """Whether git, as the user runs it, would take orders from a file at this canonical path in the root: as
    part of a repository whatever its folder is called, or named by one that the file lies in."""
    if is_inside(path, places_of_the_user((root,))):
        return True
    folder = path
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        if is_inside(folder, (root,)) and is_git_folder(folder):
            return True
        if os.path.lexists(git := f"{folder}/.git") and is_inside(path, places_of(git, folder, (root,))):
            return True
    made = path[len(root) + 1 :].partition("/")[0]
    return made in _GIT_FOLDER and not has_git(root) and is_git_folder(root, but=made)


def is_git_folder(folder: str, but: str = "") -> bool:
    """Whether git takes it for a repository's own, or would, were one name there."""
    return all(name == but or os.path.lexists(f"{folder}/{name}") for name in _GIT_FOLDER)


def has_git(folder: str) -> bool:
    """Whether git finds a `.git` here, and so does not look whether the folder is itself a repository."""
    return os.path.isfile(f"{folder}/.git") or os.path.lexists(f"{folder}/.git/HEAD")


def _target(file: str) -> str:
    """The folder that it names, there or not."""
    word, _, target = _first_line(file).partition(":")
    if word != "gitdir" or not target.strip():
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(file), target.strip()))


def _first_line(file: str) -> str:
    try:
        return end_at_nul(read_regular(file, _MAX_FILE)).partition("\n")[0].strip()
    except OSError:
        return ""


def end_at_nul(data: bytes) -> str:
    """Returns a file's text where a NUL ends a line: no name of a file may hold one, and git's end there."""
    return os.fsdecode(data.replace(b"\0", b"\n"))


def _of_the_user() -> Iterator[str]:
    yield "/etc/gitconfig"
    yield os.path.expanduser("~/.config/git/config")
    yield os.path.expanduser("~/.gitconfig")
    yield from _name_by_variables()


def _name_by_variables() -> Iterator[str]:
    """Git reads these instead of the usual ones; whoever starts git later may have either."""
    for name, below in (
        ("GIT_CONFIG_SYSTEM", ""),
        ("GIT_CONFIG_GLOBAL", ""),
        ("XDG_CONFIG_HOME", "/git/config"),
    ):
        value = read_variable(name)
        if value.startswith("/"):
            yield os.path.normpath(value + below)


_PROGRAMS = (
    *("GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND"),
    *("GIT_ASKPASS", "GIT_PROXY_COMMAND", "SSH_ASKPASS", "EDITOR", "VISUAL", "PAGER"),
)
"""Variables that name a program, which git starts."""


def _set_by_variables() -> Iterator[tuple[str, str, str]]:
    """Yields settings that stand in variables: a section, a key and a value."""
    for name in _PROGRAMS:
        if "/" in (value := read_variable(name)):
            yield "core", "editor", value
    if folder := read_variable("GIT_TEMPLATE_DIR"):
        yield "init", "templatedir", folder
    count = read_variable("GIT_CONFIG_COUNT")
    for number in range(min(int(count), _MAX_SET) if count.isdecimal() else 0):
        key = read_variable(f"GIT_CONFIG_KEY_{number}").lower()
        section, _, rest = key.partition(".")
        yield section, rest.rpartition(".")[2], read_variable(f"GIT_CONFIG_VALUE_{number}")


_MAX_SET = 50


def read_variable(name: str) -> str:
    """Returns the value of an environment variable; empty: it is not set."""
    value = os.path.expandvars(f"${name}")
    return "" if value == f"${name}" else value


@lru_cache(maxsize=1024)
def _look_in(folder: str, stamp: object) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Where its links lead (a hook is often one to a script of the project), parts of a split index, and
    what is a hook if the folder is one of hooks."""
    links, shared, hooks = list[str](), list[str](), list[str]()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.endswith(".sample") and not entry.is_dir():
                    hooks.append(entry.path)
                if entry.is_symlink():
                    links.append(os.path.realpath(entry.path))
                elif entry.name.startswith("sharedindex."):
                    shared.append(entry.path)
    except OSError:
        pass  # none, or no folder
    return tuple(links), tuple(shared), tuple(hooks)


class _Configuration:
    """What the files of a configuration name, with all that they include."""

    def __init__(self, worktree: str) -> None:
        self.named: list[str] = []
        self.folders: list[str] = []
        """Those of hooks."""
        self.digest_size = 20
        self._worktree = worktree
        self._seen: set[str] = set()

    def read(self, file: str, depth: int = 0) -> None:
        stamp = stamp_file(file)
        if stamp is None or file in self._seen or depth > _MAX_INCLUDES:
            return
        self._seen.add(file)
        for section, _, key, value in read_config(file, stamp):
            if key == "path" and section in ("include", "includeif"):
                included = os.path.normpath(os.path.join(os.path.dirname(file), os.path.expanduser(value)))
                self.named.append(included)
                self.read(included, depth + 1)
            else:
                self.add(section, key, value)

    def add(self, section: str, key: str, value: str) -> None:
        if key == "path" and section in ("include", "includeif"):
            self.named.append(value)
            self.read(value)
        elif key in _FOLDERS:
            self._add_folder(os.path.join(self._worktree, os.path.expanduser(value)))
        elif key == "objectformat":
            self.digest_size = 32 if value == "sha256" else 20
        elif section == "alias" and not value.startswith("!"):
            return
        elif section not in _NO_PROGRAM and key not in _DATA:
            self._add_programs(value, run=key in _RUN or section in ("alias", "pager"))

    def _add_folder(self, folder: str) -> None:
        # What husky names runs the scripts beside it.
        above = os.path.dirname(folder)
        self.named.append(above if os.path.basename(folder) == "_" else folder)
        self.folders += (folder, f"{folder}/hooks", *([above] if os.path.basename(folder) == "_" else ()))

    def _add_programs(self, value: str, *, run: bool) -> None:
        for word in _words(value.lstrip("!")):
            path = os.path.join(self._worktree, os.path.expanduser(word))
            if os.path.isfile(path) or (run and "/" in word and not _NO_PATH.search(word)):
                self.named.append(path)


_NO_PATH = re.compile(r"^[-/]|[%*:]")
"""An option, a place that is not in the worktree, a pattern, an address: nothing to be made there."""


@lru_cache(maxsize=256)
def read_config(file: str, stamp: object) -> tuple[tuple[str, str, str, str], ...]:
    """Sections, their names in quotes, keys and values; `stamp` is that of the file, so that a change is
    read."""
    try:
        text = end_at_nul(read_regular(file, _MAX_FILE))
    except OSError:
        return ()
    found, section, name = [], "", ""
    for line in text.removeprefix("\ufeff").replace("\\\r\n", "").replace("\\\n", "").splitlines():
        if head := _HEAD.match(line):
            section, name, line = head[1].lower().partition(".")[0], _unquote(head[2] or ""), head[3]
        if pair := re.match(r"\s*([A-Za-z][\w-]*)\s*=\s*(.*?)\s*$", line):
            found.append((section, name, pair[1].lower(), _unquote(pair[2])))
    return tuple(found)


_HEAD = re.compile(r'\s*\[\s*([\w.-]+)\s*("(?:[^"\\]|\\.)*")?\s*\]\s*(.*)')


def _unquote(value: str) -> str:
    """As git reads it: a comment ends it, unless it stands in quotes."""
    text = ""
    quoted = False
    for part in re.findall(r"\\.|.", value):
        if part == '"':
            quoted = not quoted
        elif part in "#;" and not quoted:
            break
        else:
            text += part[-1]
    return text if quoted else text.rstrip()


def _words(value: str) -> set[str]:
    """Those of the shell, and those in its quotes: `sh -c 'sh ./x'`."""
    try:
        words = shlex.split(value)
    except ValueError:
        words = []
    return {*words, *re.split(r"[\s;&|()<>'\"`$={}]+", value)} - {""}


def _submodules(index: str, digest_size: int) -> Sequence[str]:
    """Paths where git expects another repository; `git status` goes into each."""
    stamp = stamp_file(index)
    return _read_index(index, stamp, digest_size) if stamp is not None else ()


@lru_cache(maxsize=64)
def _read_index(index: str, stamp: object, digest_size: int) -> tuple[str, ...]:
    try:
        data = read_regular(index, _MAX_INDEX)
    except OSError:
        return ()
    if data[:4] != b"DIRC" or struct.pack(">I", _GITLINK) not in data:
        return ()
    try:
        return tuple(_gitlinks(data, digest_size))
    except (struct.error, ValueError, IndexError):
        return ()  # git would refuse it too


def _gitlinks(data: bytes, digest_size: int) -> Iterator[str]:
    version, count = struct.unpack(">II", data[4:12])
    at, path = 12, b""
    for _ in range(count):
        (mode,) = struct.unpack(">I", data[at + 24 : at + 28])
        fixed = at + 40 + digest_size
        (flags,) = struct.unpack(">H", data[fixed : fixed + 2])
        start = fixed + (4 if flags & 0x4000 else 2)
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
