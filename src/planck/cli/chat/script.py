"""A conversation without a screen: lines in, lines out; for scripts, and terminals that can't be painted."""

import argparse
import asyncio
import shutil
import signal
from collections.abc import Awaitable, Callable, Sequence

from planck.cli.ask.approver import TerminalApprover
from planck.cli.ask.lines import Lines
from planck.cli.ask.typed_line import TypedLine, read_secret
from planck.cli.chat.intent import keep_from_shell
from planck.cli.chat.pager import ChangeList
from planck.cli.chat.talk import Talk
from planck.cli.streams import format_error
from planck.cli.tell.blocks import Block, Told, say
from planck.cli.tell.styled import Line
from planck.cli.tell.terminal import Terminal
from planck.headless import Exit, OpenSession, Planck
from planck.records.outcome import ErrorKind


class Script:
    """The frontend of a talk that is read line by line."""

    live = False

    def __init__(
        self,
        planck_: Planck,
        options: argparse.Namespace,
        terminal: Terminal,
        session: OpenSession,
        approver: TerminalApprover | None,
    ) -> None:
        self._terminal = terminal
        self._approver = approver
        self._lines = Lines()
        if approver:
            approver.attach(terminal, self._lines.mark, self._note_diff)
        self._talk = Talk(planck_, options, self, streams=terminal.rich)
        self._talk.open(session)
        self._warned = False

    async def run(self, first: str) -> int:
        """Until the input ends, /exit, or Ctrl+C twice; what is asked is answered before that."""
        loop, talk = asyncio.get_running_loop(), self._talk
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGTERM, talk.leave, Exit.SIGTERM)
        self._lines.start()
        said = bool(first)
        try:
            if self._lines.terminal:
                talk.greet(anyhow=True)
            if first:
                await self._take(keep_from_shell(first))
            while not talk.leaving.is_set():
                line = await self._next_line()
                if self._approver and self._approver.is_for(line):
                    self._approver.take(line)
                    if line is not None:
                        continue
                if line is None:
                    break
                if line.text.strip():
                    said = True
                    seen = line.by_hand or not self._lines.terminal
                    await self._take(line.text if seen else keep_from_shell(line.text))
            if not talk.leaving.is_set():
                await talk.wait()
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_signal_handler(signal.SIGTERM)
            name, empty = talk.session.name, talk.is_empty
            await talk.aclose()
        if not said and not self._lines.terminal:
            self._terminal.line(format_error(ErrorKind.NO_PROMPT, 'No prompt. Pass one: `planck run "..."`.'))
            return Exit.USAGE
        if not empty:
            self._terminal.line(f"planck: Session {name} saved. Resume with: planck -r {name}")
        return talk.code

    @property
    def width(self) -> int:
        return shutil.get_terminal_size().columns - 1

    def show(self, block: Block) -> None:
        self._terminal.show(block)

    async def page(
        self,
        title: str,
        lines: "Sequence[Line] | Callable[[], Sequence[Line]]",
        *,
        at_end: bool = False,
        commands: bool = False,
    ) -> None:
        self.show(Told(tuple(lines() if callable(lines) else lines)))

    async def choose(self, title: str, rows: Sequence[str]) -> int | None:
        return None

    async def confirm(self, offer: str, keys: Sequence[str]) -> str:
        return ""

    async def read_hidden(self, prompt: str) -> str | None:
        return read_secret(prompt) if self._lines.terminal else None

    async def browse(self, changes: ChangeList, act: Callable[[ChangeList], Awaitable[ChangeList]]) -> None:
        """Nobody moves about in lines that were written."""

    def edit(self, text: str) -> None:
        say(self, "There is no input line to edit here. Send the edited message.", "dim")

    def give_back(self, text: str) -> None:
        """Whoever sent the line has it."""

    def clear(self) -> None:
        """There is nothing to empty."""

    def colour(self, on: bool | None) -> None:
        """Its colours are the terminal's."""

    def copy(self, text: str) -> bool:
        return False

    def _note_diff(self, call_id: str) -> None:
        self._talk.teller.seen_diffs.add(call_id)

    async def _take(self, line: str) -> None:
        self._warned = False
        await self._talk.take(line)
        if not self._lines.terminal:  # a script: one line, one answer
            await self._talk.wait()

    async def _next_line(self) -> TypedLine | None:
        reading = asyncio.ensure_future(self._lines.next())
        leaving = asyncio.ensure_future(self._talk.leaving.wait())
        await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
        for task in (reading, leaving):
            if not task.done():
                task.cancel()
        return reading.result() if reading.done() and not reading.cancelled() else None

    def _interrupt(self) -> None:
        if self._talk.busy:
            self._talk.interrupt()
            self._talk.drop_queued()
            self._warned = False
        elif self._warned:
            self._talk.leave(Exit.SIGINT)
        else:
            self._warned = True
            self._terminal.line("Press Ctrl+C again to exit", "dim")
