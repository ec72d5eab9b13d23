"""A session that runs in this process: prompts go in, events and results come out."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, suppress
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec

from planck.closing import close_all
from planck.config.providers import Providers
from planck.headless.event import SessionEvent
from planck.headless.session_setup import check_options, refuse
from planck.headless.session_tools import check_tool
from planck.headless.wiring import SessionWiring
from planck.records import codec
from planck.records.authority import Mode
from planck.records.events import (
    AgentStarted,
    Compacted,
    ErrorEvent,
    Event,
    ModeChanged,
    Origin,
    RequestKey,
    TurnStatus,
    View,
    view,
)
from planck.records.messages import Image, Text, UserMessage, user_text
from planck.records.nearest import did_you_mean
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.ports import Clock
from planck.records.specs import AgentSpec, ModelSpec, SessionOptions
from planck.records.usage import Tally
from planck.session.bus import LiveText
from planck.session.logs import SessionLog
from planck.session.result import RunResult, RunTally, describe_budget, fail_result, mark_stopped
from planck.session.session import rewind
from planck.team.mail import Accepted
from planck.team.member import Member
from planck.team.team import Team
from planck.toolkit.clock import RandomIds
from planck.toolkit.tool import Tool

if TYPE_CHECKING:
    from planck.headless.embedding.teams import Member as MemberObject
    from planck.headless.embedding.typed import TypedResult
    from planck.headless.feed import Feed, FeedClient
    from planck.headless.requests import Prompts
    from planck.headless.window import WindowUse
    from planck.records.board import Board
    from planck.session.costs import CostReport
    from planck.session.evidence import Evidence
    from planck.session.undo import FileDiff, Selection, UndoableTurn, UndoPlan
    from planck.workspace.paths.paths import Root
    from planck.workspace.process.jobs import ShellCommand

T = TypeVar("T")
_running: ContextVar[frozenset[str]] = ContextVar("planck_running", default=frozenset())
"""The sessions whose run the present code is a part of: that of a tool or a hook."""
_GO_ON = "Go on with what was interrupted."
_GO_ON_WITH_PLAN = "Go on with the plan."
_SAME_TEXTS = 3
_SAID_AGAIN = (
    "A Stop or after_run hook told the orchestrator to continue, but the orchestrator ended with the same "
    f"text {_SAME_TEXTS} times and was stopped. Tell the orchestrator what to do instead, or fix the hook."
)
_SAID_DETAILS = {"pattern": "final_text", "limit": _SAME_TEXTS}
_MAX_STOPS = 5
"""How often Stop hooks may send one prompt's work on: a hook that never agrees must not hold it for ever."""


class PromptRefused(PlanckError):
    """The prompt is empty or too large, the orchestrator's inbox is full, or a hook refuses it."""


def _check_prompt(said: object) -> None:
    if isinstance(said, str):
        empty = not said.strip()
    elif isinstance(said, UserMessage):
        empty = not said.text.strip() and not any(isinstance(part, Image) for part in said.parts)
    else:
        raise refuse(f"The prompt must be a string or a UserMessage, not {said!r}.")
    if empty:
        raise PromptRefused(ErrorKind.NO_PROMPT, "The prompt is empty. Say what to do.")


class AgentError(PlanckError):
    """No such agent in this session, none that is alive, or one that is at work."""


class SessionClosed(PlanckError):
    """What was asked needs an open session; of a closed one only its name and members are left."""


class OpenSession:
    """One open session."""

    def __init__(
        self,
        log: SessionLog,
        wired: SessionWiring,
        providers: Providers,
        clock: Clock,
        left_out: tuple[str, ...] = (),
    ) -> None:
        self.opened_at = log.opened_at
        """The newest event before this process opened the session; 0 for a new one."""
        self.closed = False
        self.left_out = left_out
        """Folders beside the workspace that its last run had, and that this process does not give it."""
        self._opened = log
        self._wired = wired
        self._providers = providers
        self._clock = clock
        self._prompted = 0
        self._prompts: Prompts | None = None
        self._feeds: dict[bool, Feed] = {}
        self._greeted = False
        self._greeting = ""
        """What the SessionStart hooks said, until a prompt has carried it."""
        self._stopped: TurnStatus | None = None
        self._checking: asyncio.Future[str] | None = None
        """The checks of a run while they run."""
        self._withheld: Err | None = None
        """Why a hook of the program does not let the answer of this run out."""
        self._runs = asyncio.Lock()
        """Held by a run: another would count its events too, and cancelling one would end both."""

    @property
    def _log(self) -> SessionLog:
        self._check_open()
        return self._opened

    @property
    def _team(self) -> Team:
        self._check_open()
        return self._wired.team

    def _check_open(self) -> None:
        """For whatever needs a team that lives and a log that is open."""
        if self.closed:
            way_out = f"Open it again with Planck.resume({self.id!r})."
            raise SessionClosed(ErrorKind.DETACHED, f"Session {self.name!r} is closed. {way_out}")

    @property
    def id(self) -> str:
        return self._opened.id

    @property
    def name(self) -> str:
        return self._opened.name

    @property
    def created(self) -> str:
        """When its log was made; empty where it has none on disk."""
        return self._opened.store.meta.get("created", "")

    @property
    def head(self) -> int:
        """The number of the newest recorded event."""
        return self._opened.store.head

    @property
    def orchestrator(self) -> AgentSpec:
        return self._wired.team.orchestrator.spec

    @property
    def tools(self) -> list[str]:
        return self._wired.team.orchestrator.actor.agent.tools.names()

    async def add_tool(self, tool: Tool, *, agent: str = "") -> None:
        """Give an agent (by id or name; the orchestrator) one more tool, from its next step on.

        What the orchestrator holds it can grant to the workers that it spawns.
        """
        check_tool(tool)
        member = self._member(agent)
        await member.actor.agent.add_tool(tool)
        self._wired.change_tool(member.id, tool.name, tool)

    async def remove_tool(self, name: str, *, agent: str = "") -> None:
        """Take a tool away, from the agent's next step on."""
        member = self._member(agent)
        await member.actor.agent.remove_tool(name)
        self._wired.change_tool(member.id, name, None)

    async def spawn(self, member: "MemberObject") -> AgentSpec:
        """Adds an agent to the team and returns it; its type and its name must be free.

        Prompt it with `session.prompt(text, agent=member.name)`, or let other agents give it work.
        """
        self._check_open()
        return await self._wired.spawn(member)

    @property
    def mode(self) -> Mode:
        return self._wired.mode

    def window(self, agent: str = "") -> "WindowUse":
        """What would fill the window of an agent's model at its next request, by kind."""
        from planck.headless.window import measure_window  # few sessions ask

        member = self._member(agent)
        return measure_window(member.actor.agent, self._wired.instructions(member.spec))

    async def change_model(self, name: str, *, agent: str = "", effort: str = "") -> ModelSpec:
        """Let an agent (by id or name; the orchestrator) go on with another model, from its next call on.

        `effort`: how much it thinks, where the model can be told.
        """
        member = self._member(agent)
        model = self._providers.resolve(name)
        if effort:
            model = msgspec.structs.replace(model, params={**model.params, "effort": effort})
        own = member.actor.agent
        await own.use_model(self._wired.seats.seat_for(model, own.spec.compactor, own.purse))
        return model

    async def change_mode(self, mode: Mode | str) -> None:
        """Give every agent, and those that come later, another permission mode; only a user may.

        It holds from the next call on; each agent is told what it may do now.
        """
        log, before = self._log, self._wired.mode
        self._wired.change_mode(mode)
        if self._wired.mode is not before:
            await log.journal.record(None, 0, ModeChanged(mode=self._wired.mode, before=before))
            await self._tell_mode("The user changed the mode. ")

    async def add_folder(self, folder: str) -> str:
        """Let every agent work in one more folder until the session is closed; only a user may.

        Returns where it really is; empty: agents work there already. Raises for a private or too wide one.
        """
        self._check_open()
        found = await asyncio.to_thread(self._wired.find_folder, folder)
        if found is None:
            return ""
        self._wired.add_folder(found)
        await self.announce(
            f"The user added the folder `{found.path}`. You may also work there, by absolute paths."
        )
        return str(found.path)

    @property
    def folders(self) -> tuple[str, ...]:
        """Where agents may work: the workspace first, then what was added."""
        return self._wired.root.paths

    async def accept_plan(self) -> Accepted:
        """Let the orchestrator carry out the plan that it made in mode `plan`.

        The mode before comes back, or the configured one where the session began with `plan`.
        """
        team = self._team
        if self._wired.mode is not Mode.PLAN:
            mode = self._wired.mode.value
            why = f"The session is in mode {mode!r}. Switch to mode 'plan' and ask for a plan first."
            raise AgentError(ErrorKind.INVALID_ARGS, why)
        if not all(member.actor.idle for member in team.members):
            raise AgentError(
                ErrorKind.INVALID_ARGS, "The plan is not finished. Wait for it, or interrupt the agents."
            )
        await self.change_mode(self._find_mode_before_plan())
        return await self._send(team.orchestrator, _GO_ON_WITH_PLAN, False, Origin.PLANCK)

    def _find_mode_before_plan(self) -> Mode:
        before = ""
        for event in self._log.store.read():
            if event.type == ModeChanged.type and isinstance(fact := view(event), ModeChanged):
                before = fact.before if fact.mode == Mode.PLAN else before
        found = Mode(before) if before in list(Mode) else self._wired.configured_mode
        return Mode.ASK if found is Mode.PLAN else found

    async def tell_what_changed(self, before: SessionOptions | None) -> None:
        """Tells the agents of a resumed session that their mode is another, or that a person is there now."""
        if before and before.mode != self._wired.mode:
            await self._log.journal.record(None, 0, ModeChanged(mode=self._wired.mode, before=before.mode))
            await self._tell_mode("The user changed the mode. ")
        elif before and before.person is not None and before.person != self._wired.person:
            await self._tell_mode("")

    async def report_interrupted_undo(self) -> None:
        """Names the files that a killed undo did not restore, and tells agents of those that it did."""
        from planck.session import undo

        root = self._find_undo_root(confined=False)
        left = undo.clean_up(self._log.store, root, self._wired.redactor(), resumed=True)
        if left.pending:
            names = ", ".join(map(repr, left.pending))
            message = f"An undo was interrupted. Not restored: {names}. Undo again to finish it."
            fact = ErrorEvent(
                kind=ErrorKind.INTERRUPTED, message=message, details={"paths": list(left.pending)}
            )
            await self._log.journal.record(None, 0, fact)
        if left.untold:
            await self._team.mail.announce(undo.describe_restored(left.untold), self._team.members)

    async def _tell_mode(self, why: str) -> None:
        team = self._team
        for member in team.members:
            await team.mail.announce(why + self._wired.describe_mode(member.actor.agent.tools), [member])

    def _member(self, agent: str) -> Member:
        team = self._team
        if not agent:
            return team.orchestrator
        for member in team.members:
            if agent in (member.id, member.name):
                return member
        known = [view(event) for event in self._log.store.read()]
        if any(
            isinstance(fact, AgentStarted) and agent in (fact.agent.id, fact.agent.name) for fact in known
        ):
            raise AgentError(
                ErrorKind.DETACHED, f"Agent {agent!r} has ended. Choose another agent in this session."
            )
        names = [member.name for member in team.members]
        hint = did_you_mean(agent, names) or f". Agents: {', '.join(names)}."
        raise AgentError(ErrorKind.NOT_FOUND, f"Agent not found: {agent!r}{hint}")

    @property
    def members(self) -> list[AgentSpec]:
        """The live agents, in the order in which they started."""
        return [member.spec for member in self._wired.team.members]

    async def prompt(
        self,
        said: str | UserMessage,
        *,
        steer: bool = False,
        id: str = "",
        agent: str = "",
        origin: Origin = Origin.USER,
    ) -> Accepted:
        """Returns once it is durable; steering joins the agent's running turn at its next step.

        What is said is a text, or a message that has images beside it.
        `agent`: by id or name; the orchestrator. `id` makes it safe to send the same again: it is the
        message's id, and a second prompt with it is answered like the first, after a resume too.
        """
        member = self._member(agent)
        if not self._runs.locked():
            self._team.context = copy_context()
        _check_prompt(said)
        if not id:
            return await self._send(member, said, steer, origin)
        from planck.headless.requests import make_key  # few prompts have a key

        request = make_key(id, said if isinstance(said, str) else codec.encode_str(said), steer, agent)
        async with self._known_prompts().alone(request) as first:
            return first or await self._send(member, said, steer, origin, request)

    async def _send(
        self,
        member: Member,
        said: str | UserMessage,
        steer: bool,
        origin: Origin,
        request: RequestKey | None = None,
    ) -> Accepted:
        message = user_text(said) if isinstance(said, str) else said
        if self._wired.hooks.program and origin is Origin.USER:
            message = await self._past_program(message)
        if len(message.parts) > 1:
            await self._open_eyes(member)
        context = await self._past_hooks(message.text)
        # Taken without an await, so that of two prompts at once only one carries it.
        greeting, self._greeting = self._greeting, ""
        text = "\n\n".join([message.text, *(f"Hook: {said}" for said in (greeting, context) if said)])
        images = (part for part in message.parts if isinstance(part, Image))
        message = UserMessage((Text(text), *images), typed=message.typed)
        taken: Accepted | Err | None = None
        try:
            team = self._team
            if not steer and member is team.orchestrator:
                self._prompted = self.head
                self._wired.checks.begin_run(self.head)
            taken = await team.mail.prompt(member, message, steer=steer, origin=origin, request=request)
        finally:
            if not isinstance(taken, Accepted):
                self._greeting = greeting  # for the next prompt
        if isinstance(taken, Err):
            raise PromptRefused(taken.kind, taken.message, taken.details)
        return taken

    async def _past_program(self, message: UserMessage) -> UserMessage:
        assert self._wired.hooks.program is not None
        found = await self._wired.hooks.program.before_prompt(message.text)
        if not isinstance(found, str):
            text = f"A hook of the program refused the prompt: {found.reason}"
            raise PromptRefused(ErrorKind.PERMISSION_DENIED, text)
        if found == message.text:
            return message
        images = [part for part in message.parts if isinstance(part, Image)]
        return msgspec.structs.replace(message, parts=(Text(found), *images))

    async def _open_eyes(self, member: Member) -> None:
        """Lets an agent see images that the user hands it, unless its model is known to see none."""
        agent = member.actor.agent
        model = agent.seat.model
        if model.images:
            return
        if self._providers.is_known(model):
            raise PromptRefused(
                ErrorKind.INVALID_ARGS,
                f"Model {model.label} does not accept images. Nothing was sent. Choose another model first.",
            )
        seeing = msgspec.structs.replace(model, images=True)
        await agent.use_model(self._wired.seats.seat_for(seeing, agent.spec.compactor, agent.purse))

    def _known_prompts(self) -> "Prompts":
        """Read from the log when the first key is used: most sessions have none."""
        if self._prompts is None:
            from planck.headless.requests import Prompts

            self._prompts = Prompts()
            self._prompts.fold(self._log.store.read())
            self._log.journal.attach(self._prompts)
        return self._prompts

    async def settled(self) -> None:
        """Returns when nothing can wake the orchestrator any more: no Stop hook and no red check sends it on."""
        while True:
            await self._settle_with_hooks()
            if self._withheld or not await self._go_on_to_green():
                return

    async def _go_on_to_green(self) -> bool:
        """Runs the checks that the run needs; returns whether a red one has sent the orchestrator back."""
        checks, team = self._wired.checks, self._team
        lead = team.orchestrator
        if not checks.needed(lead.actor.agent):
            return False
        if self._sum_up(self._prompted).status is not TurnStatus.COMPLETED:
            return False
        self._checking = asyncio.ensure_future(checks.review_run(lead.actor.agent))
        try:
            told = await self._checking
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) and task.cancelling():
                raise
            self._stopped = self._stopped or TurnStatus.INTERRUPTED  # the user ended the check alone
            return False
        finally:
            await _cancel(self._checking)
            self._checking = None
        if not told:
            return not team.settled  # somebody went on meanwhile: what they change is checked, too
        return not isinstance(await team.mail.prompt(lead, told, origin=Origin.PLANCK), Err)

    def _stop_checking(self) -> None:
        if self._checking:
            self._checking.cancel()

    async def _settle_with_hooks(self) -> None:
        said: list[str] = []
        for again in range(_MAX_STOPS):
            await self._team.wait_until_settled()
            program = self._wired.hooks.program
            if not program and not self._wired.hooks.has("Stop"):
                return
            result = self._sum_up(self._prompted)
            if result.status is not TurnStatus.COMPLETED:
                return
            said.append(result.text)
            if said[-_SAME_TEXTS:] == [result.text] * _SAME_TEXTS:
                fact = ErrorEvent(kind=ErrorKind.LIMIT_EXCEEDED, message=_SAID_AGAIN, details=_SAID_DETAILS)
                await self._log.journal.record(None, 0, fact)
                return
            refused = await program.after_run(result.text) if program else None
            # Kept until a later text is accepted: a hook that never agrees lets no answer out.
            self._withheld = _withhold(refused.reason) if refused else None
            if refused and refused.final:
                return
            if refused:
                told = f"A hook asks you to continue: {refused.reason}"
            else:
                verdict = await self._wired.hooks.stop(result.text, active=again > 0)
                if not verdict.blocked:
                    return
                told = f"A Stop hook asks you to continue: {verdict.reason}"
            team = self._team
            if isinstance(await team.mail.prompt(team.orchestrator, told, origin=Origin.HOOK), Err):
                return  # there is nobody to go on
        await self._team.wait_until_settled()

    async def _past_hooks(self, text: str) -> str:
        """Returns what the UserPromptSubmit hooks add to a prompt; one may refuse it.

        The SessionStart hooks run before the first prompt.
        """
        own = self._wired.hooks
        first, self._greeted = not self._greeted, True
        if not own.has("SessionStart", "UserPromptSubmit"):
            return ""
        if first:
            try:
                started = await own.session_start("resume" if self.opened_at else "startup")
            except asyncio.CancelledError:
                self._greeted = False
                raise
            self._greeting = started.context
        verdict = await own.prompt(text)
        if verdict.blocked:
            raise PromptRefused(
                ErrorKind.PERMISSION_DENIED, f"A UserPromptSubmit hook rejected the prompt: {verdict.reason}"
            )
        return verdict.context

    def interrupt(self, agent: str = "") -> None:
        """End every turn in flight and the checks, or one agent's turn; the session goes on with the next
        prompt."""
        if not agent:
            self._stop_checking()
        self._team.interrupt_all([self._member(agent)] if agent else None)

    def result(self, after: int, duration_ms: int | None = None) -> RunResult:
        """What the events after a number come to; `duration_ms` is the log's own where nobody measured it."""
        return self._sum_up(after, duration_ms, **self._wired.checks.demands)

    def _sum_up(self, after: int, duration_ms: int | None = None, **demands: Any) -> RunResult:
        """The same, held to no proof unless there are `demands`."""
        tally = RunTally(self._team.orchestrator.id)
        for event in self._log.store.read(after):
            tally.add(event)
        return self._summarise(tally, duration_ms, demands)

    def _summarise(self, tally: RunTally, duration_ms: int | None, demands: dict[str, Any]) -> RunResult:
        team = self._team
        if team.accounts.limited and team.settled:
            team.orchestrator.actor.agent.purse.release()  # nobody reports any more
        return tally.summarise(
            names={spec.id: spec.name for spec in self.members},
            budget=describe_budget(team.accounts),
            session_id=self.id,
            session_name=self.name,
            duration_ms=duration_ms,
            **demands,
        )

    def evidence(self, after: int) -> "Evidence | None":
        """Returns the newest run of tests after a number, and whether it is of the files as they are."""
        from planck.session.evidence import find_evidence

        return find_evidence(self._log.store.read(after))

    def costs(self) -> "CostReport":
        """What each agent used of which model, of which budget, and when that is used up: now."""
        from planck.records.ledger import Ledger
        from planck.session.costs import report_costs

        return report_costs(Ledger(self._log.store.read()))

    def opening_board(self) -> "Board":
        """Who is there and what was spent before: the events after `opened_at` are folded into it."""
        from planck.session.initial_board import make_opening_board  # where nobody looks, nothing is folded

        return make_opening_board(self._opened, self._wired.team, self._wired.mode)

    async def go_on(self, *, timeout: float | None = None) -> RunResult:
        """Send the orchestrator back to what was interrupted, and wait as `run` does.

        One that asks the user again, about a call of that turn, goes on by itself.
        """
        said = None if self._team.orchestrator.actor.unfinished else _GO_ON
        return await self._run(said, timeout, Origin.PLANCK)

    @overload
    async def run(
        self, prompt: str | UserMessage, *, timeout: float | None = None, origin: Origin = Origin.USER
    ) -> RunResult: ...
    @overload
    async def run(
        self,
        prompt: str | UserMessage,
        *,
        output_type: type[T],
        timeout: float | None = None,
        origin: Origin = Origin.USER,
    ) -> "TypedResult[T]": ...
    async def run(
        self,
        prompt: str | UserMessage,
        *,
        output_type: type[Any] | None = None,
        timeout: float | None = None,
        origin: Origin = Origin.USER,
    ) -> RunResult:
        """Prompt the orchestrator and wait until nothing can wake it any more; runs take turns.

        With an `output_type` (a dataclass, a TypedDict, a msgspec or a pydantic model, a list of them, …) the
        result has `data`: the answer as an object of that type. An answer that does not fit is asked for
        once more; then the run has failed, with `invalid_response`.

        If it is cancelled, every turn and its tools have ended when `CancelledError` is raised. Where another
        process has taken the session over, this one is closed and `writer_conflict` raised.
        """
        _check_prompt(prompt)
        if output_type is None:
            return await self._run(prompt, timeout, origin)
        from planck.headless.embedding.typed import OutputType

        return await OutputType(output_type).run_typed(self, prompt, timeout=timeout)

    async def stream(
        self, prompt: str | UserMessage, *, timeout: float | None = None
    ) -> AsyncGenerator[SessionEvent, None]:
        """Prompts the orchestrator and yields what happens, deltas included, until `run` would return.

        Leaving the loop early cancels the run; use `contextlib.aclosing` to have that happen at once.
        """
        _check_prompt(prompt)
        self._refuse_run(timeout)
        bounds: list[int] = []
        began, subscribed = asyncio.Event(), asyncio.Event()

        async def go() -> None:
            async with self._runs:
                bounds.append(self.head)
                began.set()
                await subscribed.wait()  # what is said before that is in no reader's queue
                try:
                    await self._run_alone(prompt, timeout, Origin.USER)
                finally:
                    bounds.append(self._opened.store.head)

        # A task of its own: a program that is slow to take an event does not hold up the run.
        running = asyncio.ensure_future(go())
        running.add_done_callback(lambda _: began.set())
        try:
            await began.wait()  # another run may come first, whose events are not ours
            last = bounds[0] if bounds else 0
            async with aclosing(self.events(last)) as events:
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

    @property
    def asks_again(self) -> bool:
        """Whether a turn goes on that waited for the user when another process was lost."""
        return any(member.actor.unfinished for member in self._team.members)

    async def announce(self, text: str) -> None:
        """Tells every agent of a change around it, without waking one."""
        await self._team.mail.announce(text, self._team.members)

    async def _run(
        self, prompt: str | UserMessage | None, timeout: float | None, origin: Origin
    ) -> RunResult:
        """Without a prompt it waits for what goes on already."""
        self._refuse_run(timeout)
        async with self._runs:
            return await self._run_alone(prompt, timeout, origin)

    def _refuse_run(self, timeout: float | None) -> None:
        """Raises for a wrong timeout, and where a tool or a hook would wait for the run that it is in."""
        check_options(timeout=timeout)
        if self._runs.locked() and self.id in _running.get():
            raise AgentError(
                ErrorKind.DEADLOCK,
                f"A tool or hook of session {self.name!r} cannot wait for another run of this session. "
                "Use session.prompt(), which does not wait, or another session.",
            )

    async def _run_alone(
        self, prompt: str | UserMessage | None, timeout: float | None, origin: Origin
    ) -> RunResult:
        began = self._clock.monotonic()
        tally = RunTally(self._team.orchestrator.id, self._wired.proof, self.head)
        within = _running.set(_running.get() | {self.id})
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
        self._team.context = copy_context()
        self._withheld = None
        self._stopped = None  # a session that was stopped goes on; no await before: a new stop counts
        self._team.resume()
        with self._log.journal.counting(tally.add):  # not read back: a run may be long
            try:
                async with asyncio.timeout(timeout):
                    if prompt is not None:
                        await self.prompt(prompt, origin=origin)
                    await self.settled()
            except TimeoutError:
                await self.stop(TurnStatus.TIMED_OUT)
            except asyncio.CancelledError:
                with suppress(PlanckError):  # a closed or lost log: the turns end all the same
                    await self.stop()
                raise
            except PlanckError as failure:
                if failure.err.kind is ErrorKind.WRITER_CONFLICT:  # it goes on elsewhere: here it is over
                    await self.aclose()
                raise
        took = round((self._clock.monotonic() - began) * 1000)
        result = self._summarise(tally, took, self._wired.checks.demands)
        if self._withheld:
            return fail_result(msgspec.structs.replace(result, text=""), self._withheld)
        return mark_stopped(result, self._stopped) if self._stopped else result

    async def compact(self, *, focus: str = "") -> Compacted | None:
        """Make the orchestrator's history about half as long; None where nothing can be taken out.

        `focus`: what a summary keeps above all. Not within a turn, nor if one began meanwhile: what is open
        then would be lost.
        """
        actor = self._team.orchestrator.actor
        agent, turn = actor.agent, actor.agent.turn
        paid, made = Tally(), None
        try:
            if not actor.working:
                request = msgspec.structs.replace(agent.request(), tally=paid, focus=focus)
                made = await agent.seat.compactor.shorten(request, agent.scribe)
        finally:
            late = actor.working or agent.turn != turn
            if (made is None or late) and (facts := agent.settle(paid)):
                await agent.scribe.record(*facts)
        if late:
            raise AgentError(
                ErrorKind.INVALID_ARGS,
                "The orchestrator is working. Wait for it or interrupt it, then compact the history.",
            )
        if made is not None:
            await agent.record_compaction(made, paid)
        return made

    def undo_plan(self, selection: "Selection", *, confined: bool = False) -> "UndoPlan":
        """What taking back a turn, an agent's work or a call would do to the files now.

        `confined`: for somebody who is not the user at this machine, and may write where agents may by now.
        """
        from planck.session import undo  # most sessions never undo

        root = self._find_undo_root(confined)
        return undo.plan(self._log.store, root, selection, self._wired.redactor())

    def undo_turns(self) -> "tuple[UndoableTurn, ...]":
        """The turns with changes that are not undone yet, the newest first."""
        from planck.session import undo

        root = self._find_undo_root(confined=False)
        return undo.list_turns(self._log.store, root, self._wired.redactor())

    async def undo(self, plan: "UndoPlan", *, confined: bool = False) -> str:
        """Revert what the plan says; gives the id of a call that undoes the undo."""
        from planck.session import undo

        log, team = self._log, self._team
        id = await undo.apply(plan, self._find_undo_root(confined), RandomIds(), log.journal)
        if text := undo.describe_undone(plan):
            await team.mail.announce(text, team.members)
        return id

    def _find_undo_root(self, confined: bool) -> "Root":
        from planck.session import undo

        if confined and self.mode is not Mode.FULL:
            return self._wired.open_root()
        return undo.open_places(self._log.store, self._wired.root)

    async def stop(self, status: TurnStatus = TurnStatus.INTERRUPTED) -> None:
        """End every turn and take no further mail; what is queued stays in the log for a resume."""
        self._stopped = status
        self._stop_checking()
        await self._team.halt(status)

    async def events(self, after: int = 0) -> AsyncGenerator[SessionEvent, None]:
        """Every recorded event after a number, then what happens, deltas included."""
        id = self.id
        async with aclosing(self._log.journal.follow(after)) as batches:
            async for events in batches:
                for event in events:
                    yield SessionEvent(event, id)

    async def follow(
        self, after: int = 0, *, words: bool = True
    ) -> AsyncGenerator[Sequence[SessionEvent], None]:
        """Yields the events in batches; without `words`, no deltas of text or output."""
        id = self.id
        async with aclosing(self._log.journal.follow(after, words=words)) as batches:
            async for events in batches:
                yield [SessionEvent(event, id) for event in events]

    def recorded(self, after: int = 0) -> Iterator[Event]:
        """What is in the log after a number, now."""
        return self._log.store.read(after)

    async def record(self, *facts: View) -> None:
        """Writes facts that are no agent's."""
        await self._log.journal.record(None, 0, *facts, barrier=True)

    def live(self) -> dict[str, LiveText]:
        """By agent: what it has said, thought and put out since the log knows it; ends of 64 KiB each."""
        return self._log.journal.live.snapshot()

    def commands(self) -> "tuple[ShellCommand, ...]":
        """The shell commands of its agents that run now, and those that ended in the background."""
        return self._wired.commands

    def feed(self, after: int = 0, *, joined: bool = False) -> "FeedClient":
        """A client: the log after a number, one `live`, then what happens, each frame encoded once for all.

        A client that falls behind is cut off with `Behind`, and goes on from the log. `joined`: at most 30
        frames of deltas a second and agent.
        """
        if joined not in self._feeds:
            from planck.headless.feed import Feed  # a run alone has no clients

            self._feeds[joined] = Feed(self._log, joined=joined)
        return self._feeds[joined].open(after)

    def changes(self, selection: "Selection | None" = None) -> "tuple[FileDiff, ...]":
        """What agents did to files, change by change; of an agent, a turn or a call, or all of it."""
        from planck.session import undo

        selection = selection or undo.Selection()
        return undo.list_changes(
            self._log.store, selection, self._wired.redactor(), self._find_undo_root(confined=False)
        )

    async def rename(self, name: str) -> None:
        """Give the session another name, which finds it once it is closed; its id stays."""
        await self._log.rename(name)

    async def rewind(self, to: int) -> Err | None:
        """Show every agent again what it was shown after that event; the log and the files stay."""
        return await rewind(self._log, self._team, to)

    async def suspend(self) -> None:
        """Closes the session and leaves its open questions to whoever resumes it, in any process.

        A call that waits for an answer is asked about again then, under the same id and digest; nothing of it
        has run. Other turns end as interrupted.
        """
        if not self.closed:
            self.closed = True
            await close_all(self._wired.team.suspend, self._opened.aclose, self._wired.aclose)

    async def aclose(self) -> None:
        """Closes every part of it, whatever becomes of one, and then raises the first error."""
        if not self.closed:
            self.closed = True
            await close_all(self._wired.team.aclose, self._opened.aclose, self._wired.aclose)


def _withhold(reason: str) -> Err:
    return Err(ErrorKind.PERMISSION_DENIED, f"A hook of the program withheld the answer: {reason}")


async def _cancel(task: "asyncio.Future[Any]") -> None:
    """Returns when the task has ended; a task that ended before stays as it is."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
