"""The tools by which the agents of a team work together; each holds its team and reaches no other."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from planck.http.address import without_userinfo
from planck.records import codec
from planck.records.events import read_claims
from planck.records.outcome import Err, ErrorKind, Ok
from planck.records.specs import ToolSpec
from planck.records.tools import ORCHESTRATOR_TOOLS, SPAWN, TEAM_TOOLS
from planck.records.visible import fit_line
from planck.team import tool_specs
from planck.team.member import Member
from planck.team.settlement import GONE, NO_DELEGATOR, refuse_unknown
from planck.team.spawn import Grants, read_budget, spawn
from planck.team.team import Team
from planck.toolkit.tool import Effect, FindUnknownAddress, Outcome, Tool, ToolContext, ToolError

Act = Callable[[dict[str, Any], ToolContext], Awaitable[Outcome]]

_BASH = "bash"
_NO_CLAIM = (
    'claims: each needs a "text", and a "command" (with "exit_code", if that is not 0) or a "path"; '
    "correct them"
)
_NO_CHECKS = (
    "delegate_task was not run: `done_when` runs commands as your own `bash`, which you do not hold. Leave "
    "it out, and say in the task which check must pass."
)
NO_GRANTS = Grants()
_OPENING = 80
"""Characters of a task that is named."""


def make_worker_tools(team: Team, delegator_id: str) -> list[Tool]:
    """Returns what every agent of a team has; an orchestrator has no delegator ("")."""
    actions = TeamActions(team, delegator_id)
    specs = [tool_specs.SPECS[name] for name in TEAM_TOOLS]
    if not delegator_id:
        alone = tool_specs.SEND_RESPONSE_ALONE
        specs = [alone if spec is tool_specs.SEND_RESPONSE else spec for spec in specs]
    return [make_tool(spec, actions.find(spec)) for spec in specs]


def make_orchestrator_tools(team: Team, grants: Grants) -> list[Tool]:
    """Returns what an orchestrator has besides; it can grant what it is given here, and no more."""
    actions = TeamActions(team, grants=grants)
    spawning = tool_specs.describe_spawn(grants.tools, grants.skills, grants.describe_kinds())
    specs = (spawning if name == SPAWN else tool_specs.SPECS[name] for name in ORCHESTRATOR_TOOLS)
    find = grants.find_unknown_address
    return [make_tool(spec, actions.find(spec), find if spec is spawning else None) for spec in specs]


def make_tool(spec: ToolSpec, act: Act, find_unknown_address: FindUnknownAddress | None = None) -> Tool:
    # An ask ends by its own timeout, which the model may choose; the tool's is there for a bug.
    timeout = tool_specs.MAX_ASK_MS / 1000 + 60 if spec is tool_specs.ASK_AGENT else 300.0
    effect = Effect.NONE if spec is tool_specs.LIST_MODELS else Effect.TEAM
    # A dry run of a team still talks: every agent in it is dry.
    return Tool(
        spec.name,
        spec.description,
        spec.parameters,
        act,
        act,
        effect=effect,
        timeout=timeout,
        find_unknown_address=find_unknown_address,
    )


def refuse_target(args: Mapping[str, Any]) -> Err | None:
    if args.get("identifier") and args.get("identifier_type") in ("type", "name", "id"):
        return None
    return Err(
        ErrorKind.INVALID_ARGS,
        'Could not resolve target: provide identifier and identifier_type ("type", "name", or "id").',
    )


class TeamActions:
    """What an agent of a team can do with the others; a caller from outside reaches nobody."""

    def __init__(self, team: Team, delegator_id: str = "", grants: Grants = NO_GRANTS) -> None:
        self._team = team
        self._delegator_id = delegator_id
        self._grants = grants

    def find(self, spec: ToolSpec) -> Act:
        """Returns the method of the tool's name, which does what the tool says."""
        act: Act = getattr(self, spec.name)
        return act

    async def ask_agent(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        caller, target = self._resolve(args, ctx)
        if target is caller:
            return Err(ErrorKind.DEADLOCK, "Cannot ask yourself. Use a different agent.")
        timeout_ms = min(args.get("timeout_ms", tool_specs.ASK_MS), tool_specs.MAX_ASK_MS)
        if refused := _refuse_reset(target, args):
            return refused
        reset = args.get(tool_specs.RESET, False)
        question, timeout = args["question"], timeout_ms / 1000
        return await self._team.mail.ask(caller, target, question, timeout, _cause(ctx), reset=reset)

    async def delegate_task(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        caller, target = self._resolve(args, ctx)
        if target is caller:
            return Err(ErrorKind.INVALID_ARGS, "Cannot delegate a task to yourself. Use a different agent.")
        if refused := _refuse_reset(target, args):
            return refused
        budget = read_budget(args)
        if isinstance(budget, Err):
            return budget
        reset = args.get(tool_specs.RESET, False)
        before = len(target.actor.agent.history.unread) + self._team.mail.count_incoming(target)
        mail, task = self._team.mail, args["task"]
        done_when = [command for command in args.get("done_when") or () if command.strip()]
        if done_when and caller.actor.agent.tools.get(_BASH) is None:
            return Err(ErrorKind.PERMISSION_DENIED, _NO_CHECKS)
        if done_when and target is self._team.orchestrator:
            text = "`done_when` works for tasks of workers only; leave it out, and name the check in the task"
            return Err(ErrorKind.INVALID_ARGS, text)
        id = await mail.delegate(caller, target, task, _cause(ctx), budget, reset=reset, done_when=done_when)
        if isinstance(id, Err):
            return id
        said = (
            f"Task {id} is with {target.name}. "
            "Task delegated. End your turn now unless you can delegate something else in "
            "parallel that won't be blocked by this delegation. The result will arrive in a future turn."
        )
        ahead = f" {target.name} has {_count_messages(before)} to work on first." if before else ""
        return Ok({"output": said + ahead})

    async def send_response(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        caller = self._team.member(ctx.agent_id)
        if caller is None:
            return NO_DELEGATOR
        said = args.get("claims") or []
        claims = read_claims(said)
        if len(claims) != len(said):
            return Err(ErrorKind.INVALID_ARGS, _NO_CLAIM)
        return await self._team.mail.respond(
            caller, args["response"], self._delegator_id, _cause(ctx), claims
        )

    async def list_team(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        if self._team.member(ctx.agent_id) is None:
            return GONE
        now, verbose = self._team.now(), args.get("verbose", False)
        rows = [_describe(member, now, verbose=verbose) for member in self._team.members]
        return Ok({"output": codec.encode_str(rows)})

    async def spawn_agent(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        caller = self._team.member(ctx.agent_id)
        return await spawn(self._team, caller, args, self._grants, ctx) if caller else GONE

    async def destroy_agent(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        caller, target = self._resolve(args, ctx)
        if target is caller or target is self._team.orchestrator:
            return Err(
                ErrorKind.PERMISSION_DENIED,
                "you cannot destroy yourself or the orchestrator; end your turn instead",
            )
        why = f"was destroyed by {caller.name}"
        tasks = [task for task in self._team.mail.sent.tasks.values() if task.receiver == target.id]
        await self._team.destroy(target, why, by=caller, call_id=_cause(ctx))
        left = (
            f" Not finished: {', '.join(repr(fit_line(task.text, _OPENING)) for task in tasks)}."
            if tasks
            else ""
        )
        return Ok({"output": f"Agent destroyed.{left}"})

    async def interrupt_agent(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        caller, target = self._resolve(args, ctx)
        if target is caller:
            return Err(ErrorKind.PERMISSION_DENIED, "you cannot interrupt yourself; end your turn instead")
        stopped = _describe_work(target)
        await self._team.interrupt([target], by=caller, call_id=_cause(ctx))
        return Ok({"output": f"Agent interrupted.{stopped}"})

    async def list_models(self, args: dict[str, Any], ctx: ToolContext) -> Outcome:
        caller = self._team.member(ctx.agent_id)
        return list_models(self._grants, caller.spec.model.label if caller else None)

    def _resolve(self, args: Mapping[str, Any], ctx: ToolContext) -> tuple[Member, Member]:
        """Returns the caller, and its target by id, name or type: of one type, the first that started."""
        if refused := refuse_target(args):
            raise ToolError(refused.kind, refused.message)
        caller = self._team.member(ctx.agent_id)
        kind, wanted = args["identifier_type"], args["identifier"]
        target = next((one for one in self._team.members if getattr(one.spec, kind) == wanted), None)
        if caller is None:
            raise ToolError(GONE.kind, GONE.message)
        if target is None:
            unknown = refuse_unknown([one.name for one in self._team.members if one is not caller])
            raise ToolError(unknown.kind, unknown.message, unknown.details)
        return caller, target


def _refuse_reset(target: Member, args: Mapping[str, Any]) -> Err | None:
    if not args.get(tool_specs.RESET) or target.spec.acp is None:
        return None
    text = f"{target.name} is an external program, which keeps its own context; leave {tool_specs.RESET} out"
    return Err(ErrorKind.INVALID_ARGS, text)


def _count_messages(count: int) -> str:
    return f"{count} message{'s' * (count > 1)}"


def _describe_work(member: Member) -> str:
    """Says what an interrupt stops, and what it leaves; empty: the agent is idle, or stopped already."""
    agent = member.actor.agent
    if not member.actor.working or member.actor.stopping:
        return ""
    doing = f"running {agent.current_tools[0]}" if agent.current_tools else "waiting for its model"
    unread = len(agent.history.unread)
    more = f" It continues with {_count_messages(unread)} from its queue." if unread else ""
    return f" It was {doing}; any changes it made remain.{more}"


def _cause(ctx: ToolContext) -> str | None:
    """Returns the call that what happens is recorded with; a program that calls a tool itself has none."""
    return ctx.call_id or None


def list_models(grants: Grants, current: str | None) -> Outcome:
    rows = [
        {
            "provider": model.provider,
            "id": model.id or model.model,
            "name": model.name or model.model,
            "context_window": model.context_window,
            "base_url": without_userinfo(model.base_url) or None,
            "current": model.label == current,
        }
        for model in grants.models
    ]
    return Ok({"output": codec.encode_str(rows)})


def _describe(member: Member, now: float, *, verbose: bool) -> dict[str, Any]:
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
    if left := agent.purse.paying.all_left:
        row["budget_left"] = left
    if verbose:
        row |= {"tools": sorted(agent.tools.names()), "model": spec.model.name or spec.model.label}
    return row
