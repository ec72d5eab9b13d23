"""A new worker: within the limits, under a name of its own, with no more than its creator holds."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from planck.budget.budget import UNLIMITED
from planck.context.prompt import describe_member
from planck.permissions.authority import grant
from planck.records import codec
from planck.records.amounts import Allowance
from planck.records.outcome import Err, ErrorKind, Ok, PlanckError
from planck.records.specs import EVERY_TOOL, AgentKind, AgentSpec, ModelSpec
from planck.records.tools import ORCHESTRATOR_TOOLS, TEAM_TOOLS
from planck.records.visible import fit_line
from planck.team import names
from planck.team.member import Member
from planck.team.team import Team
from planck.toolkit.tool import Outcome, Tool, ToolContext
from planck.toolkit.toolset import ToolSet

_ARRIVAL = 30.0
"""Seconds that a spawn waits for a sidecar or an MCP server that may bring a tool it grants."""


class Models(Protocol):
    """Which model a spawn gets, and where it is."""

    async def place(self, provider: str, model_id: str, base_url: str) -> tuple[ModelSpec, str] | Err:
        """Returns the model, with its address where only the user can agree to that; else with nothing."""


class KnownModels:
    """Resolves a model among those that are listed, and no other; a call's own address counts for nothing."""

    def __init__(self, models: Sequence[ModelSpec]) -> None:
        self._models = models

    async def place(self, provider: str, model_id: str, base_url: str) -> tuple[ModelSpec, str] | Err:
        if provider not in {model.provider for model in self._models}:
            return Err(ErrorKind.INVALID_ARGS, f"Unknown provider: {provider}.")
        for model in self._models:
            if model.provider == provider and model_id in (model.id, model.model):
                return model, ""
        return Err(ErrorKind.NOT_FOUND, "Model not found.")


class Grants(msgspec.Struct, frozen=True, kw_only=True):
    """What an orchestrator may give to the workers that it spawns."""

    models: tuple[ModelSpec, ...] = ()
    """What it is shown of models; which of them it gets, `choice` says."""
    choice: Models = KnownModels(())
    tools: tuple[str, ...] = ()
    """Names of the session's own; beside them, those that it holds from peers, files and the program."""
    objects: tuple[Tool, ...] = ()
    """Tools that a program put into its own `spawn_agent`: a worker gets these very objects."""
    skills: tuple[str, ...] = ()
    kinds: Mapping[str, AgentKind] = {}
    """Workers that a file describes, by type."""
    room: int = 0
    """Characters that what is said of them may take; beyond it they are only named."""
    cwd: str = ""
    """Where the workers start, below the workspace; empty: where their creator did."""

    def describe_kinds(self) -> str:
        """Says which types have a file; empty where none has."""
        if not self.kinds:
            return ""
        rows = [f"{kind.name} ({fit_line(kind.description, 160)})" for kind in self.kinds.values()]
        text = "; ".join(rows)
        if len(text) > self.room:
            text = ", ".join(self.kinds)
        return f" These types come from files and need only type and name: {text}."

    async def find_unknown_address(self, args: dict[str, Any]) -> str:
        """Returns the address in a spawn's arguments to which only the user can agree."""
        if not args.get("provider"):
            return ""  # a file's, or the caller's own
        placed = await self.place(args)
        return "" if isinstance(placed, Err) else placed[1]

    async def place(self, args: dict[str, Any]) -> tuple[ModelSpec, str] | Err:
        named = (args.get(key, "") for key in ("provider", "model_id", "base_url"))
        return await self.choice.place(*named)


async def spawn(
    team: Team, caller: Member, args: dict[str, Any], grants: Grants, ctx: ToolContext
) -> Outcome:
    held = caller.actor.agent.tools
    objects = {tool.name: tool for tool in grants.objects}
    args = _take_kind(args, grants.kinds.get(args["type"]))
    if missing := [key for key in _NEEDED if key not in args]:
        text = f"no file describes the type {args['type']!r}; pass {' and '.join(missing)} too"
        return Err(ErrorKind.INVALID_ARGS, text)
    if ("provider" in args) is not ("model_id" in args):
        text = "provider and model_id belong together; pass both, or neither to use your own model"
        return Err(ErrorKind.INVALID_ARGS, text)
    await _wait_for_arrival(held, set(args.get("tools", ())) - {*grants.tools, *objects})
    refused = names.refuse("type", args["type"]) or names.refuse("name", args["name"])
    if refused := refused or _check_limits(team, caller):
        return refused
    budget = read_budget(args)
    if isinstance(budget, Err):
        return budget
    kind = grants.kinds.get(args["type"])
    if kind is not None and kind.acp:  # it has tools of its own
        args = {**args, "tools": [], "skills": []}
    model = await _find_model(args, caller, grants, ctx)
    if isinstance(model, Err):
        return model
    in_hand = [name for name in (*grants.tools, *held.arrived) if held.get(name)]
    wanted = args.get("tools", ())
    if EVERY_TOOL in wanted and kind is not None:
        wanted = [name for name in (*objects, *in_hand) if name not in ORCHESTRATOR_TOOLS]
    tools, no_tools = _split_grants(wanted, [*objects, *in_hand])
    skills, no_skills = _split_grants(args.get("skills", ()), grants.skills)
    parent = caller.spec.authority
    spec = AgentSpec(
        id=caller.actor.agent.ids.new(ctx.call_id or caller.id),
        type=args["type"],
        name=args["name"],
        role="worker",
        model=model,
        description=args["description"],
        system_prompt=args["system_prompt"],
        tools=tools,
        skills=skills,
        delegator_id=caller.id,
        cwd=grants.cwd or caller.spec.cwd,
        roots=caller.spec.roots,
        team=caller.spec.team,
        # Recorded with the worker: whatever the grant was, no more than its creator may.
        authority=grant(parent, "worker", (*TEAM_TOOLS, *tools), skills) if parent else None,
        budget=budget,
        acp=kind.acp if kind else None,
        workspace=args.get("workspace") or "shared",
    )
    if refused := refuse_clash(team, spec):
        return refused
    try:
        arrival = await team.prepare(spec)
    except PlanckError as failure:
        return failure.err
    # No await between this check and the admission in add(): two calls can't both find the name free.
    if taken := refuse_clash(team, spec):
        team.forget(spec.id)
        return taken
    lent = team.accounts.lend(
        caller.actor.agent.purse.paying, spec.id, budget.amount if budget else UNLIMITED
    )
    if isinstance(lent, Err):
        team.forget(spec.id)
        return lent
    given = [objects[name] for name in tools if name in objects]
    try:
        member = await team.add(
            spec, depth=caller.depth + 1, call_id=ctx.call_id or None, tools=given, facts=arrival
        )
    finally:
        if team.member(spec.id) is None:
            team.accounts.close(spec.id)
    if budget:
        await caller.actor.agent.scribe.record(team.accounts.describe(lent, "lent"))
    others = [one for one in team.members if one not in (caller, member)]
    team.mail.note_change(f"{describe_member(member.spec)} has joined the team.", others, ctx.call_id or None)
    said = _describe_spawned(spec, member.actor.agent.tools, no_tools, no_skills)
    if held.get("delegate_task"):
        said["next"] = _NEXT
    return Ok({"output": codec.encode_str(said)})


def refuse_clash(team: Team, spec: AgentSpec) -> Err | None:
    """Returns why a new agent can't have its name or its type: another one has it."""
    taken = team.find_clash(spec)
    if not taken:
        return None
    return Err(
        ErrorKind.NOT_UNIQUE,
        f"An agent with the {taken} already exists in the team. Use that agent, or choose another "
        "name or type.",
    )


def _describe_spawned(
    spec: AgentSpec, there: ToolSet, no_tools: Iterable[str], no_skills: Iterable[str]
) -> dict[str, Any]:
    """Says what the worker holds, not what was meant."""
    lost = [name for name in spec.tools if there.get(name) is None]
    return {
        "id": spec.id,
        "type": spec.type,
        "name": spec.name,
        "model": spec.model.label,
        "tools": [name for name in (*TEAM_TOOLS, *spec.tools) if name not in lost],
        "skills": list(spec.skills),
        "ignored": [*no_tools, *lost, *no_skills],
        **({"budget": spec.budget} if spec.budget else {}),
        **({"workspace": spec.workspace} if spec.workspace != "shared" else {}),
    }


_NEEDED = ("description", "system_prompt")
_NEXT = "Give it a task with delegate_task. It has not seen your history: write down what it needs."


def _take_kind(args: dict[str, Any], kind: AgentKind | None) -> dict[str, Any]:
    """The arguments with what a file says: its prompt first, and all else where the call says nothing."""
    if kind is None:
        return args
    return {
        **args,
        "description": args.get("description") or kind.description,
        "system_prompt": "\n\n".join(filter(None, (kind.system_prompt, args.get("system_prompt")))),
        "tools": args.get("tools") or list(kind.tools),
        "skills": args.get("skills") or list(kind.skills),
    }


def read_budget(args: dict[str, Any]) -> Allowance | Err | None:
    """Returns what a call wants to lend; None: nothing, and the worker draws on what the caller has."""
    if args.get("budget") is None:
        return None
    try:
        return msgspec.convert(args["budget"], Allowance)
    except msgspec.ValidationError as failure:
        return Err(
            ErrorKind.INVALID_ARGS,
            f'budget: {failure}; write it as {{"usd": 0.5}}, or use tokens, ms, steps or calls, each above 0',
        )


async def _find_model(
    args: dict[str, Any], caller: Member, grants: Grants, ctx: ToolContext
) -> ModelSpec | Err:
    """Returns the model that the call names, else the one of its type's file, else the caller's."""
    kind = grants.kinds.get(args["type"])
    if kind is not None and kind.acp:
        return kind.acp.model
    if args.get("provider") or args.get("model_id"):
        return await _choose_model(args, grants, ctx)
    return (kind and kind.model) or caller.spec.model


async def _choose_model(args: dict[str, Any], grants: Grants, ctx: ToolContext) -> ModelSpec | Err:
    placed = await grants.place(args)
    if isinstance(placed, Err):
        return Err(placed.kind, placed.message, {"hint": "Use a provider and an id from `list_models`."})
    model, stranger = placed
    # Asked before the call, by the gate; where none was passed (a dry run), nobody has agreed to anything.
    agreed = ctx.confinement.addresses if ctx.confinement else ()
    return _refuse_stranger(stranger) if stranger and stranger not in agreed else model


def _refuse_stranger(address: str) -> Err:
    return Err(
        ErrorKind.PERMISSION_DENIED,
        f"{address!r} is not in `providers` in the configuration, and no local server answers there; "
        "use a model from `list_models`",
    )


async def _wait_for_arrival(held: ToolSet, names: Iterable[str]) -> None:
    """As a call of a tool waits for a peer that still starts: a worker's grant is for life."""
    missing = [name for name in names if held.get(name) is None]
    if held.arrivals is not None and missing:
        with suppress(TimeoutError):
            async with asyncio.timeout(_ARRIVAL):
                for name in missing:
                    await held.arrivals.wait_for(name)


def _check_limits(team: Team, caller: Member) -> Err | None:
    limit = team.limits.spawn_depth
    if caller.depth < limit:
        return check_room(team)
    why = f"agents can be nested at most {limit} level{'s' * (limit != 1)} deep (limits.spawn_depth)"
    way_out = "use an existing agent, or do the work yourself"
    return Err(ErrorKind.LIMIT_EXCEEDED, f"{why}; {way_out}", {"limit": limit})


def check_room(team: Team) -> Err | None:
    """Returns why a team can have no more agents."""
    limits = team.limits
    if len(team.members) >= limits.live_agents:
        limit = limits.live_agents
        why = f"the limit for live agents is {limit} (limits.live_agents)"
        way_out = "use an existing agent, or destroy one that has finished its work"
    elif team.total >= limits.total_agents:
        limit = limits.total_agents
        why = f"the limit for agents in one session is {limit} (limits.total_agents)"
        way_out = "use an existing agent, or do the work yourself"
    else:
        return None
    return Err(ErrorKind.LIMIT_EXCEEDED, f"{why}; {way_out}", {"limit": limit})


def _split_grants(wanted: Iterable[str], held: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is granted, once each, and what is not: unknown names, and what makes an orchestrator."""
    pool = set(held) - set(ORCHESTRATOR_TOOLS)
    asked = list(dict.fromkeys(wanted))
    granted = tuple(name for name in asked if name in pool and name not in TEAM_TOOLS)
    ignored = tuple(name for name in asked if name not in pool and name not in TEAM_TOOLS)
    return granted, ignored
