"""The public factories, which name a team by its id: a tool finds the open team when it is called."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from planck.records.specs import ModelSpec, ToolSpec
from planck.team import tool_specs
from planck.team.mail import GONE, NO_DELEGATOR
from planck.team.spawn import Grants, KnownModels
from planck.team.team import Team
from planck.team.tools import NO_GRANTS, TeamActions, make_tool, refuse_target
from planck.team.tools import list_models as show_models
from planck.toolkit.tool import Outcome, Tool, ToolContext, ToolError

_open: "WeakValueDictionary[str, Team]" = WeakValueDictionary()
"""By the id of their session, which is unique among the sessions that are open."""


def register(team: Team) -> None:
    _open[team.id] = team


def forget(team: Team) -> None:
    if _open.get(team.id) is team:
        del _open[team.id]


def worker_tools(
    team_id: str, delegator_id: str | None, sender: Mapping[str, str] | None = None
) -> list[Tool]:
    """Returns what every agent of a team has; an orchestrator has no delegator."""
    return [
        ask_agent(team_id),
        delegate_task(team_id),
        send_response(delegator_id, sender),
        list_team(team_id),
    ]


def orchestrator_tools(
    session_id: str,
    team_id: str,
    available_models: Sequence[ModelSpec],
    grantable_tools: Iterable[Tool] = (),
    grantable_skills: Iterable[Any] = (),
    cwd: str = "",
) -> list[Tool]:
    """Returns what an orchestrator has besides; it can grant what it is given here, and no more."""
    spawn = spawn_agent(session_id, team_id, grantable_tools, grantable_skills, cwd, available_models)
    return [spawn, destroy_agent(team_id), interrupt_agent(team_id), list_models(available_models)]


def ask_agent(team_id: str) -> Tool:
    return _ById(tool_specs.ASK_AGENT, team_id).tool()


def delegate_task(team_id: str) -> Tool:
    return _ById(tool_specs.DELEGATE_TASK, team_id).tool()


def send_response(delegator_id: str | None, sender: Mapping[str, str] | None = None) -> Tool:
    """`sender` names the worker for whoever builds a tool outside a team; in one, the team knows."""
    return _ById(tool_specs.SEND_RESPONSE, delegator_id=delegator_id or "").tool()


def list_team(team_id: str) -> Tool:
    return _ById(tool_specs.LIST_TEAM, team_id).tool()


def spawn_agent(
    session_id: str,
    team_id: str,
    grantable_tools: Iterable[Tool] = (),
    grantable_skills: Iterable[Any] = (),
    cwd: str = "",
    available_models: Sequence[ModelSpec] = (),
) -> Tool:
    grants = Grants(
        choice=KnownModels(available_models),
        tools=tuple(tool.name for tool in grantable_tools),
        skills=tuple(skill if isinstance(skill, str) else skill.name for skill in grantable_skills),
    )
    spec = tool_specs.describe_spawn(grants.tools, grants.skills)
    return _ById(spec, team_id, grants=grants).tool()


def destroy_agent(team_id: str) -> Tool:
    return _ById(tool_specs.DESTROY_AGENT, team_id).tool()


def interrupt_agent(team_id: str) -> Tool:
    return _ById(tool_specs.INTERRUPT_AGENT, team_id).tool()


def list_models(available_models: Sequence[ModelSpec]) -> Tool:
    grants = Grants(models=tuple(available_models))
    return _ById(tool_specs.LIST_MODELS, grants=grants).tool()


class _ById(msgspec.Struct, frozen=True):
    """Finds the team at each call, by its id or as that of the caller's session, and acts in it."""

    spec: ToolSpec
    team_id: str | None = None
    delegator_id: str = ""
    grants: Grants = NO_GRANTS

    def tool(self) -> Tool:
        return make_tool(self.spec, self.execute)

    async def execute(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        # Never by the caller's id alone: a session and its fork have agents of the same ids.
        team = _open.get(ctx.session_id if self.team_id is None else self.team_id)
        if team is not None:
            try:
                return await TeamActions(team, self.delegator_id, self.grants).find(self.spec)(args, ctx)
            except ToolError as refused:  # also for a program that calls it without an executor
                return refused.err
        if self.spec is tool_specs.LIST_MODELS:
            return show_models(self.grants, None)
        if self.spec is tool_specs.SEND_RESPONSE:
            return NO_DELEGATOR
        return (refuse_target(args) if self.spec in tool_specs.TARGETED else None) or GONE
