"""The public factories, which name a team by its id: a tool finds the open team when it is called."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import msgspec

from planck.config.resources import Resources
from planck.context.skills import Skill
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import ModelSpec, ToolSpec
from planck.records.tools import ORCHESTRATOR_TOOLS, SPAWN, TEAM_TOOLS
from planck.team import tool_specs
from planck.team.settlement import GONE, NO_DELEGATOR
from planck.team.spawn import Grants, KnownModels, Models
from planck.team.team import Team
from planck.team.tools import TeamActions, make_tool, refuse_target
from planck.team.tools import list_models as show_models
from planck.toolkit.tool import ArgumentError, InvalidTool, Outcome, Tool, ToolContext, ToolError
from planck.workspace.paths.paths import Root

_made: "WeakKeyDictionary[Tool, _ById]" = WeakKeyDictionary()
"""What each tool of these factories does: a session that is started with one takes it over."""
_open: "WeakValueDictionary[str, Team]" = WeakValueDictionary()
"""By the id of their session, which is unique among the sessions that are open."""


class _Surroundings(msgspec.Struct, frozen=True):
    """What a session has for the workers of its team."""

    resources: Resources
    models: Models


_around: "WeakKeyDictionary[Team, _Surroundings]" = WeakKeyDictionary()


def register(team: Team, resources: Resources, models: Models) -> None:
    _open[team.id] = team
    _around[team] = _Surroundings(resources, models)


def forget(team: Team) -> None:
    if _open.get(team.id) is team:
        del _open[team.id]


def worker_tools(
    team_id: str, delegator_id: str | None, sender: Mapping[str, str] | None = None
) -> list[Tool]:
    """Returns what every agent of a team has; an orchestrator has no delegator.

    Example:

        session = await p.start(tools=[*orchestrator_tools("id", "team", []), *worker_tools("team", None)])
    """
    own = {tool_specs.SEND_RESPONSE.name: send_response(delegator_id, sender)}
    return [own.get(name) or _make(name, team_id) for name in TEAM_TOOLS]


def orchestrator_tools(
    session_id: str,
    team_id: str,
    available_models: Sequence[ModelSpec],
    grantable_tools: Iterable[Tool] = (),
    grantable_skills: Iterable[Skill | str] = (),
    cwd: str | os.PathLike[str] = "",
) -> list[Tool]:
    """Returns what an orchestrator has besides; it can grant what it is given here, and no more.

    Example:

        session = await p.start(tools=[*orchestrator_tools("id", "team", []), *worker_tools("team", None)])
    """
    spawn = spawn_agent(session_id, team_id, grantable_tools, grantable_skills, cwd, available_models)
    own = {spawn.name: spawn, tool_specs.LIST_MODELS.name: list_models(available_models)}
    return [own.get(name) or _make(name, team_id) for name in ORCHESTRATOR_TOOLS]


def split_team_tools(tools: Iterable[Tool], session_id: str) -> tuple[list[Tool], dict[str, Tool]]:
    """Returns the program's own tools, and by name the team tools among them, made again for that session.

    A program makes them before its session has an id. Which tools, skills and models they offer stays.
    """
    own: list[Tool] = []
    team: dict[str, Tool] = {}
    for tool in tools:
        made = _made.get(tool) if isinstance(tool, Tool) else None
        if made is None or tool.name in team:
            own.append(tool)
        else:
            team[tool.name] = _ById(made.spec, session_id, session_id=session_id, offer=made.offer).tool()
    return own, team


def _make(name: str, team_id: str) -> Tool:
    return _ById(tool_specs.SPECS[name], team_id).tool()


def ask_agent(team_id: str) -> Tool:
    """Returns the tool that asks another agent of a team a question and waits for its answer.

    Example:

        session = await p.start(tools=[ask_agent("team")])
    """
    return _make(tool_specs.ASK_AGENT.name, team_id)


def delegate_task(team_id: str) -> Tool:
    """Returns the tool that gives another agent of a team a task and goes on.

    Example:

        session = await p.start(tools=[delegate_task("team")])
    """
    return _make(tool_specs.DELEGATE_TASK.name, team_id)


def send_response(delegator_id: str | None, sender: Mapping[str, str] | None = None) -> Tool:
    """Returns the tool that answers the task or the question at hand.

    `sender` (`id`, `name`) is the one agent whose tool this is: no other can report in its name.

    Example:

        session = await p.start(tools=[send_response(None)])
    """
    return _ById(
        tool_specs.SEND_RESPONSE, delegator_id=delegator_id or "", sender=_read_sender(sender)
    ).tool()


def list_team(team_id: str) -> Tool:
    """Returns the tool that lists the agents of a team and what each is doing.

    Example:

        session = await p.start(tools=[list_team("team")])
    """
    return _make(tool_specs.LIST_TEAM.name, team_id)


def spawn_agent(
    session_id: str,
    team_id: str,
    grantable_tools: Iterable[Tool] = (),
    grantable_skills: Iterable[Skill | str] = (),
    cwd: str | os.PathLike[str] = "",
    available_models: Sequence[ModelSpec] = (),
) -> Tool:
    """Returns the tool that creates a worker.

    A worker that is granted a tool gets this very object, and starts in `cwd`, inside the workspace.

    Only in the session of that id. Without models it can use those of the session's configuration.

    Example:

        session = await p.start(tools=[spawn_agent("id", "team")])
    """
    offer = _Offer(tuple(grantable_tools), tuple(grantable_skills), os.fspath(cwd), tuple(available_models))
    for tool in offer.tools:
        if not isinstance(tool, Tool):
            raise InvalidTool(f"{tool!r} is not a Tool. Make one with Tool(...) or @tool.")
    skills = tuple(skill if isinstance(skill, str) else skill.name for skill in offer.skills)
    spec = tool_specs.describe_spawn(tuple(tool.name for tool in offer.tools), skills)
    return _ById(spec, team_id, session_id=session_id, offer=offer).tool()


def destroy_agent(team_id: str) -> Tool:
    """Returns the tool that ends a worker of a team.

    Example:

        session = await p.start(tools=[destroy_agent("team")])
    """
    return _make(tool_specs.DESTROY_AGENT.name, team_id)


def interrupt_agent(team_id: str) -> Tool:
    """Returns the tool that stops the turn of another agent of a team.

    Example:

        session = await p.start(tools=[interrupt_agent("team")])
    """
    return _make(tool_specs.INTERRUPT_AGENT.name, team_id)


def list_models(available_models: Sequence[ModelSpec]) -> Tool:
    """Returns the tool that lists these models for `spawn_agent`.

    Example:

        session = await p.start(tools=[list_models([])])
    """
    return _ById(tool_specs.LIST_MODELS, offer=_Offer(models=tuple(available_models))).tool()


class _Offer(msgspec.Struct, frozen=True):
    """What a program lets an orchestrator use, before it is known in which workspace."""

    tools: tuple[Tool, ...] = ()
    skills: tuple[Skill | str, ...] = ()
    cwd: str = ""
    models: tuple[ModelSpec, ...] = ()

    def open(self, around: _Surroundings) -> Grants:
        """Raises where `cwd` is not a folder inside the workspace; an unknown skill is not granted."""
        known = around.resources.skills().skills
        skills = [skill if isinstance(skill, Skill) else known.get(skill) for skill in self.skills]
        return Grants(
            models=self.models,
            choice=KnownModels(self.models) if self.models else around.models,
            objects=self.tools,
            skills=tuple(one.name for one in skills if one and known.get(one.name) == one),
            cwd=Root(around.resources.workspace).where(self.cwd, folder=True) if self.cwd else "",
        )


class _ById(msgspec.Struct, frozen=True):
    """Finds the team at each call, by its id or as that of the caller's session, and acts in it."""

    spec: ToolSpec
    team_id: str | None = None
    delegator_id: str = ""
    session_id: str | None = None
    sender: tuple[str, str] | None = None
    offer: _Offer = _Offer()

    def tool(self) -> Tool:
        find = self.find_unknown_address if self.spec.name == SPAWN else None
        tool = make_tool(self.spec, self.execute, find)
        _made[tool] = self
        return tool

    async def execute(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        team = self._find_team(ctx)
        if team is not None:
            try:
                self._check_sender(team, ctx)
                actions = TeamActions(team, self.delegator_id, self.offer.open(_around[team]))
                return await actions.find(self.spec)(args, ctx)
            except PlanckError as refused:  # also for a program that calls it without an executor
                return refused.err
        if self.spec is tool_specs.LIST_MODELS:
            return show_models(Grants(models=self.offer.models), None)
        if self.spec is tool_specs.SEND_RESPONSE:
            return NO_DELEGATOR
        targeted = "identifier" in self.spec.parameters["properties"]
        return (refuse_target(args) if targeted else None) or GONE

    async def find_unknown_address(self, args: dict[str, Any]) -> str:
        team = _open.get(self.team_id or "")
        return "" if team is None else await self.offer.open(_around[team]).find_unknown_address(args)

    def _find_team(self, ctx: ToolContext) -> Team | None:
        # Never by the caller's id alone: a session and its fork have agents of the same ids.
        team = _open.get(ctx.session_id if self.team_id is None else self.team_id)
        # A team has the id of its session: tools for another one reach nobody here.
        return None if team and self.session_id not in (None, team.id) else team

    def _check_sender(self, team: Team, ctx: ToolContext) -> None:
        caller = team.member(ctx.agent_id)
        if self.sender is not None and caller is not None and self.sender != (caller.id, caller.name):
            raise ToolError(
                ErrorKind.PERMISSION_DENIED,
                f"this send_response belongs to {self.sender[1]!r} ({self.sender[0]}); use your own",
            )


def _read_sender(sender: Mapping[str, str] | None) -> tuple[str, str] | None:
    if sender is None:
        return None
    match sender:
        case {"id": str(id), "name": str(name), **rest} if id and not rest:
            return id, name
    raise ArgumentError(f"A sender must be a map with the strings 'id' and 'name', not {sender!r}.")
