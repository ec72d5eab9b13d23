"""A stored session as a whole: forked at an event, exported, imported."""

import base64
import hashlib
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from heapq import merge
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from planck.records import codec
from planck.records.events import DELTAS, Event, FileChanged, Frame, ToolEnd, ToolsChanged, TurnStart, frame
from planck.records.outcome import Err, ErrorKind
from planck.store.chain import GENESIS, find_digest, link, name_blob
from planck.store.library import Contents
from planck.store.sqlite.reader import SqliteReader
from planck.store.store import IMPORTED, LOST, Gap, StoreError

_EXPORTED = "exported"
_BLOB = "blob"

_NAMES = re.compile(rb'"([0-9a-f]{32})[0-9a-f]{0,32}"')
"""What may be a blob's name, in events of any version."""

_TRAILER_LIMIT = 1 << 20

_NAMED = 5
"""Missing blobs that a message names."""

_LINE_LIMIT = 64 << 20
"""Bytes; the largest event is a file's before-image of a few MiB in base64."""


class Exported(msgspec.Struct, frozen=True):
    """The last line: what the lines before it must add up to."""

    events: int
    hash: str
    meta: dict[str, str]


class Blob(msgspec.Struct, frozen=True):
    sha256: str
    base64: str


def begin_fork(source: SqliteReader, at: int, detached: Iterable[bytes] = ()) -> Contents:
    """Returns the first `at` events, byte for byte, for a log that begins with them.

    `detached`: blobs that are not in the file.
    """
    if not 0 < at <= source.head:
        raise StoreError(
            ErrorKind.INVALID_ARGS, f"Event {at} does not exist. The session has events 1 to {source.head}."
        )
    return Contents(islice(source.raw(), at), _named_blobs(source, at, detached))


def _named_blobs(source: SqliteReader, at: int, detached: Iterable[bytes]) -> Iterator[bytes]:
    """Yields what the first `at` events refer to: a fork takes along nothing from after its point."""
    named = {name for data in islice(source.raw(), at) for name in _NAMES.findall(data)}
    for digest in source.blobs():
        if name_blob(bytes.fromhex(digest)).encode() in named:
            with suppress(StoreError):  # one that is damaged keeps nothing else back
                yield source.blob(digest)
    for blob in detached:
        if name_blob(find_digest(blob)).encode() in named:
            yield blob


def export(
    store: SqliteReader, detached: Iterable[bytes] = (), lost: Callable[[Err], None] | None = None
) -> Iterator[bytes]:
    """Yields one JSON line an event, then the blobs, then a line that says what they add up to.

    `lost` hears of what is missing, as `find_loss` says it.
    """
    id, ts, named = store.meta.get("id", ""), "", _NamedBlobs()
    for event in islice(store.read(), store.head):  # a session that goes on has more by now
        ts = event.ts
        if lost:
            named.add(event)
        yield frame(event, id) + b"\n"
    for name, blob in _sort_blobs(store, detached):
        with suppress(StoreError):  # one that is damaged keeps nothing else back
            content = store.blob(name) if blob is None else blob
            yield _line(_BLOB, Blob(name, base64.b64encode(content).decode()), ts, id)
            named.found.add(name_blob(bytes.fromhex(name)))
    meta = {key: value for key, value in store.meta.items() if key != IMPORTED}
    if gaps := store.list_gaps():
        meta = dict(sorted({**meta, LOST: codec.encode_str(gaps)}.items()))  # in the order of a stored one's
    yield _line(_EXPORTED, Exported(store.head, store.head_hash.hex(), meta), ts, id)
    if lost and (loss := _describe_loss(store, named)):
        lost(loss)


def find_loss(store: SqliteReader, detached: Iterable[bytes] = ()) -> Err | None:
    """Says what a log has lost, of its events and of the blobs that they name; None: it is whole."""
    named = _NamedBlobs(name_blob(find_digest(blob)) for blob in detached)
    if not (store.damage or store.gaps):
        for event in islice(store.read(), store.head):
            named.add(event)
    return _describe_loss(store, named)


def _describe_loss(store: SqliteReader, named: "_NamedBlobs") -> Err | None:
    if store.damage:
        return store.damage
    if store.gaps:
        return describe_gaps(store.gaps)
    missing = named.list_missing(store)
    if not missing:
        return None
    count = "1 blob is" if len(missing) == 1 else f"{len(missing)} blobs are"
    return Err(
        ErrorKind.RESOURCE_MISSING,
        f"{count} missing or damaged: {', '.join(missing[:_NAMED])}{', …' * (len(missing) > _NAMED)}. "
        "Restore the file from a backup.",
        {"blobs": missing},
    )


def describe_gaps(gaps: Sequence[Gap]) -> Err:
    told = [f"after event {gap.after} ({_describe_cause(gap.events)})" for gap in gaps]
    return Err(
        ErrorKind.CORRUPT_LOG_LINE,
        f"Nothing is known of what happened {', '.join(told)}, until the session was opened again. "
        "The other events are intact. Restore the file from a backup, or check the workspace yourself.",
        {"gaps": [{"after": gap.after, "lost": gap.events} for gap in gaps]},
    )


def _describe_cause(lost: int | None) -> str:
    if lost is None:
        return "the machine stopped"
    return "1 event lost" if lost == 1 else f"{lost} events lost"


class _Names(msgspec.Struct):
    """The fields by which events name blobs."""

    system: Any = ""
    tools: Any = ""
    whole: Any = ""
    blob: Any = ""


_NAMING = frozenset((TurnStart.type, ToolsChanged.type, ToolEnd.type, FileChanged.type))


class _NamedBlobs:
    """The blobs that events refer to, and those that were found."""

    def __init__(self, found: Iterable[str] = ()) -> None:
        self._names: dict[str, None] = {}
        self.found = {*found}

    def add(self, event: Event) -> None:
        if event.type not in _NAMING:
            return
        named = codec.decode_as(bytes(event.data), _Names)
        for name in (named.system, named.tools, named.whole, named.blob):
            if isinstance(name, str) and name:
                self._names[name] = None

    def list_missing(self, store: SqliteReader) -> list[str]:
        """Returns those of them that are not there or damaged, and each that the file has damaged."""
        names = [*self._names, *(name_blob(bytes.fromhex(name)) for name in store.blobs())]
        return [
            name for name in dict.fromkeys(names) if name not in self.found and not _has_blob(store, name)
        ]


def _has_blob(store: SqliteReader, name: str) -> bool:
    try:
        store.blob(name)
    except StoreError:
        return False
    return True


def _sort_blobs(store: SqliteReader, detached: Iterable[bytes]) -> Iterator[tuple[str, bytes | None]]:
    """Yields names in one order, wherever the blobs lie: an export of an import has the same bytes."""
    own: Iterator[tuple[str, bytes | None]] = ((name, None) for name in store.blobs())
    return merge(own, ((find_digest(blob).hex(), blob) for blob in detached), key=itemgetter(0))


def _line(type: str, payload: msgspec.Struct, ts: str, session_id: str) -> bytes:
    return frame(Event(None, ts, None, 0, type, msgspec.Raw(codec.encode(payload))), session_id) + b"\n"


def read_contents(file: Path, exported: Exported) -> Contents:
    """Returns what an export holds; reading it raises where it does not add up to what was exported."""
    return Contents(_read_events(file, exported), _read_blobs(file))


def check_export(file: Path) -> Exported:
    """Returns what a file says of itself, where its lines add up to that; nothing is stored."""
    exported = read_trailer(file)
    contents = read_contents(file, exported)
    for seq, data in enumerate(contents.events, 1):
        if codec.decode_as(data, Event).seq != seq:
            raise _refuse(f"event {seq} is out of order")
    for _ in contents.blobs:
        pass
    return exported


def read_exported(file: Path, exported: Exported) -> Iterator[Event]:
    for data in _read_events(file, exported):
        yield codec.decode_as(data, Event)


def read_trailer(file: Path) -> Exported:
    """Returns what an export says of itself; nothing of it is checked yet."""
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - _TRAILER_LIMIT))
        lines = stream.read().splitlines()
    try:
        line = codec.decode_as(lines[-1] if lines else b"", Frame)
        if line.type != _EXPORTED:
            raise _refuse("it is incomplete, or it is not an export at all (its last line is missing)")
        return codec.decode_as(bytes(line.data), Exported)
    except codec.DecodeError as e:
        raise _refuse(
            f"it is incomplete, or it is not an export at all (its last line is missing or damaged: {e})"
        ) from e


def _read_events(file: Path, exported: Exported) -> Iterator[bytes]:
    """Yields the bytes to store for each line; a line that an export would not have written is refused."""
    with closing(_read_lines(file)) as lines:
        yield from _check_events(lines, exported)


def _check_events(lines: Iterable[tuple[int, bytes]], exported: Exported) -> Iterator[bytes]:
    id, count, digest = exported.meta.get("id", ""), 0, GENESIS
    for number, line in lines:
        try:
            line.decode()  # the data is not looked into here, but by every reader
            found = codec.decode_as(line, Frame)
        except (UnicodeDecodeError, codec.DecodeError) as e:
            raise _refuse(f"line {number} is not an event ({e})") from e
        if found.seq is None:
            if found.type not in (_BLOB, _EXPORTED):
                raise _refuse(f"line {number} has type {found.type!r}, which is never stored")
            continue
        event = Event(found.seq, found.ts, found.agent_id, found.turn, found.type, found.data)
        if found.type in DELTAS or bytes(found.data)[:1] != b"{" or frame(event, id) != line:
            raise _refuse(f"line {number} is not an exported event from session {id!r}")
        data = codec.encode(event)
        count, digest = count + 1, link(digest, data)
        yield data
    if (count, digest.hex()) != (exported.events, exported.hash):
        raise _refuse("some of its events were changed, added or cut off after the export")


def _read_blobs(file: Path) -> Iterator[bytes]:
    with closing(_read_lines(file)) as lines:
        yield from _check_blobs(_find_blobs(lines))


def _find_blobs(lines: Iterable[tuple[int, bytes]]) -> Iterator[Blob]:
    for number, line in lines:
        if _BLOB.encode() in line:
            try:
                found = codec.decode_as(line, Frame)
                if found.seq is None and found.type == _BLOB:
                    yield codec.decode_as(bytes(found.data), Blob)
            except codec.DecodeError as e:
                raise _refuse(f"line {number} is neither an event nor a blob ({e})") from e


def _check_blobs(blobs: Iterable[Blob]) -> Iterator[bytes]:
    for blob in blobs:
        try:
            data = base64.b64decode(blob.base64, validate=True)
        except ValueError as e:
            raise _refuse(f"blob {blob.sha256!r} is not base64 ({e})") from e
        if hashlib.sha256(data).hexdigest() != blob.sha256:
            raise _refuse(f"blob {blob.sha256!r} does not match its hash")
        yield data


def _read_lines(file: Path) -> Generator[tuple[int, bytes], None, None]:
    with file.open("rb") as stream:
        number = 0
        while line := stream.readline(_LINE_LIMIT):
            number += 1
            if not line.endswith(b"\n"):
                raise _refuse(f"line {number} is too long, or its end is missing")
            yield number, line[:-1]


def _refuse(why: str) -> StoreError:
    return StoreError(
        ErrorKind.CORRUPT_LOG_LINE, f"This file is not a valid export: {why}. Export the session again."
    )
