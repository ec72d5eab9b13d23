"""How things stand for one agent, in words that outlive a summary of its history: roster and open asks."""

from collections.abc import Iterable

from planck.records.events import Envelope
from planck.team.team import Team

_TEXT = 300


def standing(team: Team, agent_id: str) -> str:
    names = {member.id: member.name for member in team.members}
    lines = [
        "Your team now: " + ", ".join(f"{m.name} (type {m.spec.type}, id {m.id})" for m in team.members),
        *_told(
            "Not answered yet, given by you",
            (e for e in team.mail.ledger.open.values() if e.sender == agent_id),
            names,
        ),
        *_told(
            "Not answered yet, given to you",
            (e for e in team.mail.ledger.open.values() if e.receiver == agent_id),
            names,
        ),
    ]
    return "\n".join(lines)


def _told(title: str, envelopes: Iterable[Envelope], names: dict[str, str]) -> list[str]:
    rows = [
        f"- {e.kind} {e.id} from {names.get(e.sender, e.sender)} to {names.get(e.receiver, e.receiver)}: "
        f"{e.text[:_TEXT]}"
        for e in envelopes
    ]
    return [f"{title}:", *rows] if rows else []
