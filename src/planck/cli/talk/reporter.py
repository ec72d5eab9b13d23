"""A session on a terminal that is only written to: finished blocks, and below them what goes on."""

import asyncio
from typing import TYPE_CHECKING

from planck.cli.talk.teller import Teller
from planck.cli.terminal import Terminal
from planck.headless import OpenSession, SessionEvent

if TYPE_CHECKING:
    from planck.cli.talk.now import Now


class Reporter:
    """Shows one session; `run` keeps the line of what goes on up to date until it is cancelled."""

    def __init__(self, terminal: Terminal, session: OpenSession) -> None:
        self._terminal = terminal
        self._line = _make_line(session) if terminal.live else None
        self._teller = Teller(session.members, streams=terminal.rich)

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
        if self._line:
            self._line.follow(event)
        for block in self._teller.tell(event):
            self._terminal.show(block)


def _make_line(session: OpenSession) -> "Now":
    from planck.cli.talk.now import Now  # where nobody looks, nothing is folded

    return Now(session.members)
