"""Whether a folder's own files may run things: the user says so, for exactly the content that was seen."""

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from planck.config.private import CLONES
from planck.records import codec
from planck.records.outcome import ErrorKind, PlanckError, say_option
from planck.records.visible import spell_out
from planck.workspace.paths.paths import Root, is_inside
from planck.workspace.paths.regular import read_regular

FOLDERS = (".planck/tools", ".planck/sidecar", ".planck/teams", ".planck/hooks")
AGENTS = (".planck/agents", ".agents/agents")
"""Prompts, which are only text; one that names a program runs something."""
FILES = (".planck/config.json", ".mcp.json")
MAX_FILES = 2_000
MAX_BYTES = 32 << 20
"""Beyond these nobody has read it all; such a folder can be trusted for one run at a time."""
NARROWING = frozenset({"limits", "permissions"})


class TrustError(PlanckError):
    """Trust that can't be given or kept."""


class Content(msgspec.Struct, frozen=True):
    """Everything in a folder that could run or decide something."""

    hashes: dict[str, str] = {}
    """By path from the workspace."""
    unsound: str = ""
    """Why these hashes do not say everything."""
    runs: tuple[str, ...] = ()
    """What it would do, in words, nothing invisible in them."""
    config: bytes | None = None
    """The workspace's own configuration as it was hashed; None where there is none to hash, or a link."""
    users: bytes | None = None
    """The user's own configuration, as it was when its names of folders were taken; None: not there."""
    folders: tuple[str, ...] = ()
    """Those of the workspace that a configuration makes tools, teams or sidecars of."""
    sidecars: tuple[str, ...] = ()
    """Those of them that hold a sidecar."""


class TrustState(msgspec.Struct, frozen=True):
    trusted: bool
    content: Content
    changed: tuple[str, ...] = ()
    """Paths that are not as they were when the folder was trusted."""
    declined: bool = False
    """The user said no to exactly this content."""

    @property
    def notice(self) -> str:
        """One line for the user; empty where nothing was left out."""
        if self.trusted or not self.content.runs:
            return ""
        why = ", so its own files cannot run anything"
        if self.changed:
            why = f": files changed since you trusted it ({', '.join(self.changed)})"
        return (
            f"This folder is not trusted{why}. Left out: {'; '.join(self.content.runs)}. "
            f"Review these files. Then pass {_say_trust()} to trust them for this run, "
            'or run "planck permissions trust" to trust them permanently.'
        )


def _say_trust() -> str:
    return say_option("--trust", "trust=True")


class Trust:
    """The trust of one workspace, as the user gave it: in the home's file, or for this run."""

    def __init__(
        self,
        home: Path,
        workspace: Path,
        *,
        this_run: bool = False,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, Any] | None = None,
    ) -> None:
        """Variables and flags may name folders of the workspace, whose files are then of those it is for."""
        self._home = home
        self._workspace = workspace
        self._environ = environ or {}
        self._flags = flags or {}
        self._key = os.path.realpath(workspace)
        self._began_ns = time.time_ns()
        self._this_run = self._read() if this_run else None
        self._state = TrustState(True, self._this_run) if self._this_run else None

    @property
    def state(self) -> TrustState:
        """The last examination; where there was none yet, the first."""
        return self._state or self.examine()

    def examine(self) -> TrustState:
        """By the files as they are now: a change asks again, in the middle of a run too."""
        content = self._read()
        stored = {} if self._this_run else _read_stored(self._home)
        accepted = self._this_run.hashes if self._this_run else stored.get(self._key)
        declined = stored.get(_NO + self._key) == content.hashes and not content.unsound
        if accepted is None:
            self._state = TrustState(False, content, declined=declined)
            return self._state
        differing = {path for path, _ in accepted.items() ^ content.hashes.items()}
        changed = tuple(sorted(map(spell_out, differing)))
        sound = not content.unsound or self._this_run is not None
        self._state = TrustState(not changed and sound, content, changed, declined)
        return self._state

    def files(self) -> Iterator[Path]:
        """Those that it is for and that end it by a change: a sidecar's are taken over as they are saved."""
        # The folders are those of the last examination: the file that names others is one of the files.
        content = self.state.content
        own = [self._workspace / name for name in (FOLDERS[1], *content.sidecars)]
        files = _list_files(self._workspace, content.folders)
        return islice((path for path in files if not any(map(path.is_relative_to, own))), MAX_FILES + 1)

    @property
    def holds(self) -> bool:
        return self.examine().trusted

    def doubt(self, file: Path | str) -> str:
        """Says why what a file names may not be started; empty: it is none of the folder's, or was trusted.

        What the hashes do not cover an agent may have written: only a user who trusts the folder for this run
        vouches for it, as it was when the run began.
        """
        if self.is_in_clone(file):
            return IN_CLONE
        own = self._name_inside(file)
        if not own or self._is_users(os.path.realpath(file)):
            return ""
        standing = self.examine()
        if not standing.trusted:
            return f"this folder is not trusted. Review its files, then pass {_say_trust()}."
        for name in own:
            if any(str(part) in standing.content.hashes for part in (Path(name), *Path(name).parents)):
                continue
            if self._this_run is None:
                return f"{OPEN_TO_AGENTS.removesuffix('.')}, or review it and pass {_say_trust()}."
            if not self._lay_there(Path(name)):
                return OPEN_TO_AGENTS
        return ""

    def _lay_there(self, name: Path) -> bool:
        """Whether a file, and every link on the way to it, is as it was when this run began.

        The time of a change of the inode is the kernel's: no program sets it back.
        """
        try:
            ways = [os.lstat(self._workspace / part) for part in (name, *name.parents[:-1])]
        except OSError:
            return False  # whoever reads it says why
        return all(stat.S_ISDIR(way.st_mode) or way.st_ctime_ns < self._began_ns for way in ways)

    def may_run(self, folder: Path, *, trusted: bool) -> bool:
        """Whether the tools of a folder may be called: it is the user's own, or the workspace is trusted and
        the last examination looked at all its files."""
        if self.is_in_clone(folder):
            return False
        inside = self._name_inside(folder)
        if not inside or self._is_users(os.path.realpath(folder)):
            return True
        return trusted and all(name in (*FOLDERS, *self.state.content.folders) for name in inside)

    def is_in_clone(self, file: Path | str) -> bool:
        """Whether a path leads into the clone of another session: its repository and its agents wrote it."""
        clones = self._home / CLONES
        own = is_inside(self._key, (os.path.realpath(clones),))
        roots = (os.path.abspath(self._workspace), self._key) if own else ()
        places = (
            (os.path.abspath(file), os.path.abspath(clones)),
            (os.path.realpath(file), os.path.realpath(clones)),
        )
        return any(is_inside(at, (place,)) and not is_inside(at, roots) for at, place in places)

    def _is_users(self, real: str) -> bool:
        """Whether a path of the workspace is in the home that the workspace holds, among the user's own."""
        if lies_in_home(self._workspace, self._home):
            return False
        return is_inside(real, [os.path.realpath(self._home / name) for name in _USERS])

    def _name_inside(self, file: Path | str) -> list[str]:
        """Returns its names from the workspace, by where it is and by where it really is; none: it is out."""
        places = (
            (os.path.abspath(file), os.path.abspath(self._workspace)),
            (os.path.realpath(file), self._key),
        )
        return [os.path.relpath(place, root) for place, root in places if is_inside(place, (root,))]

    def _read(self) -> Content:
        users = _read_users_file(self._home)
        layers = [_decode(users or b""), self._flags]
        for key in _LISTS:
            if text := self._environ.get(f"PLANCK_{key.upper()}"):
                as_json = _decode(b'{"%s": %s}' % (key.encode(), text.encode(errors="replace")))
                layers.append(as_json or {key: text.split(os.pathsep)})
        named = [name for layer in layers for key in _LISTS for name in _list_names(layer, key)]
        content = read_content(self._workspace, self._home, named, self._environ.get("HOME", ""))
        return replace(content, users=users)

    def give(self, seen: Content) -> None:
        """For good, for exactly what was seen."""
        if seen.unsound:
            raise TrustError(
                ErrorKind.LIMIT_EXCEEDED,
                f"This folder cannot be trusted permanently: {seen.unsound}. "
                f"Pass {_say_trust()} for each run.",
            )
        with _changing(self._home) as stored:
            stored.pop(_NO + self._key, None)
            stored[self._key] = seen.hashes

    def decline(self, seen: Content) -> None:
        """Remembers a no to exactly what was seen, so that nobody is asked again until a file changes."""
        if not seen.unsound:
            with _changing(self._home) as stored:
                stored[_NO + self._key] = seen.hashes

    def take_back(self) -> bool:
        """False where there was none."""
        if self._key not in _read_stored(self._home):
            return False
        with _changing(self._home) as stored:
            return stored.pop(self._key, None) is not None


OPEN_TO_AGENTS = (
    "agents can change this file. Move it to .planck/teams or out of the folders that agents can write to."
)
IN_CLONE = "this file is in another session's clone. Copy it to your project."
_LISTS = ("tools_dirs", "teams_dirs")
_USERS = ("config.json", "tools", "teams", "agents", "skills", "commands", "sidecar", "hooks")
"""Places of the home that hold the user's own files. Beside them lies what others wrote."""


def read_content(workspace: Path, home: Path, named: Iterable[str] = (), user_home: str = "") -> Content:
    """Reads, and starts nothing. The home's own places are the user's, also where it lies in the workspace;
    a workspace that lies in the home is not: its files may be anybody's.

    `named` are folders that the user's own configuration makes tools or teams of.
    """
    hashes: dict[str, str] = {}
    runs: list[str] = []
    unsound = ""
    left = MAX_BYTES
    own = workspace / FILES[0]
    config = _read(own, left)
    values = _decode(config[1])
    sidecars = [*_find_inside(workspace, _list_names(values, "sidecar"), user_home)]
    lists = [name for key in _LISTS for name in _list_names(values, key)]
    folders = dict.fromkeys((*_find_inside(workspace, [*lists, *named], user_home), *sidecars))
    users = [] if lies_in_home(workspace, home) else [home / name for name in _USERS]
    for path in _list_files(workspace, folders):
        if any(map(path.is_relative_to, users)):
            continue
        relative = str(path.relative_to(workspace))
        problem, content = config if path == own else _read(path, left)
        if relative.startswith(AGENTS) and (problem or b"acp" not in content):
            continue
        if problem or len(hashes) >= MAX_FILES:
            unsound = (
                f"{spell_out(relative)} {problem}"
                if problem
                else f"it has more than {MAX_FILES:,} files to check"
            )
        if len(hashes) >= MAX_FILES:
            break
        left -= len(content)
        hashes[relative] = hashlib.sha256(content).hexdigest()
        runs += (spell_out(text) for text in _describe(relative, content))
    return Content(
        hashes,
        unsound,
        tuple(runs),
        None if config[0] else config[1],
        folders=tuple(folders),
        sidecars=tuple(sidecars),
    )


def lies_in_home(workspace: Path, home: Path) -> bool:
    """Whether the workspace is Planck's home or below it, as the clones of a pool are."""
    return is_inside(os.path.realpath(workspace), (os.path.realpath(home),))


def _read_users_file(home: Path) -> bytes | None:
    try:
        return read_regular(home / "config.json", MAX_BYTES)
    except OSError:
        return None  # whoever loads it says why


def _list_files(workspace: Path, folders: Iterable[str]) -> Iterator[Path]:
    for name in FILES:
        if _has_content(workspace / name):
            yield workspace / name
    for name in dict.fromkeys((*FOLDERS, *AGENTS, *folders)):
        if (workspace / name).is_symlink():
            yield workspace / name
        for folder, below, files in os.walk(workspace / name):
            for entry in sorted([*files, *(sub for sub in below if Path(folder, sub).is_symlink())]):
                yield Path(folder, entry)


def _has_content(path: Path) -> bool:
    """A folder, or an empty file, may be a sandbox's, there so that a command can't make it."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return found.st_size > 0 and not stat.S_ISDIR(found.st_mode)


def _list_names(values: Mapping[str, Any], key: str) -> list[str]:
    value = values.get(key)
    named = value if isinstance(value, list) else value.values() if isinstance(value, dict) else [value]
    return [text for text in named if isinstance(text, str) and text]


def _find_inside(workspace: Path, named: Iterable[str], user_home: str) -> Iterator[str]:
    """Returns those folders that are in the workspace, by where they are and by where they really are."""
    roots = {os.path.normpath(workspace), os.path.realpath(workspace)}
    for text in named:
        at_home = user_home and (text == "~" or text.startswith("~/"))
        place = workspace / (Path(user_home, text[2:]) if at_home else Path(text).expanduser())
        for path in dict.fromkeys((os.path.normpath(place), os.path.realpath(place))):
            for root in roots:
                if path not in roots and is_inside(path, (root,)):
                    yield os.path.relpath(path, root)


def _read(path: Path, left: int) -> tuple[str, bytes]:
    """Never blocks and never follows a link: a link is its own text, and what it means may change unseen."""
    try:
        if path.is_symlink():
            return "is a link", os.readlink(path).encode(errors="surrogateescape")
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as problem:
        return f"cannot be read ({problem.strerror})", b""
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.close(fd)
        return "is a folder", b""
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return "is not a regular file", b""
        content = file.read(left + 1)
    return ("is too large", b"") if len(content) > left else ("", content)


def _describe(relative: str, content: bytes) -> Iterator[str]:
    parts = relative.split("/")
    if relative == ".planck/config.json":
        keys = [key for key in _decode(content) if key not in NARROWING]
        what = ", ".join(map(str, keys)) or "everything except stricter permissions and limits"
        yield f"{relative} ({what})"
    elif relative == ".mcp.json":
        from planck.config.files import find_servers  # few projects have one

        try:
            servers = ", ".join(find_servers(_decode(content)))
        except ValueError:
            servers = "?"
        yield f"{relative} (MCP servers: {servers})"
    elif parts[-1] == "TOOL.json":
        found = _decode(content)
        yield f"tool {found.get('name', parts[-2])} ({relative}): {str(found.get('command', '?'))[:200]}"
    elif relative.startswith(".planck/sidecar/") and parts[-1] in ("sidecar.py", "pyproject.toml"):
        yield f"sidecar ({relative})"
    elif parts[-1] == "TEAM.json":
        yield from _describe_team(relative, _decode(content))
    elif relative.startswith((".planck/hooks/", *AGENTS)):
        yield relative


def _describe_team(relative: str, team: Mapping[str, Any]) -> Iterator[str]:
    """Its members that are other programs, or at an address of their own."""
    members = team.get("members")
    for member in members if isinstance(members, list) else ():
        acp = member.get("acp") if isinstance(member, dict) else None
        if acp:
            command = acp.get("command") if isinstance(acp, dict) else acp
            words = command if isinstance(command, list) else [command]
            yield f"program in {relative}: {' '.join(map(str, words))[:200]}"
        elif isinstance(member, dict) and member.get("base_url"):
            yield f"address in {relative}: {str(member['base_url'])[:200]}"


def _decode(content: bytes) -> dict[str, Any]:
    if not content:
        return {}
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        from planck.config.files import parse_relaxed  # few have comments in them

        try:
            found = parse_relaxed(content.decode())
        except (ValueError, RecursionError):
            return {}
    return found if isinstance(found, dict) else {}


_FILE = "trust.json"
_NO = "no:"
"""Before the folder in the key of a no: an earlier version finds no folder of that name."""


def trust_file(home: Path) -> Path:
    return home / _FILE


def _read_stored(home: Path) -> dict[str, dict[str, str]]:
    try:
        return codec.decode_as(trust_file(home).read_bytes(), dict[str, dict[str, str]])
    except FileNotFoundError:
        return {}
    except NotADirectoryError:
        raise TrustError(
            ErrorKind.READ_FAILED,
            f"Planck's home {str(home)!r} is not a folder. Rename it, or set PLANCK_HOME.",
        ) from None
    except (OSError, codec.DecodeError) as problem:
        raise TrustError(
            ErrorKind.READ_FAILED,
            f"Cannot read {str(trust_file(home))!r}: {problem}. Rename it, then trust your folders again.",
        ) from None


@contextmanager
def _changing(home: Path) -> Iterator[dict[str, dict[str, str]]]:
    """Gives what is stored to change, and keeps it; what other processes keep meanwhile stays."""
    from planck.config.files import hold_lock  # only for a change

    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with hold_lock(trust_file(home)):
        stored = _read_stored(home)
        yield stored
        with Root(home, protected=False).writing(_FILE) as slot:
            slot.read(MAX_BYTES)
            slot.replace(codec.encode(stored), 0o600)
