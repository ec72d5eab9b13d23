"""Tells one agent what a summary of its history must not lose: the roster, the open asks, its plan."""

from collections.abc import Iterable

from planck.records.events import Envelope
from planck.team.team import Team
from planck.toolkit.truncate import truncate

_TEXT = 300
_PLAN = 2_000


class Briefing:
    def __init__(self, team: Team) -> None:
        self._team = team

    def brief(self, agent_id: str) -> str:
        """Returns who is in the team now, what is not answered yet (given by the agent, then to it), and the
        agent's plan."""
        team = self._team
        names = {member.id: member.name for member in team.members}
        unanswered = team.mail.list_unanswered()
        given = (envelope for envelope in unanswered if envelope.sender == agent_id)
        taken = (envelope for envelope in unanswered if envelope.receiver == agent_id)
        member = team.member(agent_id)
        plan = member.actor.agent.history.plan if member else ""
        lines = [
            "Your team now: " + ", ".join(f"{m.name} (type {m.spec.type}, id {m.id})" for m in team.members),
            *_list_envelopes("Sent by you, not answered yet", given, names),
            *_list_envelopes("Sent to you, not answered yet", taken, names),
            *([f"Your plan:\n{truncate(plan, _PLAN)}"] if plan else []),
        ]
        return "\n".join(lines)


def _list_envelopes(title: str, envelopes: Iterable[Envelope], names: dict[str, str]) -> list[str]:
    rows = [
        f"- {e.kind} {e.id} from {names.get(e.sender, e.sender)} to {names.get(e.receiver, e.receiver)}: "
        f"{e.text[:_TEXT]}"
        for e in envelopes
    ]
    return [f"{title}:", *rows] if rows else []
