"""What a user may do with stored sessions: look, search, fork, export, import, delete."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from planck.records import codec
from planck.records.board import Board, SessionState, apply
from planck.records.events import Event, TurnEnd, view
from planck.records.outcome import ErrorKind
from planck.records.rows import AgentRow
from planck.records.usage import Usage
from planck.session.blocked import describe_state, why_blocked
from planck.session.directory import SessionDirectory, SessionError, id_in, is_same_place, is_valid_name
from planck.store.database import companion
from planck.store.directory import list_logs, remove_log
from planck.store.lock import WriterLock, find_holder
from planck.store.reader import SqliteReader
from planck.store.store import StoreError
from planck.toolkit.clock import RandomIds, SystemClock


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a listing."""

    id: str
    name: str
    workspace: str = ""
    created: str = ""
    updated: str = ""
    events: int = 0
    state: SessionState | Literal[""] = ""
    """As of its log, and of whether a process has it open; empty where that was not asked for."""
    parent: str = ""
    forked_at: int = 0
    problem: str = ""
    """What is wrong with the file, and what to do."""


class AgentInfo(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    type: str
    name: str
    model: str
    state: str
    """In words: `idle`, `in a turn`, whom it waits for, or how it ended."""
    turns: int
    usage: Usage


class SessionDetail(msgspec.Struct, frozen=True, kw_only=True):
    info: SessionInfo
    agents: list[AgentInfo]
    usage: Usage
    last_text: str


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    session_id: str
    session_name: str
    seq: int
    ts: str
    agent_id: str | None
    type: str
    excerpt: str


class Archive:
    """The sessions of one directory, seen from one workspace."""

    def __init__(self, folder: Path, workspace: Path) -> None:
        self._folder = folder
        self._workspace = workspace
        self._directory = SessionDirectory(folder, workspace)
        self._clock = SystemClock()
        self._ids = RandomIds()

    def sessions(self, *, everywhere: bool = False) -> list[SessionInfo]:
        """Lists sessions, newest first; those of other workspaces only when asked for."""
        return [replace(info, state=_read_state(path)) for path, info in self._list(everywhere)]

    def newest_id(self) -> str:
        """The session of this workspace that was created last."""
        return id_in(self._directory.find_newest())

    def detail(self, id_or_name: str) -> SessionDetail:
        """Says all that the sound part of the log holds; damage is named in `info.problem`."""
        with self._reading(id_or_name) as store:
            return _read_detail(store)

    def why_blocked(self, id_or_name: str) -> list[str]:
        """Puts each wait in words; also of a session that another process runs now."""
        with self._reading(id_or_name) as store:
            read = _read_log(store)
            if _find_state(store.path, read.board) == read.board.state:
                lines = why_blocked(read.board, self._clock.now())
            else:
                lines = [
                    "nothing moves: no process has this session open; what was at work when it stopped is "
                    f"named when you resume it with `planck -r {store.meta.get('name', '')}`"
                ]
            return [*lines, read.problem] if read.problem else lines

    def events(self, id_or_name: str) -> Iterator[bytes]:
        """Yields the export: one JSON line an event."""
        with self._reading(id_or_name) as store:
            from planck.session.transfer import export

            yield from export(store)

    def blob(self, id_or_name: str, name: str) -> bytes:
        """Returns what an event of the session refers to by that name: a system prompt, a list of tools."""
        with self._reading(id_or_name) as store:
            return store.blob(name)

    def render_markdown(self, id_or_name: str) -> Iterator[str]:
        """Yields the session piece by piece, as a page to read."""
        with self._reading(id_or_name) as store:
            from planck.session.markdown import render_page

            yield from render_page(store)

    async def import_session(self, file: Path) -> SessionInfo:
        """Takes in what `events` wrote; refused as a whole where it does not add up."""
        from planck.session import transfer

        exported = transfer.read_trailer(file)
        path = self._place_import(exported.meta)
        await transfer.import_log(file, exported, path)
        return _read_info(path)

    async def fork(self, id_or_name: str, *, at: int | None = None, name: str = "") -> SessionInfo:
        """Makes a session that begins with the first `at` events of one (default: all that are sound)."""
        from planck.session import transfer

        with self._reading(id_or_name) as store:
            id, name = self._ids.new(), self._directory.choose_name(name, self._ids)
            meta = {**store.meta, "id": id, "name": name, "created": self._clock.now()}
            path = self._directory.make_path(id, name)
            await transfer.fork(store, path, meta, self._clock, _count_sound(store) if at is None else at)
        return _read_info(path)

    def delete(self, id_or_name: str) -> SessionInfo:
        """Removes for good the log and the output kept beside it. One that is open somewhere stays."""
        path = self._directory.find(id_or_name)
        info = _read_info(path)
        lock = WriterLock(companion(path, "lock"))
        try:
            remove_log(path)
        finally:
            lock.release()
        shutil.rmtree(self._folder / f"{id_in(path)}.output", ignore_errors=True)
        return info

    def search(self, text: str, *, everywhere: bool = False, limit: int = 50) -> Iterator[Hit]:
        """Yields events whose data contain the text in any case: newest session first, newest event first."""
        # As it stands in the log: JSON writes some characters in another way.
        wanted = codec.encode_str(text)[1:-1].casefold()
        for _, info in self._list(everywhere):
            if not info.problem:
                for hit in self._search_log(info, wanted):
                    yield hit
                    limit -= 1
                    if limit <= 0:
                        return

    def _search_log(self, info: SessionInfo, wanted: str) -> Iterator[Hit]:
        """Searches as far as the log can be read: a damaged one hides none of the others."""
        try:
            with self._reading(info.id) as store:
                for event in _read_backwards(store):
                    if excerpt := _cut_excerpt(event, wanted):
                        yield Hit(
                            session_id=info.id,
                            session_name=info.name,
                            seq=event.seq or 0,
                            ts=event.ts,
                            agent_id=event.agent_id,
                            type=event.type,
                            excerpt=excerpt,
                        )
        except StoreError:
            return

    def _list(self, everywhere: bool) -> list[tuple[Path, SessionInfo]]:
        found = [
            (path, info)
            for path in list_logs(self._folder)
            if (info := _read_info(path)).id
            and (everywhere or is_same_place(info.workspace, self._workspace))
        ]
        return sorted(found, key=lambda one: one[1].updated, reverse=True)

    def _reading(self, id_or_name: str) -> closing[SqliteReader]:
        return closing(SqliteReader.open(self._directory.find(id_or_name)))

    def _place_import(self, meta: Mapping[str, str]) -> Path:
        """Returns where an import belongs; what it says of itself is not trusted to be a path."""
        id, name = meta.get("id", ""), meta.get("name", "")
        if not (is_valid_name(id) and is_valid_name(name) and "_" not in id):
            raise SessionError(ErrorKind.INVALID_ARGS, f"{id!r}, {name!r} are no id and name of a session")
        if list(self._folder.glob(f"{id}_*.db")):
            raise SessionError(
                ErrorKind.NOT_UNIQUE,
                f"session {id!r} is already here; delete it first, or fork it to have it twice",
            )
        return self._directory.make_path(id, name)


def _read_info(path: Path) -> SessionInfo:
    try:
        with closing(SqliteReader.open(path)) as store:
            return _describe(store)
    except StoreError as e:
        id, _, name = path.stem.partition("_")
        return SessionInfo(id=id, name=name, problem=str(e))


def _describe(store: SqliteReader) -> SessionInfo:
    """Returns one without an id for a file whose creation was cut short: it holds nothing."""
    meta = store.meta
    if "id" not in meta:
        return SessionInfo(id="", name=store.path.stem)
    last = store.read_back(limit=1)
    return SessionInfo(
        id=meta["id"],
        name=meta.get("name", ""),
        workspace=meta.get("workspace", ""),
        created=meta.get("created", ""),
        updated=last[-1].ts if last else meta.get("created", ""),
        events=store.head,
        parent=meta.get("parent", ""),
        forked_at=int(meta.get("forked_at") or 0),
        problem=str(store.damage) if store.damage else "",
    )


def _read_detail(store: SqliteReader) -> SessionDetail:
    read, info = _read_log(store), _describe(store)
    return SessionDetail(
        info=replace(info, state=_find_state(store.path, read.board), problem=read.problem or info.problem),
        agents=[_describe_agent(row, read.board) for row in read.board.agents],
        usage=read.board.usage,
        last_text=read.last_text,
    )


def _read_state(path: Path) -> SessionState | Literal[""]:
    try:
        with closing(SqliteReader.open(path)) as store:
            return _find_state(path, _read_log(store).board)
    except StoreError:
        return ""


class _Read(msgspec.Struct, frozen=True):
    """What the sound part of a log comes to, and what is wrong with the rest."""

    board: Board
    last_text: str
    problem: str


def _read_log(store: SqliteReader) -> _Read:
    board, text = Board(), ""
    try:
        for event in store.read():
            board = apply(board, event)
            if event.type == TurnEnd.type and isinstance(end := view(event), TurnEnd):
                text = end.text or text
    except StoreError as e:
        return _Read(board, text, str(e))
    return _Read(board, text, "")


def _find_state(path: Path, board: Board) -> SessionState:
    """What a log leaves open goes on only where a process has it open."""
    at_work = board.state in ("running", "waiting")
    return "interrupted" if at_work and not find_holder(companion(path, "lock")) else board.state


def _describe_agent(row: AgentRow, board: Board) -> AgentInfo:
    return AgentInfo(
        id=row.id,
        type=row.type,
        name=row.name,
        model=row.model,
        state=describe_state(row, board),
        turns=row.turn,
        usage=row.usage,
    )


def _count_sound(store: SqliteReader) -> int:
    """Returns how many events can be read."""
    count = 0
    try:
        for _ in store.raw():
            count += 1
    except StoreError:
        pass
    return count


def _read_backwards(store: SqliteReader) -> Iterator[Event]:
    before = store.head + 1
    while page := store.read_back(before):
        yield from reversed(page)
        before = page[0].seq or 0


def _cut_excerpt(event: Event, wanted: str) -> str:
    text = bytes(event.data).decode(errors="replace")
    at = text.casefold().find(wanted)
    return text[max(0, at - 40) : at + len(wanted) + 60] if at >= 0 else ""
