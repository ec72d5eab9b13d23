"""Why a call would be allowed, asked or denied: the same judgement as in a run, told instead of enforced."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from planck.config.addresses import find_stranger
from planck.config.rules import RuleBook
from planck.config.teams import find_team, load_team
from planck.headless.planck import Planck
from planck.headless.services.toolbox import ToolBox
from planck.peers.server import tool_prefix
from planck.permissions.authority import authorise, effective_authority, session_ceiling
from planck.permissions.policy import ask_about_address, close_roots, find_offer, find_trial, judge
from planck.permissions.rules import Decision
from planck.records.authority import Authority, Confinement, Mode
from planck.records.outcome import Err, ErrorKind, PlanckError
from planck.records.specs import AgentSpec, ModelSpec
from planck.records.tools import COMMAND_TOOLS, ORCHESTRATOR_TOOLS, SPAWN, TEAM_TOOLS
from planck.toolkit.clock import RandomIds
from planck.toolkit.tool import Effect
from planck.workspace.sandbox.sandbox import find


class ExplainError(PlanckError):
    """A question about somebody or something that is not there."""


class Explanation(msgspec.Struct, frozen=True):
    decision: str
    why: str
    """The deciding rule with its source, or the mode."""
    agent: str
    tool: str
    mode: str
    mode_from: str
    authority: Authority
    runs_under: Confinement
    """Once it is allowed; where it is tried first, in that trial."""
    sandbox: str
    """How commands are confined here, or why they are not."""
    tried: bool = False
    """Whether it is run where it can change nothing before anybody is asked."""


def explain_call(
    planck: Planck, agent: str, tool: str, what: str, *, team: str = "", mode: str = ""
) -> Explanation:
    """`what` are a tool's arguments as JSON, or its first one alone: a command, a path."""
    chosen = Mode(mode) if mode else planck.config.permissions.mode
    session = session_ceiling(chosen, planck.project.roots, planck.config.limits.spawn_depth)
    spec = _find_member(planck, agent, team, session)
    authority = effective_authority(spec, session)
    saying = [layer for layer in planck.resources.loaded.layers if "mode" in layer.permissions]
    source = saying[-1].origin("permissions") if saying else "built-in"
    book = RuleBook(planck.project)
    effect, confinable, tried, first = _find_kind(planck, tool)
    args = _read_arguments(tool, what, first)
    around = close_roots(authority, book.policy_context(authority.mode), effect, args)
    verdict = judge(authority, around, tool, effect, confinable, args, is_command=tried)
    if effect is Effect.COMMAND:
        verdict = find_offer(authority, around, verdict, tool, args)
    if tool == SPAWN and verdict.decision is not Decision.DENY:
        verdict = ask_about_address(verdict, _find_stranger(planck, args))
    trial = find_trial(authority, book.policy_context(Mode.READ_ONLY), verdict, tool, args) if tried else None
    return Explanation(
        str(verdict.decision),
        verdict.why,
        f"{spec.name} ({spec.role})",
        tool,
        str(chosen),
        "--permission-mode" if mode else source,
        authority,
        trial or verdict.confinement,
        around.no_sandbox or str(found.level if (found := find().sandbox) else ""),
        trial is not None,
    )


def _find_member(planck: Planck, agent: str, team: str, session: Authority) -> AgentSpec:
    team = team or planck.config.default_team
    nobody = ModelSpec(provider="", model="")
    members = [AgentSpec(id="", type="orchestrator", name="orchestrator", role="orchestrator", model=nobody)]
    if team:
        path = find_team(team, planck.resources.team_dirs())
        members = load_team(path, lambda *names: nobody, RandomIds(), places=session.roots)
    for spec in authorise(members, session):
        if agent in (spec.name, spec.type) or (not agent and spec.role == "orchestrator"):
            return spec
    names = ", ".join(sorted({spec.name for spec in members}))
    raise ExplainError(
        ErrorKind.NOT_FOUND,
        f"Agent not found: {agent!r}. This team has: {names}. Use --team for another team.",
    )


def _find_kind(planck: Planck, tool: str) -> tuple[Effect, bool, bool, str]:
    """Its effect, whether it can be confined, if mode `ask` tries it first, its first argument's name."""
    if tool in (*TEAM_TOOLS, *ORCHESTRATOR_TOOLS):
        return Effect.TEAM, False, False, ""
    entry = ToolBox(planck.project).inventory().find(tool)
    if not isinstance(entry, Err):
        first = next(iter(entry.tool.parameters.get("required") or ()), "")
        return entry.tool.effect, entry.tool.confinable, entry.tool.probe_in_sandbox, first
    if tool.startswith("mcp__"):  # a server need not run to know what its tools may
        owners = [s for s in planck.peers.plan.servers if tool.startswith(tool_prefix(s.name))]
        return Effect.COMMAND, any("url" not in server.entry for server in owners), False, ""
    raise ExplainError(entry.kind, entry.message)


def _find_stranger(planck: Planck, args: Mapping[str, Any]) -> str:
    """The address that would be asked about; nobody is asked here whether a local server answers."""
    named = [str(args.get(name, "")) for name in ("provider", "model_id", "base_url")]
    return find_stranger(planck.config, [ModelSpec(named[0], named[1], base_url=named[2])])


def _read_arguments(tool: str, what: str, first: str) -> dict[str, Any]:
    if tool in COMMAND_TOOLS or (first and what.strip() and not what.lstrip().startswith("{")):
        return {first: what}
    try:
        args = json.loads(what or "{}")
    except ValueError as problem:
        raise ExplainError(
            ErrorKind.INVALID_ARGS,
            f"The arguments for {tool!r} are not valid JSON: {problem}. Write them in single quotes: "
            f"""'{{"{first or "name"}": "value"}}'.""",
        ) from None
    return args if isinstance(args, dict) else {}
