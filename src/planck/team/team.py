"""The agents of a session, each driven by one task; the orchestrator's end is the team's."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Literal

import msgspec

from planck.agent.actor import Actor
from planck.agent.agent import Agent
from planck.budget.accounts import RUN, Accounts
from planck.closing import close_all, wait_for_end
from planck.records.events import (
    USER,
    AgentEnded,
    AgentStarted,
    Control,
    Delivery,
    Envelope,
    ErrorEvent,
    Kind,
    TurnStatus,
    View,
    view,
)
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import Clock, Ids
from planck.records.specs import AgentSpec, Limits
from planck.team import names
from planck.team.mail import Mail
from planck.team.member import Member
from planck.team.proof import UNPROVEN, Proof
from planck.toolkit.journal import Entry, Journal
from planck.toolkit.landing import Lander
from planck.toolkit.tool import Tool

if TYPE_CHECKING:
    from planck.team.restore import BuildAgent, RestoredAgent

log: logging.Logger = logging.getLogger(__name__)

_CUT_OFF = "was stopped when the previous run ended"
_RESTARTS = 3
_WINDOW = 60.0
"""Seconds: more crashes than that many restarts in this window, and the agent has failed."""


class TeamError(PlanckError):
    """The team can't go on: its orchestrator failed."""


class Team:
    def __init__(
        self,
        id: str,
        *,
        journal: Journal,
        ids: Ids,
        clock: Clock,
        limits: Limits,
        build: "BuildAgent",
        accounts: Accounts | None = None,
        proof: Proof = UNPROVEN,
        hear_end: Callable[[str], None] = lambda agent_id: None,
        lander: Lander | None = None,
        prepare: Callable[[AgentSpec], Awaitable[Sequence[View]]] | None = None,
        record_commands: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`accounts`: who pays for its work; without them nothing is limited. `proof`: what the log knows of
        it.

        `prepare` makes what an agent needs before it is built, and returns what to record of it.
        `record_commands` records what commands in the background have changed until then.
        `hear_end` is told of each agent that is gone for good, by its id, once nothing of it runs any more.
        """
        self.id = id
        self.limits = limits
        self._members: dict[str, Member] = {}
        self.mail: Mail = Mail(
            journal, ids, clock, limits, self._members, accounts or Accounts(), proof, lander
        )
        self.total: int = 0
        """Agents that ever were."""
        self.granted: dict[str, tuple[Tool, ...]] = {}
        """By agent: tools that no file and no peer has, for building it, after a crash too."""
        self._journal = journal
        self._clock = clock
        self._build = build
        self._hear_end = hear_end
        self._proof = proof
        self._prepare = prepare
        self._record_commands = record_commands
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()
        self._over: set[str] = set()
        """Messages of the user's whose work the user has ended; few, for they are typed by hand."""
        self._halted = False
        self._left: set[str] = set()
        """Agents whose turn is left open for a resume."""
        self.context: Context | None = None
        """The context variables of the last prompt: turns that begin from then on have them."""
        self._chores: set[asyncio.Task[None]] = set()
        self._failure: TeamError | None = None

    @property
    def accounts(self) -> Accounts:
        """Who pays for its work; its agents are built with the same ones."""
        return self.mail.accounts

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

    def find_clash(self, spec: AgentSpec) -> str:
        """Returns which of type and name a live agent has already; the newcomer needs both free."""
        for member in self._members.values():
            if names.fold_lookalikes(member.spec.name) == names.fold_lookalikes(spec.name):
                return f"name {spec.name!r}"
            if names.fold_lookalikes(member.spec.type) == names.fold_lookalikes(spec.type):
                return f"type {spec.type!r}"
        return ""

    async def prepare(self, spec: AgentSpec) -> Sequence[View]:
        """Returns what `add` records of a new agent; raises where it can't have what its spec asks for.

        Whoever then does not add it calls `forget`.
        """
        return await self._prepare(spec) if self._prepare else ()

    def forget(self, agent_id: str) -> None:
        """Lets go of what was prepared for an agent that is not added."""
        self._forget(agent_id)

    async def begin(self, specs: Sequence[AgentSpec], started: View) -> None:
        """Starts the first agents, in one commit with what begins their session: a log has all or none."""
        arrivals = {spec.id: await self.prepare(spec) for spec in specs}
        members = [self._admit(self._build(spec, self._journal), 0) for spec in specs]
        entries = [
            Entry(member.id, 0, fact)
            for member in members
            for fact in (AgentStarted(agent=member.spec), *arrivals[member.id])
        ]
        await self._journal.record_all([Entry(None, 0, started), *entries])
        for member in members:
            self._start(member)

    async def add(
        self,
        spec: AgentSpec,
        *,
        depth: int = 0,
        call_id: str | None = None,
        tools: Sequence[Tool] = (),
        facts: Sequence[View] = (),
    ) -> Member:
        """Start a new agent; it is a member before its start is in the log, so that its name is taken.

        `facts` are those of `prepare`.
        """
        if tools:
            self.granted[spec.id] = tuple(tools)
        member = self._admit(self._build(spec, self._journal), depth)
        try:
            lender = self._find_lender(member.spec, call_id)
            started = AgentStarted(agent=member.spec, call_id=call_id, account=lender)
            await self._journal.record(spec.id, 0, started, *facts)
        except asyncio.CancelledError:
            self._start(member)  # the journal commits what it took: the agent has started
            raise
        except BaseException:
            del self._members[spec.id]
            self._forget(spec.id)
            raise
        self._start(member)
        return member

    def _find_lender(self, spec: AgentSpec, call_id: str | None) -> str | msgspec.UnsetType:
        account = self.accounts.get(spec.id)
        lender = account.parent.id if account and account.parent else ""
        return msgspec.UNSET if lender in ("", spec.delegator_id if call_id else RUN) else lender

    async def adopt(
        self, logs: Iterable[tuple[AgentSpec, list[View]]], *, ended: int, asks: bool = False
    ) -> None:
        """Take agents over from their logs, the orchestrator first; turns in flight end as interrupted.

        Where somebody can be asked (`asks`), a turn that waited for an answer asks again and goes on.
        What the mail knew is remembered before, from the logs of those that ended too: so many.
        """
        from planck.team.restore import restore_agent  # a new team has nothing to restore

        self.total = ended
        restored = [restore_agent(spec, facts, self._journal, self._build) for spec, facts in logs]
        for one in restored:
            self._admit(one.agent, 1 if one.agent.spec.delegator_id else 0)
        for one in restored:
            if asks and one.unfinished:
                self._members[one.agent.id].actor.unfinished = one.unfinished
            else:
                await self._end_cut_turn(self._members[one.agent.id], one, _CUT_OFF)
            await self.mail.forget_asks(self._members[one.agent.id])
        for member in self.members:
            self._start(member)

    @property
    def settled(self) -> bool:
        """Whether nothing can wake the orchestrator any more."""
        return self._halted or (
            not self._chores and all(self._is_quiet(member) for member in self._members.values())
        )

    async def wait_until_settled(self) -> None:
        """Returns when nothing can wake the orchestrator any more; raises what ended the team."""
        while True:
            self._changed.clear()
            if self._failure:
                raise self._failure
            if self._halted:
                return
            if self.settled:
                for member in self._members.values():
                    if member.stalled and member.resting:
                        raise member.stalled
                return
            await self._changed.wait()

    async def interrupt(
        self, targets: Sequence[Member], *, by: Member | None = None, call_id: str | None = None
    ) -> None:
        """Stop their turns in flight, if any; `by` None: the user does. Queued prompts stay queued."""
        for member in targets:
            self._abort(member)
        await self._record_control("interrupt", [member.id for member in targets], by=by, call_id=call_id)

    def interrupt_all(self, targets: Sequence[Member] | None = None) -> None:
        """Stop every turn in flight, or these, for the user, at the loop's next step.

        Queued prompts stay queued.
        """
        self._do(self._interrupt_working() if targets is None else self.interrupt(targets))

    async def halt(self, status: TurnStatus) -> None:
        """End every turn and drive no further one; mail that waits stays in the log."""
        self._halted = True
        # Also the agents that wait for mail: the end of another's turn sends some, and would wake it.
        resting = [self._cancel(member) for member in self.members if not member.actor.working]
        for member in self.members:
            self._abort(member, status)
        await self._record_control("halt", [self.id], status)
        for task in resting:
            await self._await_end(task)
        while any(member.actor.working for member in self._members.values()):
            self._changed.clear()
            await self._changed.wait()

    def resume(self) -> None:
        """Undo a halt: everybody takes mail again, beginning with what waits."""
        if self._halted:
            self._halted = False
            for member in self.members:
                if member.id not in self._tasks or self._tasks[member.id].done():
                    self._start(member)

    async def destroy(
        self, member: Member, why: str, *, by: Member | None = None, call_id: str | None = None
    ) -> None:
        """End one agent for good: what it was asked is refused, what it was given is reported back."""
        if self._members.pop(member.id, None) is None:
            return
        member.end_reason = why
        self.mail.stop_waiting(member)
        # A task of its own: the destroying agent may itself be stopped, and the end must still be recorded.
        chore = self._do(self._record_destroyed(member, why))
        await self._record_control("destroy", [member.id], by=by, call_id=call_id)
        await asyncio.shield(chore)
        others = [one for one in self.members if one is not by]
        self.mail.note_change(f"{member.name} is no longer in the team.", others, call_id)

    def _abort(self, member: Member, status: TurnStatus = TurnStatus.INTERRUPTED) -> None:
        if member.actor.working:
            self.mail.stop_waiting(member)
            member.actor.abort(status)

    def _do(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        chore = asyncio.create_task(work)  # noqa: TID251 - awaited in aclose
        self._chores.add(chore)
        chore.add_done_callback(self._notice_end)
        return chore

    async def _interrupt_working(self) -> None:
        lead = self.orchestrator
        stopped = [one for one in self.members if one is lead or one.actor.working]
        openings = [one.actor.opening for one in stopped if one.actor.opening]
        self._over |= {opening.root for opening in openings if opening.root}
        await self.interrupt(stopped)

    async def _record_control(
        self,
        action: Literal["interrupt", "destroy", "halt"],
        targets: Sequence[str],
        status: TurnStatus = TurnStatus.INTERRUPTED,
        *,
        by: Member | None = None,
        call_id: str | None = None,
    ) -> None:
        """Hand in what has just taken effect; no await may stand between the two."""
        facts = [Control(action=action, target=id, status=status, call_id=call_id) for id in targets]
        try:
            await self._journal.record(by.id if by else None, by.actor.agent.turn if by else 0, *facts)
        except PlanckError as failure:  # it has happened all the same, and must go on to its end
            log.error("could not record that %s was stopped: %s", targets, failure)

    async def _record_destroyed(self, member: Member, why: str) -> None:
        await self._await_end(self._cancel(member))
        self._forget(member.id)
        entries = list(self.mail.settle_unread(member, why))
        if dead := tuple(member.actor.agent.history.unread):
            entries.append(Entry(member.id, 0, Delivery(ids=dead, state="dead")))
        entries.append(Entry(member.id, 0, AgentEnded(status="destroyed", reason=why)))
        entries += self.mail.give_back(member, member.id)
        await self._journal.record_all(entries)

    async def aclose(self) -> None:
        """Stop driving, the youngest first; a turn in flight is recorded as interrupted."""
        drives = [partial(self._stop_driving, member) for member in reversed(self.members)]
        try:
            await close_all(partial(wait_for_end, *self._chores), self._halt_working, *drives)
        finally:
            self._halted = True
            self._changed.set()  # for those that still wait for the team to settle: nobody drives it any more

    async def suspend(self) -> None:
        """As `aclose`, but turns that wait for the user stay open in the log: a resume asks again."""
        waiting = [member for member in self.members if member.actor.waits_for_user]
        self._left.update(member.id for member in waiting)
        for member in waiting:
            await self._stop_driving(member)
            member.actor.leave()
        await self.aclose()

    async def _halt_working(self) -> None:
        if any(member.actor.working for member in self.members):
            await self.halt(TurnStatus.INTERRUPTED)

    async def _stop_driving(self, member: Member) -> None:
        await self._await_end(self._cancel(member))

    def _admit(self, agent: Agent, depth: int) -> Member:
        actor = self._make_actor(agent, barrier=not self._members)
        member = Member(actor, depth=depth, since=self._clock.monotonic())
        self._members[member.id] = member
        self.total += 1
        return member

    def _make_actor(self, agent: Agent, *, barrier: bool) -> Actor:
        return Actor(agent, barrier=barrier, before_end=partial(self._before_end, agent))

    async def _before_end(self, agent: Agent, opening: Envelope) -> Envelope | None:
        """Brings changes of a view back, then runs the checks of a task: either may send it back to work."""
        if self._record_commands:
            await self._record_commands()  # first: the rest looks at what has changed
        member = self._members.get(agent.id)
        if member and agent.spec.workspace == "own":
            news = await self.mail.bring_back(member, opening)
            if news is not None:
                return news
        checked = opening.kind is Kind.TASK and (agent.spec.role == "worker" or agent.spec.workspace == "own")
        return await self._proof.review(agent, opening) if checked else None

    def _forget(self, agent_id: str) -> None:
        self.granted.pop(agent_id, None)
        self._hear_end(agent_id)

    def _start(self, member: Member) -> None:
        name = f"agent {member.name}"
        task = asyncio.create_task(self._drive(member), name=name)  # noqa: TID251 - awaited when it is cancelled
        task.add_done_callback(self._notice_end)
        self._tasks[member.id] = task

    def _notice_end(self, task: asyncio.Task[None]) -> None:
        self._chores.discard(task)
        self._changed.set()

    def _cancel(self, member: Member) -> asyncio.Task[None] | None:
        """Drive it no more; its turn ends as interrupted, and the task that drove it with that."""
        task = self._tasks.pop(member.id, None)
        if task:
            task.cancel()
        return task

    async def _await_end(self, task: asyncio.Task[None] | None) -> None:
        if task:
            await wait_for_end(task)  # it records the end of a turn, for which the log must still be open
            if not task.cancelled() and (failure := task.exception()):
                log.error("%s stopped: %s", task.get_name(), failure)

    def _is_quiet(self, member: Member) -> bool:
        # A turn counts as work until its settlement is paid: no await stands between that and `record_end`.
        busy = self.mail.count_incoming(member) or member.recovering
        return member.resting or (member.actor.idle and not busy)

    async def _drive(self, member: Member) -> None:
        while not self._halted:
            try:
                await self._run_turn(member)
            except Exception as crash:
                member.recovering = True
                if not await self._recover(member, crash):
                    return
                member.recovering = False
            member.idle_since = self._clock.monotonic()
            self._changed.set()

    async def _run_turn(self, member: Member) -> None:
        actor = member.actor
        try:
            opening = await actor.wait_for_opening()
            if opening.sender == USER and opening.root:  # a hook may go on with the same
                self._over.discard(opening.root)
            over = opening.root in self._over
            if over:  # the reports of what was stopped, and tasks behind it, would have the team work on
                await self._record_control("interrupt", [member.id])
            await actor.run_next_turn(opening, over=over, context=self.context)
        finally:
            # A cancelled turn, too, is recorded with what it owes before the cancellation goes on.
            if member.id not in self._left and (ended := actor.conclude()):
                await actor.record_end(ended, self.mail.settle_turn(member, ended))
        member.log_refused = False

    async def _recover(self, member: Member, crash: Exception) -> bool:
        """Restart it, where the log can't be written once that is possible again; False: it is over."""
        told: list[ErrorEvent] = []
        fatal: Exception | None = None
        while True:
            if (task := asyncio.current_task()) and task.cancelling():
                raise crash  # instead of the cancellation: nothing is left to be driven
            try:
                if _is_taken_over(crash):
                    self._give_up(crash)
                    return False
                if isinstance(crash, PlanckError) and crash.err.kind is ErrorKind.LOG_WRITE_FAILED:
                    if member.log_refused:  # a second time in a row: it will not help to try at once
                        await self._stall(member, crash)
                    member.log_refused = True
                else:
                    log.error("agent %s crashed", member.name, exc_info=crash)
                    told.append(_describe_crash(crash, "crashed and was restarted"))
                    now = self._clock.monotonic()
                    member.crashes = [*(then for then in member.crashes if now - then < _WINDOW), now]
                    if len(member.crashes) > _RESTARTS:
                        fatal = crash
                if fatal:  # tried again where the log refused it: it has not ended before that is recorded
                    await self._fail(member, fatal)
                    return False
                await self._restore(member, *told)
                return True
            except PlanckError as again:
                if again.err.kind is not ErrorKind.LOG_WRITE_FAILED and not _is_taken_over(again):
                    raise
                crash = again

    def _give_up(self, crash: BaseException) -> None:
        """Another process has the log: nothing that happens here is recorded, so nothing more may happen."""
        if self._failure is None:
            assert isinstance(crash, PlanckError)
            self._failure = TeamError(crash.err.kind, crash.err.message, crash.err.details)
        self._halted = True
        for member in self.members:
            member.actor.abort()
        self._changed.set()

    async def _stall(self, member: Member, why: PlanckError) -> None:
        log.error("agent %s is paused: %s", member.name, why)
        member.stalled = why
        self._changed.set()
        await member.actor.wait_for_new_mail()
        member.stalled = None

    async def _restore(self, member: Member, *crashes: ErrorEvent) -> None:
        facts = [fact for event in self._journal.recorded(member.id) if (fact := view(event))]
        from planck.team.restore import restore_agent

        restored = restore_agent(member.spec, facts, self._journal, self._build)
        member.actor = self._make_actor(restored.agent, barrier=member is self.orchestrator)
        await self._end_cut_turn(member, restored, "crashed and was restarted", *crashes)

    async def _end_cut_turn(
        self, member: Member, restored: "RestoredAgent", why: str, *crashes: ErrorEvent
    ) -> None:
        """Record the end of the turn that a crash cut: its calls, itself, what somebody expected of it."""
        facts, opening = [*crashes, *restored.end_cut_turn()], restored.opening
        owed = self.mail.settle_unfinished(member, opening, why) if opening else ()
        if facts or owed:
            await restored.agent.scribe.record(*facts, also=owed)

    async def _fail(self, member: Member, crash: Exception) -> None:
        err = crash.err if isinstance(crash, PlanckError) else None
        last = str(err or repr(crash)).rstrip(".")
        why = f"failed: it crashed {_RESTARTS + 1} times in {_WINDOW:g} s (last error: {last})"
        if member is self.orchestrator:
            kind = err.kind if err else ErrorKind.INTERNAL_ERROR
            self._failure = TeamError(kind, f"the orchestrator {why}. Resume the session to try again.")
            self._changed.set()
            await member.actor.agent.scribe.record(_describe_crash(crash))
            return
        delegator = self._members.get(member.spec.delegator_id)
        member.end_reason = why
        before = dict(self._members)
        del self._members[member.id]  # no mail from here on: what is unread is answered for in this commit
        entries = list(self.mail.settle_unread(member, why))
        reported = [due.fact.receiver for due in entries if isinstance(due.fact, Envelope)]
        entries.append(Entry(member.id, 0, AgentEnded(status="failed", reason=why)))
        entries += self.mail.give_back(member, member.id)
        if delegator and delegator.id not in reported:
            entries.append(
                self.mail.notify(
                    member,
                    delegator,
                    f"{member.name} {why}. Give its work to another agent, or do it yourself.",
                )
            )
        crashed = Entry(member.id, member.actor.agent.turn, _describe_crash(crash))
        try:
            await self._journal.record_all([crashed, *entries])
        except PlanckError:  # nobody was told: it is still a member, at the place that it had
            self._readmit(member, before)
            raise
        self._tasks.pop(member.id, None)
        self._forget(member.id)

    def _readmit(self, member: Member, before: dict[str, Member]) -> None:
        member.end_reason = ""
        there = {id: one for id, one in before.items() if id in self._members or one is member}
        there |= self._members
        self._members.clear()  # the mail has the same map
        self._members.update(there)


def _describe_crash(crash: Exception, what: str = "crashed") -> ErrorEvent:
    err = crash.err if isinstance(crash, PlanckError) else Err(ErrorKind.INTERNAL_ERROR, repr(crash))
    return ErrorEvent(kind=err.kind, message=f"the agent {what}: {err.message}", details=err.details)


def _is_taken_over(crash: BaseException) -> bool:
    return isinstance(crash, PlanckError) and crash.err.kind is ErrorKind.WRITER_CONFLICT
