"""Whether a folder's own files may run things: the user says so, for exactly the content that was seen."""

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from planck.records import codec
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.visible import spell_out
from planck.workspace.paths import Root

FOLDERS = (".planck/tools", ".planck/sidecar", ".planck/teams", ".planck/hooks")
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
    folders: tuple[str, ...] = ()
    """Those of the workspace that its configuration makes tools, teams or sidecars of."""
    sidecars: tuple[str, ...] = ()
    """Those of them that hold a sidecar."""


class TrustState(msgspec.Struct, frozen=True):
    trusted: bool
    content: Content
    changed: tuple[str, ...] = ()
    """Paths that are not as they were when the folder was trusted."""

    @property
    def notice(self) -> str:
        """One line for the user; empty where nothing was left out."""
        if self.trusted or not self.content.runs:
            return ""
        why = f"it changed since ({', '.join(self.changed)})" if self.changed else "its own files run nothing"
        return (
            f"this folder is not trusted: {why}; left out: {'; '.join(self.content.runs)}. "
            "Look at them, then pass --trust for this run, or `planck permissions trust` for good"
        )


class Trust:
    """The trust of one workspace, as the user gave it: in the home's file, or for this run."""

    def __init__(self, home: Path, workspace: Path, *, this_run: bool = False) -> None:
        self._home = home
        self._workspace = workspace
        self._key = os.path.realpath(workspace)
        self._this_run = read_content(workspace, home) if this_run else None
        self._state = TrustState(True, self._this_run) if self._this_run else None

    @property
    def state(self) -> TrustState:
        """The last examination; where there was none yet, the first."""
        return self._state or self.examine()

    def examine(self) -> TrustState:
        """By the files as they are now: a change asks again, in the middle of a run too."""
        content = read_content(self._workspace, self._home)
        accepted = self._this_run.hashes if self._this_run else _read_stored(self._home).get(self._key)
        if accepted is None:
            self._state = TrustState(False, content)
            return self._state
        differing = {path for path, _ in accepted.items() ^ content.hashes.items()}
        changed = tuple(sorted(map(spell_out, differing)))
        sound = not content.unsound or self._this_run is not None
        self._state = TrustState(not changed and sound, content, changed)
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

    def give(self, seen: Content) -> None:
        """For good, for exactly what was seen."""
        if seen.unsound:
            raise TrustError(
                ErrorKind.LIMIT_EXCEEDED, f"can't be trusted for good: {seen.unsound}; pass --trust each time"
            )
        _store(self._home, {**_read_stored(self._home), self._key: seen.hashes})

    def take_back(self) -> bool:
        """False where there was none."""
        stored = _read_stored(self._home)
        had = stored.pop(self._key, None) is not None
        if had:
            _store(self._home, stored)
        return had


def read_content(workspace: Path, home: Path) -> Content:
    """Reads, and starts nothing. The home itself is the user's own, also where it lies in the workspace."""
    hashes: dict[str, str] = {}
    runs: list[str] = []
    unsound = ""
    left = MAX_BYTES
    own = workspace / FILES[0]
    config = _read(own, left)
    folders = _find_named_folders(workspace, config[1], "tools_dirs", "teams_dirs", "sidecar")
    for path in _list_files(workspace, folders):
        if path.is_relative_to(home):
            continue
        relative = str(path.relative_to(workspace))
        problem, content = config if path == own else _read(path, left)
        if problem or len(hashes) >= MAX_FILES:
            unsound = f"{spell_out(relative)}: {problem or 'too many files'}"
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
        tuple(folders),
        tuple(_find_named_folders(workspace, config[1], "sidecar")),
    )


def _list_files(workspace: Path, folders: Iterable[str]) -> Iterator[Path]:
    for name in FILES:
        if _has_content(workspace / name):
            yield workspace / name
    for name in (*FOLDERS, *folders):
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


def _find_named_folders(workspace: Path, config: bytes, *keys: str) -> list[str]:
    """Folders of the workspace that these keys of its own configuration name."""
    values = _decode(config)
    named: list[Any] = []
    for key in keys:
        value = values.get(key)
        named += value if isinstance(value, list) else value.values() if isinstance(value, dict) else [value]
    places = {os.path.normpath(workspace / text) for text in named if isinstance(text, str) and text}
    inside = [os.path.relpath(place, workspace) for place in sorted(places) if Path(place) != workspace]
    return [place for place in inside if not place.startswith("..") and place not in FOLDERS]


def _read(path: Path, left: int) -> tuple[str, bytes]:
    """Never blocks and never follows a link: a link is its own text, and what it means may change unseen."""
    try:
        if path.is_symlink():
            return "is a link", os.readlink(path).encode(errors="surrogateescape")
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as problem:
        return str(problem.strerror), b""
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.close(fd)
        return "is a folder", b""
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return "is no regular file", b""
        content = file.read(left + 1)
    return ("is too large", b"") if len(content) > left else ("", content)


def _describe(relative: str, content: bytes) -> Iterator[str]:
    parts = relative.split("/")
    if relative == ".planck/config.json":
        keys = [key for key in _decode(content) if key not in NARROWING]
        yield relative + (f" ({', '.join(map(str, keys))})" if keys else " (beyond narrowing)")
    elif relative == ".mcp.json":
        from planck.config.mcp_file import find_servers  # few projects have one

        try:
            servers = ", ".join(find_servers(_decode(content)))
        except ValueError:
            servers = "?"
        yield f"{relative} (MCP servers {servers})"
    elif parts[-1] == "TOOL.json":
        found = _decode(content)
        yield f"tool {found.get('name', parts[-2])} ({relative}): {str(found.get('command', '?'))[:200]}"
    elif relative.startswith(".planck/sidecar/") and parts[-1] in ("sidecar.py", "pyproject.toml"):
        yield f"the sidecar ({relative})"
    elif relative.startswith(".planck/hooks/"):
        yield relative


def _decode(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


_FILE = "trust.json"


def trust_file(home: Path) -> Path:
    return home / _FILE


def _read_stored(home: Path) -> dict[str, dict[str, str]]:
    try:
        return codec.decode_as(trust_file(home).read_bytes(), dict[str, dict[str, str]])
    except FileNotFoundError:
        return {}
    except (OSError, codec.DecodeError) as problem:
        raise TrustError(
            ErrorKind.READ_FAILED, f"{str(trust_file(home))!r} can't be read: {problem}; move it away"
        ) from None


def _store(home: Path, trusted: Mapping[str, Mapping[str, str]]) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Root(home, protected=False).writing(_FILE) as slot:
        slot.read(MAX_BYTES)
        slot.replace(codec.encode(trusted), 0o600)
