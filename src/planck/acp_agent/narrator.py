"""Events of a session become updates for an editor; nothing is sent here, and the log is all that it knows.

A worker's work is a session of its own where the client offers `subagents`; else its calls stand among the
orchestrator's, titled with its name, and its words stand in the card of the call that it works for.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from planck.acp.schema import (
    AgentMessageChunk,
    AgentState,
    AgentThoughtChunk,
    CompactionUpdate,
    Content,
    Cost,
    Diff,
    ImageContent,
    NoticeUpdate,
    PlanEntries,
    PlanEntry,
    Record,
    SessionInfoUpdate,
    SessionMessage,
    SubagentSession,
    SubagentUpdate,
    TextContent,
    ToolCallStarted,
    ToolCallUpdate,
    UsageUpdate,
    UserMessageChunk,
)
from planck.acp_agent.calls import (
    find_locations,
    make_absolute,
    make_diff,
    make_title,
    read_arguments,
    read_diff,
    show_text,
)
from planck.headless import LiveText
from planck.records import codec
from planck.records import events as facts
from planck.records.events import Event, view
from planck.records.messages import Text, Thinking, ToolCall
from planck.records.specs import AgentSpec
from planck.records.tools import COMMAND_TOOLS, PLAN, find_row
from planck.records.usage import Figures, count_call

Told = Iterator[tuple[str, Record]]
"""By session: the root's, or a worker's."""

_TAIL = 8 << 10
"""Characters of a running call's output: each update repeats them."""
_OUTPUT = 64 << 10
_MOST_DIFFS = 50
"""Of one command: an editor opens each."""
_STATES = {"todo": "pending", "doing": "in_progress", "done": "completed"}
_WORKED = frozenset({"ask_agent", "delegate_task"})
"""Calls that others work for; what those say stands in the card."""
_QUIET = frozenset({"working"})
"""States that say only that something moves."""


class Offers(msgspec.Struct, frozen=True):
    """What the client can show beyond the rest."""

    subagents: bool = False
    notices: bool = False
    compaction: bool = False


class _Voice:
    """What one agent is saying: the answer that is not recorded yet."""

    def __init__(self) -> None:
        self.messages = 0
        self.streamed = False
        self.thought = False


class _Call(msgspec.Struct):
    agent: str
    tool: str
    args: object
    progress: str = ""
    diff: Diff | None = None
    diffs: list[Diff] = []
    """Of the files that a command changed, as far as an editor can show them."""
    task: str = ""
    """The id of the task that it gave; the card is open until the report."""
    report: str | None = None
    ended: bool = False
    """The tool is done; what is open is its task."""
    silent: bool = False
    """A plan is shown as one, so its call has no card."""
    denied: str = ""
    """Why it was denied and what the user can change about it; the output says what the model should do."""


class Narrator:
    def __init__(self, root: str, workspace: str, offers: Offers) -> None:
        self.orchestrator: AgentSpec | None = None
        self.replays = True
        """Whether what is told happened before: the client has not shown what the user said then."""
        self.team: str = ""
        """As it was named when the session began."""
        self._root = root
        self._workspace = workspace
        self._offers = offers
        self._spent = Figures()
        self._agents: dict[str, AgentSpec] = {}
        self._causes: dict[str, str] = {}
        """By agent: the call of another that it works for."""
        self._tasks: dict[str, str] = {}
        """By the id of a task without a report: the call that gave it."""
        self._turns: dict[str, int] = {}
        self._voices: dict[str, _Voice] = {}
        self._calls: dict[str, _Call] = {}
        self._compactions = 0
        self._compacting: dict[str, str] = {}
        """By agent: the id of what is under way."""
        self._used: int | None = None
        self._budget: dict[str, Any] | None = None
        self._owes_usage = False

    def tell(self, event: Event) -> Told:
        """Yields what the client is shown of an event, each with the session that it belongs to."""
        fact = view(event)
        if self._owes_usage and not isinstance(fact, facts.BudgetSpent):
            yield from self._tell_usage()
        if fact is not None and (tell := _TELLS.get(type(fact))):
            yield from tell(self, event, fact)

    def find_session(self, agent_id: str | None) -> str:
        worker = agent_id and agent_id in self._agents and not self._leads(agent_id)
        return f"{self._root}:{agent_id}" if worker and self._offers.subagents else self._root

    def name_worker(self, agent_id: str | None) -> str:
        """Empty for the orchestrator."""
        spec = self._agents.get(agent_id or "")
        return spec.name if spec and not self._leads(spec.id) else ""

    def find_call(self, call_id: str) -> tuple[str, object] | None:
        """Returns the tool and the arguments of a call that is not over."""
        call = self._calls.get(call_id)
        return (call.tool, call.args) if call else None

    def describe(self, agent_id: str | None) -> dict[str, Any] | None:
        if not agent_id or self._leads(agent_id):
            return None
        about = {"agent_id": agent_id, "agent": self.name_worker(agent_id)}
        if cause := self._causes.get(agent_id):
            about["parent_call_id"] = cause
        return {"planck": about}

    def tell_live(self, said: Mapping[str, LiveText]) -> Told:
        """Yields what agents are saying at this moment, for a client that comes into the middle of it."""
        for agent_id, live in said.items():
            pieces: dict[str, str] = {
                facts.ThinkingDelta.type: live.thinking,
                facts.TextDelta.type: live.text,
            }
            for type_, text in pieces.items():
                if text:
                    data = msgspec.Raw(codec.encode({"text": text}))
                    yield from self.tell(Event(None, "", agent_id, self._turns.get(agent_id, 0), type_, data))

    def lose_deltas(self) -> None:
        """Some of what was being said is lost: its whole follows, as a message of its own."""
        for voice in self._voices.values():
            voice.messages += 1
            voice.streamed = voice.thought = False

    def _leads(self, agent_id: str) -> bool:
        return self.orchestrator is not None and agent_id == self.orchestrator.id

    def _is_shown(self, agent_id: str | None) -> bool:
        """Returns whether an agent's own words have a place."""
        return bool(agent_id) and (self._leads(agent_id or "") or self._offers.subagents)

    def _voice(self, event: Event) -> _Voice:
        return self._voices.setdefault(event.agent_id or "", _Voice())

    def _name_message(self, event: Event) -> str:
        return f"{event.agent_id}-{event.turn}-{self._voice(event).messages}"

    def announce_workers(self) -> Told:
        """For a client that knows nothing of them yet."""
        for spec in self._agents.values():
            yield from self._announce_worker(spec)

    def _start_session(self, event: Event, fact: facts.SessionStarted) -> Told:
        self.team = fact.team
        yield from ()

    def _start_agent(self, event: Event, fact: facts.AgentStarted) -> Told:
        self._agents[fact.agent.id] = fact.agent
        if fact.agent.role == "orchestrator":
            self.orchestrator = fact.agent
        yield from self._announce_worker(fact.agent)

    def _announce_worker(self, spec: AgentSpec) -> Told:
        if self._leads(spec.id) or not self._offers.subagents:
            return
        yield (
            self.find_session(spec.delegator_id),
            SubagentUpdate(
                session_id=self.find_session(spec.id),
                title=spec.name,
                description=spec.description or spec.type,
                capabilities=SubagentSession(cancel={}),
                state=AgentState(state="idle"),
            ),
        )

    def _take_message(self, event: Event, fact: facts.Envelope) -> Told:
        asks = fact.kind in (facts.Kind.ASK, facts.Kind.TASK)
        if asks and fact.call_id and fact.receiver in self._agents:
            self._causes[fact.receiver] = fact.call_id
        if fact.kind is facts.Kind.TASK and fact.call_id and (call := self._calls.get(fact.call_id)):
            self._tasks[fact.id] = fact.call_id
            call.task = fact.id
        if fact.kind is facts.Kind.RESPONSE and fact.correlation_id in self._tasks:
            yield from self._end_task(fact.correlation_id or "", fact.text)
        if fact.sender == facts.USER:
            own = fact.origin in (None, facts.Origin.USER)
            if own and self.replays and self._is_shown(fact.receiver):
                yield from self._repeat_user(fact)
            return
        if not self._offers.subagents:
            return
        ends = {self.find_session(fact.sender): "-out", self.find_session(fact.receiver): "-in"}
        for where, side in ends.items():
            yield (
                where,
                SessionMessage(
                    message_id=fact.id + side,
                    sender_session_id=self.find_session(fact.sender),
                    recipient_session_id=self.find_session(fact.receiver),
                    content=(TextContent(text=fact.text),),
                ),
            )

    def _deliver(self, event: Event, fact: facts.Delivery) -> Told:
        """A task that nobody will answer any more: its card must not stay open."""
        if fact.state != "delivered":
            for id in fact.ids:
                yield from self._end_task(id, None)

    def _end_task(self, task: str, report: str | None) -> Told:
        id = self._tasks.pop(task, "")
        call = self._calls.get(id)
        if call is None:
            return
        call.task, call.report = "", report
        if not call.ended:
            return  # the report was quicker than the end of the call that asked for it
        text = report if report is not None else "The task was not finished."
        status = "failed" if report is None else "completed"
        raw = {"output": text[:_OUTPUT], "ok": report is not None}
        content = self._show_work(call, text)
        yield self._where(id), self._update(id, status=status, content=content, raw_output=raw)
        del self._calls[id]

    def _show_work(self, call: _Call, text: str) -> tuple[Content, ...]:
        """What a worker said on the way, where there is more than its answer, then the answer."""
        said = call.progress.removesuffix(text).rstrip()
        return tuple(show_text(part[:_OUTPUT]) for part in (said, text) if part)

    def _repeat_user(self, fact: facts.Envelope) -> Told:
        where = self.find_session(fact.receiver)
        pictures = fact.images if isinstance(fact.images, tuple) else ()
        if fact.text or not pictures:
            yield where, UserMessageChunk(content=TextContent(text=fact.text), message_id=fact.id)
        for picture in pictures:
            image = ImageContent(data=picture.data, mime_type=picture.media_type)
            yield where, UserMessageChunk(content=image, message_id=fact.id)

    def _start_turn(self, event: Event, fact: facts.TurnStart) -> Told:
        self._turns[event.agent_id or ""] = event.turn
        yield from self.drop_compaction(event.agent_id, "cancelled")
        yield from self._tell_state(event, AgentState(state="running"))

    def _end_turn(self, event: Event, fact: facts.TurnEnd) -> Told:
        self._voices.pop(event.agent_id or "", None)
        yield from self.drop_compaction(
            event.agent_id, "cancelled" if fact.status == "interrupted" else "failed"
        )
        reasons = {"completed": "end_turn", "capped": "max_turn_requests", "interrupted": "cancelled"}
        yield from self._tell_state(event, AgentState("idle", reasons.get(fact.status)))

    def _tell_state(self, event: Event, state: AgentState) -> Told:
        spec = self._agents.get(event.agent_id or "")
        if spec and self.name_worker(spec.id) and self._offers.subagents:
            parent = self.find_session(spec.delegator_id)
            yield parent, SubagentUpdate(session_id=self.find_session(spec.id), state=state)

    def _stream_text(self, event: Event, fact: facts.TextDelta) -> Told:
        if self._is_shown(event.agent_id):
            self._voice(event).streamed = True
            content = TextContent(text=fact.text)
            where = self.find_session(event.agent_id)
            yield where, AgentMessageChunk(content=content, message_id=self._name_message(event))

    def _stream_thought(self, event: Event, fact: facts.ThinkingDelta) -> Told:
        if self._is_shown(event.agent_id):
            self._voice(event).thought = True
            content = TextContent(text=fact.text)
            where = self.find_session(event.agent_id)
            yield where, AgentThoughtChunk(content=content, message_id=f"{self._name_message(event)}-thought")

    def _say(self, event: Event, fact: facts.AssistantSaid) -> Told:
        """What was streamed is not said again; the calls that it asks for are announced."""
        voice, where = self._voice(event), self.find_session(event.agent_id)
        id = self._name_message(event)
        if self._is_shown(event.agent_id):
            thought = "\n".join(part.text for part in fact.message.parts if isinstance(part, Thinking))
            if thought and not voice.thought:
                yield where, AgentThoughtChunk(content=TextContent(text=thought), message_id=f"{id}-thought")
            text = "".join(part.text for part in fact.message.parts if isinstance(part, Text))
            if text and not voice.streamed:
                yield where, AgentMessageChunk(content=TextContent(text=text), message_id=id)
        elif fact.message.text and (cause := self._causes.get(event.agent_id or "")):
            yield from self._quote(cause, fact.message.text)
        voice.messages, voice.streamed, voice.thought = (event.seq or 0), False, False
        for part in fact.message.parts:
            if isinstance(part, ToolCall):
                yield from self._announce(event, part.id, part.name, read_arguments(part.arguments))

    def _quote(self, call_id: str, text: str) -> Told:
        """A worker's words, in the card of the call that it works for."""
        if call := self._calls.get(call_id):
            call.progress = f"{call.progress}\n\n{text}".strip()[-_TAIL:]
            yield (
                self._where(call_id),
                self._update(call_id, status="in_progress", content=(show_text(call.progress),)),
            )

    def _announce(self, event: Event, id: str, tool: str, args: object) -> Told:
        silent = tool == PLAN and self._is_shown(event.agent_id) and read_plan(args) is not None
        call = self._calls[id] = _Call(event.agent_id or "", tool, args, silent=silent)
        if not silent:
            yield from self._show_call(event, id, call)

    def _show_call(self, event: Event, id: str, call: _Call) -> Told:
        self._calls[id] = call = msgspec.structs.replace(call, silent=False)
        yield (
            self.find_session(event.agent_id),
            ToolCallStarted(
                tool_call_id=id,
                title=self._title(event.agent_id, call.tool, call.args),
                name=call.tool,
                kind=find_row(call.tool).kind,
                status="pending",
                locations=find_locations(self._workspace, call.tool, call.args),
                raw_input=call.args,
                meta=self.describe(event.agent_id),
            ),
        )

    def _title(self, agent_id: str | None, tool: str, args: object) -> str:
        apart = self._offers.subagents
        return make_title(tool, args, "" if apart else self.name_worker(agent_id))

    def _start_call(self, event: Event, fact: facts.ToolStart) -> Told:
        if fact.id not in self._calls:
            yield from self._announce(event, fact.id, fact.name, fact.args)
        call = self._calls[fact.id]
        call.args = fact.args
        if call.silent:
            return
        yield self._where(fact.id), self._update(fact.id, status="in_progress")

    def _where(self, call_id: str) -> str:
        call = self._calls.get(call_id)
        return self.find_session(call.agent if call else None)

    def _update(self, call_id: str, **changed: object) -> ToolCallUpdate:
        call = self._calls.get(call_id)
        meta = self.describe(call.agent) if call else None
        return ToolCallUpdate(tool_call_id=call_id, meta=meta, **changed)  # type: ignore[arg-type]  # by name

    def _progress(self, event: Event, fact: facts.ToolProgress) -> Told:
        if call := self._calls.get(fact.id):
            call.progress = (call.progress + fact.text)[-_TAIL:]
            content = (show_text(call.progress),)
            yield self._where(fact.id), self._update(fact.id, status="in_progress", content=content)

    def _ask(self, event: Event, fact: facts.PermissionRequest) -> Told:
        if call := self._calls.get(fact.call_id):
            if call.silent:  # a hook asks
                yield from self._show_call(event, fact.call_id, call)
            yield self._where(fact.call_id), self._update(fact.call_id, status="pending")

    def _decide(self, event: Event, fact: facts.PermissionDecision) -> Told:
        if fact.request_id and fact.decision == "allow" and fact.call_id in self._calls:
            yield self._where(fact.call_id), self._update(fact.call_id, status="in_progress")
        if fact.decision == "deny" and (call := self._calls.get(fact.call_id)):
            call.denied = f"{fact.tool} was not run: {fact.reason.rstrip('.')}. {fact.way_out}".rstrip()

    def _change_file(self, event: Event, fact: facts.FileChanged) -> Told:
        call = self._calls.get(fact.call_id)
        if call is None:
            return
        path = make_absolute(self._workspace, fact.path)
        if call.tool in COMMAND_TOOLS:
            self._show_changed(call, path, fact)
            return
        if isinstance(fact.blob, str):  # a large file, of which no editor shows a diff
            return
        before = None if fact.before is None else fact.before.decode("utf-8", "replace")
        call.diff = make_diff(path, call.tool, call.args, before) or call.diff
        if call.diff:
            yield self._where(fact.call_id), self._update(fact.call_id, content=(call.diff,))

    def _show_changed(self, call: _Call, path: str, fact: facts.FileChanged) -> None:
        """Files that git ignores are not shown: their old content stays where it is."""
        states = (fact.was, fact.becomes, fact.blob, fact.image)
        if len(call.diffs) < _MOST_DIFFS and all(one is msgspec.UNSET for one in states):
            diff = read_diff(path, fact.before, fact.after_sha256)
            call.diffs += [diff] if diff else []

    def _end_call(self, event: Event, fact: facts.ToolEnd) -> Told:
        where, done = self._where(fact.id), fact.ok and fact.error is None
        call = self._calls.get(fact.id)
        if call and call.silent:
            plan = read_plan(call.args) if done else None
            if plan is not None:
                del self._calls[fact.id]
                yield where, PlanEntries(entries=plan)
                return
            yield from self._show_call(event, fact.id, call)
        text = fact.output
        if call and done and call.task:
            call.ended = True
            yield where, self._update(fact.id, status="in_progress", content=(show_text(text),))
            return
        if call and done and call.report is not None:
            text = call.report
        if call and call.denied and fact.error:
            tried = fact.error.details.get("output")  # of a trial run in the sandbox
            text = f"{call.denied}\n{tried}" if isinstance(tried, str) else call.denied
        content: tuple[Content | Diff, ...] = (show_text(text[:_OUTPUT]),)
        if call and call.diff and done:
            content = (call.diff,)
        elif call and call.progress and call.agent and fact.name in _WORKED:
            content = self._show_work(call, text)
        if call and call.diffs:
            content = (*content, *call.diffs)
        raw = {"output": fact.output[:_OUTPUT], "ok": fact.ok, "duration_ms": fact.duration_ms}
        if fact.exit_code is not None:
            raw["exit_code"] = fact.exit_code
        if fact.error is not None:
            raw["error"] = {"kind": fact.error.kind, "message": fact.error.message}
        status = "completed" if done else "failed"
        yield where, self._update(fact.id, status=status, content=content, raw_output=raw)
        self._calls.pop(fact.id, None)

    def _spend(self, event: Event, fact: facts.UsageSpent) -> Told:
        self._spent += count_call(fact.usage, fact.cost_usd)
        used = fact.usage.input_tokens + fact.usage.cache_read_tokens + fact.usage.cache_write_tokens
        answered = fact.outcome is msgspec.UNSET and used > 0
        if answered and event.agent_id and self._leads(event.agent_id):
            self._used = used + fact.usage.output_tokens
        # What is left of the budget comes with the next event, and both are one update.
        self._owes_usage = True
        yield from ()

    def _limit(self, event: Event, fact: facts.BudgetSpent) -> Told:
        if fact.limit_usd is None:
            return
        budget = {"limit_usd": fact.limit_usd, "spent_usd": fact.spent_usd}
        if self._owes_usage or budget != self._budget:
            self._budget = budget
            yield from self._tell_usage()

    def _tell_usage(self) -> Told:
        """How full the orchestrator's window is, and what all of them have cost."""
        self._owes_usage = False
        size = self.orchestrator.model.context_window if self.orchestrator else 0
        if self._used is None or not size:
            return
        paid = self._spent.known_cost
        cost = None if paid is None else Cost(amount=paid, currency="USD")
        meta = {"planck": {"budget": self._budget}} if self._budget else None
        yield self._root, UsageUpdate(used=self._used, size=size, cost=cost, meta=meta)

    def _compact(self, event: Event, fact: facts.Compacting) -> Told:
        if self._offers.compaction and self._is_shown(event.agent_id):
            id = self._compacting[event.agent_id or ""] = self._name_compaction()
            yield (
                self.find_session(event.agent_id),
                CompactionUpdate(compaction_id=id, status="in_progress"),
            )

    def _name_compaction(self) -> str:
        self._compactions += 1
        return f"compaction-{self._compactions}"

    def _end_compaction(self, event: Event, fact: facts.Compacted) -> Told:
        if self._offers.compaction and self._is_shown(event.agent_id):
            yield (
                self.find_session(event.agent_id),
                CompactionUpdate(
                    compaction_id=self._compacting.pop(event.agent_id or "", "") or self._name_compaction(),
                    status="completed",
                    summary=(TextContent(text=fact.summary),) if fact.summary else None,
                ),
            )
        if event.agent_id and self._leads(event.agent_id):
            self._used = fact.tokens_after
            yield from self._tell_usage()

    def drop_compaction(self, agent_id: str | None, status: str) -> Told:
        """Yields the end of a compaction that came to nothing, where one was under way."""
        if id := self._compacting.pop(agent_id or "", ""):
            yield self.find_session(agent_id), CompactionUpdate(compaction_id=id, status=status)

    def _tell_status(self, event: Event, fact: facts.Status) -> Told:
        if fact.component == "model" and fact.state == "discarded":
            # A cut attempt is tried again: what follows is another message, not more of that one.
            voice = self._voice(event)
            voice.messages += 1
            voice.streamed = voice.thought = False
        if self._offers.notices and fact.state not in _QUIET:
            title = " ".join(filter(None, (fact.component, fact.name, fact.state)))
            yield self._root, NoticeUpdate(severity="info", title=title, description=fact.detail or None)

    def _fail(self, event: Event, fact: facts.ErrorEvent) -> Told:
        if self._offers.notices and not self.replays:
            title = f"{self.name_worker(event.agent_id)} {fact.kind}".strip()
            yield self._root, NoticeUpdate(severity="error", title=title, description=fact.message or None)

    def _refuse_landing(self, event: Event, fact: facts.LandingRefused) -> Told:
        if self._offers.notices and not self.replays:
            title = f"{self.name_worker(event.agent_id)} did not land its changes: {fact.why}".strip()
            paths = ", ".join(one.path for one in fact.conflicts[:20])
            yield self._root, NoticeUpdate(severity="warning", title=title, description=paths or None)

    def _land(self, event: Event, fact: facts.LandingFinished) -> Told:
        if self._offers.notices and not self.replays:
            title = f"{self.name_worker(event.agent_id)} landed {fact.paths} changes".strip()
            yield self._root, NoticeUpdate(severity="info", title=title, description=None)

    def _rename(self, event: Event, fact: facts.Renamed) -> Told:
        yield self._root, SessionInfoUpdate(title=fact.name, updated_at=event.ts)

    def _change_model(self, event: Event, fact: facts.ModelChanged) -> Told:
        if spec := self._agents.get(event.agent_id or ""):
            self._agents[spec.id] = changed = msgspec.structs.replace(spec, model=fact.model)
            if self._leads(spec.id):
                self.orchestrator = changed
        yield from ()


def read_plan(args: object) -> tuple[PlanEntry, ...] | None:
    """Returns the steps as the tool took them; None where they are none."""
    steps = args.get("steps") if isinstance(args, dict) else None
    if not isinstance(steps, list):
        return None
    entries = []
    for step in steps:
        status = _STATES.get(step.get("status"), step.get("status"))
        entries.append(PlanEntry(content=str(step.get("text", "")), status=status, priority="medium"))
    return tuple(entries)


_TELLS: dict[type[facts.View], Callable[[Narrator, Event, object], Told]] = {
    facts.SessionStarted: Narrator._start_session,  # type: ignore[dict-item]  # each for its view
    facts.AgentStarted: Narrator._start_agent,  # type: ignore[dict-item]
    facts.Envelope: Narrator._take_message,  # type: ignore[dict-item]
    facts.Delivery: Narrator._deliver,  # type: ignore[dict-item]
    facts.TurnStart: Narrator._start_turn,  # type: ignore[dict-item]
    facts.TurnEnd: Narrator._end_turn,  # type: ignore[dict-item]
    facts.TextDelta: Narrator._stream_text,  # type: ignore[dict-item]
    facts.ThinkingDelta: Narrator._stream_thought,  # type: ignore[dict-item]
    facts.AssistantSaid: Narrator._say,  # type: ignore[dict-item]
    facts.ToolStart: Narrator._start_call,  # type: ignore[dict-item]
    facts.ToolProgress: Narrator._progress,  # type: ignore[dict-item]
    facts.ToolEnd: Narrator._end_call,  # type: ignore[dict-item]
    facts.PermissionRequest: Narrator._ask,  # type: ignore[dict-item]
    facts.PermissionDecision: Narrator._decide,  # type: ignore[dict-item]
    facts.FileChanged: Narrator._change_file,  # type: ignore[dict-item]
    facts.UsageSpent: Narrator._spend,  # type: ignore[dict-item]
    facts.BudgetSpent: Narrator._limit,  # type: ignore[dict-item]
    facts.Compacting: Narrator._compact,  # type: ignore[dict-item]
    facts.Compacted: Narrator._end_compaction,  # type: ignore[dict-item]
    facts.Status: Narrator._tell_status,  # type: ignore[dict-item]
    facts.ErrorEvent: Narrator._fail,  # type: ignore[dict-item]
    facts.LandingRefused: Narrator._refuse_landing,  # type: ignore[dict-item]
    facts.LandingFinished: Narrator._land,  # type: ignore[dict-item]
    facts.Renamed: Narrator._rename,  # type: ignore[dict-item]
    facts.ModelChanged: Narrator._change_model,  # type: ignore[dict-item]
}
