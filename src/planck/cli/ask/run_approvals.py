"""Questions of a run: the conversation's box and keys, on a screen that is there only while one is open."""

import asyncio
import signal
import sys
from collections.abc import Callable, Sequence

from planck.cli.ask.editor import edit_in_program
from planck.cli.ask.prompt import ApprovalPrompt
from planck.cli.ask.typed_line import forget_typed
from planck.cli.screen.inputs import Closed, Pressed, Submitted
from planck.cli.screen.screen import Screen
from planck.cli.tell.blocks import Block
from planck.cli.tell.styled import Line, cut
from planck.cli.tell.terminal import Terminal
from planck.headless import Inbox

_STDIN, _STDERR = 0, 2
"""Where a run tells what goes on: its answer may be on the way to a file."""


class RunApprovals:
    """Answers what the inbox holds, until it is cancelled; what is told meanwhile goes above the question."""

    def __init__(
        self, inbox: Inbox, terminal: Terminal, listen: Callable[[], None], approve: Callable[[str], None]
    ) -> None:
        """`listen`: has the run hear its signals again, which a screen takes for keys.

        `approve`: is told of a call whose whole diff was on the screen for a yes.
        """
        self._inbox = inbox
        self._terminal = terminal
        self._listen = listen
        self._approve = approve

    async def run(self) -> None:
        seen = -1
        while True:
            seen = await self._inbox.wait_for_change(seen)
            if self._inbox.pending():
                await self._answer_all()

    def show(self, block: Block) -> None:
        self._terminal.show(block)

    async def _answer_all(self) -> None:
        terminal, loop = self._terminal, asyncio.get_running_loop()
        screen = Screen(color=terminal.color, terminal=(_STDIN, _STDERR), editor=edit_in_program)
        prompt = ApprovalPrompt(self._inbox, self, screen, _interrupt_run, self._approve)
        screen.show(_Rows(prompt))
        forget_typed()  # typed before the question: no answer to it, and nothing else is entered here
        with terminal.still():
            screen.open()
            self._listen()
            with terminal.above(sys.stderr, prompt.pushed):
                tasks = {loop.create_task(prompt.run()), loop.create_task(self._read(screen, prompt))}
                try:
                    await self._wait_for_answers()
                finally:
                    for task in tasks:
                        task.cancel()
                    await asyncio.wait(tasks)
                    await screen.close()  # nothing is told between this and the end of `above`
            self._listen()

    async def _wait_for_answers(self) -> None:
        seen = self._inbox.changes
        while self._inbox.pending():
            seen = await self._inbox.wait_for_change(seen)

    async def _read(self, screen: Screen, prompt: ApprovalPrompt) -> None:
        while True:
            match await screen.next():
                case Submitted(text=text):
                    if not prompt.take_reason(text):
                        screen.edit(text)
                        screen.hint(
                            "Answer with one of the keys above. "
                            "To tell the agent this instead, press e first."
                        )
                case Pressed(action="interrupt" | "exit"):
                    prompt.refuse()  # pressed before the question could take it
                case Pressed(action="stop" | "quit"):
                    _interrupt_run()
                case Pressed(action="output") if prompt.show_all():
                    pass
                case Pressed(action="cleared"):
                    pass
                case Pressed():
                    screen.hint("Answer the question first; its keys are shown above")
                case Closed():
                    for _ in prompt.open:  # nobody is there any more: a no to each
                        prompt.refuse()
                    return


class _Rows:
    """Below the question: whose it is and which keys answer it."""

    def __init__(self, prompt: ApprovalPrompt) -> None:
        self._prompt = prompt

    def lines(self, width: int) -> Sequence[Line]:
        row = self._prompt.draw_row(width)
        return [cut(row, width)] if row else []

    def footer(self, width: int, note: Line = ()) -> Line:
        if note:
            return (("  ", ""), *note)
        return (("  Esc denies · Ctrl+C stops the run", "dim"),)


def _interrupt_run() -> None:
    """Does what Ctrl+C does to a run that asks nothing."""
    signal.raise_signal(signal.SIGINT)
