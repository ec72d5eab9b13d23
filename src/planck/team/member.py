from planck.agent.actor import Actor
from planck.records.outcome import PlanckError
from planck.records.specs import AgentSpec


class Member:
    """One agent of a team, and what the team keeps about it."""

    def __init__(self, actor: Actor, *, depth: int, since: float) -> None:
        self.id: str = actor.agent.id
        self.name: str = actor.agent.spec.name
        self.actor = actor
        """Another one after a crash, with the same id and name."""
        self.depth = depth
        """0 for those the session began with."""
        self.idle_since = since
        self.crashes: list[float] = []
        """When it crashed, of late."""
        self.log_refused = False
        """The log refused a fact of it, and no turn of it was recorded since."""
        self.recovering = False
        """Its turn broke off, and what that leaves behind is being recorded."""
        self.stalled: PlanckError | None = None
        """Why the log could not take the end of its turn; it rests until something can be recorded again."""
        self.end_reason = ""
        """Why it ends, once it does."""
        self.unlanded = ""
        """Why what it changed in its own view did not land, for whoever gets its next report."""

    @property
    def spec(self) -> AgentSpec:
        return self.actor.agent.spec

    @property
    def resting(self) -> bool:
        """Whether it waits for new mail before it tries again what the log refused."""
        return self.stalled is not None and not self.actor.has_new_mail

    @property
    def hops(self) -> int:
        """How many envelopes led to what it does now, since the user said something."""
        return self.actor.opening.hops if self.actor.opening else 0

    @property
    def root(self) -> str | None:
        """The user's message that led to what it does now."""
        return self.actor.opening.root if self.actor.opening else None
