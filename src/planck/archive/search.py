"""Words found in a session's log, each in the sentence that it stands in."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from planck.archive.listing import SessionInfo
from planck.records import codec
from planck.records.events import USER, Event, list_types
from planck.store.sqlite.reader import SqliteReader

_BEFORE, _AFTER = 80, 120
"""Characters of a sentence that are shown on each side of what was found."""
_REPEATS = list_types("repeats")
_END = re.compile("[.!?](?:\\s|$)|[\n\r\u3002\uff01\uff1f]")


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    session_id: str
    session_name: str
    seq: int
    ts: str
    agent_id: str | None
    agent: str
    """Its name; `you` for what the user said."""
    type: str
    excerpt: str
    """The words in their sentence."""


def search_log(store: SqliteReader, info: SessionInfo, text: str) -> Iterator[Hit]:
    """Searches as far as the log can be read; raises there."""
    # As it stands in the log: JSON writes some characters in another way.
    raw = codec.encode_str(text)[1:-1].casefold()
    pattern = re.compile(re.escape(text), re.IGNORECASE)
    names: dict[str, str] = {}
    for event in _read_backwards(store):
        if event.type in _REPEATS or raw not in bytes(event.data).decode(errors="replace").casefold():
            continue
        if excerpt := _find_sentence(event, pattern):
            names = names or _name_agents(store)
            yield Hit(
                session_id=info.id,
                session_name=info.name,
                seq=event.seq or 0,
                ts=event.ts,
                agent_id=event.agent_id,
                agent=_name_speaker(event, names),
                type=event.type,
                excerpt=excerpt,
            )


def _read_backwards(store: SqliteReader) -> Iterator[Event]:
    before = store.head + 1
    while page := store.read_back(before):
        yield from reversed(page)
        before = page[0].seq or 0


def _name_agents(store: SqliteReader) -> dict[str, str]:
    names = {USER: "you"}
    for event in store.read():
        if event.type == "agent_started":
            agent = _decode(event).get("agent")
            if isinstance(agent, dict):
                names[str(agent.get("id"))] = str(agent.get("name"))
    return names


def _name_speaker(event: Event, names: dict[str, str]) -> str:
    said_by = _decode(event).get("from") if event.type == "message" else event.agent_id
    return names.get(str(said_by), str(said_by or ""))


def _decode(event: Event) -> dict[str, Any]:
    try:
        data = codec.decode_as(bytes(event.data), dict[str, Any])
    except (codec.DecodeError, RecursionError):
        return {}
    return data


def _find_sentence(event: Event, pattern: re.Pattern[str]) -> str:
    for text in _walk_texts(_decode(event)):
        if found := pattern.search(text):
            return _cut_sentence(text, found.start(), found.end())
    return ""


def _walk_texts(value: Any) -> Iterator[str]:
    """Yields every text in a value, the deepest too; no name of a field is one."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += reversed(one.values())
        elif isinstance(one, list):
            waiting += reversed(one)


def _cut_sentence(text: str, start: int, end: int) -> str:
    first, last = max(0, start - _BEFORE), min(len(text), end + _AFTER)
    before = [found.end() for found in _END.finditer(text, first, start)]
    after = _END.search(text, end, last)
    begin, stop = before[-1] if before else first, after.end() if after else last
    head = "…" if not before and first else ""
    tail = "…" if not after and last < len(text) else ""
    return f"{head}{text[begin:stop].strip()}{tail}"
