"""For each line of a file: which call of which session wrote it, and what stands behind that call."""

import errno
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from planck.archive.blame.recorded import Call, Recorded
from planck.archive.blame.trace import By, Tracer
from planck.archive.listing import SessionInfo
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.redact import Redactor
from planck.workspace.paths.beneath import escape
from planck.workspace.paths.paths import is_inside
from planck.workspace.paths.regular import read_regular

_MAX_BYTES = 8 << 20


class BlameError(PlanckError):
    """There is no such file or line, or the file has no lines."""


class BlamedLine(msgspec.Struct, frozen=True):
    line: int
    """From 1 on."""
    text: str
    by: By
    """`session`: the change wrote it. `nobody`: no session of this workspace did. `unknown`: the change or
    somebody after it did, because what the change left was not kept."""
    change: int | None = None
    """Its place in `changes`."""


class Blame(msgspec.Struct, frozen=True):
    path: str
    """Relative to the workspace."""
    lines: tuple[BlamedLine, ...]
    changes: tuple[Call, ...]


class Sources(NamedTuple):
    """The stored sessions of a workspace."""

    sessions: Iterable[tuple[Path, SessionInfo]]
    folder: Path
    workspace: Path


def blame_file(
    file: Path,
    lines: tuple[int, int] | None,
    sources: Sources,
    redactor: Redactor,
    skipped: Callable[[str, str], None],
) -> Blame:
    """Follows the lines of a file as it is now; `skipped` hears of each session that can't be used."""
    path, content = _read(file, sources.workspace)
    rows = content.splitlines(keepends=True)
    first, last = lines or (1, len(rows))
    if lines and not 1 <= first <= last <= len(rows):
        count = "1 line" if len(rows) == 1 else f"{len(rows):,} lines"
        raise BlameError(ErrorKind.INVALID_ARGS, f"{path!r} has {count}. Choose a line or a range of these.")
    with Recorded() as recorded:
        recorded.read(sources.sessions, sources.folder, redactor, skipped)
        tracer = Tracer(*recorded.list_changes(), recorded)
        found = tracer.trace(content, escape(path), first - 1, last)
        places: dict[tuple[int, int], int] = {}
        calls: list[Call] = []
        for _, change in found:
            if change and (change.log, change.seq) not in places:
                places[change.log, change.seq] = len(calls)
                calls.append(recorded.describe(change))
    blamed = [
        BlamedLine(
            first + at,
            rows[first - 1 + at].decode(errors="replace").rstrip("\r\n"),
            by,
            places[change.log, change.seq] if change else None,
        )
        for at, (by, change) in enumerate(found)
    ]
    return Blame(path, tuple(blamed), tuple(calls))


def _read(file: Path, workspace: Path) -> tuple[str, bytes]:
    """Returns a file's path in the workspace, with links followed, and its content."""
    real = os.path.realpath(file)
    if not is_inside(real, (str(workspace),)):
        text = f"{str(file)!r} is outside the workspace {str(workspace)!r}. Name a file in it, or use -C."
        raise BlameError(ErrorKind.OUTSIDE_WORKSPACE, text)
    path = os.path.relpath(real, workspace)
    try:
        content = read_regular(real, _MAX_BYTES, within=workspace)
    except OSError as problem:
        if problem.errno in (errno.ENOENT, errno.ENOTDIR):
            raise BlameError(ErrorKind.NOT_FOUND, f"File not found: {path!r}. Check its name.") from None
        large = problem.errno == errno.EFBIG
        kind = ErrorKind.LIMIT_EXCEEDED if large else ErrorKind.READ_FAILED
        way_out = "Blame works up to 8 MiB" if large else "Name a file that you can read"
        reason = problem.strerror or str(problem)
        raise BlameError(kind, f"Cannot read {path!r}: {reason}. {way_out}.") from None
    if b"\0" in content:
        raise BlameError(
            ErrorKind.INVALID_ARGS, f"{path!r} is not a text file. Blame works on lines of text."
        )
    return path, content
