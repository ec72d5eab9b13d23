"""A session on a terminal that is only written to: finished blocks, and below them what goes on."""

import asyncio
from typing import TYPE_CHECKING

from planck.cli.tell.teller import Teller
from planck.cli.tell.terminal import Terminal
from planck.headless import OpenSession, SessionEvent

if TYPE_CHECKING:
    from planck.cli.tell.live_board import LiveBoard
    from planck.cli.tell.now import Now


class Reporter:
    """Shows one session; `run` keeps the line of what goes on up to date until it is cancelled."""

    def __init__(
        self,
        terminal: Terminal,
        session: OpenSession,
        *,
        verbose: bool = False,
        seen_diffs: set[str] | None = None,
    ) -> None:
        """`verbose`: also what begins, and never the answer: nobody looks, and that goes elsewhere.

        `seen_diffs`: calls whose diff is on the screen already.
        """
        self._terminal = terminal
        self._live_board: LiveBoard | None = None
        self._line: Now | None = None
        if terminal.live and not verbose:
            self._live_board, self._line = _follow(session)
        streams = terminal.rich and not verbose
        self._teller = Teller(session.members, streams=streams, begins=verbose, seen_diffs=seen_diffs)

    @property
    def answered(self) -> bool:
        """Whether the orchestrator's newest text is on the screen already."""
        return self._teller.answered

    async def run(self) -> None:
        """Tick, so that elapsed times move."""
        while self._line:
            self._terminal.status(self._line.tick())
            await asyncio.sleep(0.12)

    def done(self) -> None:
        for block in self._teller.rest():
            self._terminal.show(block)
        self._terminal.status("")

    def show(self, event: SessionEvent) -> None:
        if self._live_board:
            self._live_board.follow(event)
            if event.type == "status" and event.data.get("state") == "working":
                return  # the line that moves says it
        for block in self._teller.tell(event):
            self._terminal.show(block)


def _follow(session: OpenSession) -> "tuple[LiveBoard, Now]":
    from planck.cli.tell.live_board import LiveBoard  # where nobody looks, nothing is folded
    from planck.cli.tell.now import Now

    live_board = LiveBoard(session.opening_board())
    return live_board, Now(live_board)
