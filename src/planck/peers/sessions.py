"""The sessions that use the peers: they hear of states, and one of them is asked about changed tools."""

import asyncio
import weakref
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from planck.records.events import Status
from planck.toolkit.journal import Journal
from planck.toolkit.scribe import Scribe

if TYPE_CHECKING:  # most runs have no peer: they load nothing of MCP
    from planck.mcp.pins import ToolChange

_CLOSE_TIMEOUT = 5.0
_MAX_DETAIL = 2_000


class ToolAsker(Protocol):
    async def agree(self, change: "ToolChange", scribe: Scribe) -> bool:
        """Asks a person whether changed tools are taken; the question and the answer are recorded."""


class Sessions:
    def __init__(self) -> None:
        self._askers: weakref.WeakKeyDictionary[Journal, ToolAsker | None] = weakref.WeakKeyDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    def join(self, journal: Journal, asker: ToolAsker | None) -> None:
        self._askers[journal] = asker

    def leave(self, journal: Journal) -> None:
        self._askers.pop(journal, None)

    def find_asker(self) -> tuple[Journal, ToolAsker] | None:
        """Returns the first session in which a person can be asked."""
        return next(((journal, asker) for journal, asker in self._askers.items() if asker is not None), None)

    def publish_state(self, component: str, name: str, state: str, detail: str) -> None:
        delta = Status(component=component, name=name, state=state, detail=detail[:_MAX_DETAIL])
        for journal in list(self._askers):
            journal.publish(None, 0, delta)

    def start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Records or asks something in a session, in the background."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def aclose(self) -> None:
        """Waits for what was started, and not for ever."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSE_TIMEOUT)
