"""Runs of a session: a prompt, the wait until its team is settled, and the result."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any

import msgspec

from planck.headless.embedding.arguments import check_options
from planck.headless.event import SessionEvent
from planck.headless.live.changes import RunChanges
from planck.headless.live.parts import AgentError, LiveParts
from planck.headless.live.prompting import PromptSender, check_prompt
from planck.records.events import ErrorEvent, Origin, TurnStatus
from planck.records.messages import UserMessage
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import Clock
from planck.session.result import RunResult, RunTally, describe_budget, fail_result, mark_stopped

if TYPE_CHECKING:
    pass

_running: ContextVar[frozenset[str]] = ContextVar("planck_running", default=frozenset())
"""The sessions whose run the present code is a part of: that of a tool or a hook."""
_SAME_TEXTS = 3
_SAID_AGAIN = (
    "A Stop or after_run hook told the orchestrator to continue, but the orchestrator ended with the same "
    f"text {_SAME_TEXTS} times and was stopped. Tell the orchestrator what to do instead, or fix the hook."
)
_SAID_DETAILS = {"pattern": "final_text", "limit": _SAME_TEXTS}
_COMPARED = 100
"""Files that a run changed and that are compared at a time; their old contents are in memory together."""
_MAX_STOPS = 5
"""How often Stop hooks may send one prompt's work on: a hook that never agrees must not hold it for ever."""


class SessionRuns:
    """Runs prompts of one session, one after the other."""

    def __init__(self, parts: LiveParts, sender: PromptSender, clock: Clock) -> None:
        self._parts = parts
        self._sender = sender
        self._clock = clock
        self._changes = RunChanges(parts)
        self._stopped: TurnStatus | None = None
        self._checking: asyncio.Future[str] | None = None
        """The checks of a run while they run."""
        self._withheld: Err | None = None
        """Why a hook of the program does not let the answer of this run out."""
        self._lock = asyncio.Lock()
        """Held by a run: another would count its events too, and cancelling one would end both."""

    @property
    def running(self) -> bool:
        return self._lock.locked()

    async def run(self, prompt: str | UserMessage | None, timeout: float | None, origin: Origin) -> RunResult:
        """Without a prompt it waits for what goes on already."""
        self._refuse_run(timeout)
        async with self._lock:
            return await self._run_alone(prompt, timeout, origin)

    def _refuse_run(self, timeout: float | None) -> None:
        """Raises for a wrong timeout, and where a tool or a hook would wait for the run that it is in."""
        check_options(timeout=timeout)
        if self._lock.locked() and self._parts.opened.id in _running.get():
            raise AgentError(
                ErrorKind.DEADLOCK,
                f"A tool or hook of session {self._parts.opened.name!r} cannot wait for another run of this "
                "session. Use session.prompt(), which does not wait, or another session.",
            )

    async def _run_alone(
        self, prompt: str | UserMessage | None, timeout: float | None, origin: Origin
    ) -> RunResult:
        began, parts = self._clock.monotonic(), self._parts
        tally = RunTally(parts.team.orchestrator.id, parts.wired.proof, parts.opened.store.head)
        within = _running.set(_running.get() | {self._parts.opened.id})
        try:
            return await self._run_counted(prompt, timeout, origin, began, tally)
        finally:
            _running.reset(within)

    async def _run_counted(
        self,
        prompt: str | UserMessage | None,
        timeout: float | None,
        origin: Origin,
        began: float,
        tally: RunTally,
    ) -> RunResult:
        self._parts.team.context = copy_context()
        self._withheld = None
        self._stopped = None  # a session that was stopped goes on; no await before: a new stop counts
        team = self._parts.team
        team.resume()
        id = team.mail.new_id(origin) if prompt is not None else ""
        with self._parts.log.journal.counting(tally.add):  # not read back: a run may be long
            try:
                async with asyncio.timeout(timeout):
                    if prompt is not None:
                        await self._sender.send(team.orchestrator, prompt, False, origin, id=id)
                    await self.settled()
            except TimeoutError:
                await self.stop(TurnStatus.TIMED_OUT)
            except asyncio.CancelledError:
                with suppress(PlanckError):  # a closed or lost log: the turns end all the same
                    await self.stop()
                    # The next run would begin with it; by now, what was being written is in the log.
                    await team.mail.withdraw(id, team.orchestrator)
                raise
            except PlanckError as failure:
                if failure.err.kind is ErrorKind.WRITER_CONFLICT:  # it goes on elsewhere: here it is over
                    await self._parts.aclose()
                raise
        took = round((self._clock.monotonic() - began) * 1000)
        demands = {**self._parts.wired.checks.demands, "changes": await self._changes.find(tally)}
        result = self._summarise(tally, took, demands)
        if self._withheld:
            return fail_result(msgspec.structs.replace(result, text=""), self._withheld)
        return mark_stopped(result, self._stopped) if self._stopped else result

    async def stream(
        self, prompt: str | UserMessage, timeout: float | None
    ) -> AsyncGenerator[SessionEvent, None]:
        """Yields what happens, deltas included, until `run` would return; leaving it cancels the run."""
        check_prompt(prompt)
        self._refuse_run(timeout)
        bounds: list[int] = []
        began, subscribed = asyncio.Event(), asyncio.Event()

        async def go() -> None:
            async with self._lock:
                bounds.append(self._parts.opened.store.head)
                began.set()
                await subscribed.wait()  # what is said before that is in no reader's queue
                try:
                    await self._run_alone(prompt, timeout, Origin.USER)
                finally:
                    bounds.append(self._parts.opened.store.head)

        # A task of its own: a program that is slow to take an event does not hold up the run.
        running = asyncio.ensure_future(go())
        running.add_done_callback(lambda _: began.set())
        try:
            await began.wait()  # another run may come first, whose events are not ours
            last = bounds[0] if bounds else 0
            async with aclosing(self._parts.events(last)) as events:
                while bounds and (not running.done() or last < bounds[1]):
                    taking = asyncio.ensure_future(anext(events, None))
                    subscribed.set()  # the run goes on after the first step of `taking`, which subscribes
                    try:
                        await asyncio.wait({taking, running}, return_when=asyncio.FIRST_COMPLETED)
                        if not taking.done() and last >= bounds[-1]:
                            break
                        event = await taking
                    finally:
                        await _cancel(taking)  # before `events` is closed, which a waiting reader forbids
                    if event is None:
                        break  # the session was closed
                    last = event.seq or last
                    if len(bounds) == 2 and last > bounds[1]:
                        break  # the next run has begun
                    yield event
            await running  # raises what the run raised, such as a refused prompt
        finally:
            await _cancel(running)

    async def settled(self) -> None:
        """Returns when nothing can wake the orchestrator any more, and no Stop hook or check sends it on."""
        while True:
            await self._settle_past_hooks()
            if self._withheld or not await self._go_on_to_green():
                return

    async def _go_on_to_green(self) -> bool:
        """Runs the checks that the run needs; returns whether somebody is at work again after them."""
        checks, team = self._parts.wired.checks, self._parts.team
        lead = team.orchestrator
        if not checks.needed(lead.actor.agent):
            return False
        if self._sum_up(self._sender.prompted).status is not TurnStatus.COMPLETED:
            return False
        self._checking = asyncio.ensure_future(checks.review_run(lead.actor.agent))
        try:
            await asyncio.wait({self._checking})
            if self._checking.cancelled():  # the user ended the checks
                self._stopped = self._stopped or TurnStatus.INTERRUPTED
                return False
            told = self._checking.result()
        finally:
            await _cancel(self._checking)
            self._checking = None
        if not told:
            return not team.settled  # somebody went on meanwhile: what they change is checked, too
        return not isinstance(await team.mail.prompt(lead, told, origin=Origin.PLANCK), Err)

    def stop_checking(self) -> None:
        """Ends the checks of a run and what they started; the run then counts as interrupted."""
        if self._checking:
            self._checking.cancel()

    async def _settle_past_hooks(self) -> None:
        said: list[str] = []
        for again in range(_MAX_STOPS):
            await self._parts.team.wait_until_settled()
            await self._parts.wired.record_running()
            program = self._parts.wired.hooks.program
            if not program and not self._parts.wired.hooks.has("Stop"):
                return
            result = self._sum_up(self._sender.prompted)
            if result.status is not TurnStatus.COMPLETED:
                return
            said.append(result.text)
            if said[-_SAME_TEXTS:] == [result.text] * _SAME_TEXTS:
                fact = ErrorEvent(kind=ErrorKind.LIMIT_EXCEEDED, message=_SAID_AGAIN, details=_SAID_DETAILS)
                await self._parts.log.journal.record(None, 0, fact)
                return
            refused = await program.after_run(result.text) if program else None
            # Kept until a later text is accepted: a hook that never agrees lets no answer out.
            self._withheld = _withhold(refused.reason) if refused else None
            if refused and refused.final:
                return
            if refused:
                told = f"A hook asks you to continue: {refused.reason}"
            else:
                verdict = await self._parts.wired.hooks.stop(result.text, active=again > 0)
                if not verdict.blocked:
                    return
                told = f"A Stop hook asks you to continue: {verdict.reason}"
            team = self._parts.team
            if isinstance(await team.mail.prompt(team.orchestrator, told, origin=Origin.HOOK), Err):
                return  # there is nobody to go on
        await self._parts.team.wait_until_settled()

    async def stop(self, status: TurnStatus = TurnStatus.INTERRUPTED) -> None:
        """Ends every turn; the result of this run says so."""
        self._stopped = status
        self.stop_checking()
        await self._parts.team.halt(status)

    def result(self, after: int, duration_ms: int | None = None) -> RunResult:
        """What the events after a number come to, and whether that is what the run has to prove."""
        tally = self._count(after)
        demands = {**self._parts.wired.checks.demands, "changes": self._changes.find_now(tally)}
        return self._summarise(tally, duration_ms, demands)

    def _sum_up(self, after: int) -> RunResult:
        """The same, held to no proof."""
        return self._summarise(self._count(after), None, {})

    def _count(self, after: int) -> RunTally:
        tally = RunTally(self._parts.team.orchestrator.id)
        for event in self._parts.log.store.read(after):
            tally.add(event)
        return tally

    def _summarise(self, tally: RunTally, duration_ms: int | None, demands: dict[str, Any]) -> RunResult:
        team = self._parts.team
        if team.accounts.limited and team.settled:
            team.orchestrator.actor.agent.purse.release()  # nobody reports any more
        return tally.summarise(
            names={member.id: member.spec.name for member in team.members},
            budget=describe_budget(team.accounts),
            session_id=self._parts.opened.id,
            session_name=self._parts.opened.name,
            duration_ms=duration_ms,
            **demands,
        )


def _withhold(reason: str) -> Err:
    return Err(ErrorKind.PERMISSION_DENIED, f"A hook of the program withheld the answer: {reason}")


async def _cancel(task: "asyncio.Future[Any]") -> None:
    """Returns when the task has ended; a task that ended before stays as it is."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
