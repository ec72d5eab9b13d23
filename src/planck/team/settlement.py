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
    "{} messages to and fro with {} said the same, and neither of you did anything between them; do "
    "something else, or say to the user what stops you"
)


def refuse_ring(names: Sequence[str], ring: Sequence[str]) -> Err:
    return Err(
        ErrorKind.DEADLOCK,
        f"Deadlock detected: {' waits for '.join(names)}. "
        "Use send_response or delegate_task to communicate without blocking.",
        {"cycle": list(ring)},
    )


def answer_ask(member: Member, ended: Ended) -> Outcome:
    """Returns what an asker gets of the turn that its question started."""
    if member.end_reason:
        return Err(ErrorKind.TARGET_GONE, f"{member.name} {member.end_reason}")
    if ended.end.status is TurnStatus.COMPLETED:
        return Ok({"output": ended.end.text})
    if ended.error:
        return Err(ended.error.kind, ended.error.message, ended.error.details)
    kind = ErrorKind.TIMEOUT if ended.end.status is TurnStatus.TIMED_OUT else ErrorKind.INTERRUPTED
    return Err(kind, f"{member.name} was stopped before it answered")


def report_task(member: Member, ended: Ended) -> str:
    """Returns what a delegator reads of the turn that its task started."""
    if ended.end.status is TurnStatus.COMPLETED:
        return ended.end.text
    why = str(ended.error) if ended.error else member.end_reason or f"its turn was {ended.end.status.value}"
    last_words = f"\nIts last words: {ended.end.text}" if ended.end.text else ""
    return f"The task was not finished: {member.name}: {why}.{last_words}"
