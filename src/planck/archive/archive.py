"""What a user may do with stored sessions: look, search, name, fork, export, import, delete."""

import shutil
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from planck.archive.listing import (
    Listing,
    SessionInfo,
    Summary,
    describe_holder,
    describe_log,
    read_info,
)
from planck.records.authority import STRICTNESS, Mode
from planck.records.board import Board
from planck.records.events import (
    Event,
    Forked,
    ModeChanged,
    Renamed,
    RequestKey,
    SessionResumed,
    SessionStarted,
    TurnEnd,
    TurnStatus,
    UsageSpent,
    View,
    view,
)
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.redact import Redactor
from planck.records.rows import AgentRow
from planck.records.usage import Costs, Spent, Usage
from planck.session.blocked import describe_state, why_blocked
from planck.session.bus import Bus
from planck.session.journal import SessionJournal
from planck.session.outputs import find_output, name_outputs
from planck.session.result import RunResult, mark_stopped, summarise_run
from planck.store.names import id_in, is_valid_name
from planck.store.sqlite.library import FileLibrary
from planck.store.sqlite.reader import SqliteReader
from planck.store.store import IMPORTED, SessionError, StoreError
from planck.store.threads import run_blocking
from planck.toolkit.clock import RandomIds, SystemClock

if TYPE_CHECKING:
    from planck.archive.page_file import PageOptions
    from planck.archive.proof import Proof
    from planck.archive.search import Hit
    from planck.archive.stats import Stats
    from planck.archive.transcript import Transcript
    from planck.session.costs import CostReport
    from planck.session.undo import FileDiff, Selection
    from planck.store.library import LocalLibrary


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
    spent: list[Spent]
    last_text: str


class Archive:
    """The sessions of one directory, seen from one workspace."""

    def __init__(self, folder: Path, workspace: Path, library: "LocalLibrary | None" = None) -> None:
        """`folder` is where the library's logs can be read; without one it is all there is."""
        self._folder = folder
        self._workspace = workspace
        self._library = library or FileLibrary(folder, workspace)
        self._clock = SystemClock()
        self._ids = RandomIds()

    def sessions(self, *, everywhere: bool = False, limit: int | None = None) -> list[SessionInfo]:
        """Lists sessions, newest first; those of other workspaces only when asked for."""
        return [info for _, info in self._list(everywhere, limit)]

    def info(self, id_or_name: str) -> SessionInfo:
        path = self._library.path_of(id_or_name)
        return self._describe_holder(path, read_info(path))

    def now(self) -> str:
        """The time that ages are counted to."""
        return self._clock.now()

    def find_cut_off(self) -> SessionInfo | None:
        """The session of this workspace that was used last, if its process died at work."""
        for path, info in self._list(False, 3):
            if info.holder is None:
                died = info.state == "interrupted" and read_info(path).state in ("running", "waiting")
                return info if died else None
        return None

    def newest_id(self) -> str:
        """The session of this workspace that was used last."""
        self._library.fetch_all(limit=1)
        newest = Listing(self._folder).newest(self._workspace)
        if newest is None:
            raise SessionError(
                ErrorKind.NOT_FOUND, "no session of this workspace to continue; start one first"
            )
        return id_in(newest)

    def detail(self, id_or_name: str) -> SessionDetail:
        """Says all that the sound part of the log holds; damage is named in `info.problem`."""
        with self._reading(id_or_name) as store:
            return _make_detail(self._read_log(store))

    def check_own(self, id: str) -> None:
        """Raises `not_found` for what is not the id of a session of this workspace."""
        self._library.fetch_own(id)

    def recorded(self, id: str, after: int = 0) -> Generator[Event, None, None]:
        """Yields the events after a number; also of a session that somebody has open."""
        with self._reading(id) as store:
            yield from store.read(after)

    def has_after(self, id: str, seq: int) -> bool:
        """Whether a log has grown beyond a number, or is gone: then it is worth another look."""
        try:
            with self._reading(id) as store:
                return store.head > seq
        except PlanckError:
            return True

    def result(self, id: str, after: int = 0) -> RunResult | None:
        """What the events after a number come to; None while the orchestrator has ended no turn there.

        A turn that no process goes on with has come to its end.
        """
        with self._reading(id) as store:
            read = self._read_log(store)
            if read.info.state in ("running", "waiting") or not read.board.agents:
                return None
            lead, events = read.board.agents[0].id, [*store.read(after)]
            ended = any(event.type == TurnEnd.type and event.agent_id == lead for event in events)
            if not ended and read.info.state == read.board.state:
                return None
            result = summarise_run(
                events,
                names={row.id: row.name for row in read.board.agents},
                session_id=id,
                session_name=read.info.name,
            )
            return result if ended else mark_stopped(result, TurnStatus.INTERRUPTED)

    def costs(self, id_or_name: str) -> "CostReport":
        """What each agent used of which model, of which budget, and when that is used up."""
        from planck.records.ledger import Ledger
        from planck.session.costs import report_costs

        with self._reading(id_or_name) as store:
            ledger = Ledger()
            with suppress(StoreError):  # what is sound of a damaged log counts
                for event in store.read():
                    ledger.add(event)
            return report_costs(ledger)

    def stats(self, days: int | None = None) -> "Stats":
        """What all stored sessions of every workspace have used, today and in the days before."""
        from planck.archive.stats import count_sessions

        return count_sessions(self._list(everywhere=True), self._clock.now()[:10], days)

    def why_blocked(self, id_or_name: str) -> list[str]:
        """Puts each wait in words; also of a session that another process runs now."""
        with self._reading(id_or_name) as store:
            read = self._read_log(store)
            if read.info.state == read.board.state:
                lines = why_blocked(read.board, self._clock.now())
            else:
                lines = [
                    "nothing moves: no process has this session open; what was at work when it stopped is "
                    f"named when you resume it with `planck -r {read.info.name}`"
                ]
            return [*lines, read.info.problem] if read.info.problem else lines

    def transcript(self, id_or_name: str) -> "Transcript":
        """Tells who said and did what; of a long session its end."""
        with self._reading(id_or_name) as store:
            from planck.archive.transcript import tell

            return tell(store)

    def events(self, id_or_name: str) -> Iterator[bytes]:
        """Yields the export: one JSON line an event."""
        with self._reading(id_or_name) as store:
            from planck.archive.transfer import export

            yield from export(store, self._library.list_detached(store.meta.get("id", "")))

    def blob(self, id_or_name: str, name: str) -> bytes:
        """Returns what an event of the session refers to by that name: a system prompt, a list of tools."""
        with self._reading(id_or_name) as store:
            return store.blob(name)

    def find_output(self, session_id: str, call_id: str) -> Path | None:
        """Returns the file with the whole output of a call, where that was too long for the model."""
        return find_output(self._library, session_id, call_id)

    def render_markdown(self, id_or_name: str) -> Iterator[str]:
        """Yields the session piece by piece, as a page to read."""
        with self._reading(id_or_name) as store:
            from planck.archive.markdown import render_page

            yield from render_page(store)

    def render_file(self, id_or_name: str, options: "PageOptions", redactor: Redactor) -> bytes:
        """Returns the session as one file for a browser; the same log gives the same bytes."""
        from planck.archive.page_file import render_file
        from planck.archive.proof import StoredLog

        with self._reading(id_or_name) as store:
            return render_file(StoredLog(store), options, redactor)

    def verify_file(self, file: Path, redactor: Redactor) -> "Proof":
        """Proves what such a file shows, by the log in it and by the session, where it is stored here."""
        from planck.archive.proof import read_facts, verify_file

        id = read_facts(file.read_bytes()).id
        try:
            reading = self._reading(id)
        except PlanckError:
            return verify_file(file, None, redactor)
        with reading as store:
            return verify_file(file, store if store.meta.get("id") == id else None, redactor)

    def verify_session(self, id_or_name: str) -> "Proof":
        """Reads a whole log and everything in it; raises what does not match its chain of hashes."""
        from planck.archive.proof import Proof

        with self._reading(id_or_name) as store:
            events = sum(1 for _ in store.raw())
            for blob in store.blobs():
                store.blob(blob)
            if store.damage:
                raise StoreError(store.damage.kind, store.damage.message, store.damage.details)
            info = read_info(store.path)
            return Proof(id=info.id, name=info.name, events=events, hash=store.head_hash.hex(), by=("chain",))

    async def import_session(self, file: Path) -> SessionInfo:
        """Takes in what `events` wrote; refused as a whole where it does not add up."""
        from planck.archive import transfer

        exported = transfer.read_trailer(file)
        id = self._check_import(exported.meta)
        meta = {**exported.meta, IMPORTED: "true"}
        path = await self._library.take_in(id, meta, transfer.read_contents(file, exported))
        return read_info(path)

    def changes(self, id: str, selection: "Selection", redactor: Redactor) -> "tuple[FileDiff, ...]":
        """What was done to files; also in a session that somebody has open."""
        from planck.session.undo import list_changes

        with self._reading(id) as store:
            return list_changes(store, selection, redactor)

    async def fork(
        self,
        id_or_name: str,
        *,
        at: int | None = None,
        name: str = "",
        id: str = "",
        request: RequestKey | None = None,
        ceiling: Mode | None = None,
    ) -> SessionInfo:
        """Makes a session that begins with the first `at` events of one (default: all that are sound).

        Its mode is never wider than the one that the other session has now, nor than `ceiling`. `id` is the
        new one's, where a client's `request` decides it.
        """
        from planck.archive import transfer
        from planck.store.library import Origin

        with await run_blocking(self._reading, id_or_name) as source:
            id, at = id or self._ids.new(), _count_sound(source) if at is None else at
            origin = source.meta.get("id", "")
            begun = transfer.begin_fork(source, at, self._library.list_detached(origin))
            meta = {**source.meta, "created": self._clock.now(), "parent": origin, "forked_at": str(at)}
            narrowed = await run_blocking(_narrow_mode, source, at, ceiling)
            begun = begun._replace(origin=Origin(origin, ceiling.value if ceiling else ""))
            store = await self._library.copy(id, name, self._ids, meta, begun)
        name = store.meta["name"]
        try:
            forked = Forked(session_id=origin, at=at, request=request)
            facts: tuple[View, ...] = (forked, narrowed) if narrowed else (forked,)
            await SessionJournal(store, Bus(), self._clock).record(None, 0, *facts, barrier=True)
        except BaseException:
            await self._library.discard(store)
            raise
        await self._library.close(store, id, name)
        return read_info(await run_blocking(self._library.path_of, id))

    def check_free(self, id_or_name: str) -> None:
        """Raises `writer_conflict`, which names the process, where one has the session open."""
        self._library.check_free(id_or_name)

    async def rename(self, id_or_name: str, name: str) -> SessionInfo:
        """Gives a session that nobody has open another name; its id and its events stay."""
        if not name:
            raise SessionError(
                ErrorKind.INVALID_ARGS, "say the new name too: planck sessions rename calm-fox bold-owl"
            )
        store = await self._library.open(id_or_name)
        id, old, now = store.meta["id"], store.meta["name"], store.meta["name"]
        try:
            if name != old:
                async with self._library.rename(store, old, name):
                    fact = Renamed(name=name)
                    await SessionJournal(store, Bus(), self._clock).record(None, 0, fact, barrier=True)
                now = name
        finally:
            await self._library.close(store, id, now)
        return read_info(await run_blocking(self._library.path_of, id))

    def delete(self, id_or_name: str) -> SessionInfo:
        """Removes for good the log and the output kept beside it. One that is open somewhere stays."""
        path = self._library.path_of(id_or_name)
        info = read_info(path)
        self._library.remove(id_in(path))
        shutil.rmtree(name_outputs(self._folder, id_in(path)), ignore_errors=True)
        Listing(self._folder).forget(path)
        return info

    def search(self, text: str, *, everywhere: bool = False, limit: int = 50) -> Iterator["Hit"]:
        """Yields events that say the text, in any case: newest session first, newest event first."""
        from planck.archive.search import search_log

        for _, info in self._list(everywhere):
            if not info.problem:
                with self._reading(info.id) as store:
                    for hit in search_log(store, info, text):
                        yield hit
                        limit -= 1
                        if limit <= 0:
                            return

    def _list(self, everywhere: bool, limit: int | None = None) -> list[tuple[Path, SessionInfo]]:
        self._library.fetch_all(everywhere=everywhere, limit=limit)
        found = Listing(self._folder).read(None if everywhere else self._workspace, limit)
        owners = self._library.find_owners(info.id for _, info in found)
        return [(path, describe_holder(path, info, owners.get(info.id))) for path, info in found]

    def _reading(self, id_or_name: str) -> closing[SqliteReader]:
        return closing(SqliteReader.open(self._library.path_of(id_or_name)))

    def _read_log(self, store: SqliteReader) -> "_Read":
        read = _read_log(store)
        return msgspec.structs.replace(read, info=self._describe_holder(store.path, read.info))

    def _describe_holder(self, path: Path, info: SessionInfo) -> SessionInfo:
        return describe_holder(path, info, self._library.find_owners([info.id]).get(info.id))

    def _check_import(self, meta: Mapping[str, str]) -> str:
        """Returns the id of an import; what it says of itself is not trusted to be a path."""
        id, name = meta.get("id", ""), meta.get("name", "")
        if not (is_valid_name(id) and is_valid_name(name) and "_" not in id):
            raise SessionError(ErrorKind.INVALID_ARGS, f"{id!r}, {name!r} are no id and name of a session")
        if self._library.has_id(id):
            raise SessionError(
                ErrorKind.NOT_UNIQUE,
                f"session {id!r} is already here; delete it first, or fork it to have it twice",
            )
        return id


def _make_detail(read: "_Read") -> SessionDetail:
    alive = read.info.state == read.board.state
    return SessionDetail(
        info=read.info,
        agents=[_describe_agent(row, read.board, alive) for row in read.board.agents],
        usage=read.board.usage,
        spent=read.costs.rows,
        last_text=read.last_text,
    )


class _Read(msgspec.Struct, frozen=True):
    """What the sound part of a log comes to."""

    board: Board
    info: SessionInfo
    costs: Costs
    last_text: str


def _read_log(store: SqliteReader) -> _Read:
    fold, text, problem = Summary(), "", ""
    costs = Costs()
    try:
        for event in store.read():
            fold.add(event)
            if event.type == TurnEnd.type and isinstance(end := view(event), TurnEnd):
                text = end.text or text
            elif event.type == UsageSpent.type and isinstance(used := view(event), UsageSpent):
                costs.add(event.agent_id or "", used.model, used.usage, used.cost_usd)
    except StoreError as e:
        problem = str(e)
    costs.names |= {row.id: row.name for row in fold.board.agents}
    return _Read(fold.board, describe_log(store, fold, problem), costs, text)


def _describe_agent(row: AgentRow, board: Board, alive: bool) -> AgentInfo:
    """An agent that no process runs is in no turn, whatever its log leaves open."""
    open_still = row.status not in ("idle", "ended")
    return AgentInfo(
        id=row.id,
        type=row.type,
        name=row.name,
        model=row.model,
        state=describe_state(row, board) if alive or not open_still else "interrupted",
        turns=row.turn,
        usage=row.usage,
    )


def _narrow_mode(store: SqliteReader, at: int, ceiling: Mode | None) -> ModeChanged | None:
    """Returns what takes a fork at that event to the mode of its parent, where that is stricter by now."""
    then = now = ""
    with suppress(StoreError):  # as far as it is sound
        for event in store.read():
            if event.type in (SessionStarted.type, SessionResumed.type, ModeChanged.type):
                match view(event):
                    case SessionStarted(options=options) | SessionResumed(options=options) if options:
                        now = options.mode
                    case ModeChanged(mode=mode):
                        now = mode
            then = now if (event.seq or 0) <= at else then
    strictest = next((mode for mode in STRICTNESS if mode in (then, now, ceiling)), None)
    return ModeChanged(mode=strictest, before=then) if strictest and then and strictest != then else None


def _count_sound(store: SqliteReader) -> int:
    """Returns how many of its events can be read; a session that goes on has more by now."""
    count = 0
    try:
        for _ in islice(store.raw(), store.head):
            count += 1
    except StoreError:
        pass
    return count
