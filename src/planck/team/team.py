"""The agents of a session, each driven by one task; the orchestrator's end is the team's."""

import asyncio
import logging
from collections.abc import Iterable

from planck.agent.actor import Actor
from planck.records.events import AgentEnded, AgentStarted, Delivery, Envelope, TurnStatus, View, view
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.ports import Clock, Ids
from planck.records.specs import AgentSpec, Limits
from planck.team import names
from planck.team.mail import Mail
from planck.team.member import Member
from planck.team.restore import BuildAgent, Revived, revive
from planck.toolkit.journal import Entry, Journal

log = logging.getLogger(__name__)

_RESTARTS = 3
_WINDOW = 60.0
"""Seconds: more crashes than that many restarts in this window, and the agent has failed."""


class TeamError(PlanckError):
    """The team can't go on: its orchestrator failed."""


class Team:
    def __init__(
        self, id: str, *, journal: Journal, ids: Ids, clock: Clock, limits: Limits, build: BuildAgent
    ) -> None:
        self.id = id
        self.limits = limits
        self.mail = Mail(journal, ids, clock, limits, self.member)
        self.total = 0
        """Agents that ever were."""
        self._journal = journal
        self._clock = clock
        self._build = build
        self._members: dict[str, Member] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()
        self._halted = False
        self._chores: set[asyncio.Task[None]] = set()
        self._failure: TeamError | None = None

    @property
    def orchestrator(self) -> Member:
        return next(iter(self._members.values()))

    @property
    def members(self) -> list[Member]:
        """The live ones, in the order in which they started."""
        return list(self._members.values())

    def member(self, id: str) -> Member | None:
        return self._members.get(id)

    def now(self) -> float:
        return self._clock.monotonic()

    def taken(self, spec: AgentSpec) -> str:
        """Which of type and name a live agent has already; the newcomer needs both free."""
        for member in self._members.values():
            if names.skeleton(member.spec.name) == names.skeleton(spec.name):
                return f"name {spec.name!r}"
            if names.skeleton(member.spec.type) == names.skeleton(spec.type):
                return f"type {spec.type!r}"
        return ""

    async def add(self, spec: AgentSpec, *, depth: int = 0) -> Member:
        """Start a new agent; it is a member before its start is in the log, so that its name is taken."""
        member = self._admit(Revived(self._build(spec, self._journal), None), depth)
        try:
            await self._journal.record(spec.id, 0, AgentStarted(agent=spec))
        except asyncio.CancelledError:
            self._start(member)  # the journal commits what it took: it has started, whoever still waits
            raise
        except BaseException:
            del self._members[spec.id]
            raise
        self._start(member)
        return member

    async def adopt(self, lives: Iterable[tuple[AgentSpec, list[View]]]) -> None:
        """Take agents over from the log, the orchestrator first; turns in flight end as interrupted."""
        lives = list(lives)
        self.mail.remember(fact for _, facts in lives for fact in facts)
        revived = [revive(spec, facts, self._journal, self._build) for spec, facts in lives]
        for one in revived:
            self._admit(one, 1 if one.agent.spec.delegator_id else 0)
        for one in revived:
            await self._close(self._members[one.agent.id], one, "was stopped with the runtime")
            await self.mail.forget_asks(self._members[one.agent.id])
        for member in self.members:
            self._start(member)

    async def settled(self) -> None:
        """Returns when nothing can wake the orchestrator any more; raises what ended the team."""
        while True:
            self._changed.clear()
            if self._failure:
                raise self._failure
            if self._halted:
                return
            if not self._chores and all(self._quiet(member) for member in self._members.values()):
                for member in self._members.values():
                    if member.stalled and member.resting:
                        raise member.stalled
                return
            await self._changed.wait()

    def abort(self, status: TurnStatus = TurnStatus.INTERRUPTED) -> None:
        """Stop every turn in flight. Queued prompts stay queued."""
        for member in self._members.values():
            member.actor.abort(status)

    async def halt(self, status: TurnStatus) -> None:
        """End every turn and drive no further one; mail that waits stays in the log."""
        self._halted = True
        # First whoever waits for mail: the end of another's turn sends some, and would wake it.
        for member in self.members:
            if not member.actor.working:
                await self._stop(member)
        self.abort(status)
        while any(member.actor.working for member in self._members.values()):
            self._changed.clear()
            await self._changed.wait()

    def go_on(self) -> None:
        """After a halt: everybody takes mail again, beginning with what waits."""
        if self._halted:
            self._halted = False
            for member in self.members:
                if member.id not in self._tasks or self._tasks[member.id].done():
                    self._start(member)

    async def destroy(self, member: Member, why: str) -> None:
        """End one agent for good: what it was asked is refused, what it was given is reported back."""
        if self._members.pop(member.id, None) is None:
            return
        member.ending = why
        # A task of its own: whoever destroys may itself be stopped, and the end must still be told.
        chore = asyncio.create_task(self._bury(member, why))  # noqa: TID251 - awaited in aclose
        self._chores.add(chore)
        chore.add_done_callback(self._buried)
        await asyncio.shield(chore)

    def _buried(self, chore: asyncio.Task[None]) -> None:
        self._chores.discard(chore)
        self._changed.set()

    async def _bury(self, member: Member, why: str) -> None:
        await self._stop(member)
        dead = tuple(member.actor.agent.history.unread)
        entries = [
            entry
            for envelope in member.actor.agent.history.unread.values()
            for entry in self.mail.lost(member, envelope, why)
        ]
        if dead:
            entries.append(Entry(member.id, 0, Delivery(ids=dead, state="dead")))
        entries.append(Entry(member.id, 0, AgentEnded(status="destroyed", reason=why)))
        await self._journal.record_all(entries)
        self.mail.settle(member)
        self._changed.set()

    async def aclose(self) -> None:
        """Stop driving, the youngest first; a turn in flight is recorded as interrupted."""
        if self._chores:
            await asyncio.wait(self._chores)
        for member in reversed(self.members):
            await self._stop(member)

    def _admit(self, revived: Revived, depth: int) -> Member:
        first = not self._members
        actor = Actor(revived.agent, lambda ended: self.mail.closing(member, ended), barrier=first)
        member = Member(actor, depth=depth, since=self._clock.monotonic())
        self._members[member.id] = member
        self.total += 1
        return member

    def _start(self, member: Member) -> None:
        task = asyncio.create_task(self._drive(member))  # noqa: TID251 - awaited in _stop
        task.add_done_callback(lambda _: self._changed.set())
        self._tasks[member.id] = task

    async def _stop(self, member: Member) -> None:
        task = self._tasks.pop(member.id, None)
        if task:
            task.cancel()
            await asyncio.wait({task})
            if not task.cancelled() and (failure := task.exception()):
                log.error("agent %s stopped: %s", member.name, failure)

    def _quiet(self, member: Member) -> bool:
        busy = member.arriving or member.after or member.recovering
        return member.resting or (member.actor.idle and not busy)

    async def _drive(self, member: Member) -> None:
        while not self._halted:
            try:
                await self._turn(member)
            except Exception as crash:
                member.recovering = True
                if not await self._recover(member, crash):
                    return
                member.recovering = False
            member.idle_since = self._clock.monotonic()
            self._changed.set()

    async def _turn(self, member: Member) -> None:
        try:
            await member.actor.next_turn()
        except asyncio.CancelledError:
            self.mail.settle(member)  # it recorded its end before it let go
            raise
        self.mail.settle(member)
        member.unwritten = False

    async def _recover(self, member: Member, crash: Exception) -> bool:
        """Restart it; where the log can't be written, once that is possible again. False: it is over."""
        while True:
            if (task := asyncio.current_task()) and task.cancelling():
                raise crash  # it stands in the place of the cancellation: nothing is left to be driven
            try:
                if isinstance(crash, PlanckError) and crash.err.kind is ErrorKind.LOG_WRITE_FAILED:
                    if member.unwritten:  # a second time in a row: it will not help to try at once
                        await self._stall(member, crash)
                    member.unwritten = True
                    await self._revive(member)
                    return True
                log.error("agent %s crashed", member.name, exc_info=crash)
                return await self._restart(member, crash)
            except PlanckError as again:
                if again.err.kind is not ErrorKind.LOG_WRITE_FAILED:
                    raise
                crash = again

    async def _stall(self, member: Member, why: PlanckError) -> None:
        log.error("agent %s rests: %s", member.name, why)
        member.actor.rest()
        member.stalled = why
        self._changed.set()
        await member.actor.new_mail()
        member.stalled = None

    async def _restart(self, member: Member, crash: Exception) -> bool:
        """From the log, with its id and its mail; False once it crashed too often."""
        now = self._clock.monotonic()
        member.crashes.append(now)
        recent = sum(now - then < _WINDOW for then in member.crashes)
        if recent > _RESTARTS:
            member.after.clear()
            await self._fail(member, crash)
            return False
        await self._revive(member)
        return True

    async def _revive(self, member: Member) -> None:
        member.after.clear()
        facts = [fact for event in self._journal.recorded(member.id) if (fact := view(event))]
        revived = revive(member.spec, facts, self._journal, self._build)
        member.actor = Actor(
            revived.agent,
            lambda ended: self.mail.closing(member, ended),
            barrier=member is self.orchestrator,
        )
        await self._close(member, revived, "crashed and was restarted")

    async def _close(self, member: Member, revived: Revived, why: str) -> None:
        """End the turn that a crash cut: its calls, itself, and what somebody expected of it."""
        facts = revived.closing()
        also = self.mail.lost(member, revived.opening, why) if revived.opening else ()
        if facts or also:
            await revived.agent.record(*facts, also=also)
        self.mail.settle(member)

    async def _fail(self, member: Member, crash: Exception) -> None:
        err = crash.err if isinstance(crash, PlanckError) else None
        why = f"failed: it crashed {_RESTARTS + 1} times within {_WINDOW:g} s, last with {err or repr(crash)}"
        if member is self.orchestrator:
            kind = err.kind if err else ErrorKind.INTERNAL_ERROR
            self._failure = TeamError(kind, f"the orchestrator {why}")
            self._changed.set()
            return
        delegator = self._members.get(member.spec.delegator_id)
        member.ending = why
        del self._members[member.id]
        self._tasks.pop(member.id, None)
        entries = [
            entry
            for envelope in member.actor.agent.history.unread.values()
            for entry in self.mail.lost(member, envelope, why)
        ]
        told = any(isinstance(e.fact, Envelope) and e.agent_id == member.spec.delegator_id for e in entries)
        entries.append(Entry(member.id, 0, AgentEnded(status="failed", reason=why)))
        if delegator and not told:
            entries.append(self.mail.tell(member, delegator, f"{member.name} {why}."))
        await self._journal.record_all(entries)
        self.mail.settle(member)
        self._changed.set()
