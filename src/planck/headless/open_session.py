"""A session that runs in this process: prompts go in, events and results come out."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar, overload

import msgspec

from planck.config.providers import Providers
from planck.headless.event import SessionEvent
from planck.headless.live.modes import SessionMode
from planck.headless.live.parts import AgentError, LiveParts
from planck.headless.live.prompting import PromptSender, check_prompt
from planck.headless.live.runs import SessionRuns
from planck.headless.session_tools import check_tool
from planck.headless.wiring import SessionWiring
from planck.records.authority import Mode
from planck.records.events import (
    Compacted,
    Event,
    Origin,
    TurnStatus,
    View,
)
from planck.records.messages import UserMessage
from planck.records.outcome import Err, ErrorKind
from planck.records.ports import Clock
from planck.records.specs import AgentSpec, ModelSpec, SessionOptions
from planck.records.usage import Tally
from planck.session.bus import LiveText
from planck.session.logs import SessionLog
from planck.session.result import RunResult
from planck.session.session import rewind
from planck.team.mail import Accepted
from planck.team.member import Member
from planck.team.team import Team
from planck.toolkit.tool import Tool

if TYPE_CHECKING:
    from planck.headless.embedding.teams import Member as MemberObject
    from planck.headless.embedding.typed import TypedResult
    from planck.headless.feed import Feed, FeedClient
    from planck.headless.live.undoing import SessionUndo
    from planck.headless.window import WindowUse
    from planck.records.board import Board
    from planck.session.costs import CostReport
    from planck.session.evidence import Evidence
    from planck.session.undo import FileDiff, Selection, UndoableTurn, UndoPlan
    from planck.workspace.process.jobs import ShellCommand

T = TypeVar("T")
_GO_ON = "Go on with what was interrupted."
_GO_ON_WITH_PLAN = "Go on with the plan."


class OpenSession:
    """An open session: prompt it, follow its events, change it, close it.

    Example:

        async with Planck() as p:
            session = await p.start()
            for prompt in ("My name is Ada.", "What is my name?"):
                result = await session.run(prompt)
                print(result.text)
    """

    def __init__(
        self,
        log: SessionLog,
        wired: SessionWiring,
        providers: Providers,
        clock: Clock,
        left_out: tuple[str, ...] = (),
    ) -> None:
        self.opened_at: int = log.opened_at
        """The newest event before this process opened the session; 0 for a new one."""
        self.left_out = left_out
        """Folders beside the workspace that its last run had, and that this process does not give it."""
        self._parts = LiveParts(log, wired)
        self._mode = SessionMode(self._parts)
        self._sender = PromptSender(self._parts, providers)
        self._runs = SessionRuns(self._parts, self._sender, clock)
        self._providers = providers
        self._feeds: dict[bool, Feed] = {}

    @property
    def closed(self) -> bool:
        return self._parts.closed

    @property
    def _opened(self) -> SessionLog:
        return self._parts.opened

    @property
    def _wired(self) -> SessionWiring:
        return self._parts.wired

    @property
    def isolated(self) -> bool:
        """Whether the whole team works in one view of the workspace."""
        return self._wired.isolated

    @property
    def _log(self) -> SessionLog:
        return self._parts.log

    @property
    def _team(self) -> Team:
        return self._parts.team

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
        self._parts.check_open()
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
        await self._mode.change(mode)

    async def add_folder(self, folder: str) -> str:
        """Let every agent work in one more folder until the session is closed; only a user may.

        Returns where it really is; empty: agents work there already. Raises for a private or too wide one.
        """
        self._parts.check_open()
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
        await self._mode.leave_plan()
        return await self._sender.send(self._team.orchestrator, _GO_ON_WITH_PLAN, False, Origin.PLANCK)

    async def tell_what_changed(self, before: SessionOptions | None) -> None:
        """Tells the agents of a resumed session that their mode is another, or that a person is there now."""
        await self._mode.tell_what_changed(before)

    def _member(self, agent: str) -> Member:
        return self._parts.find_member(agent)

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
        if not self._runs.running:
            self._team.context = copy_context()
        check_prompt(said)
        if not id:
            return await self._sender.send(member, said, steer, origin)
        return await self._sender.send_once(member, said, steer, origin, id, agent)

    async def settled(self) -> None:
        """Returns when nothing can wake the orchestrator any more, and no Stop hook or check sends it on."""
        await self._runs.settled()

    def interrupt(self, agent: str = "") -> None:
        """End every turn in flight and the checks, or one agent's turn; the session goes on with the next
        prompt."""
        if not agent:
            self._runs.stop_checking()
        self._team.interrupt_all([self._member(agent)] if agent else None)

    def result(self, after: int, duration_ms: int | None = None) -> RunResult:
        """What the events after a number come to; `duration_ms` is the log's own where nobody measured it."""
        return self._runs.result(after, duration_ms)

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
        return await self._runs.run(said, timeout, Origin.PLANCK)

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
        check_prompt(prompt)
        if output_type is None:
            return await self._runs.run(prompt, timeout, origin)
        from planck.headless.embedding.typed import OutputType

        return await OutputType(output_type).run_typed(self, prompt, timeout=timeout)

    def stream(
        self, prompt: str | UserMessage, *, timeout: float | None = None
    ) -> AsyncGenerator[SessionEvent, None]:
        """Prompts the orchestrator and yields what happens, deltas included, until `run` would return.

        Leaving the loop early cancels the run; use `contextlib.aclosing` to have that happen at once.
        """
        return self._runs.stream(prompt, timeout)

    @property
    def asks_again(self) -> bool:
        """Whether a turn goes on that waited for the user when another process was lost."""
        return any(member.actor.unfinished for member in self._team.members)

    async def announce(self, text: str) -> None:
        """Tells every agent of a change around it, without waking one."""
        await self._team.mail.announce(text, self._team.members)

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
        return self._open_undo().plan(selection, confined)

    def undo_turns(self) -> "tuple[UndoableTurn, ...]":
        """The turns with changes that are not undone yet, the newest first."""
        return self._open_undo().list_turns()

    async def undo(self, plan: "UndoPlan", *, confined: bool = False) -> str:
        """Revert what the plan says; gives the id of a call that undoes the undo."""
        return await self._open_undo().apply(plan, confined)

    async def report_interrupted_undo(self) -> None:
        """Names the files that a killed undo did not restore, and tells agents of those that it did."""
        await self._open_undo().report_interrupted()

    def _open_undo(self) -> "SessionUndo":
        from planck.headless.live.undoing import SessionUndo  # most sessions never undo

        return SessionUndo(self._parts)

    async def stop(self, status: TurnStatus = TurnStatus.INTERRUPTED) -> None:
        """End every turn and take no further mail; what is queued stays in the log for a resume."""
        await self._runs.stop(status)

    def events(self, after: int = 0) -> AsyncGenerator[SessionEvent, None]:
        """Every recorded event after a number, then what happens, deltas included."""
        return self._parts.events(after)

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
        return self._open_undo().list_changes(selection)

    async def rename(self, name: str) -> None:
        """Give the session another name, which finds it once it is closed; its id stays."""
        await self._log.rename(name)

    async def rewind(self, to: int) -> Err | None:
        """Show every agent again what it was shown after that event; the log and the files stay."""
        return await rewind(self._log, self._team, to)

    async def suspend(self) -> None:
        """Closes the session and leaves its open questions to the process that resumes it.

        A call that waits for an answer is asked about again then, under the same id and digest; nothing of it
        has run. Other turns end as interrupted.
        """
        await self._parts.suspend()

    async def aclose(self) -> None:
        """Closes every part of it, whatever becomes of one, and then raises the first error."""
        await self._parts.aclose()
