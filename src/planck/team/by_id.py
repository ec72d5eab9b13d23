"""The public factories, which name a team by its id: a tool finds the open team when it is called."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

from planck.records.outcome import Err
from planck.records.specs import ModelSpec, ToolSpec
from planck.team import tool_specs
from planck.team.mail import GONE, NO_DELEGATOR
from planck.team.spawn import Grants, KnownModels
from planck.team.team import Team
from planck.team.tools import NO_GRANTS, TeamActions, make_tool, refuse_target
from planck.team.tools import list_models as show_models
from planck.toolkit.tool import Outcome, Tool, ToolContext

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
    return [
        _make_spawn(team_id, available_models, grantable_tools, grantable_skills),
        destroy_agent(team_id),
        interrupt_agent(team_id),
        list_models(available_models),
    ]


def ask_agent(team_id: str) -> Tool:
    return _Lookup(tool_specs.ASK_AGENT, TeamActions.ask_agent, team_id).tool()


def delegate_task(team_id: str) -> Tool:
    return _Lookup(tool_specs.DELEGATE_TASK, TeamActions.delegate_task, team_id).tool()


def send_response(delegator_id: str | None, sender: Mapping[str, str] | None = None) -> Tool:
    """`sender` names the worker for whoever builds a tool outside a team; in one, the team knows."""
    spec = tool_specs.SEND_RESPONSE
    return _Lookup(spec, TeamActions.send_response, delegator_id=delegator_id or "").tool()


def list_team(team_id: str) -> Tool:
    return _Lookup(tool_specs.LIST_TEAM, TeamActions.list_team, team_id).tool()


def spawn_agent(
    session_id: str,
    team_id: str,
    grantable_tools: Iterable[Tool] = (),
    grantable_skills: Iterable[Any] = (),
    cwd: str = "",
) -> Tool:
    return _make_spawn(team_id, (), grantable_tools, grantable_skills)


def destroy_agent(team_id: str) -> Tool:
    return _Lookup(tool_specs.DESTROY_AGENT, TeamActions.destroy_agent, team_id).tool()


def interrupt_agent(team_id: str) -> Tool:
    return _Lookup(tool_specs.INTERRUPT_AGENT, TeamActions.interrupt_agent, team_id).tool()


def list_models(available_models: Sequence[ModelSpec]) -> Tool:
    grants = Grants(models=tuple(available_models))
    return _Lookup(tool_specs.LIST_MODELS, TeamActions.list_models, grants=grants).tool()


def _make_spawn(
    team_id: str, models: Sequence[ModelSpec], tools: Iterable[Tool], skills: Iterable[Any]
) -> Tool:
    grants = Grants(
        resolve=KnownModels(models).resolve,
        tools=tuple(tool.name for tool in tools),
        skills=tuple(skill if isinstance(skill, str) else skill.name for skill in skills),
    )
    spec = tool_specs.describe_spawn(grants.tools, grants.skills)
    return _Lookup(spec, TeamActions.spawn_agent, team_id, grants=grants).tool()


class _Lookup:
    """Finds the team at each call, by its id or as the caller's own, and acts in it."""

    def __init__(
        self,
        spec: ToolSpec,
        act: Callable[[TeamActions, dict[str, Any], ToolContext], Awaitable[Outcome]],
        team_id: str | None = None,
        delegator_id: str = "",
        grants: Grants = NO_GRANTS,
    ) -> None:
        self._spec = spec
        self._act = act
        self._team_id = team_id
        self._delegator_id = delegator_id
        self._grants = grants

    def tool(self) -> Tool:
        return make_tool(self._spec, self._execute)

    async def _execute(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        # Never by the caller's id alone: a session and its fork have agents of the same ids.
        team = _open.get(ctx.session_id if self._team_id is None else self._team_id)
        if team is None:
            return self._refuse(args)
        return await self._act(TeamActions(team, self._delegator_id, self._grants), args, ctx)

    def _refuse(self, args: dict[str, Any]) -> Outcome:
        if self._spec is tool_specs.LIST_MODELS:
            return show_models(self._grants, None)
        if self._spec is tool_specs.SEND_RESPONSE:
            return NO_DELEGATOR
        targeted = "identifier" in self._spec.parameters["properties"]
        refused: Err | None = refuse_target(args) if targeted else None
        return refused or GONE
