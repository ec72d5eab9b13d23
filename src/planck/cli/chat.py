"""`planck` alone: a conversation, line by line. What is typed while it works steers it."""

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable

from planck.cli.approver import TerminalApprover
from planck.cli.lines import Lines
from planck.cli.options import PICK
from planck.cli.run import WAYS_TO_A_MODEL, Watch, choose_session, limits, open_planck, open_session
from planck.cli.talk.figures import summarise
from planck.cli.talk.reporter import Reporter
from planck.cli.terminal import Terminal
from planck.cli.typed import Typed
from planck.headless import Exit, OpenSession, Planck
from planck.records.outcome import ErrorKind, PlanckError

HELP = """\
/help            this list
/new [TEAM]      a new session, with a team if you name one
/model [NAME]    the model in use; with a name, go on with another
/team            who is in the team, and with which model
/compact         make the history shorter
/cost            steps, tokens and money of this session
/undo [--turn N | --agent NAME | --call ID]   take back what was written
/exit            leave (also: Ctrl+D, or Ctrl+C twice)
What you type while it works joins its turn at the next step. Ctrl+C ends the turn."""


def run(options: argparse.Namespace) -> int:
    try:
        return asyncio.run(_chat(options))
    except PlanckError as failure:
        if not failure.err.details.get("no_model"):
            raise
        terminal = Terminal()
        terminal.line(f"planck: {failure.err}", wrap=True)
    if not sys.stdin.isatty() or not terminal.err.isatty():
        terminal.line(WAYS_TO_A_MODEL, wrap=True)
        return Exit.USAGE
    from planck.cli.setup import set_up

    return asyncio.run(_chat(options)) if asyncio.run(set_up()) == Exit.DONE else Exit.USAGE


async def _chat(options: argparse.Namespace) -> int:
    terminal = Terminal()
    if terminal.paintable and sys.stdin.isatty():
        return await _chat_on_screen(options)
    approver = TerminalApprover(reads=False) if sys.stdin.isatty() and terminal.err.isatty() else None
    async with open_planck(options, approver) as planck_:
        choose_session(planck_, options)
        session = await open_session(planck_, options)
        lines = Lines(planck_.home / "history")
        if approver:
            approver.attach(terminal, lines.mark)
            terminal.announce_pastes(on=True)
        chat = Chat(planck_, options, terminal, lines, session, approver)
        try:
            return await chat.run(options.prompt)
        finally:
            await chat.aclose()
            lines.close()
            if approver:
                terminal.announce_pastes(on=False)


async def _chat_on_screen(options: argparse.Namespace) -> int:
    """The input is there, and takes what is typed, before anything else is loaded."""
    from planck.cli.approver import KeyApprover
    from planck.cli.conversation import Conversation
    from planck.cli.screen.history import History
    from planck.cli.screen.screen import Screen as Painted

    history, approver = History(), KeyApprover()
    screen = Painted(history, color=Terminal().color)
    if options.resume != PICK:  # to pick one, lines are read
        screen.open()
    try:
        async with open_planck(options, approver) as planck_:
            history.keep_in(planck_.home / "history")
            choose_session(planck_, options)
            if options.resume == PICK:
                screen.open()
            session = await open_session(planck_, options)
            terminal = Terminal()
            approver.attach(screen, terminal)
            chat = Conversation(planck_, options, terminal, session, screen)
            try:
                return await chat.run(options.prompt)
            finally:
                await chat.aclose()
    finally:
        await screen.close()


class Chat:
    def __init__(
        self,
        planck_: Planck,
        options: argparse.Namespace,
        terminal: Terminal,
        lines: Lines | None,
        session: OpenSession,
        approver: TerminalApprover | None = None,
    ) -> None:
        self._planck = planck_
        self._approver = approver
        self._options = options
        self._terminal = terminal
        self._lines = lines
        self._leaving = asyncio.Event()
        self._code = Exit.DONE
        self._warned = False
        self._commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/help": self._help,
            "/new": self._new,
            "/model": self._model,
            "/team": self._team,
            "/compact": self._compact,
            "/cost": self._cost,
            "/undo": self._undo,
            "/exit": self._exit,
        }
        self._interactive = lines is None or lines.terminal
        """Whether a person is there, who may say something while it works."""
        if lines:
            terminal.while_typing(lines.current)
        self._work: asyncio.Task[None] | None = None
        self._open(session)

    async def run(self, first: str) -> int:
        """Until the input ends, /exit, or Ctrl+C twice; what is asked is answered before that."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGTERM, self._leave, Exit.SIGTERM)
        self._greet()
        assert self._lines
        self._lines.start()
        said = bool(first)
        try:
            if first:
                await self._say(first)
            while not self._leaving.is_set():
                line = await self._next_line()
                if self._approver and self._approver.is_for(line):
                    self._approver.take(line)
                    if line is not None:
                        continue
                if line is None:
                    break
                if line.text.strip():
                    said = True
                    await self._take(line.text.strip())
            if self._work and not self._leaving.is_set():
                await asyncio.wait({self._work})
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_signal_handler(signal.SIGTERM)
        if not said and not self._interactive:
            self._terminal.line(f'planck: {ErrorKind.NO_PROMPT}: no prompt; say what to do: planck run "..."')
            return Exit.USAGE
        self._terminal.line(
            f"planck: session {self._session.name}; go on with: planck -r {self._session.name}"
        )
        return self._code

    async def aclose(self) -> None:
        if self._work:
            self._session.interrupt()
            await asyncio.wait({self._work})
        with contextlib.suppress(Exception):
            await self._watch.finish()
        self._screen.done()

    def _open(self, session: OpenSession) -> None:
        self._session = session
        self._screen = Reporter(self._terminal, session)
        also = self._screen.run if self._terminal.live and not self._interactive else None
        self._watch = Watch(session, self._screen.show, also=also)

    def _greet(self) -> None:
        session = self._session
        if self._interactive:
            self._terminal.line(
                f"{session.name} · {session.orchestrator.model.label} · /help · {self._planck.workspace}",
                "dim",
            )

    async def _next_line(self) -> Typed | None:
        assert self._lines
        reading = asyncio.ensure_future(self._lines.next())
        leaving = asyncio.ensure_future(self._leaving.wait())
        await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
        for task in (reading, leaving):
            if not task.done():
                task.cancel()
        return reading.result() if reading.done() and not reading.cancelled() else None

    async def _take(self, line: str) -> None:
        self._warned = False
        word, _, rest = line.partition(" ")
        if word in ("/quit", "/q"):
            word = "/exit"
        try:
            if word in self._commands:
                await self._commands[word](rest.strip())
            elif word.startswith("/") and "/" not in word[1:]:
                self._terminal.line(f"{word!r} is no command; /help lists them")
            else:
                await self._say(line)
        except PlanckError as failure:
            self._terminal.line(f"planck: {failure.err}", "red", wrap=True)

    async def _say(self, text: str) -> None:
        if self._work and not self._work.done():
            await self._session.prompt(text, steer=True)
            self._terminal.line("it will see that at its next step", "dim")
            return
        head = self._session.head
        await self._session.prompt(text)
        self._work = asyncio.get_running_loop().create_task(self._answer(head))
        if not self._interactive:  # a script: one line, one answer
            await asyncio.wait({self._work})

    async def _answer(self, head: int) -> None:
        """Wait for the answer and tell how it went; failures are told, and the conversation goes on."""
        began = asyncio.get_running_loop().time()
        try:
            await self._session.settled()
        except PlanckError as failure:
            self._terminal.line(f"planck: {failure.err}", "red", wrap=True)
            self._code = Exit.FAILURE
            return
        await self._watch.catch_up()
        self._screen.done()
        result = self._session.result(head, round((asyncio.get_running_loop().time() - began) * 1000))
        if result.text and not self._terminal.rich:
            self._terminal.answer(result.text)
        for error in result.errors[-1:] if result.exit_code else ():
            self._terminal.line(f"planck: {error['kind']}: {error['message']}", "red", wrap=True)
        self._terminal.line(f"{result.status} · {summarise(result)}", "dim")
        if not self._interactive:  # a script learns how its last line went
            self._code = Exit(result.exit_code)

    def _interrupt(self) -> None:
        if self._work and not self._work.done():
            self._session.interrupt()
            self._warned = False
        elif self._warned:
            self._leave(Exit.SIGINT)
        else:
            self._warned = True
            self._terminal.line("Ctrl+C again to leave", "dim")

    def _leave(self, code: Exit = Exit.DONE) -> None:
        self._code = code
        self._leaving.set()

    async def _help(self, rest: str) -> None:
        self._terminal.line(HELP, wrap=True)

    async def _model(self, rest: str) -> None:
        model = await self._session.change_model(rest) if rest else self._session.orchestrator.model
        self._terminal.line(f"{model.label}; /model NAME goes on with another")

    async def _new(self, team: str) -> None:
        """Begin another session; the one before stays in the log and can be resumed."""
        options = self._options
        session = await self._planck.start(team or None, model=options.model, **limits(options))
        if self._work and not self._work.done():
            self._session.interrupt()
            await asyncio.wait({self._work})
        await self._watch.finish()
        self._screen.done()
        await self._session.aclose()
        self._open(session)
        self._greet()

    async def _team(self, rest: str) -> None:
        for spec in self._session.members:
            self._terminal.line(f"{spec.name}  {spec.type}  {spec.model.label}  {spec.description}".rstrip())

    async def _compact(self, rest: str) -> None:
        if self._work and not self._work.done():
            self._terminal.line("it is at work; Ctrl+C ends the turn, then /compact")
            return
        if await self._session.compact() is None:
            self._terminal.line("nothing to take out: the history is short, or all of it is needed")

    async def _cost(self, rest: str) -> None:
        self._terminal.line(summarise(self._session.result(0)))

    async def _undo(self, rest: str) -> None:
        from planck.cli.undo import preview, report, selection_of

        plan = self._session.undo_plan(selection_of(rest.split()))
        self._terminal.line(preview(plan), wrap=True)
        self._terminal.line(report(plan, await self._session.undo(plan)), wrap=True)

    async def _exit(self, rest: str) -> None:
        self._leave()
