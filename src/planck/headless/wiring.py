"""Builds the agents of one session: each room gets what it needs from the others."""

import asyncio
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec

from planck.agent.agent import Agent, Kit
from planck.budget.accounts import Purse
from planck.closing import close_all
from planck.config.models import available
from planck.context.prompt import Environment, compose_base, describe_member, describe_mode, escalates
from planck.headless.checks import Asker, Checks
from planck.headless.hooks.hooks import Hooked, HookedPermit, Hooks
from planck.headless.seats import Seats
from planck.headless.session_setup import SessionSetup
from planck.llm.provider import Provider
from planck.permissions.authority import effective_authority
from planck.permissions.gate import AgentGate
from planck.records.authority import Mode
from planck.records.events import View
from planck.records.outcome import PlanckError
from planck.records.redact import Redactor
from planck.records.specs import AgentKind, AgentSpec, ModelSpec
from planck.records.visible import fit_line
from planck.session.bus import Listener, Reader
from planck.session.journal import SessionJournal
from planck.session.outputs import IMAGES
from planck.session.proof.fold import ProofFold
from planck.team import by_id, names
from planck.team.briefing import Briefing
from planck.team.spawn import Grants, check_room, refuse_clash
from planck.team.team import Team
from planck.team.tools import make_orchestrator_tools, make_worker_tools
from planck.toolkit.clock import InOrder
from planck.toolkit.journal import Journal
from planck.toolkit.scribe import Scribe
from planck.toolkit.tool import Tool
from planck.toolkit.toolset import ToolSet
from planck.tools.executor import Executor, Site
from planck.workspace.paths.paths import Root
from planck.workspace.sandbox.sandbox import list_confinable

if TYPE_CHECKING:
    from planck.headless.check_places import Place
    from planck.headless.embedding.teams import Member as MemberObject
    from planck.headless.members.external_member import ExternalMembers
    from planck.session.landing.finish import Worker
    from planck.session.landing.landings import Landings, Prepared
    from planck.session.landing.words import Failed
    from planck.session.views import SessionViews
    from planck.toolkit.landing import Landed, Refused
    from planck.workspace.process.jobs import ShellCommand
    from planck.workspace.views.view import View as WorkspaceView


class Observer(Reader, Protocol):
    """Hears of a session, and has something to finish when that is closed."""

    async def aclose(self) -> None: ...


class SpeechObserver(Observer, Listener, Protocol):
    """Also hears the words of an answer while they come."""


class SessionWiring:
    """Builds the agents of one session; its team drives them."""

    def __init__(
        self,
        plan: SessionSetup,
        journal: SessionJournal,
        place: Environment,
        *,
        roster: Sequence[AgentSpec] = (),
        lead_model: ModelSpec | None = None,
        imported: bool = False,
    ) -> None:
        """`roster`: the members that a new session begins with, who know of each other from the start.

        Without a roster the session is resumed: its orchestrator is changed as the options of the run say.
        `lead_model` replaces the orchestrator's model, whose provider may be gone. `imported`: somebody else
        made the log, and the checks of its members do not run here.
        """
        runtime, options = plan.runtime, plan.options  # with a project of the session's own
        self._plan = plan
        self._place = place
        self._roster = tuple(roster)
        self._runtime = runtime
        self._journal = journal
        self._lead_model = lead_model
        self._imported = imported
        self._names: dict[str, str] = {}
        self._observers: list[Observer] = []
        self._purses: dict[str, Purse] = {}
        self._gates: dict[str, tuple[AgentSpec, AgentGate]] = {}
        self._permits: dict[str, HookedPermit] = {}
        self._foreign: ExternalMembers | None = None
        self.views: SessionViews | None = None
        self._landings: Landings | None = None
        self._bases: dict[str, tuple[str, ...]] = {}
        """By view, the layers that it was rebased onto before a resume."""
        """Of agents that have their own; None: nobody has."""
        self._worker_tools: dict[str, list[Tool]] = {}
        """By delegator: the same for all who work for one agent."""
        keys = runtime.providers.keyring.redactor
        self._site = Site(
            plan.session_id,
            runtime.project.workspace,
            options.dry_run,
            keys=keys,
            shared=plan.spills if journal.moves else None,
            deps=plan.deps,
        )
        scribe = Scribe(journal, None)
        self.hooks: Hooks = Hooks(
            runtime.project,
            plan.session_id,
            scribe,
            mode=plan.ceiling.mode,
            off=options.dry_run,
            program=plan.hooks,
        )
        self.proof: ProofFold = ProofFold()
        journal.attach(self.proof)
        self.checks: Checks = Checks(
            plan,
            journal,
            self.proof,
            self._find_asker,
            lambda: self.team.orchestrator.actor.agent,
            self._find_place,
        )
        self.team: Team = Team(
            plan.session_id,
            journal=journal,
            ids=runtime.ids,
            clock=runtime.clock,
            limits=plan.limits,
            build=self.build,
            accounts=plan.accounts,
            proof=self.checks,
            hear_end=self._forget,
            prepare=self._prepare,
            lander=self,
            record_commands=self.record_running,
        )
        fallback = options.fallback_model
        self.seats: Seats = Seats(
            runtime.providers,
            runtime.peers,
            Briefing(self.team),
            scribe,
            wait_s=plan.limits.wait_s,
            fallback=runtime.providers.resolve(fallback) if fallback else None,
            watch=self._watch if plan.hooks else None,
            compactors=runtime.compactors,
        )
        plan.tools.listen(self._tell_end)
        by_id.register(self.team, runtime.project.resources, runtime.providers)
        runtime.peers.join(journal, plan.gate if runtime.approver else None)

    def _watch(self, provider: Provider, model: ModelSpec) -> Provider:
        assert self._plan.hooks is not None
        return self._plan.hooks.watch(provider, model.label, lambda id: self._names.get(id, id))

    def observe(self, journal: SessionJournal, observer: Observer) -> None:
        """Has it hear what happens from now on, to the end of the session."""
        journal.attach(observer)
        self._observers.append(observer)

    def trace(self, journal: SessionJournal, spans: SpeechObserver) -> None:
        """The same for one that also hears the words, which costs something for each delta."""
        journal.listen(spans)
        self._observers.append(spans)

    @property
    def isolated(self) -> bool:
        """Whether all agents work in one view."""
        return self._plan.options.isolated

    @property
    def mode(self) -> Mode:
        return self._plan.ceiling.mode

    @property
    def configured_mode(self) -> Mode:
        """What holds where nobody names a mode."""
        return self._runtime.project.config.permissions.mode

    @property
    def person(self) -> bool:
        """Whether somebody can be asked."""
        return self._place.person

    def describe_mode(self, tools: ToolSet) -> str:
        """What an agent with these tools may do now, in the words of the base prompt."""
        return describe_mode(
            self.mode,
            person=self.person,
            escalates=escalates(tools),
            confined=self.mode in list_confinable(),
        )

    def change_mode(self, mode: Mode | str) -> None:
        """Every gate judges by it from the next call on; agents that start later are told of it alone."""
        self._plan.change_mode(mode)
        self._place = msgspec.structs.replace(self._place, mode=self.mode)
        self.hooks.mode = self.mode
        self._renew_authority()

    def _renew_authority(self) -> None:
        for spec, gate in self._gates.values():
            gate.authority = effective_authority(spec, self._plan.ceiling)

    def find_outside(self, path: str) -> Root | None:
        """Returns the folder of a path outside all of these, where the user may be asked about it."""
        return self._runtime.project.find_outside(path)

    def find_folder(self, folder: str) -> Root | None:
        """Returns a folder that the user names, for `add_folder`; None: agents work there already."""
        return self._runtime.project.find_folder(folder)

    def add_folder(self, folder: Root) -> None:
        """Every gate and every tool has it from the next call on; agents that start later are told of it."""
        self._plan.add_folder(folder)
        self._place = msgspec.structs.replace(self._place, added=self._runtime.project.added)
        self._renew_authority()

    @property
    def root(self) -> Root:
        """The workspace, and the folders beside it that agents may work in."""
        return self._runtime.project.root

    def open_root(self) -> Root:
        """The same without what agents may not write or see, whatever the mode."""
        return self._runtime.project.open_root()

    def instructions(self, spec: AgentSpec) -> str:
        """What AGENTS.md says to an agent."""
        return self._runtime.project.resources.instructions(spec.cwd).text

    def redactor(self) -> Redactor:
        return self._runtime.providers.keyring.redactor()

    async def end_commands(self) -> None:
        """Ends the commands that were left in the background."""
        await self._plan.tools.aclose()

    async def record_running(self) -> None:
        """Records what commands in the background have changed until now."""
        await self._plan.tools.record_running()

    @property
    def commands(self) -> "tuple[ShellCommand, ...]":
        return self._plan.tools.commands

    async def aclose(self) -> None:
        """End the commands that were left in the background, and the questions."""
        observers = [observer.aclose for observer in self._observers]
        await close_all(*observers, partial(self.hooks.session_end, "other"), self.let_go)

    async def let_go(self) -> None:
        """As `aclose`, of a session that could not be opened: no hook and no observer hears of that."""
        await close_all(
            self.close_views,
            partial(self._runtime.peers.leave, self._journal),
            partial(by_id.forget, self.team),
            *([self._foreign.aclose] if self._foreign else ()),
            self._plan.tools.aclose,
        )

    async def close_views(self) -> None:
        """Ends what still runs in views, then lets go of them; the log is still open."""
        if self.views is not None:
            await close_all(self._plan.tools.aclose, self._drop_landed, self.views.aclose)

    async def _prepare(self, spec: AgentSpec) -> Sequence[View]:
        if self._site.dry_run or not (self._plan.options.isolated or spec.workspace == "own"):
            return ()
        return await self._open_views().prepare(spec)

    async def mount_views(
        self, living: Sequence[tuple[AgentSpec, Sequence[View]]], facts: Sequence[View]
    ) -> dict[str, str]:
        """Opens the views of a resumed session again; returns what agents must be told, by their ids."""
        isolated = self._plan.options.isolated
        if self._site.dry_run or not (isolated or any(spec.workspace == "own" for spec, _ in living)):
            return {}
        from planck.session.landing.finish import find_bases

        self._bases = find_bases(facts)
        return await self._open_views().mount_again(living, facts)

    def list_views(self) -> list["WorkspaceView"]:
        """Returns the views that are open."""
        return [] if self.views is None else [*dict.fromkeys(self.views.by_agent.values())]

    async def propose(self, agent_id: str, task: str) -> "Landed | Refused | None":
        """Lands what an agent changed in its own view; see `toolkit.landing.Lander`."""
        if self.views is None or self._plan.options.isolated or self.views.find(agent_id) is None:
            return None  # an isolated run lands as a whole, by its user
        return await self._open_landings(self.views).propose(agent_id, task)

    def _open_landings(self, views: "SessionViews") -> "Landings":
        if self._landings is None:
            from planck.session.landing.landings import Landings  # most sessions have no views
            from planck.workspace.recording.local_images import LocalImages

            images = LocalImages(self._plan.spills.folder / IMAGES)
            self._landings = Landings(
                views,
                self._journal,
                self._runtime.ids,
                self._find_worker,
                images=images,
                rebased=self._bases,
                check=self._check_landing,
            )
        return self._landings

    async def _check_landing(self, prepared: "Prepared") -> "Failed | None":
        member = self.team.member(prepared.worker.id)
        opening = member.actor.opening if member else None
        if member is None or opening is None:
            return None
        place = self._find_place(member.id, prepared)
        return await self.checks.review_landing(member.actor.agent, opening, place)

    def _find_place(self, agent_id: str, prepared: "Prepared | None" = None) -> "Place | None":
        """Returns where the checks of an agent's work run; None: in the workspace."""
        view = self.views.find(agent_id) if self.views else None
        if self.views is None or view is None:
            return None
        from planck.headless.check_places import Place

        return Place(self.views, self._open_landings(self.views), agent_id, view, prepared)

    async def _drop_landed(self) -> None:
        """Drops the views that hold nothing which has not landed."""
        if self.views is None or self._landings is None:
            return
        for agent_id, opened in [*self.views.by_agent.items()]:
            if await asyncio.to_thread(self._landings.is_landed, opened):
                await self.views.drop(agent_id, "landed")

    def _find_worker(self, agent_id: str) -> "Worker":
        from planck.session.landing.finish import Worker

        _, gate = self._gates[agent_id]
        rights = self._plan.gate.find_file_rights(gate.authority)
        member = self.team.member(agent_id)
        turn = member.actor.agent.turn if member else 0
        return Worker(agent_id, self._names[agent_id], turn, self.root.under(rights))

    def _open_views(self) -> "SessionViews":
        if self.views is None:
            from planck.session.views import SessionViews  # most sessions have none

            project = self._runtime.project
            self.views = SessionViews(
                str(project.root.path),
                str(project.views_folder / self._plan.session_id),
                project.environ,
                self._journal,
                self._runtime.ids,
                self._plan.tools.give_view,
                shared=self._plan.options.isolated,
            )
        return self.views

    def build(self, spec: AgentSpec, journal: Journal) -> Agent:
        """One agent with its tools, its gate and its seat; it writes through one scribe."""
        runtime, plan = self._runtime, self._plan
        if spec.role == "orchestrator" and not self._roster:
            spec = plan.change_lead(spec, self._lead_model)
        if self._imported and spec.done_when:
            spec = msgspec.structs.replace(spec, done_when=())
        self._names[spec.id] = spec.name
        self.proof.know(spec)
        scribe = Scribe(journal, spec.id)
        tools = ToolSet(self._tools_of(spec), withheld=plan.withheld)
        plan.tools.apply_changes(spec.id, tools)
        if spec.base_prompt and not spec.base:
            # Sessions of one folder begin with the same words: one text for all that are open.
            # A command may have tried the sandbox since the session began: what is known then holds.
            place = msgspec.structs.replace(self._place, confinable=list_confinable())
            if self.views is not None and (view := self.views.find(spec.id)):
                place = msgspec.structs.replace(place, workspace=view.path, own=view.backend)
            base = sys.intern(compose_base(spec, self._others(spec), place, tools))
            spec = msgspec.structs.replace(spec, base=base)
        site = msgspec.structs.replace(self._site, cwd=spec.cwd or ".")
        gate = AgentGate(
            plan.gate,
            self._lineage(spec),
            effective_authority(spec, plan.ceiling),
            scribe,
            delegator=self._names.get(spec.delegator_id, ""),
            rehearse=lambda *call: executor.rehearse(*call),  # which asks this gate, and so is made after it
            object_to=partial(self.hooks.object, spec.name),
            folders=self,
        )
        self._gates[spec.id] = (spec, gate)
        permit = self._permits[spec.id] = HookedPermit(gate, self.hooks, spec.name)
        executor = Executor(tools, site, permit=permit, scribe=scribe, clock=runtime.clock)
        runner = Hooked(executor, self.hooks, spec.name, tools)
        kit = Kit(tools, runner, plan.tools.prepare(spec, tools), InOrder())
        purse = self._purses.get(spec.id)
        if purse is None:
            purse = Purse(plan.accounts, plan.accounts.of(spec), keeps=spec.role == "orchestrator")
            self._purses[spec.id] = purse
        purse.end()  # it may be built anew in the middle of a turn, after a crash
        if spec.acp:
            seat = self._external_members().seat(spec, gate, kit, scribe, purse)
        else:
            seat = self.seats.seat_for(spec.model, spec.compactor, purse)
        runtime.peers.attach(tools, spec.tools, scribe, spec.model.context_window)
        return Agent(spec, seat, kit, scribe, ids=runtime.ids, bounds=plan.bounds.paid_by(purse))

    def _tell_end(self, ended: "ShellCommand") -> None:
        """Tells the agent that left a command in the background how it ended, once it works again."""
        if member := self.team.member(ended.agent_id):
            code = ended.job.completed().exit_code
            how = "was ended by a signal" if code is None else f"ended with exit code {code}"
            command = fit_line(ended.text, 80)
            text = f"bg_{ended.call_id} {how}: {command}. Its output: read path output:{ended.call_id}."
            self.team.mail.note_change(text, [member], None)

    def _find_asker(self, agent_id: str) -> Asker | None:
        member = self.team.member(agent_id)
        if member is None:
            return None
        return Asker(member.actor.agent.tools.get("bash"), self._permits[agent_id])

    async def spawn(self, member: "MemberObject") -> AgentSpec:
        """Adds an agent that the program describes; it works for the orchestrator."""
        from planck.headless.embedding.teams import read_member  # few programs add any

        team = self.team
        spec, tools = read_member(member, self._plan, self._runtime.ids, team.orchestrator.spec)
        [spec] = self._plan.authorise([spec])
        arrival = await team.prepare(spec)
        refused = names.refuse("type", spec.type) or names.refuse("name", spec.name)
        refused = refused or check_room(team) or refuse_clash(team, spec)
        if refused:
            team.forget(spec.id)
            raise PlanckError(refused.kind, refused.message, refused.details)
        try:
            added = await team.add(spec, depth=1, tools=tools, facts=arrival)
        finally:
            if team.member(spec.id) is None:
                team.granted.pop(spec.id, None)
                team.accounts.close(spec.id)
        others = [one for one in team.members if one is not added]
        team.mail.note_change(f"{describe_member(added.spec)} has joined the team.", others, None)
        return added.spec

    def _external_members(self) -> "ExternalMembers":
        if self._foreign is None:
            from planck.headless.members.external_member import (
                ExternalMembers,  # few teams have other programs in them
            )

            self._foreign = ExternalMembers(self._plan)
        return self._foreign

    def _forget(self, agent_id: str) -> None:
        self._permits.pop(agent_id, None)
        self._plan.tools.end(agent_id)
        if self._foreign is not None:
            self._foreign.end(agent_id)

    def change_tool(self, agent_id: str, name: str, tool: Tool | None) -> None:
        """Keeps that a program gave an agent a tool, or (None) took one away."""
        self._plan.tools.change(agent_id, name, tool)

    def _others(self, spec: AgentSpec) -> list[AgentSpec]:
        """Whom an agent that starts now is told of."""
        begin = any(one.id == spec.id for one in self._roster)
        members = self._roster if begin else [member.spec for member in self.team.members]
        return [one for one in members if one.id != spec.id]

    def _lineage(self, spec: AgentSpec) -> str:
        """Who asks: its name, and whom it works for."""
        delegator = self._names.get(spec.delegator_id)
        return f"{spec.name} (works for {delegator})" if delegator else spec.name

    def _find_kinds(self, spec: AgentSpec) -> dict[str, AgentKind]:
        """Returns agents that files describe, as workers of an orchestrator."""
        if not self._runtime.project.resources.has_agents():
            return {}
        from planck.headless.members.agent_kinds import find_kinds  # few projects have any

        return find_kinds(self._runtime, spec.model, self._plan.tools.names)

    def _tools_of(self, spec: AgentSpec) -> list[Tool]:
        resources = self._runtime.project.resources
        skills = tuple(resources.skills_of(spec))
        objects = self.team.granted.get(spec.id, ())
        self._plan.tools.offer(objects)
        given = (*self._plan.tools.grant(spec, skills), *objects)
        granted = list({tool.name: tool for tool in given}.values())
        if spec.delegator_id not in self._worker_tools:
            self._worker_tools[spec.delegator_id] = make_worker_tools(self.team, spec.delegator_id)
        team_tools = self._worker_tools[spec.delegator_id]
        if spec.role == "orchestrator":
            grants = Grants(
                models=tuple(available(resources.config, spec.model)),
                choice=self._runtime.providers,
                tools=tuple(tool.name for tool in granted if not self._plan.withholds(tool.name)),
                skills=skills,
                kinds=self._find_kinds(spec),
                room=spec.model.context_window * 4 // 50,
            )
            team_tools = team_tools + make_orchestrator_tools(self.team, grants)
            team_tools = [self._plan.team_tools.get(tool.name, tool) for tool in team_tools]
        return [*granted, *team_tools]
