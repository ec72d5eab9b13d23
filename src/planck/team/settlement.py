"""What those who wait are told of the end of a turn, and those who send of what can't be sent."""

from collections.abc import Sequence

from planck.agent.actor import Ended
from planck.records.events import TurnStatus
from planck.records.outcome import Err, ErrorKind, Ok
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


def report_task(member: Member, ended: Ended) -> str:
    """Returns what a delegator reads of the turn that its task started."""
    if ended.end.status is TurnStatus.COMPLETED:
        return ended.end.text
    if ended.error:
        why = f" stopped with {ended.error}"
    else:
        why = f" {member.end_reason}" if member.end_reason else _ENDED[ended.end.status]
    last = f"\nLast message: {ended.end.text}" if ended.end.text else ""
    return f"The task was not finished: {member.name}{why.rstrip('.')}. {REVIEW}{last}"
