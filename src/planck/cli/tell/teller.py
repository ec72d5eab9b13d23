"""Events of a session in, blocks for a person out; the same for what happens and for what has happened."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from planck.cli.streams import format_error
from planck.cli.tell.block_splitter import BlockSplitter
from planck.cli.tell.blocks import (
    Answer,
    Block,
    Said,
    Told,
    describe_call,
    describe_writing,
    draw_call,
    draw_said,
)
from planck.cli.tell.figures import say_status
from planck.cli.tell.peer_failures import PeerFailures
from planck.cli.tell.styled import Span, make_line
from planck.cli.tell.team_rows import PALETTE
from planck.headless import SessionEvent
from planck.records.amounts import say, say_when
from planck.records.events import FileChanged, view
from planck.records.specs import AgentSpec
from planck.records.visible import fit_line

_KEPT = 50
"""Folded blocks that can still be shown whole."""
_THOUGHT = 4
_ASKED = 3
"""The last lines of what the user said that are shown of a long message."""
_NAME = 32
_NOTE = 1_000
"""Characters of a name, and of what is said of something in passing."""
_EARLIER_ADVICE = "; go on without it, or tell the user to "
_EARLIER_NO = "the user said no"
_EARLIER_NEWS = ("The user changed it: ", "Permission mode ", "the user took ")
"""Of logs from before `permission_decision.by` and `message.user_knows`: how the advice to the
model begins in a denial, a denial by the user, and news of what the user did. They never change."""


class Teller:
    """Follows one session; knows the names of its agents, the calls that are open, and what was folded."""

    def __init__(
        self,
        members: Iterable[AgentSpec],
        *,
        streams: bool = True,
        echoes: bool = False,
        ends: bool = False,
        begins: bool = False,
        seen_diffs: set[str] | None = None,
    ) -> None:
        """`streams`: the orchestrator's text is told as it comes. `echoes`: also what the user said.

        `ends`: also how its turns ended, where no last line of a turn says so. `begins`: also each call that
        begins, and each question, where no live rows and no box show them. `seen_diffs`: the set that whoever
        asks puts calls into.
        """
        self._names: dict[str, str] = {}
        self._models: dict[str, str] = {}
        self._orchestrator = ""
        for spec in members:
            self.meet(spec.id, spec.name, spec.role)
            self._models[spec.id] = spec.model.label
        self._streams = streams
        self._echoes = echoes
        self._ends, self._ends_once = ends, False
        self._begins = begins
        self._advised: set[str] = set()
        """What the user was told to change so that a call is allowed: once."""
        self._failures = PeerFailures()
        self._cut_off = False
        """Whether a turn of the orchestrator's has begun and not ended."""
        self._splitter = BlockSplitter()
        self._streamed = False
        self._thought: list[str] = []
        """What the orchestrator thinks before it speaks or acts."""
        self._mode: tuple[str, str] | None = None
        """What the mode was and is, if that is not told yet: whoever tries several is told of one."""
        self._written: tuple[object, int] = (None, 0)
        """The call of which it was told that it is being written, and how large it was."""
        self._stopped = False
        """Whether the orchestrator's last turn was stopped, and nothing was said since."""
        self._failed: set[str] = set()
        """Members whose error was told: the end of their turn, and the report of it, say it again."""
        self._said: dict[str, str] = {}
        """The newest text of each member, which may be what it sends as its response."""
        self._calls: dict[str, Any] = {}
        """Arguments of the calls that have not ended."""
        self._changed: Counter[str] = Counter()
        """How many files and links."""
        self._before: dict[str, bytes | None] = {}
        """What the files were that open calls have changed."""
        self._refused: dict[str, str] = {}
        """By call: what its end says of the user's no."""
        self.seen_diffs: set[str] = set() if seen_diffs is None else seen_diffs
        """Calls whose whole diff was on the screen when they were approved: it is not drawn again."""
        self.folded: deque[Told | Said] = deque(maxlen=_KEPT)
        """The newest last."""
        self.answered: bool = False
        """Whether the orchestrator's newest text was told already."""

    def tell(self, event: SessionEvent) -> list[Block]:
        handler = _HANDLERS.get(event.type)
        blocks = handler(self, event, event.data) if handler else []
        if blocks and self._mode:
            (before, mode), self._mode = self._mode, None
            blocks.insert(0, self._note(None, f"Mode: {before} → {mode}"))
        self.folded.extend(block for block in blocks if not isinstance(block, Answer) and block.rest)
        return blocks

    def meet(self, id: str, name: str, role: str) -> None:
        """Learns the name of an agent."""
        self._names.setdefault(id, name)
        if role == "orchestrator":
            self._orchestrator = id

    def go_on_from(self, past: "Teller") -> None:
        """Takes over what had not ended when the past did: whoever opens a session records the end of it."""
        self._calls |= past._calls
        self._ends_once = past._cut_off

    def rest(self) -> list[Block]:
        """What was said and is not told yet, whole or not."""
        rest = self._splitter.rest()
        self.answered = self.answered or bool(rest)
        return [*rest]

    @property
    def being_written(self) -> str:
        """The end of what the orchestrator says or thinks and has not finished."""
        return self._splitter.open or "".join(self._thought[-50:])

    def name(self, id: str | None) -> str:
        return fit_line(self._names.get(id or "", id or ""), _NAME)

    def style(self, id: str | None) -> str:
        known = list(self._names)
        return PALETTE[known.index(id) % len(PALETTE)] if id in known else ""

    def _start_agent(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        agent = data["agent"]
        self.meet(agent["id"], agent["name"], agent["role"])
        return [self._note(agent["id"], "joined")] if agent["id"] != self._orchestrator else []

    def _end_agent(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        return [self._note(event.agent_id, f"ended: {data['reason']}")]

    def _start_turn(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        """What was said before a turn was stopped begins the next: that the first was, nobody else says."""
        if event.agent_id != self._orchestrator:
            self._failed.discard(event.agent_id or "")
            return []
        self._cut_off = True
        if not self._stopped:
            return []
        self._stopped = False
        return [self._note(event.agent_id, "interrupted; continuing with the messages sent since")]

    def _stop(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        """Between two turns: what would have begun the next is stopped with the one before."""
        if data["target"] == self._orchestrator:
            self._stopped = False
        return []

    def _end_turn(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        blocks: list[Block] = []
        status = say_status(str(data["status"]))
        if event.agent_id == self._orchestrator:
            blocks, self._stopped, self._cut_off = self.rest(), status == "interrupted", False
            ends, self._ends_once = self._ends or self._ends_once, False
            if status == "interrupted" and ends:
                blocks.append(self._note(event.agent_id, status, "yellow"))
            if not (ends or self._begins):  # how it ended stands in the last line of the turn or run
                return blocks
        if event.agent_id in self._failed:
            return blocks
        if status not in ("completed", "interrupted"):  # an interrupted worker is told of by its report
            blocks.append(self._note(event.agent_id, status, "red"))
        return blocks

    def _think(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        if event.agent_id == self._orchestrator:
            self._thought.append(data["text"])
        return []

    def _stream_text(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        if event.agent_id != self._orchestrator or not self._streams:
            return []
        blocks = self._end_thought() if self._thought else []
        self._streamed = True
        whole = self._splitter.feed(data["text"])
        self.answered = self.answered or bool(whole)
        return [*blocks, *whole]

    def _end_thought(self, recorded: str = "") -> list[Block]:
        text = "".join(self._thought) or recorded
        self._thought.clear()
        if not text.strip():
            return []
        return [draw_said([*self._prefix(self._orchestrator), ("✻ ", "dim")], text, "dim", _THOUGHT)]

    def _say(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        parts = data["message"]["parts"]
        text = "".join(part["text"] for part in parts if part["type"] == "text")
        calls = any(part["type"] == "tool_call" for part in parts)
        thought = "\n".join(part.get("text", "") for part in parts if part["type"] == "thinking")
        if event.agent_id != self._orchestrator:
            self._said[event.agent_id or ""] = text.strip()
            return [Said(tuple(self._prefix(event.agent_id)), text)] if text.strip() else []
        streamed, self._streamed = self._streamed, False
        # Where text was streamed, the thought before it was told before it.
        blocks = self._end_thought("" if streamed else thought)
        if streamed:
            blocks += self.rest()
        elif self._streams and text.strip():
            blocks.append(Answer(text))
            self.answered = True
        elif text.strip() and calls:
            blocks.append(draw_said(self._prefix(event.agent_id), text))
        if calls:
            self.answered = False
        return blocks

    def _tell_status(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        if data.get("state") == "discarded":  # a cut attempt is tried again: what was shown of it is void
            self._splitter.rest()
            self._thought.clear()
            self._streamed = False
        if data.get("state") == "working":
            return self._tell_working(event, data)
        failed = self._failures.describe(data)
        if failed is not None:
            return [self._note(event.agent_id, failed, "yellow")] if failed else []
        detail = str(data.get("detail") or "")
        # What happens to a request to the model is a sentence; of the others the state says what happened.
        keys = (
            ("component",) if detail and data.get("component") == "model" else ("component", "name", "state")
        )
        words = " ".join(str(data[key]).replace("_", " ") for key in keys if data.get(key))
        return [self._note(event.agent_id, f"{words}: {detail}" if detail else words)]

    def _tell_working(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        """A sign of life where nothing moves; of a call that is written, each time its size has doubled."""
        if self._echoes or self._begins:
            return []
        words, size = describe_writing(data), data.get("size", 0)
        key, told = (event.agent_id, data.get("name"), data.get("subject", "")), self._written
        self._written = (key, size)
        if not words:
            return [self._note(event.agent_id, "model: still writing")]
        if told[0] == key and told[1] <= size < 2 * told[1]:
            self._written = told
            return []
        return [self._note(event.agent_id, words)]

    def _start_call(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        self._calls[data["id"]] = data["args"]
        blocks = self.rest() if event.agent_id == self._orchestrator else []
        if self._begins:
            head = (
                *self._prefix(event.agent_id),
                ("● ", "dim"),
                (describe_call(data["name"], data["args"]), ""),
            )
            blocks.append(Told((head,)))
        return blocks

    def _ask(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        if not self._begins:
            return []
        asked = f"asks to use {data['tool']}: {fit_line(data['text'], _NOTE)}"
        return [self._note(event.agent_id, asked, "yellow bold")]

    def _resume(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        return [self._note(None, "Session resumed")] if self._begins else []

    def _open_view(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        notice = data.get("notice") or "works in its own view of the workspace"
        return [self._note(event.agent_id, notice)]

    def _drop_view(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        said = _DROPPED.get(data["why"], f"its own view was removed: {data['why']}")
        return [self._note(event.agent_id, said)] if said else []

    def _propose_landing(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        return [self._note(event.agent_id, f"lands its changes: {_name_paths(data['paths'])}")]

    def _finish_landing(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        count = data["paths"]
        where = f"on the branch {data['branch']}" if data.get("branch") else "in the workspace"
        return [self._note(event.agent_id, f"landed {count} {'name' if count == 1 else 'names'} {where}")]

    def _refuse_landing(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        why = _REFUSED.get(data["why"], data["why"])
        paths = [one["path"] for one in data.get("conflicts", ())]
        return [self._note(event.agent_id, f"did not land: {why}{': ' * bool(paths)}{_name_paths(paths)}")]

    def _skip_landing(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        return [self._note(event.agent_id, f"left {data['path']} alone: {data['why']}")]

    def _change_file(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        fact = view(event.recorded)
        if isinstance(fact, FileChanged) and fact.call_id in self._calls:
            self._before.setdefault(fact.call_id, fact.before)
            if "folder" not in (fact.was, fact.becomes):
                self._changed[fact.call_id] += 1
        return []

    def _end_call(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        id = data["id"]
        args, before = self._calls.pop(id, None), self._before.pop(id, None)
        changed = self._changed.pop(id, 0)
        refused, seen = self._refused.pop(id, ""), id in self.seen_diffs
        self.seen_diffs.discard(id)
        return [
            draw_call(
                self._prefix(event.agent_id), args, data, before, refused=refused, seen=seen, changed=changed
            )
        ]

    def _tell_message(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        self._stopped = False
        if data["from"] == "user" or data["kind"] == "prompt":
            return self._echo(data) if self._echoes else []
        if data.get("origin") == "planck" and data["from"] in self._failed:
            return []
        runtime = data.get("origin") == "planck" and data.get("outcome")
        sender: list[Span] = (
            [("planck ", "bold"), (f"about {self.name(data['from'])} ", self.style(data["from"]))]
            if runtime
            else self._prefix(data["from"], always=True)
        )
        prefix = (
            *sender,
            (f"→ {self.name(data['to'])} ", self.style(data["to"])),
            (f"{data['kind']}: ", "dim"),
        )
        if data["kind"] == "response" and data["text"].strip() == self._said.get(data["from"]):
            same = Told(((*prefix, ("same as the message above", "dim")),), wraps=True)
            return [same, *self._judge_claims(data)]
        return [Said(prefix, data["text"]), *self._judge_claims(data)]

    def _judge_claims(self, data: dict[str, Any]) -> list[Block]:
        """What the log says of each claim that is not so."""
        return [
            self._note(data["from"], f'! claim "{claim["text"]}": {claim["verdict"]} by the log', "yellow")
            for claim in data.get("claims") or ()
            if claim["verdict"] != "proven"
        ]

    def _tell_check(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        mark, how = ("✓", "passed") if data["ok"] else ("✗", f"exit code {data['exit_code']}")
        if data["exit_code"] is None:
            how = "not run" if data.get("refused") else "did not end in time"
        why = f": {data['output']}" if data.get("refused") else ""
        text = f"{mark} check {data['command']} · {how}{why}"
        return [self._note(event.agent_id, text, "" if data["ok"] else "yellow")]

    def _echo(self, data: dict[str, Any]) -> list[Block]:
        text = data.get("typed") or data["text"]
        if data.get("origin") == "planck" and data["kind"] == "response":  # news: said to each, told once
            told = text.removeprefix("[planck: ").removesuffix("]")
            if data.get("user_knows") or told.startswith(_EARLIER_NEWS) or not self._is_lead(data["to"]):
                return []
            return [self._note(None, f"Message to the agents: {told}")]
        whose = {"planck": "planck", "hook": "hook"}.get(data.get("origin") or "user", "")
        to = "" if self._is_lead(data["to"]) else f"@{self.name(data['to'])} "
        prefix: list[Span] = [
            ("> ", "bold"),
            (f"{whose}: " if whose else "", "dim"),
            (to, self.style(data["to"])),
        ]
        # What is asked stands before what was pasted, or behind it.
        said = draw_said(prefix, text, "dim" if whose else "bold", ends=0 if whose else _ASKED)
        return [msgspec.structs.replace(said, lines=((("", ""),), *said.lines))]

    def _is_lead(self, id: str) -> bool:
        return id in ("", self._orchestrator)

    def _decide(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        if data["decision"] != "deny":
            return []
        why, advice = f"denied{_say_why(data)}", data.get("way_out", "")
        if not advice and data["call_id"] in self._calls:
            self._refused[data["call_id"]] = fit_line(why, _NOTE)
            return []
        denied = f"{data['tool']} {why}"
        if advice and advice not in self._advised:
            denied = f"{denied.rstrip('.')}. {advice}"
        self._advised.add(advice)
        return [self._note(event.agent_id, denied, "yellow")]

    def _fail(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        if event.agent_id == self._orchestrator and not self._ends:  # told at the turn's end, in one line
            return []
        if event.agent_id and event.agent_id != self._orchestrator:
            self._failed.add(event.agent_id)
        return [self._note(event.agent_id, format_error(data["kind"], data["message"]), "red")]

    def _tell_budget(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        """Only what becomes scarce: what each answer cost is no line of its own."""
        if data.get("why") == "last_step":
            last = "! budget: almost used up. The agent gets one last response, without tools, to report."
            return [self._note(event.agent_id, last, "yellow")]
        if data.get("why") != "notice" or not data.get("limit"):
            return []
        account, limit, spent = data.get("account", ""), data.get("limit", {}), data.get("spent", {})
        whole = f"the {account}" if account in ("run", "session") else f"{self.name(event.agent_id)}'s task"
        who = self.name(account) if account in self._names else whole
        unit = max(limit, key=lambda one: spent.get(one, 0) / (limit[one] or 1))
        stops = data.get("stops_in_s")
        when = f"; at this rate it stops {say_when(stops)}" if stops else ""
        amount = spent.get(unit, 0)
        share = f"{100 * amount / (limit[unit] or 1):.0f}%"
        used = f"! budget: {who} has used {share} of {say(unit, limit[unit])} ({say(unit, amount)})"
        return [self._note(None, used + when, "yellow")]

    def _compact(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        before, after = data["tokens_before"], data["tokens_after"]
        shorter = f"Compacted: {before:,} → {after:,} tokens. The full history stays in the log."
        return [self._note(event.agent_id, shorter)]

    def _change_mode(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        before = self._mode[0] if self._mode else data["before"]
        if not self._echoes:
            return [self._note(None, f"Mode: {before} → {data['mode']}")]
        self._mode = (before, data["mode"]) if before != data["mode"] else None
        return []  # the footer says it; what comes next stands below it

    def _change_model(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        model = data["model"]
        label = model.get("id") or f"{model['provider']}/{model['model']}"
        before, self._models[event.agent_id or ""] = self._models.get(event.agent_id or ""), label
        return [self._note(event.agent_id, f"switched to {label}")] if label != before else []

    def _rewind(self, event: SessionEvent, data: dict[str, Any]) -> list[Block]:
        if event.agent_id != self._orchestrator:
            return []
        return [self._note(None, f"Rewound to event {data['to']}. Later events stay in the log.")]

    def _note(self, id: str | None, text: str, style: str = "dim") -> Told:
        line = (*self._prefix(id), *make_line(fit_line(text, _NOTE), style))
        return Told((line,), wraps=True)

    def _prefix(self, id: str | None, *, always: bool = False) -> list[Span]:
        """The agent's name in its colour, once there is more than one."""
        if not id or (not always and len(self._names) < 2):
            return [("  ", "")]
        return [(f"{self.name(id)} ", self.style(id))]


def _say_why(denied: dict[str, Any]) -> str:
    """Why a call was denied, for the person who can do something about it, or has denied it."""
    reason, by = str(denied["reason"]), denied.get("by", "")
    if by == "user":
        words = denied.get("words", "")
        return f" by you: {words}" if words else " by you"
    if by:
        return f": {reason}"
    cause, _, remedy = reason.removeprefix(f"{denied['tool']!r} is not permitted: ").partition(
        _EARLIER_ADVICE
    )
    if cause.startswith(_EARLIER_NO):
        return f" by you{cause.removeprefix(_EARLIER_NO)}"
    return f": {cause}; {remedy}" if remedy else f": {cause}"


def _name_paths(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
    return ", ".join(paths[:_MOST_PATHS]) + more


_MOST_PATHS = 5
_REFUSED = {
    "conflict": "it conflicts with the workspace",
    "check": "a check failed",
    "limit": "it is too large",
    "another_landed": "another attempt landed",
}
_DROPPED = {
    "landed": "",
    "dropped": "its own view was removed, with the changes in it",
    "unchanged": "",
    "lost": "its own view is lost, with the changes in it: its folder is gone",
}
"""Why a view went, in words; an empty text: nothing worth a line."""

_HANDLERS = {
    "agent_started": Teller._start_agent,
    "agent_ended": Teller._end_agent,
    "control": Teller._stop,
    "turn_start": Teller._start_turn,
    "turn_end": Teller._end_turn,
    "thinking_delta": Teller._think,
    "text_delta": Teller._stream_text,
    "assistant_message": Teller._say,
    "status": Teller._tell_status,
    "tool_start": Teller._start_call,
    "tool_end": Teller._end_call,
    "file_changed": Teller._change_file,
    "message": Teller._tell_message,
    "permission_request": Teller._ask,
    "permission_decision": Teller._decide,
    "session_resumed": Teller._resume,
    "error": Teller._fail,
    "compacted": Teller._compact,
    "budget": Teller._tell_budget,
    "checked": Teller._tell_check,
    "view_opened": Teller._open_view,
    "view_dropped": Teller._drop_view,
    "landing_proposed": Teller._propose_landing,
    "landing_finished": Teller._finish_landing,
    "landing_refused": Teller._refuse_landing,
    "landing_skipped": Teller._skip_landing,
    "mode_changed": Teller._change_mode,
    "model_changed": Teller._change_model,
    "rewound": Teller._rewind,
}
