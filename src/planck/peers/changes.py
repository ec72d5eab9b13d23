"""A server's new or changed tools are held back until a person takes them; no turn waits for that."""

import asyncio
import logging
from typing import TYPE_CHECKING

from planck.mcp.listing import ListedTool
from planck.peers.pins import Pins
from planck.peers.sessions import Sessions
from planck.permissions.gate import Gate
from planck.permissions.question import ToolChange
from planck.toolkit.journal import Journal
from planck.toolkit.scribe import Scribe

if TYPE_CHECKING:
    from planck.peers.open_peer import OpenServer

log = logging.getLogger(__name__)


class ServerChanges:
    """What one server changed since its tools were taken: at most one question about it is open."""

    def __init__(self, server: "OpenServer", sessions: Sessions) -> None:
        self._server = server
        self._sessions = sessions
        self._pins = Pins(server.name)
        self._asking: asyncio.Task[None] | None = None
        self._asked_in: Journal | None = None
        sessions.changes.append(self)

    def admit(self, tools: tuple[ListedTool, ...]) -> list[ListedTool]:
        """Returns what the user took, at first everything; the rest is asked about, or held back."""
        same = self._pins.admit(tools)
        if held := self._pins.held:
            way_out = "you are asked about them" if self._ask() else "start planck again to take them"
            names = ", ".join(listed.spec.name for listed in held[:10])
            self._server.changed_state(
                "connected", f"new or changed since it was started, held back: {names}; {way_out}"
            )
        return same

    def leave(self, journal: Journal) -> None:
        """Asks another session what this one, which ends, was asked and did not answer."""
        if self._asking is not None and self._asked_in is journal:
            self._asking.cancel()
            self._asking = self._asked_in = None
            self._ask()

    def cancel(self) -> None:
        if self._asking is not None:
            self._asking.cancel()

    def _ask(self) -> bool:
        """Returns whether somebody is asked: False where nobody can be, or there were too many questions."""
        if self._asking is not None:
            return True
        found = self._sessions.find_gate()
        change = None if found is None or self._sessions.closed else self._pins.next_change()
        if found is None or change is None:
            return False
        self._asked_in, gate = found
        self._asking = self._sessions.start(self._decide(change, gate, Scribe(self._asked_in, None)))
        return True

    async def _decide(self, change: ToolChange, gate: Gate, scribe: Scribe) -> None:
        """Cancelled when its session ends or all do; whoever cancels it says what comes after."""
        try:
            allowed = await gate.agree(change, scribe)
        except Exception:  # an approver is anybody's code, and no answer is no
            log.exception("no answer about the tools of %r", self._server.name)
            allowed = False
        self._pins.decide(allowed=allowed)
        self._asking = self._asked_in = None
        self._server.list_again()
