"""The eight tools by which agents work together, each a factory of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from planck.records import codec
from planck.records.events import TurnStatus
from planck.records.outcome import Err, ErrorKind, Ok
from planck.records.specs import ModelSpec
from planck.team import registry
from planck.team.mail import GONE, NO_DELEGATOR
from planck.team.member import Member
from planck.team.spawn import ResolveModel, spawn
from planck.team.team import Team
from planck.toolkit.tool import Effect, Outcome, Tool, ToolContext
from planck.toolkit.toolset import ToolSet

ASK_MS = 300_000
MAX_ASK_MS = 3_600_000
_ARRIVAL = 30.0
"""Seconds that a spawn waits for a sidecar or an MCP server that may bring a tool it grants."""

_TARGET: dict[str, Any] = {
    "identifier": {"type": "string", "description": "The value that identifies the target agent"},
    "identifier_type": {
        "type": "string",
        "enum": ["type", "name", "id"],
        "description": "How to resolve the identifier: by role type, display name, or agent id",
    },
}

Act = Callable[[Team, Member, dict[str, Any]], Awaitable[Outcome]]


def worker_tools(
    team_id: str, delegator_id: str | None, sender: Mapping[str, str] | None = None
) -> list[Tool]:
    """What every agent of a team has; an orchestrator has no delegator."""
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
    *,
    resolve: ResolveModel | None = None,
    new_id: Callable[[], str] | None = None,
) -> list[Tool]:
    """What an orchestrator has besides; it can grant what it is given here, and no more."""
    return [
        spawn_agent(
            session_id,
            team_id,
            grantable_tools,
            grantable_skills,
            cwd,
            resolve=resolve or _among(available_models),
            new_id=new_id,
        ),
        destroy_agent(team_id),
        interrupt_agent(team_id),
        list_models(available_models),
    ]


def ask_agent(team_id: str) -> Tool:
    async def ask(team: Team, caller: Member, args: dict[str, Any]) -> Outcome:
        target = registry.find(team, args)
        if isinstance(target, Err):
            return target
        if target is caller:
            return Err(ErrorKind.DEADLOCK, "Cannot ask yourself. Use a different agent.")
        timeout_ms = min(args.get("timeout_ms", ASK_MS), MAX_ASK_MS)
        return await team.mail.ask(caller, target, args["question"], timeout_ms / 1000)

    return _tool(
        "ask_agent",
        "Ask another agent of the team a question and wait for its answer. Use it for what you must know "
        "before you can go on; the agent answers after what it already has to do.",
        {
            **_TARGET,
            "question": {"type": "string", "description": "The question to ask"},
            "timeout_ms": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_ASK_MS,
                "description": f"How long to wait for the answer (default {ASK_MS})",
            },
        },
        ("identifier", "identifier_type", "question"),
        team_id,
        ask,
        timeout=MAX_ASK_MS / 1000 + 60,
    )


def delegate_task(team_id: str) -> Tool:
    async def delegate(team: Team, caller: Member, args: dict[str, Any]) -> Outcome:
        target = registry.find(team, args)
        if isinstance(target, Err):
            return target
        if target is caller:
            return Err(ErrorKind.INVALID_ARGS, "Cannot delegate a task to yourself. Use a different agent.")
        return await team.mail.delegate(caller, target, args["task"]) or Ok(
            {
                "output": "Task delegated. End your turn now unless you can delegate something else in "
                "parallel that won't be blocked by this delegation. The result will arrive in a future turn."
            }
        )

    return _tool(
        "delegate_task",
        "Give a task to another agent of the team. Returns at once; the result comes later, as a message "
        "that starts your next turn or joins this one. After delegating, end your turn, unless you have "
        "something else to delegate that does not depend on it. Do not use the result before it has come.",
        {**_TARGET, "task": {"type": "string", "description": "The task to delegate"}},
        ("identifier", "identifier_type", "task"),
        team_id,
        delegate,
    )


def send_response(delegator_id: str | None, sender: Mapping[str, str] | None = None) -> Tool:
    """`sender` names the worker for whoever builds a tool outside a team; in one, the team knows."""

    async def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        team = registry.team_of(ctx.agent_id)
        caller = team.member(ctx.agent_id) if team else None
        if team is None or caller is None:
            return NO_DELEGATOR
        return await team.mail.respond(caller, args["response"], delegator_id or "")

    return Tool(
        "send_response",
        "Send a result to the agent that gave you the current task or asked you the current question. "
        "Does not wait. A task may get several responses; without any, your final answer is sent.",
        _schema({"response": {"type": "string", "description": "The response to send back"}}, ("response",)),
        execute,
        execute,
        effect=Effect.TEAM,
    )


def list_team(team_id: str) -> Tool:
    async def roster(team: Team, caller: Member, args: dict[str, Any]) -> Outcome:
        now = team.now()
        rows = [_row(member, now, verbose=args.get("verbose", False)) for member in team.members]
        return Ok({"output": codec.encode_str(rows)})

    return _tool(
        "list_team",
        "List the agents of the team and what they are doing. "
        "Pass verbose: true to include each agent's tools and model.",
        {
            "verbose": {
                "type": "boolean",
                "description": "When true, include tool names and model for each agent (default: false)",
            }
        },
        (),
        team_id,
        roster,
    )


def spawn_agent(
    session_id: str,
    team_id: str,
    grantable_tools: Iterable[Tool] = (),
    grantable_skills: Iterable[Any] = (),
    cwd: str = "",
    *,
    resolve: ResolveModel | None = None,
    new_id: Callable[[], str] | None = None,
) -> Tool:
    resolve = resolve or _among(())
    tool_names = [tool.name for tool in grantable_tools]
    skill_names = [skill if isinstance(skill, str) else skill.name for skill in grantable_skills]

    async def make(team: Team, caller: Member, args: dict[str, Any]) -> Outcome:
        ids = new_id or caller.actor.agent.ids.new
        held = caller.actor.agent.tools
        await _arrived(held, set(args.get("tools", ())) - set(tool_names))
        grantable = [*tool_names, *held.arrived]
        return await spawn(team, caller, args, resolve, grantable, skill_names, ids)

    granting = f"Available built-in tools to grant: {', '.join(tool_names)}."
    skilled = f"Available skills to grant: {', '.join(skill_names)}."
    return _tool(
        "spawn_agent",
        "Create a new worker in the team, to be addressed by its type, name or id. Fails if an agent of the "
        "same type or name already exists. "
        f"{granting if tool_names else 'No built-in tools available to grant.'} "
        "Tools of sidecars, MCP servers and files that you hold can be granted by their names too. "
        f"{skilled if skill_names else 'No skills available to grant.'}",
        {
            "type": {"type": "string", "description": "Role type for the new agent"},
            "name": {"type": "string", "description": "Human-readable name"},
            "description": {
                "type": "string",
                "description": "One-line purpose shown to other agents via list_team",
            },
            "system_prompt": {"type": "string", "description": "System prompt"},
            "provider": {"type": "string", "description": "LLM provider (e.g. anthropic)"},
            "model_id": {"type": "string", "description": "Model id (e.g. claude-sonnet-4-6)"},
            "base_url": {
                "type": "string",
                "description": "Address of a local server (ollama, llama_cpp), e.g. "
                '"http://localhost:11434". Ignored for every other provider: pass an empty string.',
            },
            "tools": {
                "type": "array",
                "items": {"type": "string"},
                "description": 'Tool names to grant (e.g. ["read", "bash"]). Unknown names are ignored '
                "and listed in the result.",
            },
            "skills": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Skill names to attach. Unknown names are ignored and listed in the result.",
            },
        },
        ("type", "name", "description", "system_prompt", "provider", "model_id", "base_url"),
        team_id,
        make,
    )


async def _arrived(held: ToolSet, names: Iterable[str]) -> None:
    """As a call of a tool waits for a peer that still starts: a worker's grant is for life."""
    missing = [name for name in names if held.get(name) is None]
    if held.arrivals is not None and missing:
        with suppress(TimeoutError):
            async with asyncio.timeout(_ARRIVAL):
                for name in missing:
                    await held.arrivals.wait_for(name)


def destroy_agent(team_id: str) -> Tool:
    async def destroy(team: Team, caller: Member, args: dict[str, Any]) -> Outcome:
        target = registry.find(team, args)
        if isinstance(target, Err):
            return target
        if target is caller or target is team.orchestrator:
            return Err(
                ErrorKind.PERMISSION_DENIED,
                "an agent can destroy neither itself nor the orchestrator; end your turn instead",
            )
        await team.destroy(target, f"was destroyed by {caller.name}")
        return Ok({"output": "Agent destroyed."})

    return _tool(
        "destroy_agent",
        "End a worker of the team for good.",
        _TARGET,
        ("identifier", "identifier_type"),
        team_id,
        destroy,
    )


def interrupt_agent(team_id: str) -> Tool:
    async def interrupt(team: Team, caller: Member, args: dict[str, Any]) -> Outcome:
        target = registry.find(team, args)
        if isinstance(target, Err):
            return target
        if target is caller:
            return Err(ErrorKind.PERMISSION_DENIED, "an agent can't interrupt itself; end your turn instead")
        target.actor.abort(TurnStatus.INTERRUPTED)
        return Ok({"output": "Agent interrupted."})

    return _tool(
        "interrupt_agent",
        "Stop a worker's current turn; it stays alive and goes on with what waits for it. "
        "Use destroy_agent to end it for good.",
        _TARGET,
        ("identifier", "identifier_type"),
        team_id,
        interrupt,
    )


def list_models(available_models: Sequence[ModelSpec]) -> Tool:
    async def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        team = registry.team_of(ctx.agent_id)
        caller = team.member(ctx.agent_id) if team else None
        current = caller.spec.model.label if caller else None
        rows = [
            {
                "provider": model.provider,
                "id": model.id or model.model,
                "name": model.name or model.model,
                "context_window": model.context_window,
                "base_url": model.base_url or None,
                "current": model.label == current,
            }
            for model in available_models
        ]
        return Ok({"output": codec.encode_str(rows)})

    return Tool(
        "list_models",
        "List the configured and connected models. "
        "Use the returned provider, id and base_url when you call spawn_agent.",
        _schema({}, ()),
        execute,
        execute,
        effect=Effect.NONE,
    )


def _tool(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    required: Sequence[str],
    team_id: str,
    act: Act,
    *,
    timeout: float = 300.0,
) -> Tool:
    async def execute(args: dict[str, Any], ctx: ToolContext) -> Outcome:
        team = registry.team(team_id)
        caller = team.member(ctx.agent_id) if team else None
        if team is None or caller is None:
            target = registry.find(team, args) if "identifier" in properties else GONE
            return target if isinstance(target, Err) else GONE
        return await act(team, caller, args)

    # A dry run of a team still talks: every agent in it is dry.
    return Tool(
        name,
        description,
        _schema(properties, required),
        execute,
        execute,
        effect=Effect.TEAM,
        timeout=timeout,
    )


def _schema(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    return schema | ({"required": list(required)} if required else {})


def _row(member: Member, now: float, *, verbose: bool) -> dict[str, Any]:
    agent, spec = member.actor.agent, member.spec
    row: dict[str, Any] = {
        "id": spec.id,
        "type": spec.type,
        "name": spec.name,
        "description": spec.description,
        "status": agent.activity.value,
        "turn_index": agent.turn,
        "usage": agent.usage,
        "queue": len(agent.history.unread),
        "current_tool": agent.current_tools[0] if agent.current_tools else None,
        "idle_ms": 0 if member.actor.working else round((now - member.idle_since) * 1000),
    }
    if verbose:
        row |= {"tools": sorted(agent.tools.names()), "model": spec.model.name or spec.model.label}
    return row


def _among(models: Sequence[ModelSpec]) -> ResolveModel:
    def resolve(provider: str, model_id: str, base_url: str) -> ModelSpec | Err:
        if provider not in {model.provider for model in models}:
            return Err(ErrorKind.INVALID_ARGS, f"Unknown provider: {provider}.")
        for model in models:
            if model.provider == provider and model_id in (model.id, model.model):
                return model
        return Err(ErrorKind.NOT_FOUND, "Model not found.")

    return resolve
