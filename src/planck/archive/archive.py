"""What a user may do with stored sessions: look, search, name, fork, export, import, delete."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from planck.archive.listing import Listing, SessionInfo, read_info
from planck.archive.reading import ArchiveReader
from planck.records import codec
from planck.records.authority import STRICTNESS, Mode
from planck.records.events import (
    Event,
    Forked,
    ModeChanged,
    Renamed,
    RequestKey,
    SessionResumed,
    SessionStarted,
    View,
    view,
)
from planck.records.outcome import ErrorKind
from planck.session.bus import Bus
from planck.session.journal import SessionJournal
from planck.session.outputs import name_outputs
from planck.store.names import id_in, is_valid_name
from planck.store.sqlite.reader import SqliteReader
from planck.store.store import IMPORTED, LOST, SessionError, StoreError
from planck.store.threads import run_blocking
from planck.toolkit.clock import RandomIds
from planck.workspace.views.housekeeping import look_at
from planck.workspace.views.overlay import remove_folder

if TYPE_CHECKING:
    from planck.store.library import LocalLibrary

if TYPE_CHECKING:
    from planck.archive.blame.blame import Blame
    from planck.records.redact import Redactor

_IDS = RandomIds()


class Archive(ArchiveReader):
    """The same with what changes them; one that is open somewhere stays as it is."""

    def __init__(
        self,
        folder: Path,
        workspace: Path,
        library: "LocalLibrary | None" = None,
        views: Path | None = None,
    ) -> None:
        """`views`: the folder where agents' own views of the workspace lie, by session."""
        super().__init__(folder, workspace, library)
        self._views = views

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
                ErrorKind.NOT_FOUND, "There is no session in this workspace yet. Start one first."
            )
        return id_in(newest)

    def check_own(self, id: str) -> None:
        """Raises `not_found` for what is not the id of a session of this workspace."""
        self._library.fetch_own(id)

    def check_free(self, id_or_name: str) -> None:
        """Raises `writer_conflict`, which names the process, where one has a session open that is to be
        deleted, or names the command, where its agents have changes that did not land."""
        try:
            self._library.check_free(id_or_name)
        except StoreError as refused:
            raise _refuse_deletion(self.info(id_or_name), refused) from None
        self._check_landed(self.info(id_or_name))

    def _check_landed(self, info: SessionInfo) -> None:
        """Without its log nobody could land what is left in its views, or know whose it was."""
        if self._views is None or not look_at(info.id, str(self._views / info.id)).changed:
            return
        raise SessionError(
            ErrorKind.WRITER_CONFLICT,
            f"Session {info.name!r} was not deleted: its agents have changes that did not land in the "
            f'workspace. Land them with "planck land {info.name}", or throw them away with '
            f'"planck land {info.name} --drop".',
        )

    def blame(
        self,
        file: Path,
        lines: tuple[int, int] | None,
        redactor: "Redactor",
        skipped: Callable[[str, str], None],
    ) -> "Blame":
        """Says who wrote each line of a file of this workspace, by all of its sessions."""
        from planck.archive.blame.blame import Sources, blame_file

        sources = Sources(self._list(everywhere=False), self._folder, self._workspace)
        return blame_file(file, lines, sources, redactor, skipped)

    async def import_session(self, file: Path) -> SessionInfo:
        """Takes in what `events` wrote; refused as a whole where it does not add up."""
        from planck.archive import transfer

        exported = transfer.read_trailer(file)
        id = self._check_import(exported.meta)
        meta = {**exported.meta, IMPORTED: "true"}
        path = await self._library.take_in(id, meta, transfer.read_contents(file, exported))
        return read_info(path)

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
            id, at = id or _IDS.new(), _count_sound(source) if at is None else at
            origin = source.meta.get("id", "")
            begun = transfer.begin_fork(source, at, self._library.list_detached(origin))
            meta = {**source.meta, "created": self._clock.now(), "parent": origin, "forked_at": str(at)}
            if LOST in meta:
                meta[LOST] = codec.encode_str([gap for gap in source.gaps if gap.after < at])
            narrowed = await run_blocking(_narrow_mode, source, at, ceiling)
            forked = Forked(session_id=origin, at=at, request=request)
            facts: tuple[View, ...] = (forked, narrowed) if narrowed else (forked,)
            begun = begun._replace(
                # With the rest: a fork that was killed must not be one without its narrower mode.
                events=chain(begun.events, _encode_facts(at, self._clock.now(), facts)),
                origin=Origin(origin, ceiling.value if ceiling else ""),
            )
            store = await self._library.copy(id, name, _IDS, meta, begun)
        name = store.meta["name"]
        try:
            await store.barrier()
        except BaseException:
            await self._library.discard(store)
            raise
        await self._library.close(store, id, name)
        return read_info(await run_blocking(self._library.path_of, id))

    async def rename(self, id_or_name: str, name: str) -> SessionInfo:
        """Gives a session that nobody has open another name; its id and its events stay."""
        if not name:
            raise SessionError(
                ErrorKind.INVALID_ARGS,
                'The new name is missing. Run "planck sessions rename calm-fox bold-owl", for example.',
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
        path, info = self._locate(id_or_name)
        try:
            self._library.check_free(info.id)
            self._check_landed(info)
            self._library.remove(id_in(path))
        except StoreError as refused:
            raise _refuse_deletion(info, refused) from None
        shutil.rmtree(name_outputs(self._folder, id_in(path)), ignore_errors=True)
        if self._views is not None:
            remove_folder(str(self._views / info.id))  # nothing but layers, and views without changes
        Listing(self._folder).forget(path)
        return info

    def _check_import(self, meta: Mapping[str, str]) -> str:
        """Returns the id of an import; what it says of itself is not trusted to be a path."""
        id, name = meta.get("id", ""), meta.get("name", "")
        if not (is_valid_name(id) and is_valid_name(name) and "_" not in id):
            raise SessionError(
                ErrorKind.INVALID_ARGS,
                f"The session id {id!r} or name {name!r} in this file is invalid. Export the session again.",
            )
        if self._library.has_id(id):
            raise SessionError(
                ErrorKind.NOT_UNIQUE,
                f"Session {id!r} already exists here. Delete it first, or fork it to get a second copy.",
            )
        return id


def _refuse_deletion(info: SessionInfo, refused: StoreError) -> StoreError:
    """Says what helps somebody who wants to delete: a copy, which the others are offered, does not."""
    if refused.err.kind is not ErrorKind.WRITER_CONFLICT:
        return refused
    known = refused.err.details
    by = f"process {known['pid']} on {known['host']}" if "pid" in known else "another process"
    by = f"node {known['node']!r}" if "node" in known else by
    return StoreError(
        refused.err.kind,
        f"Session {info.name!r} was not deleted: {by} has it open. Close it there, then delete it.",
        known,
    )


def _encode_facts(after: int, ts: str, facts: Sequence[View]) -> Iterator[bytes]:
    for seq, fact in enumerate(facts, after + 1):
        yield codec.encode(Event(seq, ts, None, 0, fact.type, msgspec.Raw(codec.encode(fact))))


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
