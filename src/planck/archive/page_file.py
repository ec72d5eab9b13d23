"""A session as one file that a browser opens without a server: the page's own lanes and transcript.

The same log gives the same bytes, so a file is proven by making it again.
"""

import base64
import gzip
import hashlib
import html
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Protocol

import msgspec

import planck
from planck.archive.hiding import HIDINGS, Hiding
from planck.archive.page_events import Chosen, choose_events, escape
from planck.records import codec
from planck.records.events import Event, FileChanged, view
from planck.records.outcome import ErrorKind
from planck.records.redact import Redactor
from planck.records.visible import make_plain
from planck.store.store import StoreError

DEFAULT_SIZE = 10 << 20
_WEB = Path(planck.__file__).parent / "web"
_SLACK = 8 << 10
"""Bytes beside the events and the page itself: names, counts, the notice."""
_SMALLEST = 1 << 10

_STYLE = b"""
body{display:flex;flex-direction:column}#app{flex:1;min-height:0}.app{padding-bottom:0}
.planck-file{font:12px/18px system-ui,sans-serif;padding:8px 12px;border-bottom:1px solid #8886}
.planck-file{overflow-wrap:anywhere}
.planck-file p{margin:0}.planck-file code{font-family:ui-monospace,monospace}
"""
"""What a file says of itself takes its place from the page, which has no bar at the bottom here."""


class PageOptions(msgspec.Struct, frozen=True, kw_only=True):
    hide: tuple[str, ...] = ()
    """Some of `HIDINGS`, in their order."""
    size: int = DEFAULT_SIZE
    """Bytes that the file may have."""
    with_log: bool = False


class PageError(StoreError):
    """It can't be made like this, or is not what was made."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says of itself; all but the name follows from the log."""

    id: str
    name: str
    version: str
    events: int
    hash: str
    hide: tuple[str, ...]
    size: int
    with_log: bool
    left_out: int = 0
    shortened: int = 0


class LogSource(Protocol):
    """A log, or the beginning of one, that can be read more than once."""

    id: str
    name: str
    head: int
    hash: str

    def read(self) -> Iterator[Event]: ...

    def export(self) -> Iterator[bytes]:
        """Yields the lines that `sessions import` takes."""


def choose_options(hide: Sequence[str], megabytes: float, *, with_log: bool) -> PageOptions:
    """Refuses what is not known, and a log in a file that hides a part of it."""
    if unknown := set(hide) - set(HIDINGS):
        raise PageError(
            ErrorKind.INVALID_ARGS,
            f"Cannot hide {', '.join(sorted(unknown))!r}. Choose from: {', '.join(HIDINGS)}.",
        )
    if hide and with_log:
        raise PageError(
            ErrorKind.INVALID_ARGS,
            "The log contains everything that --redact hides. Leave out --with-log or --redact.",
        )
    return PageOptions(
        hide=tuple(one for one in HIDINGS if one in hide), size=int(megabytes * (1 << 20)), with_log=with_log
    )


def render_file(log: LogSource, options: PageOptions, redactor: Redactor) -> bytes:
    packed = _pack(log, redactor) if options.with_log else b""
    script, style = load_page()
    room = options.size - len(script) - len(style) - len(packed) - _SLACK
    if room < _SMALLEST:
        least = (options.size - room + _SMALLEST) / (1 << 20)
        what = "The page with the log" if packed else "The page"
        raise PageError(
            ErrorKind.LIMIT_EXCEEDED,
            f"{what} needs more than {options.size / (1 << 20):g} MiB. Pass --max-mb {least + 0.05:.1f}.",
        )
    hide = Hiding(frozenset(options.hide), log.read()) if options.hide else None
    chosen = choose_events(log.read(), hide, redactor, room)
    facts = Facts(
        id=log.id,
        name=log.name,
        version=planck.__version__,
        events=log.head,
        hash=log.hash,
        hide=options.hide,
        size=options.size,
        with_log=options.with_log,
        left_out=chosen.left_out,
        shortened=chosen.shortened,
    )
    return b"".join(_compose(facts, chosen, packed, redactor))


def _compose(facts: Facts, chosen: Chosen, packed: bytes, redactor: Redactor) -> Iterator[bytes]:
    script, style = load_page()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    title = html.escape(make_plain(facts.name or facts.id))
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<link rel="icon" href="data:,">\n<title>{title} · Planck</title>\n'
    )
    yield redactor(head.encode(errors="replace")) if redactor else head.encode(errors="replace")
    yield b"<style>" + style + b"</style>\n</head>\n<body>\n"
    yield _describe(facts).encode()
    yield b'<div id="app"></div>\n'
    data = codec.encode(facts)
    yield _block("planck-session", escape(redactor(data) if redactor else data))
    yield _block("planck-events", b"[\n" + b",\n".join(chosen.events) + b"\n]")
    if packed:
        yield b'<script type="application/gzip" id="planck-log">' + packed + b"</script>\n"
    yield b"<script>" + script + b"</script>\n</body>\n</html>\n"


def _describe(facts: Facts) -> str:
    """Says what somebody who gets the file has to know before they believe it."""
    lines = [
        f"Planck session, {facts.events:,} events, hash <code>{facts.hash}</code>. "
        "This page shows the hash but does not check it. "
        "To verify the file, run <code>planck sessions verify FILE</code>."
    ]
    if facts.hide:
        lines.append(f"Hidden by the owner: {', '.join(facts.hide)}.")
    if facts.left_out:
        lines.append(f"Older events left out to limit the size of the file: {facts.left_out:,}.")
    if facts.shortened:
        lines.append(f"Events with shortened texts: {facts.shortened:,}.")
    told = "".join(f"<p>{line}</p>" for line in lines)
    return f'<aside class="planck-file" aria-label="About this file">{told}</aside>\n'


def _block(id: str, data: bytes) -> bytes:
    return f'<script type="application/json" id="{id}">'.encode() + data + b"</script>\n"


def _digest(text: bytes) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}"


@cache
def load_page() -> tuple[bytes, bytes]:
    """Returns script and style as they stand in a file: the page's own, which finds the events in it."""
    script, style = (_WEB / "app.js").read_bytes(), (_WEB / "app.css").read_bytes() + _STYLE
    assert b"</" not in style
    return script, style


def _pack(log: LogSource, redactor: Redactor) -> bytes:
    lines = b"".join(log.export())
    if redactor and (redactor(lines) != lines or any(map(partial(_holds_key, redactor), log.read()))):
        raise PageError(
            ErrorKind.INVALID_ARGS,
            "The log contains a secret that Planck uses on this machine, such as an API key. "
            "Export the page without --with-log.",
        )
    return base64.b64encode(gzip.compress(lines, 4, mtime=0))


def _holds_key(redactor: Redactor, event: Event) -> bool:
    """Returns whether a file has one that was not known when it was changed; in the log it is base64."""
    fact = view(event) if event.type == FileChanged.type else None
    before = fact.before if isinstance(fact, FileChanged) else None
    return before is not None and redactor(before) != before
