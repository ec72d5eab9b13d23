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

import msgspec
from msgspec.structs import replace

from planck.closing import wait_for_end
from planck.records.events import (
    Event,
    FileChanged,
    LandingConflict,
    LandingFinished,
    LandingProposed,
    LandingRefused,
    LandingSkipped,
    LandingStarted,
    ViewDropped,
    ViewRebased,
)
from planck.records.events import (
    View as Fact,
)
from planck.records.events import (
    view as read_fact,
)
from planck.records.ports import Ids
from planck.records.redact import Redactor
from planck.session.landing_apply import apply, sweep
from planck.session.landing_plan import MAX_BYTES, MAX_PATHS, Plan, make_plan, merge_states, refuse
from planck.session.outputs import IMAGES
from planck.session.rebase import rebase
from planck.session.undo_steps import Places, Step
from planck.session.undo_story import OldContents
from planck.store.store import Log, StoreError
from planck.toolkit.journal import Journal
from planck.toolkit.landing import Landed, Lander, Refused
from planck.workspace.git.branch import Branch
from planck.workspace.paths.beneath import escape
from planck.workspace.paths.paths import Root
from planck.workspace.recording.facts import after_of, digest, make_fact
from planck.workspace.recording.local_images import LocalImages
from planck.workspace.recording.states import NOTHING, State
from planck.workspace.views.ignored import find_ignored
from planck.workspace.views.proposal import Proposal, compare_layers, read_copy, read_proposal
from planck.workspace.views.view import View

ATTEMPTS = 3
"""Refusals of one task after which its delegator is told instead of the agent."""
_NAMED = 20


class Failed(msgspec.Struct, frozen=True):
    """A check that does not pass on the merged files."""

    command: str
    exit_code: int | None
    output: str


Checker = Callable[[View, Sequence[Step]], Awaitable[Failed | None]]
"""Runs the checks where the view's changes are merged with the workspace, before anything lands."""


class Open(Protocol):
    """The views of a session; `SessionViews` is one."""

    @property
    def home(self) -> str: ...

    def find(self, agent_id: str) -> View | None: ...

    async def take_layers(self) -> tuple[str, ...]: ...


class Worker(NamedTuple):
    """Whose view lands: its name, its turn, and the workspace with its rights."""

    id: str
    name: str
    turn: int
    root: Root


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
        self._keep = partial(_keep, journal, images)
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
            if self._check and (failed := await self._check(view, plan.steps)):
                red = LandingRefused(landing=prepared.id, why="check", exit_code=failed.exit_code)
                return await self._refuse(worker, task, red, _describe_check(failed))
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
        if large := _find_excess(proposal):
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
        return await self._refuse(worker, task, refused, _describe_conflicts(conflicts, marked))

    async def _refuse(self, worker: Worker, task: str, fact: LandingRefused, why: str) -> Refused:
        await self._record(worker, fact)
        return self._count(worker, task, fact.landing, why)

    def _refuse_again(self, worker: Worker, task: str, landed: Landed) -> Refused:
        names = ", ".join(landed.skipped[:_NAMED])
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
        base = self._base_of(view)
        common = all(layer in layers for layer in base)
        with self._opened(base) as old, self._opened(layers) as new:
            added = [fd for fd, layer in zip(new, layers, strict=True) if layer not in base] if common else []
            nothing = common and not added
            incoming = {} if nothing else compare_layers(old, new, added)
        return rebase(view.root, incoming, self.compare(view).changes, name)

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


async def finish(
    journal: Journal, worker: Worker, id: str, steps: Iterable[Step], keep: Callable[[Step], None]
) -> tuple[str, ...]:
    """Makes the changes of a landing that is on record, and returns the paths that were left alone.

    A file that somebody changed since the plan was made is merged once more: nothing of theirs is lost.
    """
    places = Places(worker.root, imported=False)
    left = {step.path: step for step in steps}
    skipped: list[str] = []
    while stop := await asyncio.to_thread(apply, places, left.values(), id):
        step = stop.step
        merged = stop.why or merge_states(step.now, stop.found, step.then)
        if isinstance(merged, str):
            await journal.record(
                worker.id, worker.turn, LandingSkipped(landing=id, path=step.path, why=merged)
            )
            del left[step.path]
            skipped.append(step.path)
            continue
        left[step.path] = replace(step, now=stop.found, then=merged)
        keep(left[step.path])
        fact = make_fact(id, step.path, stop.found, merged, landing=id)
        await journal.record(worker.id, worker.turn, fact, barrier=True)
    await asyncio.to_thread(sweep, places, left.values(), id)
    await journal.record(worker.id, worker.turn, LandingFinished(landing=id, paths=len(left)))
    return tuple(skipped)


class Unfinished(msgspec.Struct):
    """A landing whose process was killed after its commit."""

    agent_id: str
    turn: int
    facts: dict[str, FileChanged]
    """By path; of a path that was merged twice, the last."""


def find_unfinished(events: Iterable[Event]) -> dict[str, Unfinished]:
    """Returns, by landing, what was started and not finished."""
    open_: dict[str, Unfinished] = {}
    for event in events:
        if event.type not in _STEPS or (event.type != LandingStarted.type and not open_):
            continue
        match read_fact(event):
            case LandingStarted(landing=id):
                open_[id] = Unfinished(event.agent_id or "", event.turn, {})
            case FileChanged(call_id=id) as fact if id in open_:
                open_[id].facts[fact.path] = fact
            case LandingSkipped(landing=id, path=path) if id in open_:
                open_[id].facts.pop(path, None)
            case LandingFinished(landing=id):
                open_.pop(id, None)
            case _:
                pass
    return open_


_STEPS = {LandingStarted.type, FileChanged.type, LandingSkipped.type, LandingFinished.type}


async def recover_landings(
    log: Log, journal: Journal, root: Root, old: OldContents, images: LocalImages
) -> None:
    """Finishes what a killed process left: call it before anything else changes files.

    Facts and their order are those of the process that was killed, so the files become the same.
    """
    for id, left in find_unfinished(log.read()).items():
        worker = Worker(left.agent_id, "", left.turn, root)
        steps = []
        for path, fact in left.facts.items():
            before = old.before(fact)
            after = _find_after(log, fact, before, images)
            if after is None:
                why = "its new content is not here: it contains an API key, and was kept on another machine"
                skip = LandingSkipped(landing=id, path=path, why=why)
                await journal.record(worker.id, worker.turn, skip)
            else:
                steps.append(Step(path, before, after, (id,), ""))
        await finish(journal, worker, id, steps, partial(_keep, journal, images))


async def recover_logged(log: "SessionLog", root: Root, redactor: Redactor) -> None:
    """The same for a log that is open; agents of it are not woken."""
    images = LocalImages(log.files / IMAGES)
    places = root.of_user(protected=True)
    await recover_landings(
        log.store, log.journal, places, OldContents(log.store, redactor, log.files / IMAGES), images
    )


def find_bases(facts: Iterable[Fact]) -> dict[str, tuple[str, ...]]:
    """Returns, by view, the layers that it was rebased onto last."""
    bases: dict[str, tuple[str, ...]] = {}
    for fact in facts:
        match fact:
            case ViewRebased(view=id, layers=layers):
                bases[id] = layers
            case ViewDropped(view=id):
                bases.pop(id, None)
            case _:
                pass
    return bases


def _keep(journal: Journal, images: LocalImages, step: Step) -> None:
    """Keeps the new content for whoever finishes the landing; beside the log, if a key is in it."""
    content = step.then.content
    if step.then.kind == "file" and content and content != step.now.content:
        name = journal.keep(content, detached=True)
        if not digest(content).startswith(name):
            images.keep(content)


def _find_after(log: Log, fact: FileChanged, before: State, images: LocalImages) -> State | None:
    after, wanted = after_of(fact), fact.after_sha256
    if after.kind != "file":
        return after
    for content in (b"", before.content):
        if content is not None and digest(content) == wanted:
            return replace(after, content=content)
    try:
        return replace(after, content=log.blob(wanted))
    except StoreError:
        content = images.load(wanted)
        return None if content is None else replace(after, content=content)


def plan_branch(proposal: Proposal, branch: Branch) -> tuple[list[tuple[str, State]], list[LandingConflict]]:
    """Merges a proposal into a branch, as `make_plan` does into the workspace: files and links alone."""
    wanted: list[tuple[str, State]] = []
    conflicts: list[LandingConflict] = []
    for path, change in proposal.changes.items():
        base, theirs = _as_git(change.base), _as_git(change.theirs)
        ours = branch.read(path)
        merged = refuse(path, change) or merge_states(base, ours, theirs)
        if isinstance(merged, str):
            conflicts.append(LandingConflict(escape(path), merged))
        elif merged != ours:
            wanted.append((path, merged))
    return wanted, conflicts


def _as_git(state: State) -> State:
    if state.kind == "file":
        return replace(state, mode=0o755 if state.mode & 0o100 else 0o644)
    return state if state.kind == "link" else NOTHING


def _find_excess(proposal: Proposal) -> str:
    size = sum(
        len(state.content or b"")
        for change in proposal.changes.values()
        for state in (change.base, change.theirs)
    )
    if len(proposal.changes) <= MAX_PATHS and size <= MAX_BYTES:
        return ""
    return (
        f"Your changes did not land: {len(proposal.changes):,} names with {size >> 20:,} MiB are more than "
        f"one landing may have ({MAX_PATHS:,} names, {MAX_BYTES >> 20} MiB). Remove what does not belong to "
        "your work, or have git ignore it, and end your turn again."
    )


def _describe_conflicts(conflicts: Sequence[LandingConflict], marked: Sequence[str]) -> str:
    rows = [f"- {one.path}: {one.why}" for one in conflicts[:_NAMED]]
    more = f"\n- and {len(conflicts) - _NAMED} more" if len(conflicts) > _NAMED else ""
    where = (
        "Files that both sides changed have both versions between `<<<<<<< workspace` and `>>>>>>>`, or the "
        "workspace's version is in a file of the same folder, `NAME.planck-conflict`. "
        if marked
        else ""
    )
    return (
        "Your changes did not land in the workspace, because they conflict with what others changed:\n"
        + "\n".join(rows)
        + more
        + f"\nYour view now has the workspace's files of this moment, with your changes on top. {where}"
        "Resolve each conflict, remove the markers, run your tests again, and give your whole report again."
    )


def _describe_check(failed: Failed) -> str:
    code = "did not finish" if failed.exit_code is None else f"ended with exit code {failed.exit_code}"
    return (
        f"Your changes did not land in the workspace: merged with it, `{failed.command}` {code}:\n"
        f"{failed.output}\nFix that in your view, and give your whole report again."
    )


if TYPE_CHECKING:
    from planck.session.logs import SessionLog
    from planck.session.rebase import Rebased

    _: type[Lander] = Landings
