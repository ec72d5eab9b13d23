"""The members that a new session begins with: from a team, an agent file, or one orchestrator alone."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from planck.headless.session_setup import SessionSetup
from planck.records.specs import EVERY_TOOL, AgentKind, AgentSpec, ModelSpec
from planck.toolkit.tool import Tool

if TYPE_CHECKING:
    from planck.headless.embedding.teams import MadeTeam

Objects = Mapping[str, tuple[Tool, ...]]
"""By id of a worker: the tools that the program gave it as objects."""


async def make_members(plan: SessionSetup, made: "MadeTeam | None") -> tuple[list[AgentSpec], Objects]:
    """Returns them, the orchestrator first; `made` is a team that the program made."""
    if made:
        return await _make_of_objects(plan, made)
    config = plan.runtime.project.config
    if plan.options.agent:
        return [await _make_of_file(plan)], {}
    if team := plan.options.team or config.default_team:
        return await _load_team(plan, team), {}
    alone = AgentSpec(
        id=plan.runtime.ids.new(),
        type="orchestrator",
        name="orchestrator",
        role="orchestrator",
        model=await plan.runtime.providers.choose(plan.options.model),
        tools=(*plan.tools.names, EVERY_TOOL),
    )
    return [alone], {}


async def _make_of_objects(plan: SessionSetup, made: "MadeTeam") -> tuple[list[AgentSpec], Objects]:
    named = plan.options.model or made.models.get(made.lead, "")
    needed = named or made.needs_default
    lead = await plan.runtime.providers.choose(named) if needed else None
    specs, objects = made.make(plan, plan.runtime.ids, lead, _find_kinds(plan, lead))
    own = tuple(dict.fromkeys((*specs[0].tools, *plan.tools.own)))
    others = {id: tools for id, tools in objects.items() if id != specs[0].id}  # the lead's are the session's
    return [replace(specs[0], tools=own), *specs[1:]], others


async def _make_of_file(plan: SessionSetup) -> AgentSpec:
    from planck.headless.members.agent_kinds import make_lead

    model, runtime = plan.options.model, plan.runtime
    needed = model or runtime.project.config.default_model
    named = await runtime.providers.choose(model) if needed else None
    return await make_lead(runtime, plan.options.agent, named, plan.tools.names, bool(model))


async def _load_team(plan: SessionSetup, team: str) -> list[AgentSpec]:
    from planck.config import teams  # most runs have one agent

    runtime, project, model = plan.runtime, plan.runtime.project, plan.options.model
    path = teams.find_team(team, project.resources.team_dirs())
    needed = model or teams.needs_default(path)
    named = await runtime.providers.choose(model) if needed else None
    lead, *others = teams.load_team(
        path,
        runtime.providers.resolve_member,
        runtime.ids,
        lead=named,
        doubt=project.doubt(path),
        places=project.roots,
        kinds=_find_kinds(plan, named),
    )
    lead = replace(
        lead,
        model=named if model and named else lead.model,  # the flag's, without the entry's `opts`
        tools=tuple(dict.fromkeys((*lead.tools, *plan.tools.own))),
    )
    return [lead, *others]


def _find_kinds(plan: SessionSetup, lead: ModelSpec | None) -> dict[str, AgentKind]:
    if not plan.runtime.project.resources.has_agents():
        return {}
    from planck.headless.members.agent_kinds import find_kinds  # few projects have any

    return find_kinds(plan.runtime, lead, plan.tools.names)
