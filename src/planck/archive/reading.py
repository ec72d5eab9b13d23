"""What can be read of stored sessions: lists, one session whole, searches, and what is made of a log."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from planck.archive.detail import ReadLog, SessionDetail, read_costs, read_log
from planck.archive.listing import Listing, SessionInfo, Summary, describe_failure, describe_holder, read_info
from planck.records.events import Event
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.redact import Redactor
from planck.session.outputs import IMAGES, find_output, name_outputs
from planck.store.sqlite.library import FileLibrary, use_log
from planck.store.sqlite.reader import SqliteReader
from planck.toolkit.clock import SystemClock

if TYPE_CHECKING:
    from planck.archive.proof import Proof
    from planck.archive.search import Hit
    from planck.archive.stats import Stats
    from planck.archive.transcript import Transcript
    from planck.session.costs import CostReport
    from planck.session.result import RunResult
    from planck.session.undo import FileDiff, Files, Selection
    from planck.store.library import LocalLibrary


class ArchiveReader:
    """The sessions of one directory, seen from one workspace; all of it also of those that are open."""

    def __init__(self, folder: Path, workspace: Path, library: "LocalLibrary | None" = None) -> None:
        """`folder` is where the library's logs can be read; without one it is all there is."""
        self._folder = folder
        self._workspace = workspace
        self._library = library or FileLibrary(folder, workspace)
        self._clock = SystemClock()

    def sessions(self, *, everywhere: bool = False, limit: int | None = None) -> list[SessionInfo]:
        """Lists sessions, newest first; those of other workspaces only when asked for."""
        return self._add_failures([info for _, info in self._list(everywhere, limit)])

    def info(self, id_or_name: str) -> SessionInfo:
        return self._describe_holder(*self._locate(id_or_name))

    def _locate(self, id_or_name: str) -> tuple[Path, SessionInfo]:
        find = partial(self._library.path_of, id_or_name)
        return use_log(find, lambda path: (path, read_info(path)))

    def now(self) -> str:
        """The time that ages are counted to."""
        return self._clock.now()

    def detail(self, id_or_name: str) -> SessionDetail:
        """Says all that the sound part of the log holds; damage is named in `info.problem`."""
        with self._reading(id_or_name) as store:
            return self._read_log(store).detail()

    def recorded(self, id: str, after: int = 0) -> Generator[Event, None, None]:
        """Yields the events after a number; also of a session that somebody has open."""
        with self._reading(id) as store:
            yield from store.read(after)

    def fold(self, id: str, until: int | None = None) -> Summary:
        """Folds up to an event (default: the newest); the board has this session's id and current name.

        The log of a fork begins with its parent's events, which say the parent's.
        """
        summary = Summary()
        with self._reading(id) as store:
            for event in store.read():
                if until is not None and (event.seq or 0) > until:
                    break
                summary.add(event)
            summary.adopt(id, store.meta.get("name") or summary.board.name)
        return summary

    def has_after(self, id: str, seq: int) -> bool:
        """Whether a log has grown beyond a number, or is gone: then it is worth another look."""
        try:
            with self._reading(id) as store:
                return store.head > seq
        except PlanckError:
            return True

    def result(self, id: str, after: int = 0) -> "RunResult | None":
        """What the events after a number come to; None while the orchestrator has ended no turn there.

        A turn that no process goes on with has come to its end.
        """
        with self._reading(id) as store:
            return self._read_log(store).result(store, after, self._images(store))

    def costs(self, id_or_name: str) -> "CostReport":
        """What each agent used of which model, of which budget, and when that is used up."""
        with self._reading(id_or_name) as store:
            return read_costs(store)

    def stats(self, days: int | None = None) -> "Stats":
        """What all stored sessions of every workspace have used, today and in the days before."""
        from planck.archive.stats import count_sessions

        return count_sessions(self._list(everywhere=True), self._clock.now()[:10], days)

    def why_blocked(self, id_or_name: str) -> list[str]:
        """Puts each wait in words; also of a session that another process runs now."""
        with self._reading(id_or_name) as store:
            return self._read_log(store).why_blocked(self._clock.now())

    def transcript(self, id_or_name: str) -> "Transcript":
        """Tells who said and did what; of a long session its end."""
        with self._reading(id_or_name) as store:
            from planck.archive.transcript import tell

            return tell(store)

    def events(self, id_or_name: str, *, lost: Callable[[Err], None] | None = None) -> Iterator[bytes]:
        """Yields the export: one JSON line an event. `lost` hears of what is missing in it."""
        with self._reading(id_or_name) as store:
            from planck.archive.transfer import export

            yield from export(store, self._library.list_detached(store.meta.get("id", "")), lost)

    def find_loss(self, id_or_name: str) -> Err | None:
        """Says what is missing in a log, and so in an export of it."""
        with self._reading(id_or_name) as store:
            from planck.archive.transfer import find_loss

            return find_loss(store, self._library.list_detached(store.meta.get("id", "")))

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

    def render_file(
        self,
        id_or_name: str,
        redactor: Redactor,
        *,
        hide: Sequence[str] = (),
        max_mb: float = 10.0,
        with_log: bool = False,
    ) -> bytes:
        """Returns the session as one file for a browser; the same log gives the same bytes."""
        from planck.archive.page_file import choose_options, render_file
        from planck.archive.proof import StoredLog

        options = choose_options(hide, max_mb, with_log=with_log)
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
        from planck.archive.proof import verify_log

        with self._reading(id_or_name) as store:
            return verify_log(store, self._library.list_detached(store.meta.get("id", "")))

    def changes(
        self, id: str, selection: "Selection", redactor: Redactor, root: "Files | None" = None
    ) -> "tuple[FileDiff, ...]":
        """What was done to files; also in a session that somebody has open.

        `root`: where its files may be, if it is a session of that workspace.
        """
        from planck.session.undo import OldContents, list_changes

        with self._reading(id) as store:
            here = root if root and store.meta.get("workspace") == str(root.path) else None
            return list_changes(store, selection, OldContents(store, redactor, self._images(store)), here)

    def _images(self, store: SqliteReader) -> Path:
        return name_outputs(self._folder, store.meta.get("id", "")) / IMAGES

    def search(
        self,
        text: str,
        *,
        everywhere: bool = False,
        limit: int = 50,
        skipped: Callable[[SessionInfo, str], None] | None = None,
    ) -> Iterator["Hit"]:
        """Yields events that say the text, in any case: newest session first, newest event first.

        `skipped` hears of each session that cannot be read, and why; it hides none of the others.
        """
        from planck.archive.search import search_log

        for _, info in self._list(everywhere):
            if info.problem:
                if skipped:
                    skipped(info, info.problem)
                continue
            try:
                reading = self._reading(info.id)
            except PlanckError as failure:
                if skipped and failure.err.kind is not ErrorKind.NOT_FOUND:  # else deleted since
                    skipped(info, failure.err.message)
                continue
            with reading as store:
                hits = search_log(store, info, text)
                while True:
                    try:
                        hit = next(hits, None)
                    except PlanckError as damage:
                        if skipped:
                            skipped(info, damage.err.message)
                        break
                    if hit is None:
                        break
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
        return closing(use_log(partial(self._library.path_of, id_or_name), SqliteReader.open))

    def _read_log(self, store: SqliteReader) -> ReadLog:
        read = read_log(store)
        return replace(read, info=self._describe_holder(store.path, read.info))

    def _describe_holder(self, path: Path, info: SessionInfo) -> SessionInfo:
        info = describe_holder(path, info, self._library.find_owners([info.id]).get(info.id))
        return self._add_failures([info])[0]

    def _add_failures(self, infos: list[SessionInfo]) -> list[SessionInfo]:
        failures = self._library.find_failures(info.id for info in infos if info.node is None)
        return [describe_failure(info, failures) for info in infos]
