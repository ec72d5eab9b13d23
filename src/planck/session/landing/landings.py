"""Landing: what an agent changed in its own view is merged into the workspace, whole or not at all.

Facts before files: `landing_started` and the `file_changed` of each path are one commit that survives a power
cut, and only then does the first name change. So an undo knows everything, and a killed landing is finished
by whoever opens the session next.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from planck.closing import wait_for_end
from planck.records.events import (
    LandingProposed,
    LandingRefused,
    LandingStarted,
    ViewRebased,
)
from planck.records.events import (
    View as Fact,
)
from planck.records.ports import Ids
from planck.session.landing.finish import Worker, finish, keep_content
from planck.session.landing.plan import Plan, make_plan
from planck.session.landing.rebase import Rebased, rebase
from planck.session.landing.words import NAMED, Failed, describe_conflicts, find_excess
from planck.session.undo_steps import Places
from planck.toolkit.journal import Journal
from planck.toolkit.landing import Landed, Lander, Refused
from planck.workspace.paths.beneath import escape, unescape
from planck.workspace.recording.facts import make_fact
from planck.workspace.recording.local_images import LocalImages
from planck.workspace.recording.states import State
from planck.workspace.views.ignored import find_ignored
from planck.workspace.views.proposal import Proposal, Proposed, compare_layers, read_copy, read_proposal
from planck.workspace.views.view import View

ATTEMPTS = 3
"""Refusals of one task after which its delegator is told instead of the agent."""


Checker = Callable[["Prepared"], Awaitable[Failed | None]]
"""Runs the checks of a landing where its changes are merged with the workspace, before anything lands."""


class Open(Protocol):
    """The views of a session; `SessionViews` is one."""

    @property
    def home(self) -> str: ...

    def find(self, agent_id: str) -> View | None: ...

    async def take_layers(self) -> tuple[str, ...]: ...


class Prepared(NamedTuple):
    """A landing that is planned: what `accept` does, as long as nobody changes the files meanwhile."""

    id: str
    worker: Worker
    view: View
    proposal: Proposal
    plan: Plan
    excess: str = ""
    """Why it is too large to land."""

    @property
    def diff(self) -> str:
        """Every change as a unified diff."""
        return "\n".join(step.diff for step in self.plan.steps)


class Landings:
    """Merges one view at a time, in the order in which they are proposed."""

    def __init__(
        self,
        views: Open,
        journal: Journal,
        ids: Ids,
        find_worker: Callable[[str], Worker],
        *,
        images: LocalImages,
        rebased: Mapping[str, Sequence[str]] | None = None,
        check: Checker | None = None,
    ) -> None:
        """`rebased`: by view, the layers that it was rebased onto last, of a session that is resumed.

        `images`: beside the log, for new contents that a known key is taken out of in the log.
        """
        self._views = views
        self._journal = journal
        self._ids = ids
        self._find_worker = find_worker
        self._bases = dict(rebased or {})
        self._check = check
        self._keep = partial(keep_content, journal, images)
        self._refusals = Counter[tuple[str, str]]()
        self._queue = asyncio.Lock()

    async def propose(self, agent_id: str, task: str) -> Landed | Refused | None:
        """Merges what the agent's view changed into the workspace; see `Lander`."""
        async with self._queue:
            prepared = await self.prepare(agent_id, task)
            if prepared is None:
                return None
            worker, view, plan = prepared.worker, prepared.view, prepared.plan
            if prepared.excess:
                refused = LandingRefused(landing=prepared.id, why="limit")
                return await self._refuse(worker, task, refused, prepared.excess)
            if plan.conflicts:
                return await self._refuse_conflict(worker, view, task, prepared)
            if self._check and (failed := await self._check(prepared)):
                red = LandingRefused(landing=prepared.id, why="check", exit_code=failed.exit_code)
                await self._record(worker, red)
                return Refused(prepared.id, failed.text, failed.final)
            landed = await self.accept(prepared)
            if landed.skipped:
                return self._refuse_again(worker, task, landed)
            return landed

    async def prepare(self, agent_id: str, task: str) -> "Prepared | None":
        """Says what a landing would do now, and changes no file; None: there is nothing to land."""
        view = self._views.find(agent_id)
        if view is None:
            return None
        worker = self._find_worker(agent_id)
        proposal = await asyncio.to_thread(self.compare, view)
        if not proposal.changes:
            return None
        id = f"landing-{self._ids.new()}"
        layers, names = tuple(self._base_of(view)), tuple(escape(path) for path in proposal.changes)
        await self._record(
            worker,
            LandingProposed(
                landing=id, view=view.id, layers=layers, paths=names, ignored=proposal.ignored, task=task
            ),
        )
        if large := find_excess(proposal):
            return Prepared(id, worker, view, proposal, Plan(), large)
        places = Places(worker.root, imported=False)
        plan = await asyncio.to_thread(make_plan, proposal.changes, places, id, worker.name)
        return Prepared(id, worker, view, proposal, plan)

    async def accept(self, prepared: "Prepared") -> Landed:
        """Makes the changes of a plan without conflicts; what a cancelled caller began becomes whole."""
        landing = asyncio.create_task(self._land(prepared))  # noqa: TID251 - awaited below
        try:
            return await asyncio.shield(landing)
        except asyncio.CancelledError:
            await wait_for_end(landing)
            raise

    async def find_candidate(self, prepared: "Prepared | None") -> tuple[Sequence[str], dict[str, State]]:
        """Returns what its checks run in: the layers of now, and by raw path what the landing makes of names.

        Where nothing can land, because of a conflict or its size: what the view has, on its own layers. None:
        there is nothing to land.
        """
        if prepared and (prepared.excess or prepared.plan.conflicts):
            layers, states = await self.find_base(prepared.view)
            changes = prepared.proposal.changes
            return layers, {**states, **{path: change.theirs for path, change in changes.items()}}
        layers = await self._views.take_layers()
        if prepared is None:
            return layers, {}
        return layers, {unescape(step.path): step.then for step in prepared.plan.steps}

    async def find_base(self, view: View) -> tuple[Sequence[str], dict[str, State]]:
        """Returns, in the same way, what the workspace was before the work in a view.

        Not the view's own layers alone: through them shows what the workspace got since then.
        """
        layers = await self._views.take_layers()
        newer = await asyncio.to_thread(self._find_newer, self._base_of(view), layers)
        return layers, {path: change.base for path, change in newer.items()}

    def is_landed(self, view: View) -> bool:
        """Whether a view has landed and nothing was changed in it since; it reads files."""
        return view.id in self._bases and not self.compare(view).changes

    def compare(self, view: View) -> Proposal:
        """Returns what differs between a view and its base; it reads files."""
        with self._opened(self._base_of(view)) as layers, self._opened_at(view.upper) as upper:
            read = read_proposal if view.exact else read_copy
            return read(upper, layers, lambda paths: find_ignored(view, paths))

    async def _land(self, prepared: "Prepared") -> Landed:
        id, worker, plan = prepared.id, prepared.worker, prepared.plan
        facts = [make_fact(id, step.path, step.now, step.then, landing=id) for step in plan.steps]
        for step in plan.steps:
            self._keep(step)
        started = LandingStarted(landing=id, paths=len(facts))
        await self._record(worker, started, *facts, barrier=True)
        skipped = await finish(self._journal, worker, id, plan.steps, self._keep)
        await self._rebase(worker, prepared.view)
        return Landed(id, tuple(step.path for step in plan.steps if step.path not in skipped), skipped)

    async def _refuse_conflict(self, worker: Worker, view: View, task: str, prepared: "Prepared") -> Refused:
        conflicts = prepared.plan.conflicts
        refused = LandingRefused(landing=prepared.id, why="conflict", conflicts=conflicts)
        marked = await self._rebase(worker, view)
        return await self._refuse(worker, task, refused, describe_conflicts(conflicts, marked))

    async def _refuse(self, worker: Worker, task: str, fact: LandingRefused, why: str) -> Refused:
        await self._record(worker, fact)
        return self._count(worker, task, fact.landing, why)

    def _refuse_again(self, worker: Worker, task: str, landed: Landed) -> Refused:
        names = ", ".join(landed.skipped[:NAMED])
        why = (
            f"Somebody changed these files while your work landed, so they were left alone: {names}. The "
            "rest landed. Your view has both versions now. Bring them together, and give your whole report "
            "again."
        )
        return self._count(worker, task, landed.landing, why)

    def _count(self, worker: Worker, task: str, landing: str, why: str) -> Refused:
        self._refusals[worker.id, task] += 1
        if self._refusals[worker.id, task] < ATTEMPTS:
            return Refused(landing, why)
        del self._refusals[worker.id, task]
        text = (
            f"The changes of {worker.name} did not land after {ATTEMPTS} attempts, and are still in "
            f"its own view. {why}"
        )
        return Refused(landing, text, final=True)

    async def _rebase(self, worker: Worker, view: View) -> tuple[str, ...]:
        """Brings a view up to date; returns the files in which a conflict stands now."""
        layers = await self._views.take_layers()
        done = await asyncio.to_thread(self._write_rebased, worker.name, view, layers)
        conflicts = tuple(escape(path) for path in done.conflicts)
        fact = ViewRebased(view=view.id, layers=layers, carried=done.carried, conflicts=conflicts)
        # After the files: a view that is newer than its base lands nothing twice, one that is older would
        # take back what others landed.
        await self._record(worker, fact)
        self._bases[view.id] = layers
        return conflicts

    def _write_rebased(self, name: str, view: View, layers: Sequence[str]) -> "Rebased":
        incoming = self._find_newer(self._base_of(view), layers)
        return rebase(view.root, incoming, self.compare(view).changes, name)

    def _find_newer(self, base: Sequence[str], layers: Sequence[str]) -> Mapping[str, Proposed]:
        """Returns what the workspace changed between two stacks of layers."""
        common = all(layer in layers for layer in base)
        with self._opened(base) as old, self._opened(layers) as new:
            added = [fd for fd, layer in zip(new, layers, strict=True) if layer not in base] if common else []
            return {} if common and not added else compare_layers(old, new, added)

    def _base_of(self, view: View) -> Sequence[str]:
        return self._bases.get(view.id) or view.layers

    @contextmanager
    def _opened(self, layers: Iterable[str]) -> Iterator[list[int]]:
        with ExitStack() as stack:
            yield [stack.enter_context(self._opened_at(f"{self._views.home}/{layer}")) for layer in layers]

    @contextmanager
    def _opened_at(self, folder: str) -> Iterator[int]:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield fd
        finally:
            os.close(fd)

    async def _record(self, worker: Worker, *facts: Fact, barrier: bool = False) -> None:
        await self._journal.record(worker.id, worker.turn, *facts, barrier=barrier)


if TYPE_CHECKING:
    from planck.session.landing.rebase import Rebased

    _: type[Lander] = Landings
