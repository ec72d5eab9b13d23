"""The one door: everything a frontend, or a program that embeds Planck, may do."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

import planck
from planck.config import models, teams
from planck.config.auth import Auth
from planck.config.load import Config, ConfigError
from planck.config.project import Project
from planck.config.providers import Providers
from planck.context.compaction import BUILT_IN
from planck.headless import hooks
from planck.headless.open_session import OpenSession
from planck.headless.wiring import Options, SessionPlan, SessionWiring, Wiring
from planck.llm import catalog
from planck.llm.provider import Provider
from planck.llm.redact import Redactor
from planck.peers.peers import PeerReport, Peers
from planck.permissions.approver import Approver
from planck.permissions.authority import authorise
from planck.records.authority import Mode
from planck.records.events import SessionStarted
from planck.records.outcome import ErrorKind
from planck.records.ports import Ids
from planck.records.specs import EVERY_TOOL, ORCHESTRATOR_TOOLS, TEAM_TOOLS, AgentSpec, ModelSpec
from planck.session import session as session_module
from planck.session import undo
from planck.session.archive import Archive
from planck.session.bus import Bus
from planck.session.directory import SessionDirectory
from planck.session.journal import SessionJournal
from planck.session.session import Session
from planck.store.memory import MemoryStore
from planck.store.sqlite import SqliteStore
from planck.store.store import Store
from planck.toolkit.clock import RandomIds, SystemClock


class Planck:
    """A home, a workspace and a configuration, from which sessions are started and resumed."""

    def __init__(
        self,
        home: Path | str | None = None,
        workspace: Path | str | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, Any] | None = None,
        trust: bool = False,
        providers: Mapping[str, Provider] | None = None,
        approver: Approver | None = None,
    ) -> None:
        """`providers` puts an object in the place of a provider of that name: a double, or your own.

        `approver` answers what agents may not decide; without one it is denied.
        """
        self._assemble(Project(home, workspace, environ, flags, trust=trust), providers or {}, approver)

    @classmethod
    def of(cls, project: Project) -> "Planck":
        """On a project that was built already."""
        self = cls.__new__(cls)
        self._assemble(project, {}, None)
        return self

    def _assemble(self, project: Project, doubles: Mapping[str, Provider], approver: Approver | None) -> None:
        self.project = project
        self.home, self.workspace = project.home, project.workspace
        self.trust = project.trust
        self.resources = project.resources
        self.sessions_dir = Path(self.config.sessions_dir or self.home / "sessions").expanduser()
        self._directory = SessionDirectory(self.sessions_dir, self.workspace)
        self._clock = SystemClock()
        self._ids = RandomIds()
        self.peers = Peers(project, clock=self._clock)
        self._providers = Providers(project, self._clock, dict(doubles))
        self._wiring = Wiring(
            project,
            providers=self._providers,
            peers=self.peers,
            approver=approver,
            clock=self._clock,
            ids=self._ids,
        )
        self._open: list[OpenSession] = []

    @property
    def config(self) -> Config:
        """The configuration in force; what changes on disk is seen at an agent's next turn."""
        return self.resources.config

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know of files that were left out, wholly or in part."""
        untrusted = () if self.resources.loaded.trusted else (self.trust.seen.notice,)
        return (
            *(notice for notice in untrusted if notice),
            *self.resources.loaded.notices,
            *self.resources.instructions().notices,
            *self.peers.plan.notices,
            *hooks.parse(self.config.hooks)[1],
        )

    @property
    def archive(self) -> Archive:
        """The stored sessions: to list, look at, fork."""
        return Archive(self.sessions_dir, self.workspace)

    async def __aenter__(self) -> "Planck":
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with AsyncExitStack() as closing:  # one that fails to close leaves no other open
            closing.push_async_callback(self._wiring.aclose)
            for handle in self._open:
                closing.push_async_callback(handle.aclose)

    async def check_team(self, alias_or_path: str) -> list[str]:
        """Everything that would go wrong with a team; empty: it can start."""
        plan = self._wiring.plan("", self._spill("check"), self._options(None, None, False, None))
        path = teams.find_team(alias_or_path, self.resources.team_dirs())

        def problems(reports: list[PeerReport]) -> list[str]:
            offered = {name for report in reports for name in report.tools}
            return teams.check_team(
                path,
                self._providers.resolve_member,
                tools={*plan.tools.names, *TEAM_TOOLS, *ORCHESTRATOR_TOOLS, *offered},
                skills=set(self.resources.skills().skills),
                compactors={*BUILT_IN, *(name for report in reports for name in report.compactors)},
            )

        if not (found := problems([])) or not self.peers.plan.select():
            return found
        self.peers.start()  # what is unknown so far may be one of theirs
        await self.peers.settle()
        return problems(self.peers.report())

    async def start(
        self,
        team: str | None = None,
        *,
        model: str = "",
        name: str = "",
        mode: Mode | str | None = None,
        max_steps: int | None = None,
        max_budget_usd: float | None = None,
        dry_run: bool = False,
        stored: bool = True,
    ) -> OpenSession:
        """A new session; without a team it has one orchestrator with all built-in tools."""
        if stored:
            self._check_store()
        id = self._ids.new()
        plan = self._wiring.plan(id, self._spill(id), self._options(mode, max_steps, dry_run, max_budget_usd))
        specs = authorise(await self._specs(team, model, plan), plan.ceiling)
        store, name = self._new_store(id, name) if stored else (MemoryStore(), self._choose_name(name))
        started = SessionStarted(id=id, name=name, workspace=str(self.workspace), version=planck.__version__)
        journal = self._journal(store)
        async with _closed_on_failure(store):
            wired = plan.open(journal)
            session = await session_module.start(started, specs, store, journal, wired.team)
        return self._handle(session, store, wired, 0)

    async def resume(
        self,
        id_or_name: str,
        *,
        mode: Mode | str | None = None,
        max_steps: int | None = None,
        max_budget_usd: float | None = None,
        dry_run: bool = False,
        model: str = "",
    ) -> OpenSession:
        """Open a stored session again, by its id, or by its name: the newest of this workspace.

        With a model, its orchestrator goes on with that one.
        """
        self._check_store()
        path = self._directory.find(id_or_name)
        store = SqliteStore.open(path, durability=self.config.durability)
        id, name, opened_at = store.meta["id"], store.meta["name"], store.head
        journal = self._journal(store)
        async with _closed_on_failure(store):
            plan = self._wiring.plan(
                id, self._spill(id), self._options(mode, max_steps, dry_run, max_budget_usd)
            )
            wired = plan.open(journal, self._model(model) if model else None)
            session = await session_module.resume(id, name, planck.__version__, store, journal, wired.team)
        handle = self._handle(session, store, wired, opened_at)
        if model:
            await handle.change_model(model)
        return handle

    def _new_store(self, id: str, wanted: str) -> tuple[Store, str]:
        """The log of a new session, under a name that no other of this workspace has."""
        with self._directory.hold_names():
            name = self._choose_name(wanted)
            meta = {"id": id, "name": name, "workspace": str(self.workspace), "created": self._clock.now()}
            path = self._directory.make_path(id, name)
            return SqliteStore.create(path, meta, durability=self.config.durability), name

    def _choose_name(self, wanted: str) -> str:
        return self._directory.choose_name(wanted, self._ids)

    def _check_store(self) -> None:
        if self.config.store:
            raise ConfigError(
                ErrorKind.INVALID_ARGS,
                "`store` is not built yet: sessions are files; leave it out, or choose a sessions_dir",
            )

    @asynccontextmanager
    async def shelf(self, id_or_name: str) -> AsyncGenerator["Shelf", None]:
        """A stored session whose files are undone without waking its agents; nobody else may have it open."""
        store = SqliteStore.open(self._directory.find(id_or_name))
        journal = self._journal(store)
        try:
            yield Shelf(store, journal, self.workspace, self._ids, self._providers.keyring.redactor())
        finally:
            journal.close()
            store.close()

    async def _specs(self, team: str | None, model: str, plan: SessionPlan) -> list[AgentSpec]:
        """The members a new session begins with; a model that is named is for the orchestrator."""
        team = team or self.config.default_team
        if team:
            path = teams.find_team(team, self.resources.team_dirs())
            foreign = path.resolve().is_relative_to(self.workspace.resolve()) and not self.trust.holds
            template = teams.load_team(path, self._providers.resolve_member, may_set_addresses=not foreign)
            return [
                msgspec.structs.replace(spec, model=self._model(model))
                if model and spec.role == "orchestrator"
                else spec
                for spec in teams.make_members(template, self._ids)
            ]
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

    async def model(self, name: str = "") -> ModelSpec:
        """An alias, `provider/model`, or the default; with nothing configured, what a local server has."""
        if not name and not self.config.default_model:
            providers = self._providers
            if local := await models.find_local_models(self.config, providers.keyring, providers.transport):
                return local[0]
        return self._model(name)

    def _model(self, name: str) -> ModelSpec:
        provider, _, model = (name or self.config.default_model).partition("/")
        if self._providers.is_double(provider):
            return ModelSpec(provider=provider, model=model)
        return models.resolve(self.config, name)

    async def list_models(self, *, everything: bool = False) -> list[models.ModelRow]:
        """Every model that can be named here, with what is known of it."""
        providers = self._providers
        return await models.list_models(
            self.config, providers.keyring, providers.transport, everything=everything
        )

    @property
    def catalog_date(self) -> str:
        """The day of the snapshot that windows and prices come from."""
        return catalog.snapshot_date()

    async def try_model(self, name: str = "") -> models.ModelTest:
        """One small request: whether key, address and name are right. An error is in the result."""
        model = await self.model(name)
        return await models.test_model(self.config, model, self._providers.open(model), self._clock)

    @property
    def auth(self) -> Auth:
        """Signing in and out of providers."""
        return Auth(self.config, self._providers.keyring, self._providers.transport, self._clock)

    def _options(
        self, mode: Mode | str | None, max_steps: int | None, dry_run: bool, max_budget_usd: float | None
    ) -> Options:
        if mode and mode not in list(Mode):
            known = ", ".join(Mode)
            raise ConfigError(ErrorKind.INVALID_ARGS, f"{mode!r} is no permission mode; use one of {known}")
        return Options(
            mode=Mode(mode) if mode else self.config.permissions.mode,
            max_steps=max_steps or self.config.limits.steps,
            dry_run=dry_run,
            max_budget_usd=max_budget_usd,
        )

    def _journal(self, store: Store) -> SessionJournal:
        return SessionJournal(store, Bus(), self._clock, redactor=self._providers.keyring.redactor)

    def _spill(self, session_id: str) -> Path:
        return self.sessions_dir / f"{session_id}.output"

    def _handle(self, session: Session, store: Store, wired: SessionWiring, opened_at: int) -> OpenSession:
        handle = OpenSession(session, store, self._clock, wired, self._model, opened_at)
        self._open = [*(one for one in self._open if not one.closed), handle]
        return handle


class Shelf:
    """A stored session that is not running."""

    def __init__(
        self, store: Store, journal: SessionJournal, workspace: Path, ids: Ids, redactor: Redactor
    ) -> None:
        self._store = store
        self._journal = journal
        self._workspace = workspace
        self._ids = ids
        self._redactor = redactor

    def undo_plan(self, selection: undo.Selection) -> undo.Plan:
        return undo.plan(self._store, self._workspace, selection, self._redactor)

    async def undo(self, plan: undo.Plan) -> str:
        return await undo.apply(plan, self._workspace, self._ids, self._journal)


@asynccontextmanager
async def _closed_on_failure(store: Store) -> AsyncGenerator[None, None]:
    """A session that could not be opened leaves no lock behind."""
    try:
        yield
    except BaseException:
        store.close()
        raise
