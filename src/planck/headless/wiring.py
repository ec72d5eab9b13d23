"""Hands each room what it needs from the others: the only place that knows them all."""

import random  # noqa: TID251 - jitter is the one use, handed to whoever waits before a retry
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import msgspec

from planck.agent.agent import Agent, Cost, MakeRoom
from planck.agent.metered import Metered
from planck.config.credentials import CredentialFile, Keyring
from planck.config.load import Config
from planck.config.models import address, available, cost_usd, provider_entry, resolve_pair
from planck.config.project import Project
from planck.config.tool_files import ToolFiles, external_tools
from planck.context.compaction import (
    BUILT_IN,
    DIGEST,
    OFF,
    Compactor,
    Room,
    Summarise,
    Summary,
    by_model,
    unusable,
)
from planck.context.plan import plan_tool
from planck.context.skill_tools import skill_tools
from planck.context.teamwork import teamwork
from planck.headless.hooks import HookedExecutor, Hooks
from planck.headless.permit import authorised, ceiling, effective, gate
from planck.llm.address import Network
from planck.llm.authorized import Authorized
from planck.llm.dialects import open_provider
from planck.llm.provider import Provider, Request
from planck.llm.redact import Redactor
from planck.llm.retry import Retrying
from planck.llm.transport import HttpTransport
from planck.peers.peers import Peers
from planck.permissions.approver import Approver
from planck.permissions.budget import Budget
from planck.permissions.policy import Mode
from planck.records.events import Status, ToolProgress, View
from planck.records.messages import Message
from planck.records.outcome import Err, Ok, PlanckError
from planck.records.ports import Clock, Ids
from planck.records.specs import AgentSpec, ModelSpec
from planck.records.usage import Usage
from planck.team import by_id
from planck.team.briefing import write_briefing
from planck.team.spawn import Grants
from planck.team.team import Team
from planck.team.tools import make_orchestrator_tools, make_worker_tools
from planck.toolkit.journal import Journal
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet
from planck.tools.builtin.catalog import builtin_tools
from planck.workspace.jobs import Jobs


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What one session was started with."""

    mode: Mode
    dry_run: bool = False
    max_steps: int
    max_budget_usd: float | None = None


class Wiring:
    def __init__(
        self,
        project: Project,
        *,
        approver: Approver | None,
        peers: Peers,
        clock: Clock,
        ids: Ids,
        doubles: Mapping[str, Provider],
    ) -> None:
        self.resources = project.resources
        self.peers = peers
        self.workspace = project.workspace
        self.environ = project.environ
        self.approver = approver
        self.clock = clock
        self.ids = ids
        self._doubles = doubles
        self.keyring = Keyring(CredentialFile(project.home), project.environ, clock)
        self._transport: HttpTransport | None = None

    @property
    def config(self) -> Config:
        return self.resources.config

    def provider(self, model: ModelSpec) -> Provider:
        if model.provider in self._doubles:
            return self._doubles[model.provider]
        transport = self.transport
        entry = provider_entry(self.config, model.provider)
        access = self.keyring.access(model.provider, entry, transport, address(self.config, model))
        return Authorized(access, lambda endpoint: open_provider(endpoint, model, transport))

    @property
    def transport(self) -> HttpTransport:
        """One pool of connections for all agents, made when the first one needs it."""
        if self._transport is None:
            self._transport = HttpTransport(_network(self.environ))
        return self._transport

    def cost(self, model: ModelSpec, usage: Usage) -> float | None:
        return cost_usd(self.config, model, usage)

    def is_double(self, model: ModelSpec) -> bool:
        return model.provider in self._doubles

    def resolve_member(self, provider: str, model_id: str, base_url: str = "") -> ModelSpec:
        """A member's model; the provider is a key of `providers` or a type, the id an alias or its own."""
        if provider in self._doubles:
            return ModelSpec(provider=provider, model=model_id)
        return resolve_pair(self.config, provider, model_id, base_url)

    def session(self, session_id: str, spill: Path, options: Options) -> "SessionWiring":
        return SessionWiring(self, session_id, spill, options)

    async def aclose(self) -> None:
        await self.peers.aclose()
        if self._transport is not None:
            await self._transport.aclose()


class SessionWiring:
    """What the agents of one session are made of."""

    def __init__(self, wiring: Wiring, session_id: str, spill: Path, options: Options) -> None:
        self._wiring = wiring
        self._session_id = session_id
        self._options = options
        self._ceiling = ceiling(options.mode, wiring.workspace, wiring.config.limits.spawn_depth)
        self._gate = gate(
            wiring.resources.loaded,
            wiring.workspace,
            wiring.resources.home,
            wiring.environ,
            wiring.ids,
            wiring.approver,
        )
        self._budget = None if options.max_budget_usd is None else Budget(options.max_budget_usd)
        self._specs: dict[str, AgentSpec] = {}
        self._journal: Journal | None = None
        self.hooks = Hooks(
            lambda: {} if options.dry_run else wiring.resources.now.hooks,
            wiring.workspace,
            wiring.environ,
            session_id,
            partial(self._failed, "hook"),
        )
        self.orchestrator_model: ModelSpec | None = None
        """Instead of the one in the log, whose provider may be gone."""
        self._jobs = Jobs()
        built_in = (
            *builtin_tools(wiring.workspace, spill=spill, environment=wiring.environ, jobs=self._jobs),
            *skill_tools(lambda agent_id: wiring.resources.skills_of(self._specs[agent_id])),
            plan_tool(),
        )
        names = [tool.name for tool in built_in]
        self._files = ToolFiles(
            wiring.resources, lambda: external_tools(wiring.resources, wiring.environ, spill, names)
        )
        self._built_in = {tool.name: tool for tool in built_in}

    @property
    def workspace(self) -> Path:
        return self._wiring.workspace

    def redactor(self) -> Redactor:
        return self._wiring.keyring.redactor()

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Every tool that an agent of this session can be given."""
        return tuple(self._tools)

    @property
    def _tools(self) -> dict[str, Tool]:
        return {**self._built_in, **self._files.tools}

    async def aclose(self) -> None:
        """End the commands that were left in the background, and the questions."""
        if self._journal:
            self._wiring.peers.leave(self._journal)
            by_id.forget(self._team)
        await self._jobs.aclose()

    def _failed(self, component: str, name: str, detail: str) -> None:
        if self._journal:
            failed = Status(component=component, name=name, state="failed", detail=detail)
            self._journal.publish(None, 0, failed)

    def team(self, journal: Journal) -> Team:
        self._journal = journal
        self._wiring.peers.join(journal, self._gate if self._wiring.approver else None)
        self._team = Team(
            self._session_id,
            journal=journal,
            ids=self._wiring.ids,
            clock=self._wiring.clock,
            limits=self._wiring.config.limits,
            build=self.build,
        )
        by_id.register(self._team)
        self._worker_tools = cache(partial(make_worker_tools, self._team))
        """The same for all who work for the same agent."""
        return self._team

    def _lineage(self, spec: AgentSpec) -> str:
        """Who asks: its name, and whom it works for."""
        delegator = self._specs.get(spec.delegator_id)
        return f"{spec.name} (works for {delegator.name})" if delegator else spec.name

    def authorised(self, specs: list[AgentSpec]) -> list[AgentSpec]:
        return authorised(specs, self._ceiling)

    def build(self, spec: AgentSpec, journal: Journal) -> Agent:
        wiring, options = self._wiring, self._options
        if spec.role == "orchestrator" and self.orchestrator_model:
            spec = msgspec.structs.replace(spec, model=self.orchestrator_model)
        self._specs[spec.id] = spec
        tools = ToolSet(self._tools_of(spec))
        held = {name: tool for name, tool in self._files.tools.items() if tools.get(name) is tool}
        agent: Agent

        def system() -> str:
            wiring.resources.refresh()
            self._files.sync(tools, spec.tools, held)
            if wiring.resources.skills_of(spec) and tools.get("load_skill") is None:
                tools.add(self._built_in["load_skill"])  # what the prompt names can be had
            return wiring.resources.system(spec, teamwork(tools.names()))

        def record(fact: View) -> Awaitable[object]:
            return journal.record(spec.id, agent.turn, fact, barrier=True)

        permit = self._gate.permit(spec.id, self._lineage(spec), effective(spec, self._ceiling), record)
        executor = HookedExecutor(
            tools,
            clock=wiring.clock,
            permit=self.hooks.permit(spec.name, permit, record),
            session_id=self._session_id,
            agent_id=spec.id,
            workspace=wiring.workspace,
            dry_run=options.dry_run,
            progress=lambda id, text: agent.publish(ToolProgress(id=id, text=text)),
            record=lambda fact: agent.record(fact),
        )
        executor.hooks, executor.agent = self.hooks, spec.name
        provider, cost, make_room = self.mind(spec.model, spec.compactor)
        agent = Agent(
            spec,
            journal=journal,
            provider=provider,
            tools=tools,
            executor=executor,
            ids=wiring.ids,
            system=system,
            cost=cost,
            max_steps=options.max_steps,
            make_room=make_room,
            budget=self._budget,
        )
        wiring.peers.attach(tools, spec.tools, agent)
        return agent

    def mind(self, model: ModelSpec, compactor: str) -> tuple[Provider, Cost, MakeRoom | None]:
        """What changes with an agent's model: who answers, what it costs, how it is made to fit."""
        provider, cost = self._provider(model), partial(self._wiring.cost, model)
        if compactor == OFF:
            return provider, cost, None
        room = self.compactor(provider, model, compactor).make_room
        if self._budget:  # before the window: what may not be sent need not fit
            admit = Metered(provider, self._budget, cost, model.label).admit
            return provider, cost, partial(_within_budget, admit, room)
        return provider, cost, room

    def compactor(self, provider: Provider, model: ModelSpec, name: str) -> Compactor:
        """Its own, even for an agent that never compacts by itself: the user may still ask for it."""
        return Compactor(
            self._summarise(provider, name), model.context_window, partial(write_briefing, self._team)
        )

    def _summarise(self, provider: Provider, name: str) -> Summarise | None:
        if name == DIGEST:
            return None
        model = by_model(provider)
        return model if name in BUILT_IN else partial(self._summarised_by_sidecar, name, model)

    async def _summarised_by_sidecar(
        self, name: str, model: Summarise, messages: Sequence[Message], most: int, agent_id: str
    ) -> Summary:
        """Where it does not deliver, the model does, and the session's watchers are told why."""
        outcome = await self._wiring.peers.compact(name, messages)
        problem = outcome.message if isinstance(outcome, Err) else unusable(outcome.value, most)
        if isinstance(outcome, Ok) and not problem:
            return Summary(outcome.value)
        self._failed("compactor", name, f"{problem}; the model summarises instead")
        return await model(messages, most, agent_id)

    def _provider(self, model: ModelSpec) -> Provider:
        """Refused when the budget is spent, tried again when it fails for a while; a double is left alone."""
        wiring = self._wiring
        provider = wiring.provider(model)
        if self._budget:
            provider = Metered(provider, self._budget, partial(wiring.cost, model), model.label)
        return provider if wiring.is_double(model) else Retrying(provider, random.random)

    def _tools_of(self, spec: AgentSpec) -> list[Tool]:
        there = self._tools
        granted = [there[name] for name in spec.tools if name in there]
        team_tools = self._worker_tools(spec.delegator_id)
        if spec.role == "orchestrator":
            grants = Grants(
                models=tuple(available(self._wiring.config, spec.model)),
                resolve=self._resolve,
                tools=tuple(tool.name for tool in granted),
                skills=tuple(self._wiring.resources.skills_of(spec)),
            )
            team_tools = team_tools + make_orchestrator_tools(self._team, grants)
        return [*granted, *team_tools]

    def _resolve(self, provider: str, model_id: str, base_url: str) -> ModelSpec | Err:
        try:
            return self._wiring.resolve_member(provider, model_id, base_url)
        except PlanckError as failure:
            return failure.err


async def _within_budget(
    admit: Callable[[], None],
    make_room: MakeRoom,
    request: Request,
    overflowed: bool,
    publish: Callable[[View], None],
) -> Room | None:
    admit()
    return await make_room(request, overflowed, publish)


def _network(environ: Mapping[str, str]) -> Network:
    """The usual variables, in either case; a bundle of certificates replaces the system's."""

    def value(*names: str) -> str:
        spelled = [spelling for name in names for spelling in (name, name.lower())]
        return next((environ[name] for name in spelled if environ.get(name)), "")

    return Network(
        http_proxy=value("HTTP_PROXY", "ALL_PROXY"),
        https_proxy=value("HTTPS_PROXY", "ALL_PROXY"),
        no_proxy=value("NO_PROXY"),
        ca_bundle=value("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"),
    )
