"""A new worker: within the limits, under a name of its own, with no more than its creator holds."""

from collections.abc import Callable, Iterable
from typing import Any

from planck.permissions.authority import grant
from planck.records import codec
from planck.records.authority import Authority
from planck.records.outcome import Err, ErrorKind, Ok
from planck.records.specs import ORCHESTRATOR_TOOLS, TEAM_TOOLS, AgentSpec, ModelSpec
from planck.team import names
from planck.team.member import Member
from planck.team.team import Team
from planck.toolkit.tool import Outcome

ResolveModel = Callable[[str, str, str], ModelSpec | Err]
"""(provider, model id, base_url) -> the model, or why not."""


async def spawn(
    team: Team,
    caller: Member,
    args: dict[str, Any],
    resolve: ResolveModel,
    grantable_tools: Iterable[str],
    grantable_skills: Iterable[str],
    new_id: Callable[[], str],
) -> Outcome:
    refused = (
        names.refuse("type", args["type"]) or names.refuse("name", args["name"]) or _over_limits(team, caller)
    )
    if refused:
        return refused
    model = resolve(args["provider"], args["model_id"], args.get("base_url", ""))
    if isinstance(model, Err):
        return model
    tools, no_tools = _granted(args.get("tools", ()), grantable_tools)
    skills, no_skills = _granted(args.get("skills", ()), grantable_skills)
    spec = AgentSpec(
        id=new_id(),
        type=args["type"],
        name=args["name"],
        role="worker",
        model=model,
        description=args["description"],
        system_prompt=args["system_prompt"],
        tools=tools,
        skills=skills,
        delegator_id=caller.id,
        authority=_authority(caller, tools, skills),
    )
    # No await between this check and the admission in add(): two calls can't both find the name free.
    if taken := team.taken(spec):
        return Err(
            ErrorKind.NOT_UNIQUE,
            f"An agent with the {taken} already exists in the team. Use it, or choose another.",
        )
    await team.add(spec, depth=caller.depth + 1)
    return Ok(
        {
            "output": codec.encode_str(
                {
                    "id": spec.id,
                    "type": spec.type,
                    "name": spec.name,
                    "model": model.label,
                    "tools": [*TEAM_TOOLS, *tools],
                    "skills": list(skills),
                    "ignored": [*no_tools, *no_skills],
                }
            )
        }
    )


def _over_limits(team: Team, caller: Member) -> Err | None:
    limits = team.limits
    if caller.depth >= limits.spawn_depth:
        what, limit = "how deep agents may spawn agents (spawn_depth)", limits.spawn_depth
    elif len(team.members) >= limits.live_agents:
        what, limit = "how many agents may live at once (live_agents)", limits.live_agents
    elif team.total >= limits.total_agents:
        what, limit = "how many agents a session may have (total_agents)", limits.total_agents
    else:
        return None
    return Err(
        ErrorKind.LIMIT_EXCEEDED,
        f"the limit of {what} is {limit}; use the agents there are, or destroy one that has done its work",
        {"limit": limit},
    )


def _authority(caller: Member, tools: tuple[str, ...], skills: tuple[str, ...]) -> Authority | None:
    """Recorded with the worker: whatever the grant was, no more than its creator may."""
    parent = caller.spec.authority
    if parent is None:
        return None
    return grant(parent, "worker", (*TEAM_TOOLS, *tools), skills)


def _granted(wanted: Iterable[str], held: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is granted, once each, and what is not: unknown names, and what makes an orchestrator."""
    pool = set(held) - set(ORCHESTRATOR_TOOLS)
    asked = list(dict.fromkeys(wanted))
    granted = tuple(name for name in asked if name in pool and name not in TEAM_TOOLS)
    ignored = tuple(name for name in asked if name not in pool and name not in TEAM_TOOLS)
    return granted, ignored
