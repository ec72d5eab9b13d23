"""The agents of a session, each driven by one task; the team's end is theirs."""

import asyncio
import logging

from planck.agent.actor import Actor, Ended
from planck.records.events import TurnStatus

log = logging.getLogger(__name__)


class Team:
    def __init__(self, orchestrator: Actor) -> None:
        self.orchestrator = orchestrator
        self.last: Ended | None = None
        """How the orchestrator's newest turn ended."""
        self._actors = [orchestrator]
        self._tasks: dict[asyncio.Task[None], Actor] = {}
        self._changed = asyncio.Event()
        self._halted = False

    def start(self) -> None:
        for actor in self._actors:
            task = asyncio.create_task(self._drive(actor))  # noqa: TID251 - awaited in aclose
            task.add_done_callback(lambda _: self._changed.set())
            self._tasks[task] = actor

    async def settled(self) -> None:
        """Returns when nothing can wake the orchestrator any more; raises what stopped a driver."""
        while True:
            self._changed.clear()
            for task in self._tasks:
                if task.done():
                    task.result()
            if self._halted or all(actor.idle for actor in self._actors):
                return
            await self._changed.wait()

    async def halt(self, status: TurnStatus) -> None:
        """End every turn and drive no further one; mail that waits stays in the log."""
        self._halted = True
        self.abort(status)
        while any(actor.working for actor in self._actors):
            self._changed.clear()
            await self._changed.wait()

    def abort(self, status: TurnStatus = TurnStatus.INTERRUPTED) -> None:
        """Stop every turn in flight. Queued prompts stay queued."""
        for actor in self._actors:
            actor.abort(status)

    async def aclose(self) -> None:
        """End the agents, youngest first; a turn in flight is recorded as interrupted."""
        for task, actor in reversed(self._tasks.items()):
            task.cancel()
            await asyncio.wait({task})
            if not task.cancelled() and (failure := task.exception()):
                log.error("agent %s stopped: %s", actor.agent.spec.name, failure)
        self._tasks.clear()

    async def _drive(self, actor: Actor) -> None:
        while not self._halted:
            ended = await actor.next_turn()
            if actor is self.orchestrator:
                self.last = ended
            self._changed.set()
