"""`planck` alone on a terminal: what is said goes up into the scrollback, and what goes on stays in sight."""

import argparse
import asyncio
import signal
from collections.abc import Awaitable
from typing import TypeVar

from planck.cli.chat import Chat
from planck.cli.run import Watch
from planck.cli.screen.bindings import ACTIONS, read_settings
from planck.cli.screen.completion import Files, Words
from planck.cli.screen.inputs import Closed, Pressed, Submitted
from planck.cli.screen.screen import Screen
from planck.cli.screen.styled import cut, make_visible, style
from planck.cli.screen.team_rows import TeamRows
from planck.cli.talk.reporter import Reporter
from planck.cli.terminal import Terminal
from planck.headless import Exit, OpenSession, Planck, SessionEvent, walk
from planck.records.outcome import PlanckError

_MODES = ("ask", "workspace", "read-only")
"""What Shift+Tab goes through; the mode without any question is chosen by its name only."""
_SAID = 6
"""Lines of what the user said that are shown of it."""
T = TypeVar("T")


class Conversation(Chat):
    """One person at a screen; what is typed while it works steers it, or waits until it is done."""

    def __init__(
        self,
        planck_: Planck,
        options: argparse.Namespace,
        terminal: Terminal,
        session: OpenSession,
        screen: Screen,
    ) -> None:
        self._paper = screen
        self._waiting: list[str] = []
        terminal.live = False  # nothing but the screen writes over anything
        super().__init__(planck_, options, terminal, None, session)
        settings = read_settings(planck_.config.keys)
        screen.use(settings)
        for problem in settings.problems:
            terminal.line(f"planck: {problem}", wrap=True)
        screen.completers += [
            Words("/", lambda: ((name[1:], "") for name in self._commands)),
            Files(
                planck_.workspace, walk, lambda: ((spec.name, spec.type) for spec in self._session.members)
            ),
        ]

    async def run(self, first: str) -> int:
        """Until Ctrl+D, /exit, Ctrl+C twice, or the terminal is gone: then the turn is ended in order."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._leave, Exit.SIGTERM)
        self._greet()
        try:
            if first:
                await self._hear(first, queue=False)
            while not self._leaving.is_set():
                match await self._until_leaving(self._paper.next()):
                    case Submitted(text, queue):
                        await self._hear(text, queue=queue)
                    case Pressed(action):
                        await self._act(action)
                    case Closed():
                        self._leave(Exit.SIGTERM)
        finally:
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)
        name = self._session.name
        self._terminal.line(f"planck: session {name}; go on with: planck -r {name}")
        return self._code

    def _open(self, session: OpenSession) -> None:
        self._session = session
        self._screen = Reporter(self._terminal, session)
        self._rows = TeamRows(session, str(self._planck.config.permissions.mode))
        self._paper.show(self._rows)
        self._watch = Watch(session, self._show, also=self._tick)

    def _show(self, event: SessionEvent) -> None:
        self._rows.follow(event)
        self._screen.show(event)
        self._paper.touch()

    async def _tick(self) -> None:
        """Whole seconds go by on the screen while somebody works."""
        while True:
            await asyncio.sleep(1)
            if self._rows.working:
                self._paper.touch()

    async def _until_leaving(self, awaited: Awaitable[T]) -> T | None:
        task = asyncio.ensure_future(awaited)
        leaving = asyncio.ensure_future(self._leaving.wait())
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        for one in (task, leaving):
            if not one.done():
                one.cancel()
        return task.result() if task.done() and not task.cancelled() else None

    async def _hear(self, text: str, *, queue: bool) -> None:
        if queue and self._working:
            self._waiting.append(text)
            self._count_waiting()
            return
        self._print_said(text)
        await self._take(text)
        self._paper.busy = self._working

    def _print_said(self, text: str) -> None:
        lines = make_visible(text).split("\n")
        shown = [cut(line, self._paper.width - 2) for line in lines[:_SAID]]
        if len(lines) > _SAID:
            shown.append(f"… {len(lines) - _SAID:,} more lines")
        marked = [f"{'>' if number == 0 else ' '} {line}" for number, line in enumerate(shown)]
        self._paper.print(["", *(style(line, "bold") if self._terminal.color else line for line in marked)])

    @property
    def _working(self) -> bool:
        return self._work is not None and not self._work.done()

    async def _answer(self, head: int) -> None:
        await super()._answer(head)
        self._paper.busy = False
        self._paper.notify(f"planck: {self._session.name} is done")
        if self._waiting:  # behind this task, which is the turn's own
            asyncio.get_running_loop().call_soon(self._paper.tell, Submitted(self._waiting.pop(0)))
            self._count_waiting()

    async def _act(self, action: str) -> None:
        try:
            match action:
                case "interrupt":
                    self._interrupt()
                case "exit":
                    self._leave(self._code)
                case "quit":
                    self._leave(Exit.SIGINT)
                case "queued" if self._waiting:
                    self._paper.edit(self._waiting.pop())
                    self._count_waiting()
                case "mode":
                    await self._change_mode()
                case "team":
                    await self._team("")
                case "keys":
                    self._print_keys()
                case _:
                    self._paper.hint(f"{action} is not built yet")
        except PlanckError as failure:
            self._terminal.line(f"planck: {failure.err}", "red", wrap=True)

    def _interrupt(self) -> None:
        """Ends the turn; what waited for its end is the user's again."""
        if not self._working:
            return
        self._session.interrupt()
        if self._waiting:
            self._paper.edit("\n".join([*self._waiting, self._paper.draft]).strip("\n"))
            self._waiting.clear()
            self._count_waiting()

    async def _change_mode(self) -> None:
        mode = self._rows.board.mode
        following = _MODES[(_MODES.index(mode) + 1) % len(_MODES)] if mode in _MODES else _MODES[0]
        await self._session.change_mode(following)

    def _print_keys(self) -> None:
        table: dict[str, list[str]] = {}
        for key, action in self._paper.settings.keys.items():
            table.setdefault(action, []).append(key)
        for action, (_, meaning) in ACTIONS.items():
            self._terminal.line(f"  {', '.join(table.get(action, ['no key'])):<24} {meaning}")

    def _count_waiting(self) -> None:
        self._paper.queued = self._rows.queued = len(self._waiting)
