"""Members of a team that are other programs: each a seat whose model is a process (`external_host`)."""

import shlex
from collections.abc import AsyncGenerator
from functools import partial

from planck.acp.external_member import Foreign
from planck.agent.agent import Kit
from planck.agent.seat import Seat
from planck.budget.accounts import Purse
from planck.closing import close_together
from planck.context.compaction import Room
from planck.headless.members.external_host import ExternalHost
from planck.headless.session_setup import SessionSetup
from planck.llm.provider import Item, Request
from planck.permissions.gate import AgentGate
from planck.records.messages import AssistantMessage, StopReason, Text
from planck.records.specs import FOREIGN, AgentSpec
from planck.toolkit.scribe import Scribe


class ExternalMembers:
    """The foreign members of one session; owns their processes."""

    def __init__(self, plan: SessionSetup) -> None:
        self._plan = plan
        self._members: dict[str, Foreign] = {}
        self._ending: list[Foreign] = []

    def seat(self, spec: AgentSpec, gate: AgentGate, kit: Kit, scribe: Scribe, purse: Purse) -> Seat:
        """Returns what an agent thinks with whose model is another program. It starts at its first turn."""
        self.end(spec.id)
        if self._plan.options.dry_run:
            return Seat(spec.model, Rehearsed(spec), None, Unbounded())
        runtime = self._plan.runtime
        host = ExternalHost(spec, self._plan, gate, kit, scribe, purse)
        foreign = Foreign(
            spec,
            host,
            scribe,
            ids=runtime.ids,
            clock=runtime.clock,
            root=runtime.project.open_root(),
            note=host.note,
        )
        self._members[spec.id] = foreign
        return Seat(spec.model, foreign, foreign.tariff, Unbounded())

    def end(self, agent_id: str) -> None:
        """Ends one that is gone, or is built anew."""
        if foreign := self._members.pop(agent_id, None):
            foreign.end()
            self._ending.append(foreign)

    async def aclose(self) -> None:
        ending, self._ending = self._ending, []
        members, self._members = self._members, {}
        await close_together(
            *(partial(foreign.aclose, politely=False) for foreign in ending),
            *(foreign.aclose for foreign in members.values()),
        )


class Unbounded:
    """Another program keeps its own history small; ours of it is never sent to a model."""

    async def make_room(self, request: Request, scribe: Scribe, *, overflowed: bool = False) -> Room | None:
        return None

    async def shorten(self, request: Request, scribe: Scribe) -> Room | None:
        return None


class Rehearsed:
    """In a dry run nobody could hold another program to it: it is not started."""

    def __init__(self, spec: AgentSpec) -> None:
        self._spec = spec

    async def stream(self, request: Request) -> AsyncGenerator[Item, None]:
        acp = self._spec.acp
        command = shlex.join(acp.command) if acp else ""
        text = f"[dry run: {self._spec.name} is an external program ({command}) and was not started]"
        yield AssistantMessage((Text(text),), FOREIGN, self._spec.model.label, StopReason.END)
