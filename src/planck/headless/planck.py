"""`Planck`: everything a frontend, or a program that embeds it, may do."""

import os
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

import planck
from planck.closing import close_all
from planck.config import models
from planck.config.environment import has_collector
from planck.config.load import check_flags
from planck.config.project import Project
from planck.config.providers import Providers, Shares
from planck.config.schema import Config
from planck.config.trust import Trust
from planck.headless.open_session import OpenSession
from planck.headless.session_setup import (
    Runtime,
    SessionSetup,
    check_compactors,
    check_folder,
    check_mapping,
    check_methods,
    check_options,
    check_paths,
    refuse,
)
from planck.headless.session_tools import SessionTools
from planck.headless.wiring import SessionWiring
from planck.llm.provider import Provider
from planck.own_files import keep_apart
from planck.peers.peers import PeerReport, Peers
from planck.permissions.approver import Approver
from planck.records.authority import CHANGELESS, Mode
from planck.records.events import RequestKey, SessionResumed, SessionStarted, View
from planck.records.outcome import ErrorKind, PlanckError, say_extra
from planck.records.ports import Ids
from planck.records.specs import EVERY_TOOL, AgentKind, AgentSpec, ModelSpec, RunOptions
from planck.records.tools import ORCHESTRATOR_TOOLS, TEAM_TOOLS
from planck.records.visible import spell_out
from planck.session.held import HeldSession
from planck.session.logs import SessionLog, SessionLogs
from planck.session.outputs import name_outputs
from planck.session.session import Past, find_living, read_past, resume_session
from planck.store.names import refuse_taken_id
from planck.store.sqlite.library import FileLibrary
from planck.toolkit.clock import RandomIds, SystemClock
from planck.toolkit.tool import Tool
from planck.tools.builtin.files import Spills

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from planck.archive.archive import Archive
    from planck.archive.proof import Proof
    from planck.config.keys.auth import Auth
    from planck.headless.embedding.hooks import Hooks as ProgramHook
    from planck.headless.embedding.hooks import ProgramHooks
    from planck.headless.embedding.teams import AnyTeam, MadeTeam
    from planck.headless.services.spans import GivenTracer, Tracing
    from planck.headless.services.stored_views import StoredViews
    from planck.headless.services.toolbox import Inventory
    from planck.peers.prompts import ServerPrompt
    from planck.records.redact import Redactor
    from planck.session.undo import FileDiff, Selection
    from planck.sidecar.discovery import Compact
    from planck.store.library import LocalLibrary
    from planck.store.store import Store


_NOTHING_SAID = RunOptions()


def find_missing_spans() -> str:
    """Says that spans can't be sent from here, and what to do; empty: they can."""
    from importlib.util import find_spec

    if find_spec("opentelemetry") and find_spec("opentelemetry.sdk") and find_spec("opentelemetry.exporter"):
        return ""
    return (
        f"OTEL_EXPORTER_OTLP_ENDPOINT is set, but sending spans needs the extra `otel`; {say_extra('otel')}."
    )


class Planck:
    """A home, a workspace and a configuration, from which sessions are started and resumed."""

    def __init__(
        self,
        home: Path | str | None = None,
        workspace: Path | str | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, Any] | None = None,
        trust: bool | Trust = False,
        providers: Mapping[str, Provider] | None = None,
        approver: Approver | None = None,
        add_dirs: Iterable[Path | str] = (),
        library: "LocalLibrary | None" = None,
        shared: Shares | None = None,
        compactors: "Mapping[str, Compact] | None" = None,
        tracer: "Tracer | None" = None,
    ) -> None:
        """`providers` puts an object in the place of a provider of that name: a double, or your own.

        `add_dirs` are folders beside the workspace that agents may work in. `approver` answers what agents
        may not decide; without one it is denied. `library`: where sessions are kept that are no files.
        `shared`: what this one has together with others of its process, which close it. `compactors` are
        functions by name that write summaries of messages, for members that name one. `tracer`: where the
        spans of sessions go, an OpenTelemetry tracer of your program; without one the variables decide.
        """
        for name, folder in (("home", home), ("workspace", workspace)):
            check_folder(name, folder)
        check_paths("add_dirs", add_dirs)
        for name, given in (("environ", environ), ("flags", flags), ("providers", providers)):
            check_mapping(name, given)
        check_methods("approver", approver, ("decide",))
        for name, provider in (providers or {}).items():
            check_methods(f"providers[{name!r}]", provider, ("stream",))
        if not isinstance(trust, bool | Trust):
            raise refuse(f"trust must be True or False, not {trust!r}.")
        check_flags(flags or {})
        check_compactors(compactors)
        check_methods("tracer", tracer, ("start_span",))
        project = Project(home, workspace, environ, flags, trust=trust, add_dirs=add_dirs)
        self._assemble(project, providers or {}, approver, library, shared, compactors or {}, tracer)

    @classmethod
    def of(cls, project: Project) -> "Planck":
        """Returns Planck on a project that was built already."""
        self = cls.__new__(cls)
        self._assemble(project, {}, None, None)
        return self

    def _assemble(
        self,
        project: Project,
        doubles: Mapping[str, Provider],
        approver: Approver | None,
        library: "LocalLibrary | None",
        shared: Shares | None = None,
        compactors: "Mapping[str, Compact] | None" = None,
        tracer: "Tracer | None" = None,
    ) -> None:
        self.project = project
        self.home, self.workspace = project.home, project.workspace
        self.trust = project.trust
        self.resources = project.resources
        self.sessions_dir = Path(self.config.sessions_dir or self.home / "sessions").expanduser()
        self._clock = SystemClock()
        self._ids = RandomIds()
        self.peers = Peers(project, clock=self._clock)
        self._providers = Providers(project, self._clock, dict(doubles), shared)
        self._runtime = Runtime(
            project=project,
            providers=self._providers,
            peers=self.peers,
            approver=approver,
            clock=self._clock,
            ids=self._ids,
            compactors=compactors or {},
        )
        keys = self._providers.keyring
        self.library: LocalLibrary = library or self._open_library()
        self._logs = SessionLogs(self.library, self.workspace, self._ids, self._clock, keys)
        self._open: list[OpenSession] = []
        self._closed = False
        self._tracing: Tracing | GivenTracer | None = None
        self._tracer = tracer

    def _open_library(self) -> "LocalLibrary":
        """Sessions are files, or in the database that `store` names: nothing is asked of it yet."""
        if not self.config.store:
            return FileLibrary(self.sessions_dir, self.workspace)
        from planck.headless.pool.store import open_library  # most users have files

        return open_library(self.project)

    @property
    def config(self) -> Config:
        """The configuration in force; what changes on disk is seen at an agent's next turn."""
        return self.resources.config

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know of the place, and of files that were left out, wholly or in part."""
        return self.list_notices()

    def list_notices(self, mode: str | None = None) -> tuple[str, ...]:
        """Returns the notices for sessions in a mode; without one, in the configured mode."""
        mode = mode or self.config.permissions.mode
        own = self.project.own_notice if mode == Mode.WORKSPACE else ""
        shared = "" if mode in CHANGELESS else keep_apart()
        untrusted = () if self.resources.loaded.trusted else (self.trust.state.notice,)
        return (
            *(notice for notice in (self.project.place_notice, own, shared, *untrusted) if notice),
            *self.resources.loaded.notices,
            *self.resources.instructions().notices,
            *self.peers.plan.notices,
            *self._look_at_hooks(),
            *(
                (missing,)
                if has_collector(self.project.environ) and (missing := find_missing_spans())
                else ()
            ),
        )

    def _look_at_hooks(self) -> list[str]:
        """Returns what is wrong with them, and which of another agent's settings do not run."""
        ignored = self.list_ignored_hooks()
        if not self.config.hooks:
            return ignored
        from planck.headless.hooks.reading import read_hooks  # few users have any

        return [*read_hooks(self.config.hooks)[1], *ignored]

    def list_ignored_hooks(self) -> list[str]:
        """Returns a line for each file of another agent in this project whose hooks do not run here."""
        if not os.access(self.workspace / ".claude", os.F_OK):
            return []
        from planck.headless.hooks.ignored import find_ignored_hooks  # few projects have any

        return [spell_out(line) for line in find_ignored_hooks(self.workspace, self.config.hooks)]

    @property
    def archive(self) -> "Archive":
        """The stored sessions: to list, look at, fork."""
        from planck.archive.archive import Archive  # a run looks at no other session

        return Archive(self.library.folder, self.workspace, self.library)

    async def __aenter__(self) -> "Planck":
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        sessions = [session.aclose for session in reversed(self._open)]
        tracing = [self._tracing.aclose] if self._tracing is not None else ()
        await close_all(*sessions, self.library.aclose, self._runtime.aclose, *tracing)

    def _check_open(self) -> None:
        if self._closed:
            raise PlanckError(
                ErrorKind.DETACHED,
                "This Planck object is closed. Open another one: `async with Planck(...)`.",
            )

    def find_unkept(self, team: str) -> list[str]:
        """Names what a team, or the default one, asks for and does not get."""
        if not (team := team or self.config.default_team):
            return []
        from planck.headless.services.team_check import find_unkept

        return find_unkept(self.project, team)

    async def check_team(self, alias_or_path: str) -> list[str]:
        """Returns everything that would go wrong with a team; empty: it can start."""
        self._check_open()
        from planck.headless.services.team_check import find_problems  # a run checks none

        tools = SessionSetup(self._runtime, "", self._spills("check"), _NOTHING_SAID).tools.names
        return await find_problems(self._runtime, alias_or_path, tools)

    async def list_prompts(self) -> "list[ServerPrompt]":
        """Returns what MCP servers offer to say, each called by `/server:prompt`; starts them."""
        if not self.peers.plan.select("mcp"):
            return []
        from planck.peers.prompts import list_prompts  # few servers have any

        self.peers.start()
        await self.peers.settle()
        return await list_prompts(self.peers.open)

    async def say_prompt(self, command: str, words: str) -> str:
        """Returns the text of a server's prompt, with the words behind it as its arguments."""
        from planck.peers.prompts import say_prompt

        self.peers.start()
        return await say_prompt(self.peers.open, command, words)

    def report_peers(self) -> list[PeerReport]:
        """Returns what became of the sidecars and servers, and which of their tools agents would have."""
        names = SessionTools(self.project, self._spills("check")).names
        return self.peers.report({*names, *TEAM_TOOLS, *ORCHESTRATOR_TOOLS})

    async def start(
        self,
        team: "str | os.PathLike[str] | AnyTeam | None" = None,
        *,
        model: str = "",
        name: str = "",
        mode: Mode | str | None = None,
        max_steps: int | None = None,
        max_budget_usd: float | None = None,
        max_tokens: int | None = None,
        dry_run: bool = False,
        stored: bool = True,
        tools: Sequence[Tool] = (),
        settings: RunOptions = _NOTHING_SAID,
        request: RequestKey | None = None,
        id: str = "",
        deps: Any = None,
        hooks: "Sequence[ProgramHook]" = (),
        history: Sequence[Mapping[str, Any]] = (),
        compactor: str = "",
        store: "Store | None" = None,
    ) -> OpenSession:
        """Starts a session; without a team it has one orchestrator with all built-in tools.

        `team` is an alias, the path of a TEAM.json, a `Team` of `Member` objects, or a dict in the shape of a
        TEAM.json.
        `tools` are the program's own: the orchestrator has them, and can grant them like built-in ones.
        `deps` is yours: a tool finds it as `ctx.deps`. `hooks` are `Hooks` objects, asked in their order.
        `history` is a conversation from elsewhere, in the shape of OpenAI's chat API: the session goes on
        with it. `compactor` is how the orchestrator's history is made to fit, as in a TEAM.json.
        `store` keeps this session instead of the sessions folder: see `planck.testing.contracts`.
        `settings` has every option of this run; those that are keywords, too, replace what it says.
        `request` is recorded, and names the session: `name_session` finds it by its key. `id` is yours to
        choose: letters, digits, `.` and `-`, and no other session has it.
        """
        self._check_open()
        check_options(
            model=model,
            name=name,
            mode=mode,
            max_steps=max_steps,
            max_budget_usd=max_budget_usd,
            max_tokens=max_tokens,
            dry_run=dry_run,
            stored=stored,
            tools=tools,
            settings=settings,
            id=id,
            compactor=compactor,
        )
        self.project.check_place()
        check_methods("store", store, ("append", "read", "keep", "aclose"))
        if stored and store is None:
            self.project.check_store()
        if id and any(one.id == id and not one.closed for one in self._open):
            raise refuse_taken_id(id)
        if request and not id:
            from planck.headless.requests import name_session  # few starts have a key

            id = name_session(self.workspace, "", request.key)
        id = id or self._ids.new()
        program_team: MadeTeam | None = None
        if isinstance(team, os.PathLike):
            team = os.fspath(team)
        if team is not None and not isinstance(team, str):
            from planck.headless.embedding.teams import read_team  # most programs have files, or none

            program_team, team = read_team(team), None
            tools = list(dict.fromkeys((*tools, *program_team.tools.get(program_team.lead, ()))))
        options = settings.add(
            team=team,
            model=model,
            name=name,
            mode=mode,
            max_steps=max_steps,
            max_budget_usd=max_budget_usd,
            max_tokens=max_tokens,
            dry_run=dry_run,
        )
        plan = SessionSetup(
            self._runtime,
            id,
            self._spills(id),
            options,
            tools=tools,
            stored=stored,
            deps=deps,
            hooks=_join_hooks(hooks),
        )
        given: dict[str, tuple[Tool, ...]] = {}
        if program_team:
            lead, *others = await self._make_members(program_team, plan, given)
        else:
            lead, *others = await self._choose_members(plan)
        if compactor:
            lead = replace(lead, compactor=compactor)
        specs = plan.authorise([plan.change_lead(lead), *others])
        past = _read_history(history, specs[0].id, self._ids)
        place = await plan.look_around()
        logs, durability, name = self._logs, self.config.durability, options.name
        if store is not None:
            made = logs.create_in(store, id, name)
        elif stored:
            made = logs.create(id, name, durability)
        else:
            made = logs.create_in_memory(id, name)
        async with made as log, AsyncExitStack() as opening:
            wired = SessionWiring(plan, log.journal, place, roster=specs)
            opening.push_async_callback(wired.let_go)
            wired.team.granted.update(given)
            started = SessionStarted(
                id=log.id,
                name=log.name,
                workspace=str(self.workspace),
                version=planck.__version__,
                options=plan.describe(),
                team=program_team.file.name
                if program_team
                else options.team or self.config.default_team or "",
                request=request,
            )
            await wired.team.begin(specs, started)
            for turn in past:
                scribe = wired.team.orchestrator.actor.agent.scribe
                scribe.turn += 1
                await scribe.record(*turn)
            opening.pop_all()  # it is open: from here on `aclose` does it
        self._observe(log, wired)
        return self._track(OpenSession(log, wired, self._providers, self._clock))

    async def resume(
        self,
        id_or_name: str = "",
        *,
        mode: Mode | str | None = None,
        max_steps: int | None = None,
        max_budget_usd: float | None = None,
        max_tokens: int | None = None,
        dry_run: bool | None = None,
        model: str = "",
        tools: Sequence[Tool] = (),
        settings: RunOptions | None = None,
        deps: Any = None,
        hooks: "Sequence[ProgramHook]" = (),
        store: "Store | None" = None,
    ) -> OpenSession:
        """Opens a stored session again, by its id, or by its name: the newest of this workspace.

        Mode, dry run, steps, disallowed tools and the rest of its budget are those that it had, unless an
        argument says otherwise. With `settings`, which has every option of this run, nothing is
        kept. With a model, its
        orchestrator goes on with that one. `tools`, `deps` and `hooks` as in `start`:
        no log holds a function. A `store` that the program has needs no name.
        """
        self._check_open()
        check_options(
            model=model,
            mode=mode,
            max_steps=max_steps,
            max_budget_usd=max_budget_usd,
            max_tokens=max_tokens,
            dry_run=dry_run,
            tools=tools,
            settings=settings,
        )
        if not isinstance(id_or_name, str):
            raise refuse(f"The session must be named by a string, not {id_or_name!r}.")
        if bool(id_or_name) is (store is not None):
            raise refuse("resume takes the id or the name of a session, or a store.")
        check_methods("store", store, ("append", "read", "keep", "aclose"))
        self.project.check_place()
        if store is not None:
            log = self._logs.open_in(store)
        else:
            self.project.check_store()
            log = await self._logs.open(id_or_name, self.config.durability)
        async with AsyncExitStack() as opening:
            opening.push_async_callback(log.aclose)
            if log.imported:
                from planck.headless.members.strangers import refuse_strangers  # few are

                refuse_strangers(self.project, log)
            past, options = self._look_back(log, settings)
            if past.before.options and past.before.options.isolated:  # its work is in its view
                options = replace(options, isolated=True)
            options = options.add(
                mode=mode,
                max_steps=max_steps,
                max_budget_usd=max_budget_usd,
                max_tokens=max_tokens,
                model=model,
            )
            if dry_run is not None:
                options = replace(options, dry_run=dry_run)
            spills = self._spills(log.id)
            own = _join_hooks(hooks)
            plan = SessionSetup(
                self._runtime,
                log.id,
                spills,
                options,
                tools=tools,
                deps=deps,
                hooks=own,
                kept=settings is None,
            )
            place = await plan.look_around()
            other = self._providers.resolve(options.model) if options.model else None
            wired = SessionWiring(plan, log.journal, place, lead_model=other)
            opening.push_async_callback(wired.let_go)
            resumed = SessionResumed(version=planck.__version__, options=plan.describe())
            facts = [fact for agent_facts in past.facts.values() for fact in agent_facts]
            told = await wired.mount_views(find_living(past), facts)
            if log.has_recordings:
                from planck.session.recovery import recover_recordings  # few sessions are cut in a command

                await recover_recordings(log, self.project.root, wired.views.by_agent if wired.views else {})
            if past.before.landing:
                from planck.session.landing.finish import (
                    recover_logged,  # few sessions are cut in a landing
                )

                await recover_logged(log, self.project.root, self._providers.keyring.redactor())
            await resume_session(log, resumed, wired.team, past, told)
            before = past.before
            added = before.options.added if before.options else ()
            left_out = tuple(folder for folder in added if folder not in self.project.added)
            opened = OpenSession(log, wired, self._providers, self._clock, left_out)
            opening.pop_all()
            opening.push_async_callback(opened.aclose)  # its agents run, and may have been told something
            self._observe(log, wired)
            if before.undone:
                await opened.report_interrupted_undo()
            await opened.tell_what_changed(before.options)
            if options.model:
                await opened.change_model(options.model)
            opening.pop_all()
        return self._track(opened)

    def _look_back(self, log: SessionLog, settings: RunOptions | None) -> tuple[Past, RunOptions]:
        """Returns what the log says, and the options: those given, or those that the session was left with.

        An imported log widens nothing by its words.
        """
        if settings is not None:
            return read_past(log.store.read()), settings
        from planck.headless.services.reopening import LeftFold, carry_over  # only for a resume

        fold = LeftFold()
        past = read_past(fold.follow(log.store.read()))
        left = carry_over(fold.left, self.config.permissions.mode, ours=not log.imported)
        said = "mode" in (self.project.flags.get("permissions") or {})  # an argument, if not one of `resume`
        return past, replace(left, mode=None) if said else left

    def changes(self, id_or_name: str, selection: "Selection") -> "tuple[FileDiff, ...]":
        """What agents of a stored session did to files; also of one that somebody has open."""
        return self.archive.changes(id_or_name, selection, self.redactor(), self.project.root)

    def redactor(self) -> "Redactor":
        """Takes every known key out of text, as of now."""
        return self._providers.keyring.redactor()

    def export_page(
        self, id_or_name: str, *, hide: Sequence[str] = (), max_mb: float = 10.0, with_log: bool = False
    ) -> bytes:
        """Returns a session as one file that a browser opens without a server; no known key is in it."""
        redactor = self.redactor()
        return self.archive.render_file(id_or_name, redactor, hide=hide, max_mb=max_mb, with_log=with_log)

    def verify_page(self, file: Path) -> "Proof":
        """Proves that such a file shows what the log says; raises what is wrong with it."""
        return self.archive.verify_file(file, self._providers.keyring.redactor())

    def hold(self, id_or_name: str) -> AbstractAsyncContextManager[HeldSession]:
        """Holds a stored session, to undo files of it without waking its agents; nobody may have it open."""
        self._check_open()
        self.project.check_place()
        return self._logs.hold(id_or_name, self.project.root)

    @asynccontextmanager
    async def hold_views(self, id_or_name: str) -> "AsyncGenerator[StoredViews, None]":
        """Holds a stored session, to land or drop what its agents changed in views of their own."""
        from planck.headless.services.stored_views import open_views  # most sessions have no views

        self._check_open()
        self.project.check_place()
        held = self._logs.hold_log(id_or_name, self.project.root)
        async with held as log, open_views(log, self.project, self._ids) as views:
            yield views

    def _find_kinds(self, plan: SessionSetup, lead: ModelSpec | None) -> dict[str, AgentKind]:
        if not self.resources.has_agents():
            return {}
        from planck.headless.members.agent_kinds import find_kinds  # few projects have any

        return find_kinds(self._runtime, lead, plan.tools.names)

    async def _choose_members(self, plan: SessionSetup) -> list[AgentSpec]:
        """Returns the members a new session begins with, the orchestrator first."""
        model, agent = plan.options.model, plan.options.agent
        if agent:
            from planck.headless.members.agent_kinds import make_lead

            named = await self.model(model) if model or self.config.default_model else None
            return [await make_lead(self._runtime, agent, named, plan.tools.names, bool(model))]
        if team := plan.options.team or self.config.default_team:
            from planck.config import teams  # most runs have one agent

            path = teams.find_team(team, self.resources.team_dirs())
            doubt = self.project.doubt(path)
            named = await self.model(model) if model or teams.needs_default(path) else None
            resolve = self._providers.resolve_member
            kinds = self._find_kinds(plan, named)
            members = teams.load_team(
                path, resolve, self._ids, lead=named, doubt=doubt, places=self.project.roots, kinds=kinds
            )
            lead, *others = members
            lead = replace(
                lead,
                model=named if model and named else lead.model,  # the flag's, without the entry's `opts`
                tools=tuple(dict.fromkeys((*lead.tools, *plan.tools.own))),
            )
            return [lead, *others]
        return [
            AgentSpec(
                id=self._ids.new(),
                type="orchestrator",
                name="orchestrator",
                role="orchestrator",
                model=await self.model(model),
                tools=(*plan.tools.names, EVERY_TOOL),
            )
        ]

    async def _make_members(
        self, made: "MadeTeam", plan: SessionSetup, given: dict[str, tuple[Tool, ...]]
    ) -> list[AgentSpec]:
        """As `_choose_members`, of a team that the program made; `given` gets the tools that are objects."""
        named = plan.options.model or made.models.get(made.lead, "")
        lead = await self.model(named) if named or made.needs_default else None
        specs, objects = made.make(plan, self._ids, lead, self._find_kinds(plan, lead))
        own = tuple(dict.fromkeys((*specs[0].tools, *plan.tools.own)))
        given.update((id, tools) for id, tools in objects.items() if id != specs[0].id)  # the lead's are own
        return [replace(specs[0], tools=own), *specs[1:]]

    async def model(self, name: str = "") -> ModelSpec:
        """Resolves an alias, `provider/model` or the default; see `default_model`."""
        self._check_open()
        return await self._providers.choose(name)

    async def default_model(self) -> models.DefaultModel:
        """The model that is used where none is named, and why that one."""
        self._check_open()
        return await self._providers.choose_default()

    async def list_models(self, *, everything: bool = False) -> list[models.ModelRow]:
        """Returns every model that can be named here, with what is known of it."""
        self._check_open()
        keys, transport = self._providers.keyring, self._providers.transport
        return await models.list_models(self.config, keys, transport, everything=everything)

    @property
    def catalog_date(self) -> str:
        """The day of the snapshot that windows and prices come from."""
        return models.catalog_date()

    async def try_model(self, name: str = "") -> models.ModelTest:
        """Sends one small request: are key, address and name right? An error is in the result."""
        model = await self.model(name)
        return await models.test_model(self.config, model, self._providers.open(model), self._clock)

    @property
    def auth(self) -> "Auth":
        """Signing in and out of providers."""
        from planck.config.keys.auth import Auth  # only for a sign-in

        return Auth(self.config, self._providers.keyring, self._providers.transport, self._clock)

    def find_output(self, session_id: str, call_id: str) -> Path | None:
        """Returns the file with the whole output of a call, where that was too long for the model."""
        return self.archive.find_output(session_id, call_id)

    async def list_tools(self) -> "Inventory":
        """What agents of a session that starts now can be given, with the tools of this process's peers."""
        from planck.headless.services.toolbox import ToolBox

        self._check_open()
        self.peers.start()
        return await ToolBox(self.project).list_with(self.peers)

    def _spills(self, session_id: str) -> Spills:
        def fetch(call_id: str) -> Path | None:
            return self.archive.find_output(session_id, call_id)

        return Spills(name_outputs(self.library.folder, session_id), fetch)

    def _observe(self, log: SessionLog, wired: SessionWiring) -> None:
        """Has those hear of the session who hold nothing up: hooks of the team, and a collector of spans."""
        members = [member.spec for member in wired.team.members]
        if self.config.hooks and _observes(self.config.hooks):
            from planck.headless.hooks.observer import HookEvents  # few users have any

            wired.observe(log.journal, HookEvents(wired.hooks, members))
        own = self._tracer
        if own is not None or (has_collector(self.project.environ) and not find_missing_spans()):
            from planck.headless.services.spans import GivenTracer, SessionSpans, Tracing

            if self._tracing is None:
                self._tracing = GivenTracer(own) if own is not None else Tracing(self.project.environ)
            wired.trace(
                log.journal, SessionSpans(self._tracing, log.id, log.name, members, self._providers.locate)
            )

    def _track(self, session: OpenSession) -> OpenSession:
        self._open = [*(one for one in self._open if not one.closed), session]
        return session


def _join_hooks(hooks: "Sequence[ProgramHook]") -> "ProgramHooks | None":
    if not hooks and isinstance(hooks, tuple):
        return None
    from planck.headless.embedding.hooks import ProgramHooks, read_hooks  # few programs have any

    return ProgramHooks(read_hooks(hooks))


def _read_history(history: Sequence[Mapping[str, Any]], agent_id: str, ids: Ids) -> list[list[View]]:
    if not history and isinstance(history, tuple):
        return []
    from planck.headless.embedding.history import read_history  # few sessions begin with one

    return read_history(history, agent_id, ids)


def _observes(settings: Mapping[str, Any]) -> bool:
    from planck.headless.hooks.reading import OBSERVED, has_any

    return has_any(settings, OBSERVED)
