"""`Planck`: everything a frontend, or a program that embeds it, may do."""

import os
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from planck.closing import close_all
from planck.config import models
from planck.config.load import check_flags
from planck.config.project import Project
from planck.config.providers import Providers, Shares
from planck.config.schema import Config
from planck.config.trust import Trust
from planck.headless.embedding.arguments import (
    PlanckArguments,
    SessionArguments,
    StartArguments,
    check_compactors,
    check_environ,
    check_folder,
    check_mapping,
    check_methods,
    complete,
    read_folders,
    refuse,
    spell_out,
)
from planck.headless.open_session import OpenSession
from planck.headless.opening import Opener
from planck.headless.services.notices import list_ignored_hooks, list_notices
from planck.headless.session_setup import Runtime, SessionSetup
from planck.headless.session_tools import SessionTools
from planck.peers.peers import PeerReport, Peers
from planck.records.events import RequestKey
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.specs import ModelSpec, RunOptions
from planck.records.tools import ORCHESTRATOR_TOOLS, TEAM_TOOLS
from planck.session.logs import SessionLogs
from planck.store.names import refuse_taken_id
from planck.store.sqlite.library import FileLibrary
from planck.toolkit.clock import RandomIds, SystemClock

if TYPE_CHECKING:
    from planck.archive.archive import Archive
    from planck.archive.blame.blame import Blame
    from planck.archive.proof import Proof
    from planck.config.keys.auth import Auth
    from planck.config.resources import Resources
    from planck.headless.embedding.teams import AnyTeam
    from planck.headless.services.reopening import Left
    from planck.headless.services.stored_views import StoredViews
    from planck.headless.services.toolbox import Inventory
    from planck.peers.prompts import ServerPrompt
    from planck.records.redact import Redactor
    from planck.session.held import HeldSession
    from planck.session.undo import FileDiff, Selection
    from planck.store.library import LocalLibrary


class Planck:
    """A home, a workspace and a configuration, from which sessions are started and resumed.

    Example:

        async with Planck(workspace=".") as p:
            session = await p.start(mode="read-only")
            result = await session.run("Say hello.")
    """

    @spell_out(PlanckArguments)
    def __init__(
        self,
        home: Path | str | None = None,
        workspace: Path | str | None = None,
        *,
        library: "LocalLibrary | None" = None,
        shared: Shares | None = None,
        **arguments: Unpack[PlanckArguments],
    ) -> None:
        """`providers` replaces the provider of that name by an object: a double, or your own.

        `add_dirs` are folders beside the workspace that agents may work in. `approver` answers what agents
        may not decide; without one it is denied. `library`: where sessions are kept that are no files.
        `shared`: what this one has together with others of its process, which close it. `compactors` are
        functions by name that write summaries of messages, for members that name one. `tracer`: where the
        spans of sessions go, an OpenTelemetry tracer of your program; without one the variables decide.
        """
        given = complete(Planck.__init__, PlanckArguments, arguments)
        for name, folder in (("home", home), ("workspace", workspace)):
            check_folder(name, folder)
        _check_parts(given)
        project = Project(
            home,
            workspace,
            given["environ"],
            given["flags"],
            trust=given["trust"],
            add_dirs=read_folders("add_dirs", given["add_dirs"]),
        )
        self._assemble(project, given, library, shared)

    @classmethod
    def of(cls, project: Project) -> "Planck":
        """Returns Planck on a project that was built already."""
        self = cls.__new__(cls)
        self._assemble(project, complete(Planck.__init__, PlanckArguments, PlanckArguments()), None, None)
        return self

    def _assemble(
        self,
        project: Project,
        given: PlanckArguments,
        library: "LocalLibrary | None",
        shared: Shares | None,
    ) -> None:
        self.project = project
        self.home: Path = project.home
        self.workspace: Path = project.workspace
        self.trust: Trust = project.trust
        self.resources: Resources = project.resources
        self.sessions_dir: Path = Path(self.config.sessions_dir or self.home / "sessions").expanduser()
        self._clock = SystemClock()
        ids = RandomIds()
        self.peers: Peers = Peers(project, clock=self._clock)
        self._providers = Providers(project, self._clock, dict(given["providers"] or {}), shared)
        self._runtime = Runtime(
            project=project,
            providers=self._providers,
            peers=self.peers,
            approver=given["approver"],
            clock=self._clock,
            ids=ids,
            compactors=given["compactors"] or {},
        )
        keys = self._providers.keyring
        self.library: LocalLibrary = library or self._open_library()
        self._logs = SessionLogs(self.library, self.workspace, ids, self._clock, keys)
        self._opener = Opener(
            self._runtime, self._logs, self.library.folder, self.find_output, given["tracer"]
        )
        self._open: list[OpenSession] = []
        self._starting: set[str] = set()
        self._closed = False

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
        return list_notices(self.project, self.peers, mode or self.config.permissions.mode)

    def list_ignored_hooks(self) -> list[str]:
        """Returns a line for each file of another agent in this project whose hooks do not run here."""
        return list_ignored_hooks(self.project)

    @property
    def archive(self) -> "Archive":
        """The stored sessions: to list, look at, fork."""
        from planck.archive.archive import Archive  # a run looks at no other session

        return Archive(self.library.folder, self.workspace, self.library, self.project.views_folder)

    async def __aenter__(self) -> "Planck":
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        sessions = [session.aclose for session in reversed(self._open)]
        await close_all(*sessions, self.library.aclose, self._runtime.aclose, self._opener.aclose)

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

        tools = SessionSetup(self._runtime, "", self._opener.spills("check"), RunOptions()).tools.names
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
        names = SessionTools(self.project, self._opener.spills("check")).names
        return self.peers.report({*names, *TEAM_TOOLS, *ORCHESTRATOR_TOOLS})

    @spell_out(StartArguments)
    async def start(
        self,
        team: "str | os.PathLike[str] | AnyTeam | None" = None,
        *,
        request: RequestKey | None = None,
        **arguments: Unpack[StartArguments],
    ) -> OpenSession:
        """Starts a session; without a team it has one orchestrator with all built-in tools.

        `team` is an alias, the path of a TEAM.json, a `Team` of `Member` objects, or a dict in the shape of a
        TEAM.json.
        `tools` are the program's own: the orchestrator has them, and can grant them like built-in ones.
        `deps` is yours: a tool finds it as `ctx.deps`. `hooks` are `Hooks` objects, asked in their order.
        `history` is a conversation from elsewhere, in the shape of OpenAI's chat API: the session goes on
        with it. `compactor` is how the orchestrator's history is made to fit, as in a TEAM.json.
        `store` keeps this session instead of the sessions folder: see `planck.testing.contracts`.
        `settings` has every option of this run; those that are arguments, too, replace what it says.
        `request` is recorded, and names the session: `name_session` finds it by its key. `id` is yours to
        choose: letters, digits, `.` and `-`, and no other session has it.
        """
        self._check_open()
        given = complete(Planck.start, StartArguments, arguments)
        with self._reserve(given["id"]):
            return self._track(await self._opener.start(team, given, request))

    @contextmanager
    def _reserve(self, id: str) -> Iterator[None]:
        """Keeps an id from others while a session starts with it; one that is not stored has no folder."""
        if id and (id in self._starting or any(one.id == id and not one.closed for one in self._open)):
            raise refuse_taken_id(id)
        self._starting.add(id)
        try:
            yield
        finally:
            self._starting.discard(id)

    @spell_out(SessionArguments)
    async def resume(self, id_or_name: str = "", **arguments: Unpack[SessionArguments]) -> OpenSession:
        """Opens a stored session again, by its id, or by its name: the newest of this workspace.

        Mode, dry run, steps, limits, disallowed tools and the rest of its budget are those that it had,
        unless an argument, or `flags` of `Planck`, says otherwise; a limit that the configuration has made
        stricter since is stricter. With a model, its orchestrator goes on with that one. `tools`, `deps` and
        `hooks` as in `start`: no log holds a function. A session that had tools needs them again; `tools=[]`
        resumes it without them. A `store` that the program has needs no name.
        """
        self._check_open()
        given = complete(Planck.resume, SessionArguments, arguments)
        if not isinstance(id_or_name, str):
            raise refuse(f"The session must be named by a string, not {id_or_name!r}.")
        if bool(id_or_name) is (given["store"] is not None):
            raise refuse("resume takes the id or the name of a session, or a store.")
        return self._track(await self._opener.resume(id_or_name, given))

    async def reopen(
        self, id_or_name: str, options: "RunOptions | Callable[[Left], RunOptions]"
    ) -> OpenSession:
        """Opens a stored session with these options alone, whatever it was left with.

        For frontends, which have rules of their own for what a session keeps: a function makes the options
        out of how it was left. A program uses `resume`.
        """
        self._check_open()
        given = complete(Planck.reopen, SessionArguments, SessionArguments())
        choose = options if callable(options) else lambda _: options
        return self._track(await self._opener.resume(id_or_name, given, choose))

    def changes(self, id_or_name: str, selection: "Selection") -> "tuple[FileDiff, ...]":
        """What agents of a stored session did to files; also of one that somebody has open."""
        return self.archive.changes(id_or_name, selection, self.redactor(), self.project.root)

    def blame(
        self,
        file: str | os.PathLike[str],
        lines: tuple[int, int] | None = None,
        skipped: Callable[[str, str], None] = lambda name, why: None,
    ) -> "Blame":
        """Says which call of which session wrote each line of a file of this workspace.

        `lines`: the first and the last one, from 1 on. `skipped` hears of each session that can't be used.
        """
        return self.archive.blame(Path(file), lines, self.redactor(), skipped)

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

    def hold(self, id_or_name: str) -> "AbstractAsyncContextManager[HeldSession]":
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
        async with held as log, open_views(log, self.project, self._runtime.ids) as views:
            yield views

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

    def _track(self, session: OpenSession) -> OpenSession:
        self._open = [*(one for one in self._open if not one.closed), session]
        return session


def _check_parts(given: PlanckArguments) -> None:
    """Raises for a part of `Planck` that can't be used; its folders are checked before."""
    check_environ(given["environ"])
    for name in ("flags", "providers"):
        check_mapping(name, given[name])
    check_methods("approver", given["approver"], ("decide",))
    for name, provider in (given["providers"] or {}).items():
        check_methods(f"providers[{name!r}]", provider, ("stream",))
    if not isinstance(given["trust"], bool | Trust):
        raise refuse(f"trust must be True or False, not {given['trust']!r}.")
    check_flags(given["flags"] or {})
    check_compactors(given["compactors"])
    check_methods("tracer", given["tracer"], ("start_span",))
