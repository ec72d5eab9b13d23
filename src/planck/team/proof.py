"""What a team needs to know of the work of its agents beside their words; the facade hands it in."""

from collections.abc import Iterable
from typing import Protocol

from planck.agent.agent import Agent
from planck.records.events import Claim, Envelope
from planck.team.member import Member


class Proof(Protocol):
    def describe_work(self, agent_id: str) -> tuple[str, ...]:
        """Says what the log knows of what an agent did in the work at hand; it awaits nothing."""

    def judge(self, agent_id: str, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        """Returns an agent's claims with their verdicts."""

    def has_checks(self, member: Member, task: Envelope) -> bool:
        """Whether the runtime runs checks before a task of this member is reported as done."""

    def find_red(self, member: Member, task: Envelope) -> str:
        """Returns why the checks do not let a task count as done; empty: they do, or there are none."""

    async def review(self, agent: Agent, opening: Envelope) -> Envelope | None:
        """Runs what must pass before a turn may end; returns what sends the agent back to work."""


class _Unproven:
    """Where there is no log to look at: nothing is known, and every claim is unsupported."""

    def describe_work(self, agent_id: str) -> tuple[str, ...]:
        return ()

    def judge(self, agent_id: str, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        return tuple(claims)

    def has_checks(self, member: Member, task: Envelope) -> bool:
        return False

    def find_red(self, member: Member, task: Envelope) -> str:
        return ""

    async def review(self, agent: Agent, opening: Envelope) -> Envelope | None:
        return None


UNPROVEN: Proof = _Unproven()
