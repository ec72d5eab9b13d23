"""Hooks at what happens to a team: they hear of it in order, and hold nothing up.

SubagentStart  a worker began        SubagentStop  one of its turns ended
PreCompact     a history is long     PostCompact   it was made shorter
Notification   somebody is asked
"""

import asyncio
from typing import Any

from planck.closing import wait_for_end
from planck.headless.hooks.hooks import Hooks
from planck.records.events import (
    AgentStarted,
    Compacted,
    Compacting,
    Event,
    PermissionRequest,
    TurnEnd,
    TurnStart,
    view,
)
from planck.records.specs import AgentSpec

_MOST = 256
"""Events that may wait for hooks that take their time; what comes beyond them is not told."""
_CLOSE_TIMEOUT = 30.0


class HookEvents:
    """Listens to a session; its one task runs the hooks of what it heard."""

    def __init__(self, hooks: Hooks, members: list[AgentSpec]) -> None:
        self._hooks = hooks
        self._members = {spec.id: spec for spec in members}
        self._at_work: set[str | None] = set()
        self._queue: asyncio.Queue[tuple[str, str, dict[str, Any]] | None] = asyncio.Queue(_MOST)
        self._task = asyncio.get_running_loop().create_task(self._run(), name="hook-events")

    def push(self, event: Event) -> None:
        if event.type not in _HEARD:
            return
        fact = view(event)
        if isinstance(fact, AgentStarted):
            self._members[fact.agent.id] = fact.agent
        member = self._members.get(event.agent_id or "")
        worker = member if member and member.role == "worker" else None
        # Within a turn a history is made to fit; between two, only because the user wants it.
        how = "auto" if event.agent_id in self._at_work else "manual"
        match fact:
            case TurnStart():
                self._at_work.add(event.agent_id)
            case AgentStarted(agent=agent) if agent.role == "worker":
                self._tell("SubagentStart", agent.type, _describe(agent))
            case TurnEnd():
                self._at_work.discard(event.agent_id)
                if worker is None:
                    return
                facts = {**_describe(worker), "last_assistant_message": fact.text, "status": str(fact.status)}
                self._tell("SubagentStop", worker.type, {**facts, "stop_hook_active": False})
            case Compacting():
                self._tell("PreCompact", how, {"trigger": how, "custom_instructions": ""})
            case Compacted():
                self._tell("PostCompact", how, {"trigger": how})
            case PermissionRequest():
                kind = "permission_prompt"
                self._tell("Notification", kind, {"message": fact.text, "notification_type": kind})

    def end(self) -> None:
        """What was heard is still told."""

    async def aclose(self) -> None:
        """Waits for the hooks of what was heard, and not for ever."""
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT):
                await self._queue.put(None)
                await asyncio.shield(self._task)
        except TimeoutError:
            pass  # told enough
        finally:
            self._task.cancel()
            await wait_for_end(self._task)

    def _tell(self, event: str, subject: str, facts: dict[str, Any]) -> None:
        if self._hooks.has(event) and not self._queue.full():
            self._queue.put_nowait((event, subject, facts))

    async def _run(self) -> None:
        while told := await self._queue.get():
            await self._hooks.fire(*told)


_HEARD = frozenset(
    one.type for one in (AgentStarted, TurnStart, TurnEnd, Compacting, Compacted, PermissionRequest)
)


def _describe(agent: AgentSpec) -> dict[str, Any]:
    return {"agent_id": agent.id, "agent_type": agent.type, "agent": agent.name}
