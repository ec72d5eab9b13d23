"""A session told to a person: who said what, each tool call in one line, the newest of it, bounded."""

from collections import deque
from typing import Literal

import msgspec

from planck.records.events import (
    USER,
    AgentStarted,
    AssistantSaid,
    Checked,
    Envelope,
    ErrorEvent,
    Event,
    Origin,
    PermissionDecision,
    Renamed,
    Rewound,
    ToolEnd,
    ToolStart,
    TurnEnd,
    TurnStatus,
    View,
    view,
)
from planck.records.outcome import ErrorKind
from planck.records.tools import find_row, find_subject
from planck.store.sqlite.reader import SqliteReader
from planck.store.store import StoreError

ENTRIES = 200
TEXT = 2000
"""At most so many entries, and so many characters of each."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    ts: str
    who: str
    how: Literal["said", "did", "noted"]
    text: str


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    entries: tuple[Entry, ...]
    earlier: int
    """How many came before them."""


def tell(store: SqliteReader) -> Transcript:
    """Tells the sound part of a log; of a long one its end."""
    teller, count = _Teller(), 0
    told: deque[Entry] = deque(maxlen=ENTRIES)
    try:
        for event in store.read():
            fact = view(event)
            for entry in teller.tell(event, fact) if fact else ():
                told.append(entry)
                count += 1
    except StoreError:
        pass  # what is wrong is said where the session is described
    for entry in teller.list_open():
        told.append(entry)
        count += 1
    return Transcript(entries=tuple(told), earlier=count - len(told))


class _Teller:
    """Knows the names of the agents, and the calls that have not ended."""

    def __init__(self) -> None:
        self._names = {USER: "you"}
        self._open: dict[str, tuple[Event, str]] = {}
        self._denials = Denials()

    def tell(self, event: Event, fact: View) -> list[Entry]:
        who = self._name(event.agent_id)
        match fact:
            case AgentStarted():
                self._names[fact.agent.id] = fact.agent.name
            case Envelope():
                sender = "planck" if fact.origin is Origin.PLANCK and fact.call_id is None else ""
                sender = "hook" if fact.origin is Origin.HOOK else sender or self._name(fact.sender)
                return [_entry(event, f"{sender} → {self._name(fact.receiver)}", "said", fact.text)]
            case Checked():
                how = "passed" if fact.ok else f"failed with exit code {fact.exit_code}"
                how = how if fact.exit_code is not None else "refused" if fact.refused else "timed out"
                return [_entry(event, "planck", "did", f"check {fact.command}: {how}")]
            case AssistantSaid() if fact.message.text.strip():
                return [_entry(event, who, "said", fact.message.text)]
            case ToolStart():
                did = f"{fact.name} {find_subject(fact.name, fact.args)}".strip()
                self._open[fact.id] = (event, did)
            case ToolEnd():
                _, did = self._open.pop(fact.id, (event, fact.name))
                if denial := self._denials.find(fact):
                    return [_entry(event, who, "did", f"{did}: {describe_denial(denial)}")]
                if not (fact.ok and find_row(fact.name).shown == "message"):
                    return [_entry(event, who, "did", f"{did}: {_describe_end(fact)}")]
            case PermissionDecision():
                self._denials.add(fact)
            case ErrorEvent():
                return [_entry(event, who, "noted", f"{fact.kind}: {fact.message}")]
            case TurnEnd() if fact.status is not TurnStatus.COMPLETED:
                return [_entry(event, who, "noted", f"turn {fact.status.replace('_', ' ')}")]
            case Rewound():
                return [_entry(event, who, "noted", f"rewound to event {fact.to}")]
            case Renamed():
                return [_entry(event, "you", "noted", f"renamed the session to {fact.name}")]
        return []

    def list_open(self) -> list[Entry]:
        return [
            _entry(event, self._name(event.agent_id), "did", f"{did}: did not finish")
            for event, did in self._open.values()
        ]

    def _name(self, id: str | None) -> str:
        return self._names.get(id or "", id or "planck")


class Denials:
    """Which calls were denied, and why: the result of such a call has words for the model alone."""

    def __init__(self) -> None:
        self._by_call: dict[str, PermissionDecision] = {}

    def add(self, fact: PermissionDecision) -> None:
        self._by_call[fact.call_id] = fact

    def find(self, end: ToolEnd) -> PermissionDecision | None:
        fact = self._by_call.pop(end.id, None)
        denied = end.error is not None and end.error.kind == ErrorKind.PERMISSION_DENIED
        return fact if denied and fact and fact.decision == "deny" else None


def describe_denial(fact: PermissionDecision) -> str:
    """Returns for a person why a call was denied, and what they can change."""
    why = f'by you: "{fact.words}"' if fact.by == "user" and fact.words else fact.reason
    return f"denied: {why.rstrip('.')}. {fact.way_out}".rstrip()


def _entry(event: Event, who: str, how: Literal["said", "did", "noted"], text: str) -> Entry:
    text = text.strip()
    if len(text) > TEXT:
        text = f"{text[:TEXT]}… ({len(text) - TEXT:,} more characters)"
    return Entry(seq=event.seq or 0, ts=event.ts, who=who, how=how, text=text)


def _describe_end(fact: ToolEnd) -> str:
    took = f"{fact.duration_ms / 1000:.1f} s" if fact.duration_ms >= 100 else f"{fact.duration_ms} ms"
    if fact.error:
        return f"{fact.error.kind}: {fact.error.message} ({took})"
    if fact.exit_code:
        return f"exit code {fact.exit_code} ({took})"
    return f"{'ok' if fact.ok else 'failed'} ({took})"
