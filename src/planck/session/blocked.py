"""Why nothing moves: what each agent of a board does or waits for, in words."""

from datetime import datetime

from planck.records import codec
from planck.records.board import Board
from planck.records.rows import AgentRow, OpenCall, OpenQuestion, OpenWait

_WIDTH = 60


def why_blocked(board: Board, now: str) -> list[str]:
    """Returns one line for each agent that works or should; a single one where there is none."""
    lines = [line for row in board.agents if (line := _describe(row, board, now))]
    lines += [
        f"approval to use {question.tool} has been pending for {_format_span(question.since, now)} "
        "(no agent is waiting for it)"
        for question in board.questions
        if not board.agent(question.agent_id)
    ]
    return lines or ["Nothing is blocked: every agent is idle and has read its messages."]


def describe_state(row: AgentRow, board: Board) -> str:
    """Returns in a few words what one agent does, without saying since when."""
    if row.status == "ended":
        return f"{row.ended}: {row.reason}"
    if row.status == "idle":
        return "idle"
    if any(question.agent_id == row.id for question in board.questions):
        return "waiting for the user's answer"
    if row.waits:
        names = [target.name if (target := board.agent(wait.on)) else wait.on for wait in row.waits]
        latest = max(wait.deadline for wait in row.waits)
        return f"waiting for {', '.join(names)} until {latest[11:19]}"
    return "working"


def _describe(row: AgentRow, board: Board, now: str) -> str:
    if row.status == "ended":
        return ""
    if row.status != "idle":
        return f"{row.name} {_describe_turn(row, board, now, seen=(row.id,))}"
    if row.unread:
        count = len(row.unread)
        return f"{row.name} is idle and has {count} unread message{'s' * (count > 1)}"
    return ""


def _describe_turn(row: AgentRow, board: Board, now: str, seen: tuple[str, ...]) -> str:
    if row.stopping:
        return f"was told to stop {_format_span(row.since, now)} ago and is ending its turn"
    question = next((one for one in board.questions if one.agent_id == row.id), None)
    if question:
        return _describe_question(question, now)
    if row.waits:
        return " and ".join(_describe_wait(wait, board, now, seen) for wait in row.waits)
    if row.calls:
        others = len(row.calls) - 1
        more = f" and {others} more call{'s' * (others > 1)}" if others else ""
        span = _format_span(row.calls[0].since, now)
        return f"has been running {_describe_call(row.calls[0])}{more} for {span}"
    return f"has been waiting for the model {row.model} for {_format_span(row.since, now)}"


def _describe_question(question: OpenQuestion, now: str) -> str:
    return f"has been waiting {_format_span(question.since, now)} for approval to use {question.tool}"


def _describe_wait(wait: OpenWait, board: Board, now: str, seen: tuple[str, ...]) -> str:
    target = board.agent(wait.on)
    text = (
        f"is waiting for {target.name if target else wait.on} (question {wait.message_id[:4]}…, "
        f"sent {_format_span(wait.since, now)} ago, deadline in {_format_span(now, wait.deadline)})"
    )
    if target is None or wait.on in seen:
        return text
    if target.status == "idle":
        return f"{text}, who has not read it yet"
    return f"{text}, who {_describe_turn(target, board, now, (*seen, wait.on))}"


def _describe_call(call: OpenCall) -> str:
    text = codec.encode_str(call.subject) if call.subject else ""
    return f"{call.name} {text if len(text) <= _WIDTH else text[: _WIDTH - 1] + '…'}".rstrip()


def _format_span(earlier: str, later: str) -> str:
    try:
        seconds = (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
    except (ValueError, TypeError):  # a log may hold anything
        return "? s"
    return f"{max(0, round(seconds))} s"
