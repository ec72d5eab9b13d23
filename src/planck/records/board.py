"""Who does what now: one fold over the events of a session, for every frontend.

`apply` is pure and reads nothing but the event, so that the same events give the same board in any language:
the files under tests/logs hold it to that. What is over leaves counts; what is open is listed.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from planck.records import partial_views
from planck.records.events import IN_PROGRESS, USER, Event
from planck.records.rows import (
    AgentProblem,
    AgentRow,
    Counts,
    FileRow,
    Letter,
    OpenCall,
    OpenQuestion,
    OpenWait,
    Spending,
    Step,
)
from planck.records.tools import ASK, PLAN, SUBJECT, find_subject
from planck.records.usage import Figures, Usage, count_call

TEXT = 500
"""Characters (code points) that a board keeps of any longer text."""
STEPS = 50
FILES = 100
"""The newest of a plan's steps, and of the files that were changed."""

SessionState = Literal["running", "waiting", "done", "failed", "interrupted"]


class Board(msgspec.Struct, frozen=True, kw_only=True):
    seq: int = 0
    """Of the newest event in it."""
    id: str = ""
    name: str = ""
    workspace: str = ""
    version: str = ""
    started: str = ""
    updated: str = ""
    parent: str = ""
    forked_at: int = 0
    mode: str = ""
    state: SessionState = "done"
    """`waiting`: for the user's answer. What the log says: a process that died leaves `running` behind."""
    halted: bool = False
    """Stopped as a whole: mail that waits is not worked on."""
    agents: tuple[AgentRow, ...] = ()
    """In order of their start, those that ended too."""
    questions: tuple[OpenQuestion, ...] = ()
    owed: tuple[Letter, ...] = ()
    """Asks and tasks that somebody still expects an answer to."""
    budget: Spending | None = None
    files: tuple[FileRow, ...] = ()
    """Those changed last come last."""
    usage: Usage = Usage()
    cost_usd: float = 0.0
    """A sum in the order of the events, so that it is the same double everywhere."""
    unpriced: int = 0
    estimated: int | msgspec.UnsetType = msgspec.UNSET
    counts: Counts = Counts()
    error: AgentProblem | None = None

    def agent(self, id: str | None) -> AgentRow | None:
        for row in self.agents:
            if row.id == id:
                return row
        return None


def apply(board: Board, event: Event) -> Board:
    """Returns the board after one more event; types, fields and shapes that are not known change nothing."""
    if event.seq is None:  # a delta: never stored, so never part of what can be folded again
        return board
    known = _FOLDS.get(event.type)
    if known is None:
        return replace(board, seq=event.seq, updated=event.ts)
    decoder, fold = known
    try:
        data = decoder.decode(event.data)
    except (ValueError, RecursionError):  # no UTF-8 and too deep included: not what we write, but on disk
        return replace(board, seq=event.seq, updated=event.ts)
    board = fold(board, event, data)
    return replace(board, seq=event.seq, updated=event.ts, state=_find_state(board))


def fold_events(events: Iterable[Event]) -> Board:
    return reduce(apply, events, Board())


def _find_state(board: Board) -> SessionState:
    if board.questions:
        return "waiting"
    last_turn, unread = "", False
    for row in board.agents:
        if row.status == "ended":
            continue
        if row.status != "idle" or (row.unread and not board.halted):
            return "running"
        last_turn = last_turn or row.last_turn or "none"  # the orchestrator's: it is the first
        unread = unread or bool(row.unread)
    if last_turn in ("failed", "capped"):
        return "failed"
    return "interrupted" if unread or last_turn in ("interrupted", "timed_out") else "done"


def _start_session(board: Board, event: Event, data: partial_views.SessionStarted) -> Board:
    return replace(
        board,
        id=data.id,
        name=data.name,
        workspace=data.workspace,
        version=data.version,
        started=event.ts,
        mode=data.options.mode,
    )


def _resume_session(board: Board, event: Event, data: partial_views.SessionStarted) -> Board:
    board = _forget_process(_count(board, resumes=1))
    return replace(
        board, version=data.version or board.version, mode=data.options.mode or board.mode, halted=False
    )


def _fork(board: Board, event: Event, data: partial_views.Forked) -> Board:
    """What the parent's agents were doing is the parent's: in the copy nobody works until it is opened."""
    board = _forget_process(board)
    for row in board.agents:
        if row.status not in ("idle", "ended"):
            board = _stop_turn(board, row.id, event.ts, "interrupted")
    return replace(board, parent=data.session_id, forked_at=data.at, halted=True)


def _forget_process(board: Board) -> Board:
    """Nobody is left who waits: neither for the user nor for another agent; tasks stay owed."""
    return replace(
        board,
        agents=tuple(replace(row, waits=()) if row.waits else row for row in board.agents),
        questions=(),
        owed=tuple(letter for letter in board.owed if letter.kind != "ask"),
    )


def _start_agent(board: Board, event: Event, data: partial_views.AgentStarted) -> Board:
    spec = data.agent
    row = AgentRow(
        id=spec.id,
        type=spec.type,
        name=spec.name,
        role=spec.role,
        model=spec.model.label,
        window=spec.model.context_window,
        delegator_id=spec.delegator_id,
        since=event.ts,
    )
    return replace(board, agents=(*(one for one in board.agents if one.id != row.id), row))


def _end_agent(board: Board, event: Event, data: partial_views.AgentEnded) -> Board:
    """It does nothing more, and nobody waits for it any more."""
    board = _change_row(
        board,
        event.agent_id,
        status="ended",
        since=event.ts,
        ended=data.status,
        reason=data.reason[:TEXT],
        stopping=False,
        opened_by="",
        unread=(),
        calls=(),
        waits=(),
    )
    rows = (
        replace(row, waits=kept)
        if len(kept := tuple(wait for wait in row.waits if wait.on != event.agent_id)) < len(row.waits)
        else row
        for row in board.agents
    )
    return replace(
        board,
        agents=tuple(rows),
        questions=tuple(question for question in board.questions if question.agent_id != event.agent_id),
        owed=tuple(letter for letter in board.owed if letter.receiver != event.agent_id),
    )


def _send(board: Board, event: Event, data: partial_views.Message) -> Board:
    letter = Letter(data.id, data.kind, data.sender, data.receiver, event.ts)
    board = _count(board, messages=1)
    row = board.agent(data.receiver)
    if row and row.status != "ended":
        board = _change_row(board, row.id, unread=(*row.unread, letter))
    if data.kind in ("ask", "task") and data.sender != USER:
        return replace(board, owed=(*board.owed, letter))
    if data.kind == "response" and data.correlation_id and data.outcome != IN_PROGRESS:
        return _close_letters(board, (data.correlation_id,))
    return board


def _deliver(board: Board, event: Event, data: partial_views.Delivery) -> Board:
    row = board.agent(event.agent_id)
    if row:
        board = _change_row(
            board, row.id, unread=tuple(letter for letter in row.unread if letter.id not in data.ids)
        )
    return board if data.state == "delivered" else _close_letters(board, data.ids)


def _close_letters(board: Board, ids: tuple[str, ...]) -> Board:
    """Nothing is expected any more of what these asked for, and nobody waits for it."""
    for id in ids:
        letter = next((one for one in board.owed if one.id == id), None)
        if letter is None:
            continue
        board = replace(board, owed=tuple(one for one in board.owed if one is not letter))
        if row := board.agent(letter.sender):
            board = _change_row(board, row.id, waits=tuple(w for w in row.waits if w.message_id != id))
    return board


def _wait(board: Board, event: Event, data: partial_views.Wait) -> Board:
    row = board.agent(event.agent_id)
    if row is None or row.opened_by == "" or row.stopping:
        return board
    wait = OpenWait(data.on, data.message_id, data.call_id or "", data.deadline, event.ts)
    return _change_row(board, row.id, waits=(*row.waits, wait))


def _control(board: Board, event: Event, data: partial_views.Control) -> Board:
    """It took effect in the step that recorded it: what is told to stop waits for nobody from here on."""
    halt = data.action == "halt"
    for row in board.agents:
        if halt or row.id == data.target:
            if data.action == "destroy":
                board = _change_row(board, row.id, ended="destroyed")
            if row.opened_by:
                board = _drop_waits(_change_row(board, row.id, stopping=True), row.id)
    return replace(board, halted=board.halted or halt)


def _drop_waits(board: Board, id: str) -> Board:
    """An agent's own, and its questions to the user."""
    row = board.agent(id)
    asked = {wait.message_id for wait in row.waits} if row else set()
    board = _change_row(board, id, waits=())
    return replace(
        board,
        questions=tuple(question for question in board.questions if question.agent_id != id),
        owed=tuple(letter for letter in board.owed if letter.id not in asked),
    )


def _start_turn(board: Board, event: Event, data: partial_views.TurnStart) -> Board:
    board = _drop_waits(board, event.agent_id or "")
    return _change_row(
        replace(_count(board, turns=1), halted=False),
        event.agent_id,
        status="streaming",
        since=event.ts,
        turn=event.turn,
        steps=0,
        opened_by=data.message_id,
        calls=(),
        error=None,
        stopping=False,
    )


def _end_turn(board: Board, event: Event, data: partial_views.TurnEnd) -> Board:
    """What the turn waited for is over; a question that it worked on is answered, well or not."""
    row = board.agent(event.agent_id)
    if row is None:
        return board
    board = _drop_waits(board, row.id)
    asked = tuple(one.id for one in board.owed if one.id == row.opened_by and one.kind == "ask")
    return _stop_turn(_close_letters(board, asked), row.id, event.ts, data.status)


def _stop_turn(board: Board, id: str, ts: str, status: str) -> Board:
    return _change_row(
        board, id, status="idle", since=ts, last_turn=status, opened_by="", calls=(), stopping=False
    )


def _hear_model(board: Board, event: Event, data: partial_views.AssistantMessage) -> Board:
    row = board.agent(event.agent_id)
    if row is None:
        return board
    context = data.message.usage.context_tokens or row.context
    return _change_row(board, row.id, steps=row.steps + 1, context=context, since=event.ts)


def _start_call(board: Board, event: Event, data: partial_views.ToolStart) -> Board:
    row = board.agent(event.agent_id)
    if row is None:
        return board
    plan = _read_plan(data.args) if data.name == PLAN else ()
    call = OpenCall(data.id, data.name, find_subject(data.name, data.args), event.ts, plan)
    return _change_row(board, row.id, status="executing_tools", since=event.ts, calls=(*row.calls, call))


def _end_call(board: Board, event: Event, data: partial_views.ToolEnd) -> Board:
    """A call's end ends what it waited for; between the last one and its next answer an agent streams."""
    board = _count(board, calls=1, failed_calls=0 if data.ok else 1)
    board = replace(
        board, questions=tuple(one for one in board.questions if not data.id or one.call_id != data.id)
    )
    row = board.agent(event.agent_id)
    call = next((one for one in row.calls if one.id == data.id), None) if row else None
    if row is None or call is None:
        return board
    calls = tuple(one for one in row.calls if one.id != data.id)
    asking = any(one.name == ASK for one in calls)
    over = tuple(
        wait.message_id for wait in row.waits if wait.call_id == data.id or (not wait.call_id and not asking)
    )
    board = _change_row(
        board,
        row.id,
        status="executing_tools" if calls else "streaming",
        since=event.ts,
        calls=calls,
        waits=tuple(wait for wait in row.waits if wait.message_id not in over),
        plan=call.plan if call.name == PLAN and data.ok else row.plan,
    )
    return replace(board, owed=tuple(letter for letter in board.owed if letter.id not in over))


def _spend(board: Board, event: Event, data: partial_views.UsageSpent) -> Board:
    if row := board.agent(event.agent_id):
        board = _change_row(board, row.id, **_add_call(row, data))
    return replace(board, **_add_call(board, data))


def _add_call(to: AgentRow | Board, data: partial_views.UsageSpent) -> dict[str, Any]:
    before = Figures(0, to.usage, to.cost_usd, to.unpriced, to.estimated or 0)
    after = before + count_call(data.usage, data.cost_usd, data.estimated)
    sums = {"usage": after.usage, "cost_usd": after.cost_usd, "unpriced": after.unpriced}
    return sums if after.estimated == before.estimated else {**sums, "estimated": after.estimated}


def _note_budget(board: Board, event: Event, data: Spending) -> Board:
    return board if data.limit_usd is None else replace(board, budget=data)


def _ask_user(board: Board, event: Event, data: partial_views.Request) -> Board:
    row = board.agent(event.agent_id)
    board = _count(board, questions=1)
    if row and row.stopping:
        return board
    question = OpenQuestion(
        id=data.id,
        seq=event.seq or 0,
        agent_id=event.agent_id or "",
        call_id=data.call_id,
        tool=data.tool,
        text=data.text[:TEXT],
        adds=data.adds[:TEXT],
        reason=data.reason[:TEXT],
        digest=data.digest,
        deadline=data.deadline,
        since=event.ts,
    )
    return replace(board, questions=(*board.questions, question))


def _hear_user(board: Board, event: Event, data: partial_views.Decision) -> Board:
    board = _count(board, denials=1 if data.decision == "deny" else 0)
    return replace(
        board,
        questions=tuple(
            one
            for one in board.questions
            if one.id != data.request_id and not (data.call_id and one.call_id == data.call_id)
        ),
    )


def _change_file(board: Board, event: Event, data: partial_views.FileChanged) -> Board:
    before = next((file for file in board.files if file.path == data.path), None)
    file = FileRow(
        data.path,
        event.agent_id or "",
        data.call_id,
        before.changes + 1 if before else 1,
        data.after_sha256 == "",
        event.ts,
    )
    files = (*(one for one in board.files if one is not before), file)
    return replace(_count(board, file_changes=1), files=files[-FILES:])


def _compact(board: Board, event: Event, data: partial_views.Compacted) -> Board:
    row = board.agent(event.agent_id)
    board = _count(board, compactions=1)
    if row is None:
        return board
    return _change_row(board, row.id, context=data.tokens_after, window=data.window or row.window)


def _rewind(board: Board, event: Event, data: partial_views.Nothing) -> Board:
    return _change_row(board, event.agent_id, context=0)


def _change_session(board: Board, event: Event, data: partial_views.SessionChanged) -> Board:
    return replace(board, mode=data.mode or board.mode, name=data.name or board.name)


def _change_model(board: Board, event: Event, data: partial_views.ModelChanged) -> Board:
    return _change_row(board, event.agent_id, model=data.model.label, window=data.model.context_window)


def _note_error(board: Board, event: Event, data: partial_views.Error) -> Board:
    problem = AgentProblem(event.agent_id or "", data.kind, data.message[:TEXT], event.ts)
    board = _change_row(_count(board, errors=1), event.agent_id, error=problem)
    return replace(board, error=problem)


def _change_row(board: Board, id: str | None, **changes: Any) -> Board:
    """An agent is known from its start on; one that ended stays as it is."""
    for at, row in enumerate(board.agents):
        if row.id == id and row.status != "ended":
            rows = (*board.agents[:at], replace(row, **changes), *board.agents[at + 1 :])
            return replace(board, agents=rows)
    return board


def _count(board: Board, **more: int) -> Board:
    counts = board.counts
    return replace(
        board, counts=replace(counts, **{name: getattr(counts, name) + n for name, n in more.items()})
    )


def _read_plan(args: Any) -> tuple[Step, ...]:
    steps = args.get("steps") if isinstance(args, dict) else None
    if not isinstance(steps, list):
        return ()
    return tuple(
        Step(str(step.get("text", ""))[:SUBJECT], str(step.get("status", "")))
        for step in steps[:STEPS]
        if isinstance(step, dict)
    )


_Fold = Callable[[Board, Event, Any], Board]


def _reading(shape: type[msgspec.Struct], fold: _Fold) -> tuple[msgspec.json.Decoder[Any], _Fold]:
    return msgspec.json.Decoder(shape), fold


_FOLDS: dict[str, tuple[msgspec.json.Decoder[Any], _Fold]] = {
    "session_started": _reading(partial_views.SessionStarted, _start_session),
    "session_resumed": _reading(partial_views.SessionStarted, _resume_session),
    "renamed": _reading(partial_views.SessionChanged, _change_session),
    "forked": _reading(partial_views.Forked, _fork),
    "agent_started": _reading(partial_views.AgentStarted, _start_agent),
    "agent_ended": _reading(partial_views.AgentEnded, _end_agent),
    "message": _reading(partial_views.Message, _send),
    "delivery": _reading(partial_views.Delivery, _deliver),
    "wait": _reading(partial_views.Wait, _wait),
    "control": _reading(partial_views.Control, _control),
    "turn_start": _reading(partial_views.TurnStart, _start_turn),
    "turn_end": _reading(partial_views.TurnEnd, _end_turn),
    "assistant_message": _reading(partial_views.AssistantMessage, _hear_model),
    "tool_start": _reading(partial_views.ToolStart, _start_call),
    "tool_end": _reading(partial_views.ToolEnd, _end_call),
    "usage": _reading(partial_views.UsageSpent, _spend),
    "budget": _reading(Spending, _note_budget),
    "permission_request": _reading(partial_views.Request, _ask_user),
    "permission_decision": _reading(partial_views.Decision, _hear_user),
    "file_changed": _reading(partial_views.FileChanged, _change_file),
    "compacted": _reading(partial_views.Compacted, _compact),
    "rewound": _reading(partial_views.Nothing, _rewind),
    "mode_changed": _reading(partial_views.SessionChanged, _change_session),
    "model_changed": _reading(partial_views.ModelChanged, _change_model),
    "error": _reading(partial_views.Error, _note_error),
}
