"""The sessions that use the peers: they hear of states, and one of them is asked about changed tools."""

import asyncio
import weakref
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from planck.permissions.approver import Approvals
from planck.permissions.gate import Gate
from planck.records.events import Status
from planck.toolkit.journal import Journal

if TYPE_CHECKING:  # most runs have no peer: they load nothing of MCP
    from planck.peers.changes import ServerChanges

_CLOSE_TIMEOUT = 5.0
_MAX_DETAIL = 2_000


class Sessions:
    def __init__(self) -> None:
        self.closed: bool = False
        """Whether what peers still say of their tools comes too late for anybody."""
        self.changes: list[ServerChanges] = []
        self._gates: weakref.WeakKeyDictionary[Journal, Gate | None] = weakref.WeakKeyDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    def join(self, journal: Journal, gate: Gate | None) -> None:
        """With a gate, a person can be asked there."""
        self._gates[journal] = gate

    def leave(self, journal: Journal) -> None:
        """What it was asked and did not answer, another one is asked."""
        self._gates.pop(journal, None)
        for changes in self.changes:
            changes.leave(journal)

    def find_gate(self) -> tuple[Journal, Gate] | None:
        """Returns the first session in which a person can be asked."""
        return next(((journal, gate) for journal, gate in self._gates.items() if gate is not None), None)

    def find_approvals(self, session_id: str) -> Approvals | None:
        """Returns who answers the questions of one session; None: nobody can be asked there."""
        for gate in self._gates.values():
            if gate is not None and (found := gate.approvals) and found.session_id == session_id:
                return found
        return None

    def publish_state(self, component: str, name: str, state: str, detail: str) -> None:
        delta = Status(component=component, name=name, state=state, detail=detail[:_MAX_DETAIL])
        for journal in list(self._gates):
            journal.publish(None, 0, delta)

    def start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Records or asks something in a session, in the background."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def stop_asking(self) -> None:
        self.closed = True
        for changes in self.changes:
            changes.cancel()

    async def aclose(self) -> None:
        """Waits for what was started, and not for ever."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSE_TIMEOUT)
