"""What those who wait are told of the end of a turn, and those who send of what can't be sent."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from planck.agent.actor import Ended
from planck.records.events import Origin, TurnStatus
from planck.records.outcome import Err, ErrorKind, Ok
from planck.records.visible import fit_line
from planck.team.member import Member
from planck.toolkit.tool import Outcome

GONE = Err(ErrorKind.NOT_FOUND, "Agent not found.")
NO_DELEGATOR = Err(ErrorKind.NOT_FOUND, "No delegator to respond to.")
SAME_AGAIN = (
    "{} messages in a row between you and {} were the same, and neither of you did anything in between; "
    "decide yourself, or end your turn and say what is blocking you"
)
_ENDED = {
    TurnStatus.FAILED: "'s turn failed",
    TurnStatus.INTERRUPTED: "'s turn was interrupted",
    TurnStatus.TIMED_OUT: "'s turn timed out",
    TurnStatus.CAPPED: "'s turn reached its limit",
}
REVIEW = "Any changes it made remain; look at them before you delegate the task again."


def refuse_unknown(others: Sequence[str]) -> Err:
    """Says whom an agent can address instead, by name."""
    known = f"The team has {', '.join(others)}; use `list_team` to see what they do."
    alone = "Nobody else is in the team; do the work yourself."
    return Err(GONE.kind, GONE.message, {"hint": known if others else alone})


def refuse_response(why: str) -> Err:
    return Err(NO_DELEGATOR.kind, NO_DELEGATOR.message, {"hint": why})


def refuse_gone(name: str, why: str) -> Err:
    text = f"{name} {why}; ask another agent (`list_team` shows them), or find the answer yourself"
    return Err(ErrorKind.TARGET_GONE, text)


def refuse_ring(names: Sequence[str], ring: Sequence[str]) -> Err:
    return Err(
        ErrorKind.DEADLOCK,
        f"Deadlock detected: {names[0]} waits for {', which waits for '.join(names[1:])}. "
        f"Answer {names[-2]} first. Use send_response or delegate_task to communicate without blocking.",
        {"cycle": list(ring)},
    )


def answer_ask(member: Member, ended: Ended) -> Outcome:
    """Returns what an asker gets of the turn that its question started."""
    if member.end_reason:
        return refuse_gone(member.name, member.end_reason)
    if ended.end.status is TurnStatus.COMPLETED:
        return Ok({"output": ended.end.text})
    if ended.error:
        hint = f"{member.name} could not answer. Ask another agent, or continue without the answer."
        return Err(ended.error.kind, ended.error.message, {**ended.error.details, "hint": hint})
    kind = ErrorKind.TIMEOUT if ended.end.status is TurnStatus.TIMED_OUT else ErrorKind.INTERRUPTED
    text = f"{member.name} was stopped before it answered; ask again, or continue without the answer"
    return Err(kind, text)


class Report(msgspec.Struct, frozen=True):
    """What a delegator is told of a task, in whose words, and how the task stands."""

    text: str
    origin: Origin
    outcome: str
    cause: Literal["turn_end", "agent_end", "cut"]


def report_task(member: Member, ended: Ended, red: str = "") -> Report:
    """Returns what a delegator reads of the turn that its task started; `red`: why its checks do not allow
    that it counts as done."""
    if ended.end.status is TurnStatus.COMPLETED and not red:
        return Report(ended.end.text, Origin.AGENT, "completed", "turn_end")
    last = f"\nLast message: {ended.end.text}" if ended.end.text else ""
    if ended.end.status is TurnStatus.COMPLETED:
        text = f"The task is not done: {red} {REVIEW}{last}"
        return Report(text, Origin.PLANCK, "not finished: a check stayed red", "turn_end")
    if ended.error:
        why = f" stopped with {ended.error}"
    else:
        why = f" {member.end_reason}" if member.end_reason else _ENDED[ended.end.status]
    text = f"The task was not finished: {member.name}{why.rstrip('.')}. {REVIEW}{last}"
    stopped = ended.end.status is TurnStatus.INTERRUPTED and not member.end_reason
    outcome = "stopped" if stopped else f"not finished: {say_briefly(member.name + why)}"
    return Report(text, Origin.PLANCK, outcome, "turn_end")


def report_unfinished(member: Member, why: str) -> Report:
    """Returns the same where no turn ended: the receiver did, or what drove it was lost."""
    text = f"The task was not finished: {member.name} {why}. {REVIEW}"
    outcome = f"not finished: {say_briefly(f'{member.name} {why}')}"
    return Report(text, Origin.PLANCK, outcome, "agent_end" if member.end_reason else "cut")


def say_briefly(why: str) -> str:
    """On one line, and nothing in it that could end the line of the runtime in which it stands."""
    return fit_line(why, 120).rstrip(".").replace("[", "(").replace("]", ")")
