"""Landing by the user's own act: what a session's views hold, and what becomes of it."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec

from planck.config.project import Project
from planck.records.events import (
    AgentStarted,
    LandingConflict,
    LandingFinished,
    LandingRefused,
    View,
    ViewDropped,
    ViewOpened,
    ViewRebased,
    view,
)
from planck.records.ports import Ids
from planck.records.specs import AgentSpec
from planck.session.landing.finish import Worker, find_bases
from planck.session.landing.landings import Landings, Prepared
from planck.session.landing.plan import plan_branch
from planck.session.logs import SessionLog
from planck.session.outputs import IMAGES
from planck.session.views import SessionViews
from planck.toolkit.landing import Landed
from planck.workspace.git.branch import Branch
from planck.workspace.paths.paths import Root, place_root
from planck.workspace.recording.local_images import LocalImages


class Waiting(msgspec.Struct, frozen=True):
    """What one view holds that has not landed."""

    agent_id: str
    agent: str
    prepared: Prepared

    @property
    def diff(self) -> str:
        """Exactly what `StoredViews.land` does."""
        return self.prepared.diff

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(step.path for step in self.prepared.plan.steps)

    @property
    def conflicts(self) -> tuple[LandingConflict, ...]:
        excess = self.prepared.excess
        return (LandingConflict("", excess),) if excess else self.prepared.plan.conflicts


class StoredViews:
    """The views of a session; while this is open, nobody else has the session."""

    def __init__(
        self,
        log: SessionLog,
        views: SessionViews,
        landings: Landings,
        project: Project,
        names: Mapping[str, str],
    ) -> None:
        """`names`: of agents, by their ids."""
        self._names = names
        self._log = log
        self._views = views
        self._landings = landings
        self._project = project

    @property
    def agents(self) -> list[str]:
        """The ids of those that have a view."""
        return [*self._views.by_agent]

    @property
    def session_name(self) -> str:
        return self._log.name

    def name_of(self, agent_id: str) -> str:
        return self._names[agent_id]

    async def prepare(self, agent_id: str) -> Waiting | None:
        """Returns what could land now, as the workspace is at this moment; None: nothing was changed."""
        prepared = await self._landings.prepare(agent_id, "")
        return Waiting(agent_id, prepared.worker.name, prepared) if prepared else None

    async def land(self, waiting: Waiting) -> Landed | tuple[LandingConflict, ...]:
        """Merges it into the workspace and drops the view, or returns why nothing landed."""
        if conflicts := waiting.conflicts:
            await self._refuse(waiting, conflicts)
            return conflicts
        landed = await self._landings.accept(waiting.prepared)
        if not landed.skipped:
            await self._views.drop(waiting.agent_id, "landed")
        return landed

    async def commit(self, waiting: Waiting, name: str) -> str | tuple[LandingConflict, ...]:
        """Lands it as a commit on a branch and drops the view; neither working tree nor index change."""
        branch = await asyncio.to_thread(Branch, str(self._project.root.path), name, self._project.environ)
        wanted, conflicts = await asyncio.to_thread(plan_branch, waiting.prepared.proposal, branch)
        if conflicts or waiting.prepared.excess:
            found = tuple(conflicts) or waiting.conflicts
            await self._refuse(waiting, found)
            return found
        subject = f"Changes of {waiting.agent} in {self._log.name}"
        message = f"{subject}\n\nPlanck-Session: {self._log.id}\n"
        commit = await asyncio.to_thread(branch.commit, wanted, message)
        finished = LandingFinished(landing=waiting.prepared.id, paths=len(wanted), branch=name)
        await self._log.journal.record(waiting.agent_id, 0, finished)
        await self._views.drop(waiting.agent_id, "landed")
        return commit

    async def drop(self, agent_id: str) -> None:
        """Throws a view away, with all that was changed in it, also what git ignores."""
        await self._views.drop(agent_id, "dropped")

    async def _refuse(self, waiting: Waiting, conflicts: Sequence[LandingConflict]) -> None:
        large = bool(waiting.prepared.excess)
        fact = LandingRefused(
            landing=waiting.prepared.id,
            why="limit" if large else "conflict",
            conflicts=() if large else tuple(conflicts),
        )
        await self._log.journal.record(waiting.agent_id, 0, fact)


@asynccontextmanager
async def open_views(log: SessionLog, project: Project, ids: Ids) -> AsyncGenerator[StoredViews, None]:
    """Opens the views of a log that is held."""
    specs, facts = _find_names(log), _find_facts(log)
    views = SessionViews(
        str(project.root.path),
        str(project.views_folder / log.id),
        project.environ,
        log.journal,
        ids,
        lambda agent_id, view: None,
    )

    def find_worker(agent_id: str) -> Worker:
        spec = specs[agent_id]
        return Worker(agent_id, spec.name, 0, _find_root(project, spec))

    every = [fact for own in facts.values() for fact in own]
    images = LocalImages(log.files / IMAGES)
    landings = Landings(views, log.journal, ids, find_worker, images=images, rebased=find_bases(every))
    await views.mount_again([(specs[id], own) for id, own in facts.items() if _is_open(own)], every)
    try:
        yield StoredViews(log, views, landings, project, {id: spec.name for id, spec in specs.items()})
    finally:
        await views.aclose()


def _find_root(project: Project, spec: AgentSpec) -> Root:
    """The workspace as the agent may write it: protected names and bounds of its own hold here too."""
    places = (place_root(name, project.root.paths) for name in spec.roots)
    return project.open_root(writes=tuple(filter(None, places)) if spec.roots else None)


def _find_names(log: SessionLog) -> Mapping[str, AgentSpec]:
    found = (view(event) for event in log.store.read() if event.type == AgentStarted.type)
    return {fact.agent.id: fact.agent for fact in found if isinstance(fact, AgentStarted)}


def _find_facts(log: SessionLog) -> dict[str, list[View]]:
    facts: dict[str, list[View]] = {}
    for event in log.store.read():
        if event.type in _OF_VIEWS and event.agent_id and (fact := view(event)):
            facts.setdefault(event.agent_id, []).append(fact)
    return facts


_OF_VIEWS = {ViewOpened.type, ViewRebased.type, ViewDropped.type}


def _is_open(facts: Sequence[View]) -> bool:
    opened = [fact.view for fact in facts if isinstance(fact, ViewOpened)]
    dropped = {fact.view for fact in facts if isinstance(fact, ViewDropped)}
    return bool(opened) and opened[-1] not in dropped
