"""Making a landing that is on record whole: at once, or after its process was killed."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from planck.records.events import (
    Event,
    FileChanged,
    LandingFinished,
    LandingSkipped,
    LandingStarted,
    ViewDropped,
    ViewRebased,
)
from planck.records.events import View as Fact
from planck.records.events import (
    view as read_fact,
)
from planck.records.redact import Redactor
from planck.session.landing.apply import apply, sweep
from planck.session.landing.plan import merge_states
from planck.session.outputs import IMAGES
from planck.session.undo_steps import Places, Step
from planck.session.undo_story import OldContents
from planck.store.store import Log, StoreError
from planck.toolkit.journal import Journal
from planck.workspace.paths.paths import Root
from planck.workspace.recording.facts import after_of, digest, make_fact
from planck.workspace.recording.local_images import LocalImages
from planck.workspace.recording.states import State

if TYPE_CHECKING:
    from planck.session.logs import SessionLog


class Worker(NamedTuple):
    """Whose view lands: its name, its turn, and the workspace with its rights."""

    id: str
    name: str
    turn: int
    root: Root


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
        await finish(journal, worker, id, steps, partial(keep_content, journal, images))


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


def keep_content(journal: Journal, images: LocalImages, step: Step) -> None:
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
