"""What a list of sessions says of each; noted beside the logs, so that only what changed is read again."""

import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from heapq import heappop, heappush
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

import planck
from planck.records import codec
from planck.records.board import TEXT, Board, SessionState, apply
from planck.records.events import USER, Event
from planck.store.names import id_in, is_same_place, name_in
from planck.store.sqlite.database import companion
from planck.store.sqlite.directory import LogFile, scan_logs
from planck.store.sqlite.library import is_left_behind
from planck.store.sqlite.lock import Holder, find_holder
from planck.store.sqlite.reader import SqliteReader
from planck.store.store import StoreError

NOTES = "listing.json"
_SETTLED_NS = 2_000_000_000
"""A file that was written so shortly before it was looked at may change again without a later time."""


_WRITTEN_LAST = 8
"""Files among which the one used last is: a copy or an import is written later than it was used."""


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a listing."""

    id: str
    name: str
    state: SessionState | Literal[""] = ""
    """As of its log, and of whether a process has it open; empty where the log can't be read."""
    first_prompt: str = ""
    """Its beginning."""
    team: str = ""
    model: str = ""
    """The orchestrator's."""
    mode: str = ""
    cost_usd: float | None = None
    """None: a price is unknown."""
    estimated: int = 0
    """How many model calls the provider did not count, so that the cost is an estimate."""
    head: int = 0
    """The number of its newest event."""
    events: int = 0
    """The same, by the name that it had before."""
    created: str = ""
    updated: str = ""
    node: str | None = None
    holder: Holder | None = None
    """The process that has it open."""
    workspace: str = ""
    parent: str = ""
    forked_at: int = 0
    problem: str = ""
    """What is wrong with the file, and what to do."""


class _Noted(msgspec.Struct):
    mark: tuple[int, ...]
    workspace: str
    created: str
    info: SessionInfo | None = None
    """None: only its workspace was asked for."""


class _Notes(msgspec.Struct):
    version: str = ""
    """Of whoever wrote them: another version may see another state in the same events."""
    logs: dict[str, _Noted] = {}


class _Place:
    """A workspace; links are followed once for each way that it is written."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._same: dict[str, bool] = {}

    def is_home_of(self, noted: _Noted) -> bool:
        written = noted.workspace
        if written not in self._same:
            self._same[written] = is_same_place(written, self._workspace)
        return self._same[written]


class Listing:
    """The sessions of one folder. What is noted of a log holds while its files are the same."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._notes = _Notes()
        self._changed = False

    def read(self, workspace: Path | None, limit: int | None = None) -> list[tuple[Path, SessionInfo]]:
        """Returns at most `limit`, of one workspace or of all, newest first.

        They are described as if nobody had them open: see `describe_holder`. A log is written when it is
        closed, too: those written last are not those used last, but none was used after it was written.
        """
        found: list[tuple[Path, SessionInfo]] = []
        newest: list[str] = []
        now = self._load()
        place = _Place(workspace) if workspace else None
        for file in (files := scan_logs(self._folder)):
            written = _tell_time(file.written)
            if limit is not None and len(newest) >= limit and written <= newest[0]:
                break
            if place is None or place.is_home_of(self._know(file, now)):
                info = self._describe(file, now)
                if info.id and (info.head or info.problem or not is_left_behind(file.path)):
                    found.append((file.path, info))
                    heappush(newest, info.updated or written)  # a damaged one does not say
                    if limit is not None and len(newest) > limit:
                        heappop(newest)
        self._save(files)
        return sorted(found, key=lambda one: (one[1].updated, one[1].id), reverse=True)[:limit]

    def newest(self, workspace: Path) -> Path | None:
        """Returns the one of this workspace that was used last, by its own newest event."""
        now = self._load()
        place, files = _Place(workspace), scan_logs(self._folder)
        own = (file.path for file in files if place.is_home_of(self._know(file, now)))
        begun = [*islice((path for path in own if not is_left_behind(path)), _WRITTEN_LAST)]
        self._save(files)
        return max(begun, key=_read_last_time, default=None)

    def forget(self, path: Path) -> None:
        """Leaves nothing here of a log that is gone."""
        self._load()
        if self._notes.logs.pop(path.name, None):
            self._changed = True
            self._save(scan_logs(self._folder))

    def _know(self, file: LogFile, now: int) -> _Noted:
        """Returns what never changes in a log, so it is looked at once in its life."""
        noted = self._notes.logs.get(file.path.name)
        if noted and noted.mark[0] == file.mark[0]:
            return noted
        try:
            with closing(SqliteReader.open(file.path)) as store:
                meta = store.meta
        except StoreError:
            return _Noted(file.mark, "", "")
        noted = _Noted(file.mark, meta.get("workspace", ""), meta.get("created", ""))
        if "id" in meta:
            self._note(file, noted, now)
        return noted

    def _describe(self, file: LogFile, now: int) -> SessionInfo:
        noted = self._notes.logs.get(file.path.name)
        if noted and noted.info and noted.mark == file.mark:
            return noted.info
        try:
            info = read_info(file.path)
        except StoreError as e:  # moved or deleted since the folder was read
            return _describe_problem(file.path, e)
        if info.id and not info.problem:
            self._note(file, _Noted(file.mark, info.workspace, info.created, info), now)
        return info

    def _note(self, file: LogFile, noted: _Noted, now: int) -> None:
        if now - file.written > _SETTLED_NS:
            self._notes.logs[file.path.name] = noted
            self._changed = True

    def _load(self) -> int:
        """Returns the time before any log is looked at."""
        notes = _Notes()
        with suppress(OSError, codec.DecodeError):
            notes = codec.decode_as((self._folder / NOTES).read_bytes(), _Notes)
        self._notes = notes if notes.version == planck.__version__ else _Notes(planck.__version__, {})
        self._changed = False
        return time.time_ns()

    def _save(self, files: list[LogFile]) -> None:
        """Keeps the notes for the next time; where that can't be done they are made again."""
        if not self._changed:
            return
        there = {file.path.name for file in files}
        self._notes.logs = {name: noted for name, noted in self._notes.logs.items() if name in there}
        with suppress(OSError), tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as temporary:
            try:
                temporary.write(codec.encode(self._notes))
                temporary.flush()
                os.replace(temporary.name, self._folder / NOTES)
            except OSError:
                os.unlink(temporary.name)


def _read_last_time(path: Path) -> str:
    """Returns when its newest event happened; of one that can't be read, the beginning of time."""
    try:
        with closing(SqliteReader.open(path)) as store:
            return next((event.ts for event in store.read(store.head - 1)), "")
    except StoreError:
        return ""


def read_info(path: Path) -> SessionInfo:
    """Reads the whole log; without an id: a file whose creation was cut short, which holds nothing.

    What is wrong with the log is in `problem`; raises where there is no file, which a rename may have moved.
    """
    try:
        with closing(SqliteReader.open(path)) as store:
            if "id" not in store.meta:
                return SessionInfo(id="", name=path.stem)
            fold, problem = Summary(), ""
            try:
                for event in store.read():
                    fold.add(event)
            except StoreError as e:
                problem = str(e)
            return describe_log(store, fold, problem)
    except StoreError as e:
        if not path.exists():
            raise
        return _describe_problem(path, e)


def _describe_problem(path: Path, e: StoreError) -> SessionInfo:
    return SessionInfo(id=id_in(path).removesuffix(".db"), name=name_in(path), problem=str(e))


def _tell_time(written: int) -> str:
    """As events have it, and a moment later: the time of a file is told in steps of some milliseconds."""
    text = datetime.fromtimestamp(written / 1e9 + 0.1, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def describe_log(store: SqliteReader, fold: "Summary", problem: str) -> SessionInfo:
    """Says of a log what a listing shows, as if nobody had it open."""
    meta = store.meta
    board = fold.board
    return SessionInfo(
        id=meta.get("id", ""),
        name=name_in(store.path),
        state=board.state,
        first_prompt=fold.first_prompt,
        team=fold.team,
        model=board.agents[0].model if board.agents else "",
        mode=board.mode,
        cost_usd=None if board.unpriced else board.cost_usd,
        estimated=board.estimated or 0,
        head=store.head,
        events=store.head,
        created=meta.get("created", ""),
        updated=board.updated or meta.get("created", ""),
        workspace=meta.get("workspace", ""),
        parent=meta.get("parent", ""),
        forked_at=int(meta.get("forked_at") or 0),
        problem=problem or (str(store.damage) if store.damage else ""),
    )


def describe_holder(path: Path, info: SessionInfo, node: str | None = None) -> SessionInfo:
    """Adds who has the session open, here or at a node; what a log leaves open goes on only there."""
    holder = find_holder(companion(path, "lock"))
    dead = holder is None and node is None and info.state in ("running", "waiting")
    return replace(info, holder=holder, node=node, state="interrupted" if dead else info.state)


def describe_failure(info: SessionInfo, failures: Mapping[str, str]) -> SessionInfo:
    """Adds why no node of a pool continues it, where none does."""
    if info.id not in failures:
        return info
    why = failures[info.id].removesuffix(".") or "Every node failed to open it"
    return replace(info, state="failed", problem=f"{why}. No node continues this session.")


class _Said(msgspec.Struct, rename={"sender": "from"}):
    sender: str = ""
    text: str = ""
    typed: str = ""
    origin: str | None = None


class _Began(msgspec.Struct):
    team: str = ""


class Summary:
    """The fold behind one line: the board, and what it does not keep."""

    def __init__(self) -> None:
        self.board: Board = Board()
        self.first_prompt: str = ""
        self.team: str = ""

    def add(self, event: Event) -> None:
        self.board = apply(self.board, event)
        if event.type == "message" and not self.first_prompt:
            self._hear(event)
        elif event.type == "session_started":
            with suppress(ValueError, RecursionError):
                self.team = codec.decode_as(bytes(event.data), _Began).team[:TEXT]

    def adopt(self, id: str, name: str) -> None:
        """Gives the board its session's own id and name: a fork's log begins with its parent's."""
        self.board = replace(self.board, id=id, name=name)

    def _hear(self, event: Event) -> None:
        with suppress(ValueError, RecursionError):
            said = codec.decode_as(bytes(event.data), _Said)
            if said.sender == USER and said.origin in (None, "user"):
                self.first_prompt = (said.typed or said.text).strip()[:TEXT]
