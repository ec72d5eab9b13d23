"""Teams that a program makes of objects, for `start(team=...)` and `session.spawn(...)`."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, get_args

import msgspec

from planck.config.teams import IN_PROGRAM, MemberEntry, TeamFile, make_members, read_shape
from planck.headless.embedding.arguments import refuse
from planck.headless.session_setup import SessionSetup
from planck.headless.session_tools import check_tool
from planck.records.nearest import did_you_mean
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.ports import Ids
from planck.records.specs import EVERY_TOOL, AgentKind, AgentSpec, ModelSpec, Workspace
from planck.team.by_id import split_team_tools
from planck.toolkit.tool import Tool, ToolError


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One agent of a team that a program makes.

    A member of type `orchestrator` gets your prompts; there is exactly one in a team.

    Example:

        Member(type="tester", model="openai/gpt-5", system_prompt="Run the tests.", tools=["bash"])
    """

    type: str
    """Its role. Other agents find it by type, by name or by id."""
    name: str = ""
    """Unique in the team; without one it is the type."""
    description: str = ""
    """One line for the other agents."""
    model: str = ""
    """An alias or `provider/model`; without one it has the model of the orchestrator."""
    system_prompt: str = ""
    """A text, or the path of a `.md` or `.txt` file in the workspace."""
    tools: Sequence[Tool | str] = ()
    """Tools of your program, and names of others; every member has the team tools beside them."""
    skills: Sequence[str] = ()
    workspace: str = "shared"
    """`shared`: it works in the workspace itself. `own`: in a view of it, and nobody sees its changes until
    they land."""
    budget: Mapping[str, float] | None = None
    """What it may take, such as `{"usd": 0.5}`; None: it draws on the budget of the run."""
    roots: Sequence[str] = ()
    """Folders of the workspace that alone it may write; none: wherever the session may."""
    opts: Mapping[str, Any] = {}
    """Parameters for its model."""
    compactor: str = ""
    done_when: Sequence[str] = ()
    """Commands that must exit 0 before a task of it counts as done; Planck runs them."""
    base_prompt: bool = True
    """False leaves out what Planck tells every agent of its team and its environment."""


class Team(msgspec.Struct, frozen=True, kw_only=True):
    """A team that a program makes, for `start(team=...)`.

    Example:

        team = Team(members=[Member(type="orchestrator"), Member(type="tester", tools=["bash"])])
        planck.run("Say hello.", team=team)
    """

    members: Sequence[Member]
    name: str = ""
    description: str = ""


AnyTeam = Team | Mapping[str, Any]
"""A team of objects, or a dict in the shape of a TEAM.json."""


class MadeTeam(msgspec.Struct, frozen=True):
    """A team that was checked, before there are agents of it."""

    file: TeamFile
    models: dict[str, str]
    """By name of a member: the model that it names as one text."""
    tools: dict[str, tuple[Tool, ...]]
    """By name of a member: its tools that are objects."""

    @property
    def lead(self) -> str:
        """The name of its orchestrator; empty where it has none, which is refused later."""
        return next((_name(one) for one in self.file.members if one.type == "orchestrator"), "")

    @property
    def needs_default(self) -> bool:
        """Whether its orchestrator names no model of its own."""
        return any(one.type == "orchestrator" and not one.provider for one in self.file.members)

    def make(
        self,
        plan: SessionSetup,
        ids: Ids,
        lead: ModelSpec | None,
        kinds: Mapping[str, AgentKind],
    ) -> tuple[list[AgentSpec], dict[str, tuple[Tool, ...]]]:
        """Returns its agents, the orchestrator first, and by id the objects that each is given."""
        runtime = plan.runtime
        specs = make_members(
            self.file,
            IN_PROGRAM,
            runtime.project.workspace,
            runtime.providers.resolve_member,
            ids,
            lead=lead,
            places=runtime.project.roots,
            kinds=kinds,
        )
        specs = [self._choose_model(spec, plan) for spec in specs]
        for spec in specs:
            _check_names(spec, plan, {tool.name for tool in self.tools.get(spec.name, ())})
        return specs, {spec.id: self.tools[spec.name] for spec in specs if spec.name in self.tools}

    def _choose_model(self, spec: AgentSpec, plan: SessionSetup) -> AgentSpec:
        named = self.models.get(spec.name)
        if not named or spec.role == "orchestrator":  # whose model was resolved before the others'
            return spec
        model = plan.runtime.providers.resolve(named)
        opts = next(one.opts for one in self.file.members if _name(one) == spec.name)
        return msgspec.structs.replace(
            spec, model=msgspec.structs.replace(model, params={**model.params, **opts})
        )


def read_team(team: object) -> MadeTeam:
    """Raises for what is not a team of objects, or not in the shape of a TEAM.json."""
    if isinstance(team, Team):
        if isinstance(team.members, str) or not isinstance(team.members, Sequence):
            raise refuse(f"members must be a list of Member objects, not {team.members!r}.")
        entries = [_read_member(one) for one in team.members]
        return MadeTeam(
            TeamFile(entries, team.name, team.description),
            {_name(one): one.model for one in team.members if one.model},
            {_name(one): found for one in team.members if (found := _find_objects(one))},
        )
    if isinstance(team, Mapping):
        return MadeTeam(read_shape(team), {}, {})
    raise refuse(
        f"team must be an alias, a path, a Team or a dict in the shape of a TEAM.json, not {team!r}."
    )


def read_member(
    member: object, plan: SessionSetup, ids: Ids, lead: AgentSpec
) -> tuple[AgentSpec, tuple[Tool, ...]]:
    """Returns a worker of that orchestrator, and the tools that are objects."""
    made = read_team(Team(members=[Member(type="orchestrator"), member]))  # type: ignore[list-item]
    assert isinstance(member, Member)
    if member.type == "orchestrator":
        raise refuse("A session has one orchestrator. Give the new member another type.")
    (_, spec), objects = made.make(plan, ids, lead.model, {})
    spec = msgspec.structs.replace(spec, delegator_id=lead.id, team=lead.team, cwd=lead.cwd)
    return spec, objects.get(spec.id, ())


def _read_member(member: object) -> MemberEntry:
    if not isinstance(member, Member):
        raise refuse(f"{member!r} is not a Member. Create one with Member(type=...).")
    for name in ("tools", "skills", "roots", "done_when"):
        if isinstance(given := getattr(member, name), str) or not isinstance(given, Sequence):
            raise refuse(f"{name} of {_name(member)!r} must be a list, not {given!r}.")
    if not isinstance(member.opts, Mapping):
        raise refuse(f"opts of {_name(member)!r} must be a mapping, not {member.opts!r}.")
    for tool in member.tools:
        if not isinstance(tool, str):
            check_tool(tool)
    if member.workspace not in get_args(Workspace):
        raise refuse(f"workspace of {_name(member)!r} must be 'shared' or 'own', not {member.workspace!r}.")
    shape = {
        name: getattr(member, name)
        for name in ("type", "name", "description", "system_prompt", "compactor", "base_prompt", "workspace")
    }
    shape |= {"skills": list(member.skills), "roots": list(member.roots), "opts": dict(member.opts)}
    shape["done_when"] = list(member.done_when)
    shape["tools"] = [tool if isinstance(tool, str) else tool.name for tool in _drop_team_tools(member)]
    if member.budget is not None:
        shape["budget"] = member.budget
    try:
        return msgspec.convert(shape, MemberEntry)
    except msgspec.ValidationError as problem:
        raise refuse(f"The member {_name(member)!r} is not valid: {problem}.") from None


def _drop_team_tools(member: Member) -> list[Tool | str]:
    """Every member has them for its own session: those of a list that a program made are not needed."""
    objects, _ = split_team_tools([tool for tool in member.tools if isinstance(tool, Tool)], "")
    return [tool for tool in member.tools if isinstance(tool, str) or tool in objects]


def _find_objects(member: Member) -> tuple[Tool, ...]:
    return tuple(tool for tool in _drop_team_tools(member) if isinstance(tool, Tool))


def _name(member: Member | MemberEntry) -> str:
    return member.name or member.type


def _check_names(spec: AgentSpec, plan: SessionSetup, own: Collection[str]) -> None:
    """Raises for a tool that there is not; one of a peer that comes later is known by nobody yet."""
    built_in = set(plan.tools.names) - set(plan.tools.own)
    if taken := sorted(built_in.intersection(own)):
        raise ToolError(ErrorKind.NOT_UNIQUE, f"A tool named {taken[0]!r} already exists. Rename yours.")
    known = {*plan.tools.names, *own, EVERY_TOOL}
    unknown = [name for name in spec.tools if name not in known]
    if unknown and not plan.runtime.peers.plan.select():
        hint = did_you_mean(unknown[0], known) or "."
        raise PlanckError(ErrorKind.NOT_FOUND, f"Tool not found for {spec.name!r}: {unknown[0]!r}{hint}")
