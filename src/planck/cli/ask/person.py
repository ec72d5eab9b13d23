"""Who sits at the terminal of a run and can be asked: by keys where a box can be painted, else by lines."""

import argparse
import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from planck.cli.tell.terminal import Terminal
from planck.headless import Inbox

if TYPE_CHECKING:
    from planck.cli.ask.approver import TerminalApprover


class Person:
    """Answers what agents may not decide; `approver` is whom they ask."""

    def __init__(self, terminal: Terminal, listen: Callable[[], None], *, keys: bool) -> None:
        """`listen`: has the run hear its signals again, after a screen took them for keys."""
        self.terminal = terminal
        self._listen = listen
        self.seen_diffs: set[str] = set()
        """Calls whose whole diff was on the screen when they were approved."""
        self.approver: TerminalApprover | Inbox = Inbox() if keys else self._make_approver()

    def begin(self) -> asyncio.Task[None] | None:
        """Asks what there is to ask from now on, until that is cancelled; lines are asked for as they are."""
        if not isinstance(self.approver, Inbox):
            return None
        return asyncio.get_running_loop().create_task(self._ask(self.approver))

    async def _ask(self, inbox: Inbox) -> None:
        await inbox.wait_for_change(0)  # most runs ask nothing: what asks is loaded for the first question
        from planck.cli.ask.run_approvals import RunApprovals

        await RunApprovals(inbox, self.terminal, self._listen, self.seen_diffs.add).run()

    def _make_approver(self) -> "TerminalApprover":
        from planck.cli.ask.approver import TerminalApprover

        approver = TerminalApprover()
        approver.attach(self.terminal, approve=self.seen_diffs.add)
        return approver


def find_person(options: argparse.Namespace, listen: Callable[[], None]) -> Person | None:
    """Returns nobody where input or messages are not on a terminal."""
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    terminal = Terminal()
    # A terminal that gets a line for each event is no place to paint on.
    painted = terminal.live and not (options.output_format == "stream-json" and sys.stdout.isatty())
    return Person(terminal, listen, keys=painted)
