"""Hands each room what it needs from the others: the only place that knows them all."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from planck.agent.agent import Agent
from planck.agent.journal import Journal
from planck.context.plan import plan_tool
from planck.context.skill_tools import skill_tools
from planck.headless.models import endpoint
from planck.headless.resources import Resources
from planck.llm.dialects import open_provider
from planck.llm.provider import Provider
from planck.llm.transport import HttpTransport
from planck.permissions.policy import Decision, Mode, decide
from planck.records.events import PermissionDecision, ToolProgress
from planck.records.outcome import Err, ErrorKind
from planck.records.ports import Clock, Ids
from planck.records.specs import AgentSpec, ModelSpec
from planck.toolkit.tool import Tool, ToolContext
from planck.toolkit.toolset import ToolSet
from planck.tools.builtin.catalog import builtin_tools
from planck.tools.executor import Executor


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What one session was started with."""

    mode: Mode
    dry_run: bool = False
    max_steps: int


class Wiring:
    def __init__(
        self,
        resources: Resources,
        environ: Mapping[str, str],
        *,
        clock: Clock,
        ids: Ids,
        doubles: Mapping[str, Provider],
    ) -> None:
        self._resources = resources
        self._workspace = resources.workspace
        self._environ = environ
        self._clock = clock
        self._ids = ids
        self._doubles = doubles
        self._transport: HttpTransport | None = None

    def provider(self, model: ModelSpec) -> Provider:
        if model.provider in self._doubles:
            return self._doubles[model.provider]
        if self._transport is None:
            self._transport = HttpTransport()
        return open_provider(endpoint(self._resources.config, model, self._environ), model, self._transport)

    def agent_builder(
        self, session_id: str, spill: Path, options: Options
    ) -> Callable[[AgentSpec, Journal], Agent]:
        tools = builtin_tools(self._workspace, spill=spill, environment=self._environ)

        def build(spec: AgentSpec, journal: Journal) -> Agent:
            own = skill_tools(lambda: self._resources.skills_of(spec))
            toolset = ToolSet([*tools, *own, plan_tool()])
            agent: Agent

            async def permit(tool: Tool, args: dict[str, Any], ctx: ToolContext) -> Err | None:
                decision = decide(options.mode, tool.effect)
                if decision is Decision.ALLOW:
                    return None
                reason = _reason(tool.name, options.mode, decision)
                denial = PermissionDecision(
                    call_id=ctx.call_id, tool=tool.name, decision="deny", reason=reason
                )
                await journal.record(spec.id, agent.turn, denial, barrier=True)
                return Err(ErrorKind.PERMISSION_DENIED, reason)

            executor = Executor(
                toolset,
                clock=self._clock,
                permit=permit,
                session_id=session_id,
                agent_id=spec.id,
                workspace=self._workspace,
                dry_run=options.dry_run,
                progress=lambda id, text: agent.publish(ToolProgress(id=id, text=text)),
                record=lambda fact: agent.record(fact),
            )
            agent = Agent(
                spec,
                journal=journal,
                provider=self.provider(spec.model),
                tools=toolset,
                executor=executor,
                ids=self._ids,
                system=lambda: self._resources.system(spec),
                cost=lambda usage: None,
                max_steps=options.max_steps,
            )
            return agent

        return build

    async def aclose(self) -> None:
        if self._transport is not None:
            await self._transport.aclose()


def _reason(tool: str, mode: Mode, decision: Decision) -> str:
    if decision is Decision.DENY:
        return (
            f"{tool!r} has effects, which mode {mode.value!r} does not allow; "
            "go on without it, or tell the user to choose another --permission-mode"
        )
    return (
        f"{tool!r} needs an approval in mode {mode.value!r}, and nobody is there to ask; "
        "go on without it, or tell the user to choose another --permission-mode"
    )
