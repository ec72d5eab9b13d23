"""Whether a page's file shows what a log says: the log is in the file, or stored here, or both."""

import base64
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import msgspec

from planck.archive import transfer
from planck.archive.listing import read_info
from planck.archive.page_file import Facts, LogSource, PageError, PageOptions, load_page, render_file
from planck.records import codec
from planck.records.events import Event, Renamed, SessionStarted, view
from planck.records.outcome import ErrorKind
from planck.records.redact import Redactor
from planck.store.sqlite.reader import SqliteReader
from planck.store.store import Gap, StoreError, read_gaps

_FACTS = b'<script type="application/json" id="planck-session">'
_LOG = b'<script type="application/gzip" id="planck-log">'
_END = b"</script>"
_LARGEST = 1 << 30
"""Bytes of a file, and of the log in it: a few that say they are more are not unpacked."""


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    events: int
    hash: str
    by: tuple[str, ...]
    """What was compared with it: `log`, the one in the file; `session`, the one that is stored here.

    Of a stored session itself, `chain`: each event and blob with its hash.
    """


class StoredLog:
    """The first events of a log that somebody may go on writing."""

    def __init__(self, store: SqliteReader, head: int | None = None, name: str = "") -> None:
        self._store = store
        self.id: str = store.meta.get("id", "")
        self.name: str = name or store.meta.get("name", "")
        self.head: int = store.head if head is None else head
        self.hash: str = store.hash_at(self.head).hex()

    def read(self) -> Iterator[Event]:
        return islice(self._store.read(), self.head)

    def export(self) -> Iterator[bytes]:
        return transfer.export(self._store)


class PackedLog:
    """The log in a page's file, unpacked."""

    def __init__(self, file: Path, name: str) -> None:
        self._file = file
        self._exported = transfer.check_export(file)
        self.id: str = self._exported.meta.get("id", "")
        self.head: int = self._exported.events
        self.hash: str = self._exported.hash
        self.gaps: tuple[Gap, ...] = read_gaps(self._exported.meta)
        self.name: str = name if name in _list_names(self.read()) else self._exported.meta.get("name", "")

    def read(self) -> Iterator[Event]:
        return transfer.read_exported(self._file, self._exported)

    def export(self) -> Iterator[bytes]:
        with self._file.open("rb") as lines:
            yield from lines


def verify_file(file: Path, stored: SqliteReader | None, redactor: Redactor) -> Proof:
    """Proves a file by making it again; raises what is wrong with it."""
    data = _read(file)
    facts = read_facts(data)
    by, gaps = [], dict[Gap, None]()
    if stored is not None:
        _compare_hash(facts, stored)
        gaps.update(dict.fromkeys(stored.list_gaps()))
        by.append("session")
    with _unpack(data, facts) as packed:
        if packed:
            by.insert(0, "log")
            gaps.update(dict.fromkeys(packed.gaps))
            if (packed.id, packed.head, packed.hash) != (facts.id, facts.events, facts.hash):
                raise _refuse("its hash does not match the log in it")
            _compare(data, packed, facts, redactor)
        elif stored is not None:
            name = facts.name if facts.name in _list_names(stored.read()) else ""
            _compare(data, StoredLog(stored, facts.events, name), facts, redactor)
        else:
            raise PageError(
                ErrorKind.NOT_FOUND,
                f"This file cannot be verified: it contains no log, and session {facts.id!r} is not stored "
                "here. Ask for a file that was exported with --with-log.",
            )
    if shown := [gap for gap in gaps if gap.after <= facts.events]:
        loss = transfer.describe_gaps(shown)
        raise PageError(loss.kind, loss.message, loss.details)
    return Proof(id=facts.id, name=facts.name, events=facts.events, hash=facts.hash, by=tuple(by))


def verify_log(store: SqliteReader, detached: Iterable[bytes] = ()) -> Proof:
    """Reads a whole log and everything in it; raises what does not match its chain of hashes, or is missing.

    `detached`: blobs that are not in the file.
    """
    events = sum(1 for _ in store.raw())
    if loss := transfer.find_loss(store, detached):
        raise StoreError(loss.kind, loss.message, loss.details)
    info = read_info(store.path)
    return Proof(id=info.id, name=info.name, events=events, hash=store.head_hash.hex(), by=("chain",))


def read_facts(data: bytes) -> Facts:
    """Returns what a file says of itself; nothing of it is proven yet."""
    start = data.find(_FACTS)
    end = data.find(_END, start)
    if start < 0 or end < 0:
        raise _refuse("it is not an exported session page, or it was cut off")
    try:
        return codec.decode_as(data[start + len(_FACTS) : end], Facts)
    except codec.DecodeError as e:
        raise _refuse(f"its metadata cannot be read ({e})") from e


def _read(file: Path) -> bytes:
    with file.open("rb") as stream:
        data = stream.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise _refuse(f"it is larger than {_LARGEST >> 20} MiB")
    return data


def _compare_hash(facts: Facts, stored: SqliteReader) -> None:
    if not 0 <= facts.events <= stored.head:
        raise _refuse(f"it claims {facts.events} events, but the stored session has {stored.head}")
    if stored.hash_at(facts.events).hex() != facts.hash:
        raise _refuse("its hash does not match the stored session")


@contextmanager
def _unpack(data: bytes, facts: Facts) -> Iterator[PackedLog | None]:
    start = data.find(_LOG)
    if start < 0:
        yield None
        return
    with tempfile.NamedTemporaryFile() as spooled:
        try:
            packed = base64.b64decode(data[start + len(_LOG) : data.find(_END, start)], validate=True)
            inflating = zlib.decompressobj(wbits=31)
            spooled.write(inflating.decompress(packed, _LARGEST))
        except (ValueError, zlib.error) as e:
            raise _refuse(f"the log in it cannot be unpacked ({e})") from e
        if not inflating.eof or inflating.unused_data:
            raise _refuse("the log in it is cut off or too large")
        spooled.flush()
        yield PackedLog(Path(spooled.name), facts.name)


def _compare(data: bytes, log: LogSource, facts: Facts, redactor: Redactor) -> None:
    options = PageOptions(hide=facts.hide, size=facts.size, with_log=facts.with_log)
    again = render_file(log, options, redactor)
    if again == data:
        return
    script, style = load_page()
    if script not in data or style not in data:
        raise _refuse(
            "its script or styles were changed, or the file was made by another version of Planck "
            f"(the file says {facts.version})"
        )
    theirs, ours = data.split(b"\n"), again.split(b"\n")
    at = next((at for at, (a, b) in enumerate(zip(theirs, ours, strict=False)) if a != b), None)
    if at is not None and ours[at].startswith(b'{"seq":'):
        seq = msgspec.json.decode(ours[at].rstrip(b","), type=_Numbered).seq
        raise _refuse(f"its events do not match the log, starting with event {seq}")
    raise _refuse("it does not match the log")


class _Numbered(msgspec.Struct):
    seq: int


def _list_names(events: Iterator[Event]) -> set[str]:
    """Returns every name that a session has had by its own events."""
    facts = (view(event) for event in events if event.type in (SessionStarted.type, Renamed.type))
    return {fact.name for fact in facts if isinstance(fact, SessionStarted | Renamed)}


def _refuse(why: str) -> StoreError:
    return PageError(
        ErrorKind.CORRUPT_LOG_LINE, f"This file is not verified: {why}. Ask its author to export it again."
    )
