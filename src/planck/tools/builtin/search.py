"""Looking through the workspace: an engine finds the places; what is shown, we read ourselves, confined.

The engine (ripgrep, else our own worker) is a child process: bounded in time, killed when there is enough.
It opens files by name, so a folder swapped for a link could lead it outside; nothing it says is shown without
a second look through the root's own descriptor.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path

import msgspec

from planck.own_code import is_open, outside_path
from planck.records import codec
from planck.toolkit.tool import ArgumentError
from planck.workspace.paths.paths import Root, WorkspaceError
from planck.workspace.process.environment import allowed
from planck.workspace.process.isolated import isolated
from planck.workspace.process.process import Command, start

SEARCH_TIMEOUT = 20.0
MAX_SHOWN_LINE = 500
_MAX_READ = 64 << 20
_MAX_RECORD = 1 << 16


class Engine:
    """How to search here: ripgrep on the path (outside the workspace), else the one installed with us."""

    def __init__(
        self,
        root: Root,
        environment: Mapping[str, str],
        *,
        ripgrep: bool = True,
        timeout: float = SEARCH_TIMEOUT,
    ) -> None:
        self._root = root
        self._environment = allowed(environment)
        self._timeout = timeout
        self._with_ripgrep = ripgrep

    def at(self, root: Root) -> "Engine":
        """The same engine, started in another root."""
        if root.path == self._root.path and root.view is self._root.view:
            return self
        self.program  # noqa: B018 - found once, and by who may write where
        other = copy(self)
        other._root = root
        return other

    @cached_property
    def program(self) -> str | None:
        """The path of ripgrep, looked for when it is first needed; None: our own worker."""
        if not self._with_ripgrep:
            return None
        import shutil  # not before the first search

        roots, beside = self._root.paths, str(Path(sys.executable).parent / "rg")
        for found in (shutil.which("rg", path=self._outside["PATH"]), beside):
            if found and os.access(found, os.X_OK) and not is_open(found, roots):
                return found
        return None

    @cached_property
    def _outside(self) -> Mapping[str, str]:
        """For what may be a script that looks for its interpreter or for the real ripgrep by the `PATH`."""
        return {**self._environment, "PATH": outside_path(self._environment["PATH"], self._root.paths)}

    async def files(self, folder: str, accept: Callable[[str], bool], limit: int) -> "Matches":
        """Files below the folder that `accept` takes, in order of name, without links and ignored ones."""
        if self.program is None:
            argv = _worker_argv({"start": folder})
        else:
            argv = [*_rg_options(self.program, self._root.paths[0]), "--files", "--null", "--", _dot(folder)]
        return await self._run(argv, _Records(_FILE, accept, limit))

    async def lines(
        self,
        start_at: str,
        pattern: str,
        accept: Callable[[str], bool],
        ignore_case: bool,
        limit: int,
        glob: str,
    ) -> "Matches":
        if self.program is None:
            argv = _worker_argv({"start": start_at, "pattern": pattern, "ignore_case": ignore_case})
        else:
            options = ["--null", "--crlf", "-nH", "--no-heading", "-M1", "-i" if ignore_case else "-s"]
            if glob and not set(glob) & set("/,{}:"):  # -g would unignore
                options += ["--type-clear=planck", f"--type-add=planck:{glob}", "-tplanck"]
            argv = [
                *_rg_options(self.program, self._root.paths[0]),
                *options,
                "-e",
                pattern,
                "--",
                _dot(start_at),
            ]
        return await self._run(argv, _Records(_LINE, accept, limit))

    async def _run(self, argv: list[str], records: "_Records") -> "Matches":
        with self._root.folder() as cwd:
            job = start(Command(argv, cwd, self._outside, view=self._root.view), on_output=records.feed)
        records.enough = job.end
        try:
            ended = await job.wait(self._timeout)
        finally:
            await job.kill()
        done = job.completed()
        if done.exit_code == 2 and not records.found and done.output.strip():
            raise ArgumentError(
                "the pattern is not valid; correct it and search again. "
                f"Details: {done.output.strip()[:2000]}"
            )
        return Matches(records.kept, records.full, ended)


class Matches(msgspec.Struct, frozen=True):
    places: list[tuple[str, int]]
    """Path and line number, 0 for a file as such."""
    more: bool
    finished: bool
    """False: the time was up."""


class _Records:
    """Takes the engine's output as it comes and keeps at most `limit` accepted places."""

    def __init__(self, form: bytes, accept: Callable[[str], bool], limit: int) -> None:
        self.kept: list[tuple[str, int]] = []
        self.found = False
        """Whether the search began: what the engine says of a pattern comes before, and alone."""
        self.full = False
        self.enough: Callable[[], None] = lambda: None
        self._form = re.compile(form)
        self._accept = accept
        self._limit = limit
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        data, end = self._rest + chunk, 0
        for record in self._form.finditer(data):
            end, self.found = record.end(), True
            path = os.fsdecode(record[1])
            if self.full or record[2] is None or not self._accept(path):
                continue
            if len(self.kept) < self._limit:
                self.kept.append((path, int(record[2] or 0)))
            else:
                self.full = True
                self.enough()
        self._rest = data[end:][-_MAX_RECORD:]


_FILE = rb"(?:\./)?([^\0]+)\0()"
_LINE = rb"(?:\./)?([^\0]+)\0(?:(\d+):|binary)[^\n]*\n"
"""ripgrep says `path NUL binary file matches` for what it then leaves out."""


def read_lines(root: Root, places: list[tuple[str, int]]) -> list[tuple[str, int, str]]:
    """The lines at the places, read confined; a file that is gone or leads outside is left out."""
    shown: list[tuple[str, int, str]] = []
    by_file: dict[str, list[int]] = {}
    for path, number in places:
        by_file.setdefault(path, []).append(number)
    for path, numbers in by_file.items():
        try:
            with root.reading(path) as fd:
                found = _pick_lines(fd, numbers)
        except WorkspaceError:
            continue
        shown += [(path, number, text) for number, text in found]
    return shown


def _pick_lines(fd: int, numbers: list[int]) -> list[tuple[int, str]]:
    wanted, last = set(numbers), max(numbers)
    found = []
    with os.fdopen(fd, "rb", closefd=False) as file:
        number = read = 0
        while number < last and read < _MAX_READ and (line := file.readline(_MAX_READ)):
            number += 1
            read += len(line)
            if number in wanted:
                found.append((number, _shorten(line)))
    return found


def _shorten(line: bytes) -> str:
    line = line.rstrip(b"\r\n")
    text = line[:MAX_SHOWN_LINE].decode(errors="replace")
    return text if len(line) <= MAX_SHOWN_LINE else f"{text}…[{len(line)} bytes]"


def _rg_options(rg: str, root: str) -> list[str]:
    """As our own worker sees the tree: .gitignore counts without a repository too, and .git/info/exclude with
    it, from the root on, where its own reading of it is wrong below; hidden files are files.

    Of a file that can't be read nothing is said: the words would stand in the records.
    """
    return [
        *(rg, "--no-config", "--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-exclude"),
        *("--no-ignore-dot", "--no-ignore-messages", "--no-messages", "--color=never", "--sort=path"),
        *(["--ignore-file=.git/info/exclude"] if os.path.isfile(f"{root}/.git/info/exclude") else []),
        "-g!.git",
    ]


def _worker_argv(request: dict[str, object]) -> list[str]:
    return [*isolated("planck.tools.builtin.search_worker"), codec.encode_str(request)]


def _dot(path: str) -> str:
    return path if path in (".", "") else f"./{path}"
