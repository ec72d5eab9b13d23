"""Every frontend says why a call was denied and what the user can change; the page takes any log."""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, cast, get_args

import msgspec
import pytest

from planck.acp_agent.narrator import Narrator, Offers
from planck.archive import transcript
from planck.archive.markdown import render_page
from planck.cli.tell.blocks import Told
from planck.cli.tell.styled import as_text
from planck.cli.tell.teller import Teller
from planck.headless import SessionEvent
from planck.records import codec
from planck.records.events import DeniedBy, Event
from planck.records.specs import AgentSpec, ModelSpec
from planck.session.result import RunTally
from planck.store.sqlite.reader import SqliteReader
from planck.store.store import Log
from tests.web.sources import NODE, run_on_page

LEAD = AgentSpec("a1", "lead", "lead", "orchestrator", ModelSpec("local", "m"))
WORDS = "use b"
ODD: tuple[Any, ...] = (None, 0, 7, -1.5, True, False, "", "text", [], ["a"], {}, {"a": 1}, {"toString": 1})
"""Every kind of JSON, and an object that `String()` throws at."""
FIELDS = ("call_id", "tool", "decision", "reason", "request_id", "scope", "request", "by", "words", "way_out")


def deny(by: str, /, **changed: Any) -> list[Event]:
    """One call that was denied, as its log has it; the reason and the way out tell which."""
    decision = {
        "call_id": "c1",
        "tool": "write",
        "decision": "deny",
        "reason": f"reason {by}.",
        "by": by,
        "words": WORDS if by == "user" else "",
        "way_out": f"Change what {by or 'nothing'} forbids.",
        **changed,
    }
    error = {"kind": "permission_denied", "message": "for the model", "details": {}}
    end = {"id": "c1", "name": "write", "ok": False, "output": "for the model", "duration_ms": 0}
    facts: tuple[tuple[str, dict[str, Any]], ...] = (
        ("agent_started", {"agent": msgspec.to_builtins(LEAD)}),
        ("tool_start", {"id": "c1", "name": "write", "args": {"path": "a"}}),
        ("permission_decision", decision),
        ("tool_end", {**end, "error": error}),
    )
    ts = "2026-11-16T10:00:00.000Z"
    return [
        Event(seq, ts, "a1", 1, type, msgspec.Raw(codec.encode(data)))
        for seq, (type, data) in enumerate(facts, 1)
    ]


def tell_terminal(events: list[Event], **how: Any) -> str:
    teller = Teller([LEAD], **how)
    blocks = [block for one in events for block in teller.tell(SessionEvent(one, "s1"))]
    return "\n".join(as_text(line) for block in blocks if isinstance(block, Told) for line in block.lines)


def tell_editor(events: list[Event]) -> str:
    narrator = Narrator("s1", "/w", Offers())
    told = [update for event in events for _, update in narrator.tell(event)]
    return "".join(str(getattr(update, "content", "")) for update in told)


def tell_result(events: list[Event]) -> str:
    tally = RunTally("a1")
    for event in events:
        tally.add(event)
    result = tally.summarise(names={"a1": "lead"}, session_id="s1", session_name="s")
    return codec.encode_str(result.denials)


def tell_stream(events: list[Event]) -> str:
    """As `--output-format stream-json` and every stream over HTTP have it."""
    (frame,) = (SessionEvent(one, "s1").frame() for one in events if one.type == "permission_decision")
    return frame.decode()


class Written:
    """A log that has these events."""

    meta: Mapping[str, str] = {"id": "s1", "name": "s", "workspace": "/w"}

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def read(self, after: int = 0) -> Iterator[Event]:
        return iter(self._events)


def tell_export(events: list[Event]) -> str:
    return "".join(render_page(cast(Log, Written(events))))


def tell_transcript(events: list[Event]) -> str:
    told = transcript.tell(cast(SqliteReader, Written(events)))
    return "\n".join(entry.text for entry in told.entries)


FRONTENDS: dict[str, Callable[[list[Event]], str]] = {
    "terminal": tell_terminal,
    "lines": lambda events: tell_terminal(events, begins=True, streams=False),
    "resumed": lambda events: tell_terminal(events, echoes=True, ends=True),
    "editor": tell_editor,
    "export": tell_export,
    "transcript": tell_transcript,
    "result": tell_result,
    "stream": tell_stream,
}


def list_told(by: str) -> Iterator[str]:
    """Returns what has to be said of a denial."""
    yield f"Change what {by or 'nothing'} forbids."
    yield WORDS if by == "user" else f"reason {by}"


@pytest.mark.parametrize("by", get_args(DeniedBy))
@pytest.mark.parametrize("frontend", FRONTENDS)
def test_a_frontend_says_the_reason_and_the_way_out_of_the_decision(frontend: str, by: str) -> None:
    told = FRONTENDS[frontend](deny(by))
    words = [one for one in list_told(by) if frontend != "editor" or one != WORDS]
    assert [one for one in words if one not in told] == []
    if frontend not in ("result", "stream"):
        assert "for the model" not in told
        assert ".." not in told


@pytest.mark.parametrize("frontend", FRONTENDS)
def test_a_decision_of_an_earlier_version_has_no_way_out_and_is_told(frontend: str) -> None:
    assert "reason mode" in FRONTENDS[frontend](deny("mode", way_out=""))


_SCRIPT = """
import {readFileSync} from 'node:fs';
import {buildBlocks, findWhy} from './parts/blocks.js';
import {emptyBoard, reduce} from './reducer.js';
import {sayDenied} from './views/conversation.js';
const told = JSON.parse(readFileSync(0, 'utf8')).map((events) => {
  events.reduce(reduce, emptyBoard());
  const blocks = [events, events.filter(({type}) => type === 'permission_decision')].map(buildBlocks);
  const [call] = blocks[0].filter(({kind}) => kind === 'call');
  const asked = call.asked || {decision: '', scope: ''};
  return {said: sayDenied(asked.why), kinds: [typeof asked.decision, typeof asked.scope ?? ''],
    alone: blocks[1].map(({data}) => sayDenied(findWhy(data)))};
});
console.log(JSON.stringify(told));
"""


def show_on_page(page: Path, logs: list[list[Event]]) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = run_on_page(page, _SCRIPT, logs)
    return told


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_page_says_the_reason_and_the_way_out_of_the_decision(page: Path) -> None:
    ways = get_args(DeniedBy)
    for by, told in zip(ways, show_on_page(page, [deny(by) for by in ways]), strict=True):
        way_out, why = list_told(by)
        assert told["said"] == f"denied: {why}. {way_out}"
        assert told["alone"] == [told["said"]]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_page_takes_anything_in_the_fields_of_a_decision(page: Path) -> None:
    """Each field with every kind of JSON, and two odd fields at once; denied by the user and by the mode."""
    cases = [{name: odd} for name in FIELDS for odd in ODD]
    cases += [{one: odd, other: odd} for one, other in pairwise(FIELDS) for odd in ODD]
    logs = [deny(by, **case) for by in ("user", "mode") for case in cases]
    for told in show_on_page(page, logs):
        assert told["kinds"] == ["string", "string"]
        assert all(isinstance(one, str) for one in [told["said"], *told["alone"]])


FIELDS_OF = {
    "message": ("kind", "from", "to", "text", "images", "origin"),
    "assistant_message": ("message",),
    "tool_start": ("id", "name", "args"),
    "tool_end": ("id", "name", "ok", "output", "exit_code", "duration_ms", "error", "notice"),
    "permission_request": ("call_id", "tool", "deadline"),
    "wait": ("on", "deadline", "message_id"),
    "usage": ("usage", "cost_usd"),
    "turn_end": ("status",),
    "rewound": ("to",),
}
_DRAWN = """
import {readFileSync} from 'node:fs';
import {buildBlocks} from './parts/blocks.js';
import {traceLanes} from './parts/trace.js';
const logs = JSON.parse(readFileSync(0, 'utf8'));
const drawn = logs.map((events) => [buildBlocks(events).length, traceLanes(events).lanes.size]);
console.log(JSON.stringify(drawn));
"""


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_conversation_and_the_lanes_take_anything_in_the_fields_of_an_event(page: Path) -> None:
    logs = []
    for type, fields in FIELDS_OF.items():
        for field in fields:
            for odd in ODD:
                log = deny("mode")
                usage = {"input_tokens": odd, "output_tokens": odd}
                parts = {"parts": [{"type": "text", "text": odd}, odd]}
                data = {"id": "c1", "call_id": "c1", "usage": usage, "message": parts, field: odd}
                log.insert(
                    2, msgspec.structs.replace(log[1], type=type, data=msgspec.Raw(codec.encode(data)))
                )
                log.insert(1, msgspec.structs.replace(log[1], type="turn_start", data=msgspec.Raw(b"{}")))
                logs.append(log)
    assert all(blocks and lanes for blocks, lanes in run_on_page(page, _DRAWN, logs))
