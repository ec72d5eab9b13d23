"""Hands each room what it needs from the others: one object for the process, one for each session."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from planck.agent.agent import Agent, Bounds, Kit
from planck.config.models import available
from planck.config.project import Project
from planck.config.providers import Providers
from planck.config.rules import RuleBook
from planck.headless.hooks import Hooked, HookedPermit, Hooks
from planck.headless.kit import SessionTools
from planck.headless.seats import Seats
from planck.llm.redact import Redactor
from planck.peers.peers import Peers
from planck.permissions.approver import Approvals, Approver
from planck.permissions.authority import authorise, effective_authority, session_ceiling
from planck.permissions.budget import Budget
from planck.permissions.gate import AgentGate, Gate
from planck.records.authority import Mode
from planck.records.outcome import Err, PlanckError
from planck.records.ports import Clock, Ids
from planck.records.specs import AgentSpec, ModelSpec
from planck.team import by_id
from planck.team.briefing import write_briefing
from planck.team.spawn import Grants
from planck.team.team import Team
from planck.team.tools import make_orchestrator_tools, make_worker_tools
from planck.toolkit.journal import Journal
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet
from planck.tools.executor import Executor, Site


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What one session was started with."""

    mode: Mode
    dry_run: bool = False
    max_steps: int
    max_budget_usd: float | None = None


class Wiring:
    """What all sessions of a process share."""

    def __init__(
        self,
        project: Project,
        *,
        providers: Providers,
        peers: Peers,
        approver: Approver | None,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self.project = project
        self.resources = project.resources
        self.providers = providers
        self.peers = peers
        self.approver = approver
        self.clock = clock
        self.ids = ids

    def plan(self, session_id: str, spill: Path, options: Options) -> "SessionPlan":
        return SessionPlan(self, session_id, spill, options)

    async def aclose(self) -> None:
        await self.peers.aclose()
        await self.providers.aclose()


class SessionPlan:
    """What a session will be made of, before its log is there: what is wrong with it shows here."""

    def __init__(self, wiring: Wiring, session_id: str, spill: Path, options: Options) -> None:
        project = wiring.project
        self.wiring = wiring
        self.session_id = session_id
        self.options = options
        self.tools = SessionTools(project, spill)
        self.ceiling = session_ceiling(options.mode, project.workspace, project.config.limits.spawn_depth)
        """What no agent of the session exceeds."""
        approvals = Approvals(wiring.approver) if wiring.approver else None
        self.gate = Gate(RuleBook(project), ids=wiring.ids, approvals=approvals)

    def authorise(self, specs: Sequence[AgentSpec]) -> list[AgentSpec]:
        """Gives each member what its file asks for, as far as the ceiling goes."""
        return authorise(specs, self.ceiling)

    def open(self, journal: Journal, orchestrator_model: ModelSpec | None = None) -> "SessionWiring":
        """`orchestrator_model` stands in the place of the one in the log, whose provider may be gone."""
        return SessionWiring(self, journal, orchestrator_model)


class SessionWiring:
    """Builds the agents of one session; its team drives them."""

    def __init__(self, plan: SessionPlan, journal: Journal, orchestrator_model: ModelSpec | None) -> None:
        wiring, options = plan.wiring, plan.options
        self._plan = plan
        self._wiring = wiring
        self._journal = journal
        self._orchestrator_model = orchestrator_model
        self._names: dict[str, str] = {}
        self._worker_tools: dict[str, list[Tool]] = {}
        """By delegator: the same for all who work for one agent."""
        self._site = Site(plan.session_id, wiring.resources.workspace, options.dry_run)
        budget = None if options.max_budget_usd is None else Budget(options.max_budget_usd)
        self._bounds = Bounds(options.max_steps, budget)
        scribe = Scribe(journal, None)
        self.hooks = Hooks(wiring.project, plan.session_id, scribe, off=options.dry_run)
        self.team = Team(
            plan.session_id,
            journal=journal,
            ids=wiring.ids,
            clock=wiring.clock,
            limits=wiring.resources.config.limits,
            build=self.build,
        )
        self.seats = Seats(wiring.providers, wiring.peers, budget, Briefing(self.team), scribe)
        by_id.register(self.team)
        wiring.peers.join(journal, plan.gate if wiring.approver else None)

    @property
    def workspace(self) -> Path:
        return self._site.workspace

    def redactor(self) -> Redactor:
        return self._wiring.providers.keyring.redactor()

    async def aclose(self) -> None:
        """End the commands that were left in the background, and the questions."""
        self._wiring.peers.leave(self._journal)
        by_id.forget(self.team)
        await self._plan.tools.aclose()

    def build(self, spec: AgentSpec, journal: Journal) -> Agent:
        """One agent with its tools, its gate and its seat; it writes through one scribe."""
        wiring, plan = self._wiring, self._plan
        if spec.role == "orchestrator" and self._orchestrator_model:
            spec = msgspec.structs.replace(spec, model=self._orchestrator_model)
        self._names[spec.id] = spec.name
        scribe = Scribe(journal, spec.id)
        tools = ToolSet(self._tools_of(spec))
        gate = AgentGate(plan.gate, self._lineage(spec), effective_authority(spec, plan.ceiling), scribe)
        permit = HookedPermit(gate, self.hooks, spec.name, scribe)
        executor = Executor(tools, self._site, permit=permit, scribe=scribe, clock=wiring.clock)
        kit = Kit(tools, Hooked(executor, self.hooks, spec.name, tools), plan.tools.prepare(spec, tools))
        seat = self.seats.seat_for(spec.model, spec.compactor)
        wiring.peers.attach(tools, spec.tools, scribe)
        return Agent(spec, seat, kit, scribe, ids=wiring.ids, bounds=self._bounds)

    def _lineage(self, spec: AgentSpec) -> str:
        """Who asks: its name, and whom it works for."""
        delegator = self._names.get(spec.delegator_id)
        return f"{spec.name} (works for {delegator})" if delegator else spec.name

    def _tools_of(self, spec: AgentSpec) -> list[Tool]:
        granted = self._plan.tools.grant(spec)
        if spec.delegator_id not in self._worker_tools:
            self._worker_tools[spec.delegator_id] = make_worker_tools(self.team, spec.delegator_id)
        team_tools = self._worker_tools[spec.delegator_id]
        if spec.role == "orchestrator":
            resources = self._wiring.resources
            grants = Grants(
                models=tuple(available(resources.config, spec.model)),
                resolve=self._resolve,
                tools=tuple(tool.name for tool in granted),
                skills=tuple(resources.skills_of(spec)),
            )
            team_tools = team_tools + make_orchestrator_tools(self.team, grants)
        return [*granted, *team_tools]

    def _resolve(self, provider: str, model_id: str, base_url: str) -> ModelSpec | Err:
        try:
            return self._wiring.providers.resolve_member(provider, model_id, base_url)
        except PlanckError as failure:
            return failure.err


class Briefing:
    def __init__(self, team: Team) -> None:
        self._team = team

    def brief(self, agent_id: str) -> str:
        return write_briefing(self._team, agent_id)
