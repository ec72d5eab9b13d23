"""A mailbox and at most one turn at a time; its driver owns it, and no task outlives its turn."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context

import msgspec

from planck.agent.agent import Agent
from planck.agent.turn import run_turn
from planck.records.events import Envelope, ErrorEvent, TurnEnd, TurnStatus, View
from planck.records.outcome import Err, ErrorKind, PlanckError, name_exception
from planck.records.usage import Usage
from planck.toolkit.journal import Entry

log: logging.Logger = logging.getLogger(__name__)


class Ended(msgspec.Struct, frozen=True):
    """How one turn ended, and what had started it."""

    opening: Envelope
    end: TurnEnd
    error: Err | None
    facts: tuple[View, ...]
    """What is to be recorded of it: one result for each open call, its error, its end."""


class UnfinishedTurn(msgspec.Struct, frozen=True):
    """A turn that waited for the user when its process was lost."""

    opening: Envelope
    steps: int
    """Answers of the model so far, what they used, and the last text."""
    spent: Usage
    text: str


BeforeEnd = Callable[[Envelope], Awaitable[Envelope | None]]
"""Is told that a turn is about to end; returns what the agent has to read first, and then goes on with it."""


class Actor:
    def __init__(self, agent: Agent, *, barrier: bool, before_end: BeforeEnd | None = None) -> None:
        """`barrier`: a turn's end waits until it would survive a power cut."""
        self.agent = agent
        self.opening: Envelope | None = None
        """What started the turn in flight."""
        self.stopping: bool = False
        """The turn in flight was told to end, and has not ended yet."""
        self.unfinished: UnfinishedTurn | None = None
        """The turn that it continues, or is about to."""
        self._barrier = barrier
        self._before_end = before_end
        self.has_new_mail: bool = False
        """Whether mail came since `wait_for_new_mail` began."""
        self._waiting: list[asyncio.Future[None]] = []
        """A list: the deque of an `asyncio.Event` is 600 of an idle agent's 15,000 bytes."""
        self._work: asyncio.Task[str] | None = None
        self._abort_as = TurnStatus.INTERRUPTED

    @property
    def working(self) -> bool:
        return self._work is not None

    @property
    def idle(self) -> bool:
        return self._work is None and self.unfinished is None and not self.agent.history.unread

    async def wait_for_new_mail(self) -> None:
        """What is in the mailbox stays there, but only what comes from here on counts as new."""
        self.has_new_mail = False
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        finally:
            self._waiting.remove(waiter)

    def _note_mail(self) -> None:
        self.has_new_mail = True
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def accept(self, envelope: Envelope, *, held: bool = False) -> None:
        """Take a recorded envelope; its turn comes in order of arrival, once it is not held any more."""
        if held:
            self.agent.held.add(envelope.id)
        self.agent.history.apply(envelope)
        self._note_mail()

    def release(self, id: str) -> None:
        if id in self.agent.held:
            self.agent.held.remove(id)
            self._note_mail()

    def abort(self, status: TurnStatus = TurnStatus.INTERRUPTED) -> None:
        """Cancel the turn in flight, if any. Queued prompts stay queued."""
        if self._work:
            self.stopping = True
            self._abort_as = status
            self._work.cancel()

    async def wait_for_opening(self) -> Envelope:
        """Returns what the next turn begins with, once there is something; first what is to be continued."""
        if self.unfinished:
            return self.unfinished.opening
        while (opening := self.agent.choose_opening()) is None:
            await self.wait_for_new_mail()
        return opening

    async def run_next_turn(
        self, opening: Envelope, *, over: bool = False, context: Context | None = None
    ) -> None:
        """Run one turn; its driver then has its end recorded. `over`: it ends as it begins.

        `context` has the context variables that its tools see; None: those of its driver.
        A cancellation stops the turn, and is raised again once it stands still.
        """
        self.opening = opening
        self.stopping = False
        self._abort_as = TurnStatus.INTERRUPTED
        own = context.copy() if context else None  # a turn's own changes stay in it
        self._work = asyncio.create_task(self._take_up(opening), context=own)  # noqa: TID251 - awaited below
        if over:
            self.abort()
        try:
            await asyncio.wait({self._work})
        except asyncio.CancelledError:
            self._work.cancel()
            await asyncio.wait({self._work})
            raise

    async def _take_up(self, opening: Envelope) -> str:
        # Here, and not in the turn: what it begins with, and says so, is what the model is shown.
        await self.agent.tools.wait_for_listings()
        if self.unfinished:
            return await self._continue(self.unfinished)
        # It may have been taken back since.
        return await self._run_whole(opening) if self.agent.can_begin(opening) else ""

    async def _run_whole(self, opening: Envelope) -> str:
        """Runs the turn, and on with it as long as something has to be read before it may end."""
        agent, whole = self.agent, self.agent.bounds
        text = await run_turn(agent, opening)
        while self._before_end and (news := await self._before_end(opening)):
            if agent.steps >= whole.max_steps:
                break  # the report says what is left
            agent.note(news)
            agent.bounds = msgspec.structs.replace(whole, max_steps=whole.max_steps - agent.steps)
            try:
                text = await run_turn(agent, opening)
            finally:
                agent.bounds = whole
        return text

    async def _continue(self, turn: UnfinishedTurn) -> str:
        """Asks the user again first. The steps that were taken count, but the results are always read."""
        agent, whole = self.agent, self.agent.bounds
        await agent.continue_step(turn.opening, turn.spent, turn.text, turn.steps)
        left = max(1, whole.max_steps - turn.steps)
        agent.bounds = msgspec.structs.replace(whole, max_steps=left)
        try:
            return await self._run_whole(turn.opening)
        finally:
            agent.bounds = whole

    @property
    def waits_for_user(self) -> bool:
        """Whether a call of the turn in flight waits for the user's answer."""
        return self.working and self.agent.history.left_asking

    def leave(self) -> None:
        """Works on nothing any more; its turn stays open in the log, as if the process had been lost."""
        self._work = self.opening = None

    def conclude(self) -> Ended | None:
        """Returns how the turn ended; None between turns, while it works, and where none had begun.

        Called once a turn, and without an await before `record_end`.
        """
        if self.opening is None or self._work is None or not self._work.done():
            return None
        cut = self.agent.end_open_answer()
        status, text, error = self._outcome(self._work)
        facts: list[View] = []
        if not self.agent.history.in_turn:  # stopped before it could record its start
            if not self.agent.can_begin(self.opening):
                self._work = self.opening = None
                return None
            facts += self.agent.begin_turn(self.opening)
        facts += self.agent.end_open_calls()
        facts += cut
        facts += self.agent.take_news()
        facts += self.agent.settle(self.agent.tally)
        if error:
            facts.append(ErrorEvent(kind=error.kind, message=error.message, details=error.details))
        end = TurnEnd(status=status, text=text, usage=self.agent.turn_usage)
        return Ended(self.opening, end, error, (*facts, end))

    async def record_end(self, ended: Ended, also: Sequence[Entry] = ()) -> None:
        """Record the end in one commit with what it owes to others; after that it works on nothing."""
        try:
            await self.agent.scribe.record(*ended.facts, also=also, barrier=self._barrier)
        finally:
            self._work = self.opening = self.unfinished = None
            if self.agent.purse.accounts.limited:
                self.agent.purse.end()

    def _outcome(self, work: "asyncio.Task[str]") -> tuple[TurnStatus, str, Err | None]:
        if work.cancelled():
            return self._abort_as, self.agent.turn_text, None
        failure = work.exception()
        match failure:
            case None:
                return TurnStatus.COMPLETED, work.result(), None
            case PlanckError():
                capped = failure.err.kind in (ErrorKind.ITERATION_CAP, ErrorKind.BUDGET_EXCEEDED)
                status = TurnStatus.CAPPED if capped else TurnStatus.FAILED
                return status, self.agent.turn_text, failure.err
            case _:
                log.error("the turn failed for agent %s", self.agent.spec.name, exc_info=failure)
                err = Err(ErrorKind.INTERNAL_ERROR, name_exception(failure))
                return TurnStatus.FAILED, self.agent.turn_text, err
