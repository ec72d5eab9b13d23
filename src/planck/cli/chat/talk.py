"""One conversation: the session at hand, what is said to it, and what is told of it, on any frontend."""

import argparse
import asyncio
import contextlib
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from planck.cli.chat.frontend import Frontend
from planck.cli.chat.intent import read_intent
from planck.cli.chat.table import ALIASES, COMMANDS, find_act
from planck.cli.session import Watch
from planck.cli.tell.blocks import Answer, Told, fold, say, say_error
from planck.cli.tell.figures import say_evidence, summarise
from planck.cli.tell.live_board import LiveBoard
from planck.cli.tell.now import Now
from planck.cli.tell.styled import make_line
from planck.cli.tell.teller import Teller
from planck.headless import Exit, OpenSession, Planck, SessionEvent
from planck.records.events import TurnStatus
from planck.records.messages import Image, Text, UserMessage
from planck.records.outcome import Err, PlanckError
from planck.records.rows import AgentRow
from planck.records.visible import fit_line

if TYPE_CHECKING:
    from planck.headless import CustomCommand, ServerPrompt, ShellCommand, ShellRun

Said = tuple[str, str, tuple[Image, ...], str]
"""A message, the member that it is for, its images, and what was written where it has files too."""


class Aside(NamedTuple):
    """Work of the user's own beside the agents: a command in a shell, or a compaction."""

    words: str
    since: float
    task: asyncio.Task[None]

    @property
    def seconds(self) -> float:
        return asyncio.get_running_loop().time() - self.since


class Listener(Protocol):
    """Who is told what becomes of a talk."""

    def follow(self, event: SessionEvent) -> None: ...

    def opened(self, session: OpenSession) -> None:
        """It goes on with this session."""

    def changed(self) -> None:
        """Work began or ended, or what is queued is another."""

    def planned(self) -> None:
        """There is a plan to be accepted."""


class Talk:
    """Owns the session, the task that waits for its answer, and what is queued behind that."""

    def __init__(
        self,
        planck_: Planck,
        options: argparse.Namespace,
        frontend: Frontend,
        listener: "Listener | None" = None,
        *,
        streams: bool = True,
    ) -> None:
        self.planck = planck_
        self.options = options
        self.frontend = frontend
        self.code: Exit = Exit.DONE
        self.leaving: asyncio.Event = asyncio.Event()
        self.queued: list[tuple[str, str]] = []
        """What is said, and to whom, once the turn has ended."""
        self.rewind_to: tuple[int, bool] | None = None
        """The next message goes on from after this event; with the files, or without."""
        self.known_models: list[str] = []
        """Those that were listed once in this conversation: for completion."""
        self.known_prompts: list[ServerPrompt] = []
        """Of MCP servers, once they have said what they have."""
        self._streams = streams
        self._listener = listener
        self._work: asyncio.Task[None] | None = None
        self._shell: Aside | None = None
        self._own_command: ShellCommand | None = None
        """What runs in the user's shell, or ran there last."""
        self._compaction: Aside | None = None
        self._compacts = False
        """Whether what is said waits for the end of a compaction."""
        self._moved = asyncio.Event()
        """Set by each event: what waits for the board looks again."""
        self._ran: list[str] = []
        """What the user ran in a shell since the last message: it goes along with the next."""

    def open(self, session: OpenSession) -> None:
        self.session = session
        self._opened_with = session.head
        self.live_board: LiveBoard = LiveBoard(session.opening_board())
        self.now: Now = Now(self.live_board)
        self.teller: Teller = Teller(session.members, streams=self._streams, echoes=self.frontend.live)
        self._watch = Watch(session, self._show)
        if self._listener:
            self._listener.opened(session)

    @property
    def is_empty(self) -> bool:
        """Whether the session is a new one in which nothing has happened: there is nothing to resume."""
        return not self.session.opened_at and self.session.head == self._opened_with

    @property
    def mode(self) -> str:
        return self.session.mode

    @property
    def asides(self) -> "list[Aside]":
        """What runs right now beside the agents."""
        return [aside for aside in (self._shell, self._compaction) if aside and not aside.task.done()]

    def list_unfinished(self) -> list[str]:
        """Says what an exit ends or drops now, each in a few words."""
        said = ["the turn"] if self._work is not None and not self._work.done() else []
        said += ["your command"] if self._shell in self.asides else []
        said += ["the compaction"] if self._compaction in self.asides else []
        if jobs := len(self.list_jobs()):
            said.append(_count(jobs, "job", "jobs"))
        if queued := len(self.queued):
            said.append(_count(queued, "queued message", "queued messages"))
        return said

    def list_running(self) -> "list[ShellCommand]":
        """The commands that are waited for: those of agents, and the user's own."""
        running = [one for one in self.session.commands() if one.running and not one.background]
        own = self._own_command
        return [*running, own] if own and own.running else running

    def read_own(self, aside: "Aside") -> str:
        """Returns what the user's own command has put out until now; empty where that is another work."""
        own = self._own_command
        return own.read_output() if aside is self._shell and own and own.running else ""

    def list_jobs(self) -> "list[ShellCommand]":
        return [one for one in self.session.commands() if one.background and one.running]

    def _tell_jobs(self, jobs: "list[ShellCommand]") -> None:
        """Says which background commands ended with the session."""
        for job in jobs:
            say(self.frontend, f"Background command stopped: {fit_line(job.text, 200)}", "yellow")

    def greet(self, *, anyhow: bool = False) -> None:
        """Says which session this is, to a person: `anyhow` also where nothing is painted for them."""
        if not (self.frontend.live or anyhow):
            return
        session, place = self.session, self.planck.workspace
        say(self.frontend, f"{session.name} · {session.orchestrator.model.label} · /help · {place}", "dim")

    async def show_past(self) -> None:
        """The end of what was said before, as much as a screen holds."""
        from planck.cli.chat.past import read_past

        past = Teller(self.session.members, echoes=True, ends=True)
        blocks, earlier = await read_past(self.session, past)
        self.teller.go_on_from(past)
        if earlier:
            events = "event" if earlier == 1 else "events"
            say(self.frontend, f"… {earlier:,} earlier {events}; /transcript shows everything", "dim")
        for block in blocks:
            self.frontend.show(block)
            if not isinstance(block, Answer) and block.rest:
                self.teller.folded.append(block)

    async def change_mode(self, mode: str) -> None:
        await self.session.change_mode(mode)
        if not self.frontend.live:
            say(self.frontend, f"Mode: {mode}")

    async def list_models(self) -> list[str]:
        rows = await self.planck.list_models()
        self.known_models = [row.label for row in rows if row.has_key or row.source == "config"]
        return self.known_models

    async def change(self, session: OpenSession) -> None:
        """Goes on with another session; the one before stays in the log and can be resumed."""
        before = self.session
        await self.end_work()
        self._tell_jobs(self.list_jobs())
        await self._watch.finish()
        self._tell_rest()
        self.drop_queued()
        self._ran.clear()
        self.rewind_to = None
        await self._close(before, empty=self.is_empty)
        self.open(session)

    async def aclose(self) -> None:
        await self.end_work()
        self._tell_jobs(self.list_jobs())
        with contextlib.suppress(Exception):  # what it has to say is in the log
            await self._watch.finish()
        self._tell_rest()
        self.drop_queued()
        await self._close(self.session, empty=self.is_empty)

    async def _close(self, session: OpenSession, *, empty: bool) -> None:
        """One in which nothing was said leaves no row in a list, unless the user gave it a name."""
        await session.aclose()
        if empty and not self.options.name:
            with contextlib.suppress(PlanckError):  # it stays, as an empty one
                await asyncio.to_thread(self.planck.archive.delete, session.id)

    @property
    def busy(self) -> bool:
        return bool(self.asides) or (self._work is not None and not self._work.done())

    async def end_work(self) -> None:
        for aside in self.asides:
            aside.task.cancel()
            await asyncio.wait({aside.task})
        if self._work and not self._work.done():
            self.session.interrupt()
            await asyncio.wait({self._work})

    async def wait(self) -> None:
        """Returns when what goes on has ended."""
        while self.busy:
            working = {self._work} if self._work and not self._work.done() else set()
            await asyncio.wait({*working, *(aside.task for aside in self.asides)})

    def leave(self, code: Exit = Exit.DONE) -> None:
        self.code = code
        self.leaving.set()

    def interrupt(self, agent: str = "") -> None:
        for aside in self.asides if not agent else ():
            aside.task.cancel()
        self.session.interrupt(agent) if agent else self.session.interrupt()

    async def take(self, line: str, *, queue: bool = False) -> None:
        """Does what a line means; what goes wrong is told, and the conversation goes on."""
        custom = self.planck.resources.commands_by_call() if line.startswith("/") else {}
        names = [spec.name for spec in self.session.members]
        servers = [peer.name for peer in self.planck.peers.plan.select("mcp")] if ":" in line else ()
        here = self.planck.project.here
        intent = read_intent(
            line, {*COMMANDS, *ALIASES}, custom, names, servers, lambda name: (here / name).exists()
        )
        try:
            match intent.what:
                case "say":
                    await self._say_with_files(intent.text, intent.name, queue)
                case "command":
                    await self._run_command(ALIASES.get(intent.name, intent.name), intent.text)
                case "custom" | "prompt" if self._compacts:
                    say(self.frontend, f"Compacting: wait for its end, then use /{intent.name}.", "yellow")
                    self.frontend.give_back(line)
                case "custom":
                    await self._say_custom(custom[intent.name], intent.text)
                case "prompt":
                    await self._say_prompt(intent.name, intent.text)
                case "shell":
                    self._run_shell(intent.text)
                case "mistake":
                    say(self.frontend, intent.text, "yellow")
                    if intent.name:  # a message, however long, to a member that there isn't
                        self.frontend.give_back(line)
        except PlanckError as failure:
            say_error(self.frontend, failure.err)
            if intent.what == "say":  # it was not heard: nobody has to write it again
                self.frontend.give_back(line)

    async def say(self, text: str, agent: str = "", images: tuple[Image, ...] = (), typed: str = "") -> None:
        """Sends it: to a turn that runs as steering, else as the beginning of one; behind a compaction."""
        if self._compacts:
            self._queue(text, agent)
            return
        if self._work and not self._work.done():
            at_work = self._is_at_work(agent)
            await self._send(text, agent, images, typed, steer=True)
            if at_work:
                say(
                    self.frontend,
                    f"{agent or self.session.orchestrator.name} will read this at its next step.",
                    "dim",
                )
            return
        if self.rewind_to is not None:
            await self._rewind()
        head, turn = self.session.head, self._count_turns(agent)
        await self._send(text, agent, images, typed)
        self._work = asyncio.get_running_loop().create_task(self._work_through(head, agent, turn))
        self._changed()

    def _is_at_work(self, agent: str) -> bool:
        """Whether a turn of it runs; of the orchestrator, where no member is named."""
        name = agent or self.session.orchestrator.name
        return any(row.name == name and row.status not in ("idle", "ended") for row in self.now.board.agents)

    async def accept_plan(self) -> None:
        """Has the plan carried out, with the rights that there were before it was made."""
        if self.busy:
            say(
                self.frontend,
                "An agent or command is still running. Use /plan accept when the plan is ready.",
                "yellow",
            )
            return
        head = self.session.head
        await self.session.accept_plan()
        self._work = asyncio.get_running_loop().create_task(self._work_through(head, "", 0))
        self._changed()

    async def _send(
        self, text: str, agent: str, images: tuple[Image, ...], typed: str, *, steer: bool = False
    ) -> None:
        """With it goes what the user ran in a shell since the last message."""
        ran, self._ran = self._ran, []
        typed = typed or (text if ran else "")
        said = UserMessage((Text("\n\n".join([*ran, text])), *images), typed=typed)
        await self.session.prompt(said, steer=steer, agent=agent)

    async def _say_with_files(self, text: str, agent: str, queue: bool) -> None:
        if self._compacts or (queue and self.busy):
            self._queue(text, agent)
            return
        await self.say(*await self._attach(text, agent))

    def _queue(self, text: str, agent: str) -> None:
        self.queued.append((text, agent))
        if not self.frontend.live:
            say(self.frontend, f"Queued: {fit_line(text, 60)}", "dim")
        self._changed()

    def drop_queued(self) -> None:
        """Says what was queued and is not sent any more."""
        unsent, self.queued = self.queued, []
        if not unsent:
            return
        resume = "resume the session and " if self.leaving.is_set() else ""
        back = f"; {resume}press Up to get {'it' if len(unsent) == 1 else 'them'} back"
        again = back if self.frontend.live else ""
        messages = _count(len(unsent), "queued message was", "queued messages were")
        say(self.frontend, f"{messages} not sent{again}:", "yellow")
        for text, agent in unsent:
            say(self.frontend, f"  {fit_line(f'@{agent} {text}' if agent else text, 200)}")

    async def _attach(self, text: str, agent: str, within: Path | None = None) -> Said:
        """The message with the files and images that it names; `within`: none from outside of there."""
        if "@" not in text and "/" not in text:
            return text, agent, (), ""
        from planck.headless import attach

        project = self.planck.project
        project.root.check()
        attached = await asyncio.to_thread(attach, text, project.here, within=within, roots=project.roots)
        for note in attached.notes:
            say(self.frontend, f"  {note}", "dim")
        return attached.text, agent, attached.images, attached.typed

    async def _say_custom(self, command: "CustomCommand", arguments: str) -> None:
        """A file of the project's own attaches nothing from outside of it."""
        within = self.planck.workspace if command.scope == "project" else None
        await self.say(*await self._attach(command.expand(arguments), "", within))

    async def _say_prompt(self, command: str, words: str) -> None:
        """What a server gives is foreign text: it names no file of ours."""
        await self.say(await self.planck.say_prompt(command, words))

    async def list_prompts(self) -> "list[ServerPrompt]":
        self.known_prompts = await self.planck.list_prompts()
        return self.known_prompts

    async def _run_command(self, name: str, rest: str) -> None:
        if self.busy and not COMMANDS[name].busy:
            say(
                self.frontend,
                f"An agent or command is still running. Stop it with /interrupt, then use /{name}.",
                "yellow",
            )
            return
        await find_act(name)(self, rest)

    def _run_shell(self, command: str) -> None:
        if self._shell in self.asides:
            say(self.frontend, "Your last command is still running. Stop it with /interrupt.", "yellow")
            return
        self._shell = self._begin(f"! {command}", self._join_shell(command))

    def _begin(self, words: str, work: Coroutine[Any, Any, None]) -> "Aside":
        loop = asyncio.get_running_loop()
        aside = Aside(words, loop.time(), loop.create_task(work))
        loop.call_soon(self._changed)
        return aside

    def compact(self, focus: str) -> None:
        """Shortens the history beside the conversation; what is said meanwhile is sent behind it."""
        self._compacts = True
        if not self.frontend.live:
            say(self.frontend, "Compacting the history. Ctrl+C stops it.", "dim")
        self._compaction = self._begin("● compacting the history", self._compact(focus))

    async def _compact(self, focus: str) -> None:
        try:
            if await (self.session.compact(focus=focus) if focus else self.session.compact()) is None:
                say(self.frontend, "Nothing to compact yet.")
        except PlanckError as failure:
            say_error(self.frontend, failure.err)
        except asyncio.CancelledError:
            say(self.frontend, "Compaction stopped. The history is unchanged.", "yellow")
            raise
        finally:
            self._compacts = False
            asyncio.get_running_loop().call_soon(self._changed)
        try:
            for first in self.queued[:1]:
                await self.say(*await self._attach(*first))
                # Only now: it is given back to who interrupts this, and stays if it could not be sent.
                self.queued = [one for one in self.queued if one is not first]
        except PlanckError as failure:
            say_error(self.frontend, failure.err)

    async def _join_shell(self, command: str) -> None:
        """Runs the user's own command; what it said is part of the conversation from then on."""
        from planck.headless import run_in_shell

        try:
            here = self.planck.project.here
            done = await run_in_shell(command, here, self._keep_stopped, self._watch_shell)
        except PlanckError as failure:
            say_error(self.frontend, failure.err)
            return
        finally:
            asyncio.get_running_loop().call_soon(self._changed)
        self._tell_shell(done)
        if not (self._work and not self._work.done()):
            self._ran.append(done.as_message())
            return
        try:
            await self.session.prompt(done.as_message(), steer=True)
        except PlanckError as failure:
            say_error(self.frontend, failure.err)

    def _watch_shell(self, command: "ShellCommand") -> None:
        self._own_command = command

    def _keep_stopped(self, run: "ShellRun") -> None:
        """Shows what a command had put out that the user stopped, and sends it with the next message."""
        self._tell_shell(run)
        self._ran.append(run.as_message())

    def _tell_shell(self, run: "ShellRun") -> None:
        lines, folded = fold(run.output, 12)
        how = "stopped" if run.stopped else f"exit {run.exit_code}"
        head = (*make_line("! ", "bold"), *make_line(run.command), *make_line(f"  {how}", "dim"))
        told = Told((head, *lines), f"! {run.command}", run.output if folded else "")
        if folded:
            self.teller.folded.append(told)
        self.frontend.show(told)

    async def _rewind(self) -> None:
        assert self.rewind_to is not None
        (to, files), self.rewind_to = self.rewind_to, None
        if files:
            from planck.cli.chat.undoing import undo_after

            await undo_after(self.frontend, self.session, to)
        if failure := await self.session.rewind(to):
            raise PlanckError(failure.kind, failure.message, failure.details)

    async def _work_through(self, head: int, agent: str, turn: int) -> None:
        """Waits for the answer, then for those to what was queued meanwhile."""
        try:
            while await self._answer(head, agent, turn) and self.queued:
                text, agent = self.queued.pop(0)
                head, turn = self.session.head, self._count_turns(agent)
                self._changed()
                try:
                    await self._send(*await self._attach(text, agent))
                except PlanckError:
                    self.queued.insert(0, (text, agent))
                    raise
        except PlanckError as failure:
            say_error(self.frontend, failure.err)
            self.live_board.stand_still()
            self.code = Exit.FAILURE
        finally:
            asyncio.get_running_loop().call_soon(self._changed)

    async def _answer(self, head: int, agent: str, turn: int) -> bool:
        """Tells how it went; whether it went well."""
        began = asyncio.get_running_loop().time()
        if agent:
            await self._wait_for_member(agent, turn)
        await self.session.settled()
        await self._watch.catch_up()
        self._tell_rest()
        took = asyncio.get_running_loop().time() - began
        result = self.session.result(head, round(took * 1000))
        if result.text and not self._streams:
            self.frontend.show(Answer(result.text))
        for error in result.errors[-1:] if result.exit_code and not agent else ():
            say_error(self.frontend, Err(error["kind"], error["message"], error["details"]))
        row = self._find_row(agent) if agent else None
        status = row.last_turn if row else result.status
        say(self.frontend, summarise(result, status), "dim")
        if evidence := self.session.evidence(head):
            say(self.frontend, *say_evidence(evidence))
        if self.mode == "plan" and status == TurnStatus.COMPLETED and not agent and not self.queued:
            say(self.frontend, "Plan ready. Accept it with /plan accept, or say what to change.", "bold")
            if self._listener:
                self._listener.planned()
        if not self.frontend.live:  # a script learns how its last line went
            self.code = Exit(result.exit_code)
        return status == TurnStatus.COMPLETED

    async def _wait_for_member(self, agent: str, turn: int) -> None:
        """Returns when a member has ended a turn after that one, and does nothing now."""
        while (row := self._find_row(agent)) and (row.turn <= turn or row.status != "idle"):
            self._moved.clear()
            await self._moved.wait()

    def _find_row(self, agent: str) -> AgentRow | None:
        rows = (row for row in self.now.board.agents if row.status != "ended")
        return next((row for row in rows if agent in (row.name, row.id)), None)

    def _count_turns(self, agent: str) -> int:
        row = self._find_row(agent) if agent else None
        return row.turn if row else 0

    def _show(self, event: SessionEvent) -> None:
        self.live_board.follow(event)
        self._moved.set()
        if self._listener:
            self._listener.follow(event)
        for block in self.teller.tell(event):
            self.frontend.show(block)

    def _changed(self) -> None:
        if self._listener:
            self._listener.changed()

    def _tell_rest(self) -> None:
        for block in self.teller.rest():
            self.frontend.show(block)


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
