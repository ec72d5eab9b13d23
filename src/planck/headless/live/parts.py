"""What every part of an open session needs: its log and its agents, for as long as it is open."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from planck.closing import close_all
from planck.headless.event import SessionEvent
from planck.headless.wiring import SessionWiring
from planck.records.events import AgentStarted, view
from planck.records.nearest import did_you_mean
from planck.records.outcome import ErrorKind, PlanckError
from planck.session.logs import SessionLog
from planck.team.member import Member
from planck.team.team import Team

if TYPE_CHECKING:
    from planck.session.undo import OldContents


class AgentError(PlanckError):
    """No such agent in this session, none that is alive, or one that is at work."""


class SessionClosed(PlanckError):
    """What was asked needs an open session; of a closed one only its name and members are left."""


class LiveParts:
    """The log and the agents of an open session; both raise once it is closed."""

    def __init__(self, opened: SessionLog, wired: SessionWiring) -> None:
        self.opened = opened
        """The log, also of a session that is closed."""
        self.wired = wired
        self.closed: bool = False

    @property
    def log(self) -> SessionLog:
        self.check_open()
        return self.opened

    @property
    def team(self) -> Team:
        self.check_open()
        return self.wired.team

    def old_contents(self) -> "OldContents":
        """Returns where the files of before are found that the log has, and those that it does not have."""
        from planck.session.outputs import IMAGES
        from planck.session.undo import OldContents  # most sessions never undo

        return OldContents(self.log.store, self.wired.redactor(), self.log.files / IMAGES)

    def check_open(self) -> None:
        """For whatever needs a team that lives and a log that is open."""
        if self.closed:
            way_out = f"Open it again with Planck.resume({self.opened.id!r})."
            raise SessionClosed(ErrorKind.DETACHED, f"Session {self.opened.name!r} is closed. {way_out}")

    def find_member(self, agent: str) -> Member:
        """Returns an agent by its id or its name; without one, the orchestrator."""
        team = self.team
        if not agent:
            return team.orchestrator
        for member in team.members:
            if agent in (member.id, member.name):
                return member
        known = [view(event) for event in self.log.store.read()]
        if any(
            isinstance(fact, AgentStarted) and agent in (fact.agent.id, fact.agent.name) for fact in known
        ):
            raise AgentError(
                ErrorKind.DETACHED, f"Agent {agent!r} has ended. Choose another agent in this session."
            )
        names = [member.name for member in team.members]
        hint = did_you_mean(agent, names) or f". Agents: {', '.join(names)}."
        raise AgentError(ErrorKind.NOT_FOUND, f"Agent not found: {agent!r}{hint}")

    async def events(self, after: int) -> AsyncGenerator[SessionEvent, None]:
        """Every recorded event after a number, then what happens, deltas included."""
        id = self.opened.id
        async with aclosing(self.log.journal.follow(after)) as batches:
            async for events in batches:
                for event in events:
                    yield SessionEvent(event, id)

    async def suspend(self) -> None:
        if not self.closed:
            self.closed = True
            await self._close(self.wired.team.suspend)

    async def aclose(self) -> None:
        """Closes every part of it, whatever becomes of one, and then raises the first error."""
        if not self.closed:
            self.closed = True
            await self._close(self.wired.team.aclose)

    async def _close(self, end_team: Callable[[], Awaitable[None]]) -> None:
        """Ends the commands while the log and the views are open: what they changed is recorded then."""
        wired = self.wired
        await close_all(end_team, wired.end_commands, wired.close_views, self.opened.aclose, wired.aclose)
