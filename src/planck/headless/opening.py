"""Opens sessions: makes what a new one begins with, or finds what a stored one was left with."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

import planck
from planck.config.environment import has_collector
from planck.context.compaction import BUILT_IN
from planck.headless.embedding.arguments import SessionArguments, StartArguments, add_options, refuse
from planck.headless.members.first import Objects, make_members
from planck.headless.open_session import OpenSession
from planck.headless.services.notices import find_missing_spans
from planck.headless.session_setup import Runtime, SessionSetup
from planck.headless.wiring import SessionWiring
from planck.records.events import RequestKey, SessionResumed, SessionStarted, View
from planck.records.nearest import did_you_mean
from planck.records.ports import Ids
from planck.records.specs import Limits, RunOptions
from planck.session.logs import SessionLog, SessionLogs
from planck.session.outputs import name_outputs
from planck.session.session import Past, find_living, read_past, resume_session
from planck.toolkit.tool import Tool
from planck.tools.builtin.files import Spills

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from planck.headless.embedding.hooks import Hooks, ProgramHooks
    from planck.headless.embedding.teams import AnyTeam, MadeTeam
    from planck.headless.services.reopening import Left
    from planck.headless.services.spans import GivenTracer, Tracing


ChooseOptions = Callable[["Left"], RunOptions]


class Opener:
    """Opens the sessions of one `Planck`."""

    def __init__(
        self,
        runtime: Runtime,
        logs: SessionLogs,
        outputs: Path,
        find_output: Callable[[str, str], Path | None],
        tracer: "Tracer | None",
    ) -> None:
        """`outputs`: the folder of the sessions, whose long outputs are kept there, too."""
        self._runtime = runtime
        self._logs = logs
        self._outputs = outputs
        self._find_output = find_output
        self._tracer = tracer
        self._tracing: Tracing | GivenTracer | None = None

    async def aclose(self) -> None:
        if self._tracing is not None:
            await self._tracing.aclose()

    async def start(
        self,
        team: "str | os.PathLike[str] | AnyTeam | None",
        given: StartArguments,
        request: RequestKey | None,
    ) -> OpenSession:
        """What is wrong with the arguments, the model or the team shows before there is a log."""
        runtime, store = self._runtime, given["store"]
        runtime.project.check_place()
        if given["stored"] and store is None:
            runtime.project.check_store()
        id = self._choose_id(given["id"], request)
        alias, made = _read_team(team)
        tools = given["tools"]
        if made:
            tools = list(dict.fromkeys((*tools, *made.tools.get(made.lead, ()))))
        options = add_options(RunOptions(), given["settings"], {**given, "team": alias})
        plan = SessionSetup(
            runtime,
            id,
            self.spills(id),
            options,
            tools=tools,
            stored=given["stored"],
            deps=given["deps"],
            hooks=_join_hooks(given["hooks"]),
        )
        (lead, *others), objects = await make_members(plan, made)
        if given["compactor"]:
            _check_compactor(given["compactor"], runtime)
            lead = replace(lead, compactor=given["compactor"])
        specs = plan.authorise([plan.change_lead(lead), *others])
        past = _read_history(given["history"], specs[0].id, runtime.ids)
        place = await plan.look_around()
        async with self._create_log(id, options.name, given) as log, AsyncExitStack() as opening:
            wired = SessionWiring(plan, log.journal, place, roster=specs)
            opening.push_async_callback(wired.let_go)
            wired.team.granted.update(objects)
            name = made.file.name if made else options.team or runtime.project.config.default_team or ""
            await wired.team.begin(specs, self._describe(log, plan, objects, name, request))
            await _record_history(past, wired)
            opening.pop_all()  # it is open: from here on `aclose` does it
        self._observe(log, wired)
        return OpenSession(log, wired, runtime.providers, runtime.clock)

    def _describe(
        self, log: SessionLog, plan: SessionSetup, objects: Objects, team: str, request: RequestKey | None
    ) -> SessionStarted:
        return SessionStarted(
            id=log.id,
            name=log.name,
            workspace=str(self._runtime.project.workspace),
            version=planck.__version__,
            options=plan.describe(chain(*objects.values())),
            team=team,
            request=request,
        )

    def _choose_id(self, id: str, request: RequestKey | None) -> str:
        if request and not id:
            from planck.headless.requests import name_session  # few starts have a key

            return name_session(self._runtime.project.workspace, "", request.key)
        return id or self._runtime.ids.new()

    def _create_log(
        self, id: str, name: str, given: StartArguments
    ) -> AbstractAsyncContextManager[SessionLog]:
        if (store := given["store"]) is not None:
            return self._logs.create_in(store, id, name)
        if given["stored"]:
            return self._logs.create(id, name, self._runtime.project.config.durability)
        return self._logs.create_in_memory(id, name)

    async def resume(
        self, id_or_name: str, given: SessionArguments, choose: ChooseOptions | None = None
    ) -> OpenSession:
        """`choose` makes all options out of how the session was left; None: it keeps what `given` leaves."""
        runtime = self._runtime
        runtime.project.check_place()
        if (store := given["store"]) is not None:
            log = self._logs.open_in(store)
        else:
            runtime.project.check_store()
            log = await self._logs.open(id_or_name, runtime.project.config.durability)
        async with AsyncExitStack() as opening:
            opening.push_async_callback(log.aclose)
            if log.imported:
                from planck.headless.members.strangers import refuse_strangers  # few are

                refuse_strangers(runtime.project, log)
            past, options, limits = self._look_back(log, given, choose)
            if choose is None:
                _check_tools(log, past, given["tools"])
            plan = SessionSetup(
                runtime,
                log.id,
                self.spills(log.id),
                options,
                tools=given["tools"],
                deps=given["deps"],
                hooks=_join_hooks(given["hooks"]),
                limits=limits,
                kept=choose is None,
            )
            opened = await self._wire(log, plan, past, opening)
            opening.pop_all()
        return opened

    def _look_back(
        self, log: SessionLog, given: SessionArguments, choose: ChooseOptions | None
    ) -> tuple[Past, RunOptions, Limits | None]:
        """Returns what the log says, and the options and limits of this run.

        An imported log widens nothing by its words.
        """
        from planck.headless.services.reopening import LeftFold, carry_over, keep_limits  # only for a resume

        project, fold = self._runtime.project, LeftFold()
        past = read_past(fold.follow(log.store.read()))
        if choose is not None:
            return past, _keep_view(past, choose(fold.left)), None
        kept = carry_over(fold.left, project.config.permissions.mode, ours=not log.imported)
        if "mode" in (project.flags.get("permissions") or {}):  # an argument, if not one of `resume`
            kept = replace(kept, mode=None)
        limits = keep_limits(fold.left, project.config.limits, project.flags.get("limits") or {})
        return past, _keep_view(past, add_options(kept, given["settings"], given)), limits

    async def _wire(
        self, log: SessionLog, plan: SessionSetup, past: Past, opening: AsyncExitStack
    ) -> OpenSession:
        """Builds its agents, and tells them what changed meanwhile; `opening` undoes it where that fails."""
        runtime, options, before = self._runtime, plan.options, past.before
        place = await plan.look_around()
        other = runtime.providers.resolve(options.model) if options.model else None
        wired = SessionWiring(plan, log.journal, place, lead_model=other, imported=log.imported)
        opening.push_async_callback(wired.let_go)
        resumed = SessionResumed(version=planck.__version__, options=plan.describe())
        facts = list(chain(*past.facts.values()))
        told = await wired.mount_views(find_living(past), facts)
        if log.has_recordings:
            from planck.session.recovery import recover_recordings  # few sessions are cut in a command

            open_views = wired.views.by_agent if wired.views else {}
            await recover_recordings(log, runtime.project.root, open_views)
        if before.landing:
            from planck.session.landing.finish import recover_logged  # few sessions are cut in a landing

            await recover_logged(log, runtime.project.root, runtime.providers.keyring.redactor())
        await resume_session(log, resumed, wired.team, past, told)
        added = before.options.added if before.options else ()
        left_out = tuple(folder for folder in added if folder not in runtime.project.added)
        opened = OpenSession(log, wired, runtime.providers, runtime.clock, left_out)
        opening.pop_all()
        opening.push_async_callback(opened.aclose)  # its agents run, and may have been told something
        self._observe(log, wired)
        if before.undone:
            await opened.report_interrupted_undo()
        await opened.tell_what_changed(before.options)
        if options.model:
            await opened.change_model(options.model)
        return opened

    def spills(self, session_id: str) -> Spills:
        """Where long outputs of a session are kept, and found again."""

        def fetch(call_id: str) -> Path | None:
            return self._find_output(session_id, call_id)

        return Spills(name_outputs(self._outputs, session_id), fetch)

    def _observe(self, log: SessionLog, wired: SessionWiring) -> None:
        """Attaches hooks that only listen, and a collector of spans: neither holds the session up."""
        project = self._runtime.project
        members = [member.spec for member in wired.team.members]
        if project.config.hooks and _observes(project.config.hooks):
            from planck.headless.hooks.observer import HookEvents  # few users have any

            wired.observe(log.journal, HookEvents(wired.hooks, members))
        own = self._tracer
        if own is not None or (has_collector(project.environ) and not find_missing_spans()):
            from planck.headless.services.spans import GivenTracer, SessionSpans, Tracing

            if self._tracing is None:
                self._tracing = GivenTracer(own) if own is not None else Tracing(project.environ)
            locate = self._runtime.providers.locate
            wired.trace(log.journal, SessionSpans(self._tracing, log.id, log.name, members, locate))


def _read_team(
    team: "str | os.PathLike[str] | AnyTeam | None",
) -> "tuple[str, MadeTeam | None]":
    """Returns an alias or a path, or a team that the program made."""
    if isinstance(team, os.PathLike):
        team = os.fspath(team)
    if team is None or isinstance(team, str):
        return team or "", None
    from planck.headless.embedding.teams import read_team  # most programs have files, or none

    return "", read_team(team)


def _check_compactor(name: str, runtime: Runtime) -> None:
    """Raises for a compactor that there is not; a sidecar that has not started yet may have it."""
    known = [*BUILT_IN, *runtime.compactors]
    if name not in known and not runtime.peers.plan.select():
        raise refuse(f"Compactor not found: {name!r}{did_you_mean(name, known) or '.'}")


def _check_tools(log: SessionLog, past: Past, tools: Sequence[Tool]) -> None:
    """Raises where the session had tools of its program, and the caller says nothing of tools.

    Without them its agents would fail calls that their own history shows them.
    """
    had = past.before.options.program_tools if past.before.options else ()
    if had and not tools and isinstance(tools, tuple):  # an empty list says that there are none any more
        raise refuse(
            f"Session {log.name!r} had tools of its program that were not passed: {', '.join(had)}. "
            "Pass tools=[...] with them, or tools=[] to resume it without them."
        )


def _keep_view(past: Past, options: RunOptions) -> RunOptions:
    """A session that worked in a view of its own goes on there: its work is in it."""
    isolated = past.before.options is not None and past.before.options.isolated
    return replace(options, isolated=True) if isolated else options


def _join_hooks(hooks: "Sequence[Hooks]") -> "ProgramHooks | None":
    if not hooks and isinstance(hooks, tuple):
        return None
    from planck.headless.embedding.hooks import ProgramHooks, read_hooks  # few programs have any

    return ProgramHooks(read_hooks(hooks))


def _read_history(history: Sequence[Mapping[str, Any]], agent_id: str, ids: Ids) -> list[list[View]]:
    if not history and isinstance(history, tuple):
        return []
    from planck.headless.embedding.history import read_history  # few sessions begin with one

    return read_history(history, agent_id, ids)


async def _record_history(past: list[list[View]], wired: SessionWiring) -> None:
    for turn in past:
        scribe = wired.team.orchestrator.actor.agent.scribe
        scribe.turn += 1
        await scribe.record(*turn)


def _observes(settings: Mapping[str, Any]) -> bool:
    from planck.headless.hooks.reading import OBSERVED, has_any

    return has_any(settings, OBSERVED)
