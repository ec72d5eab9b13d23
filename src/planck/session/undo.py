"""Undoing what agents and their commands did to files: from the log, around later edits, itself undoable."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, TypeAlias

import msgspec

from planck.records.events import FileChanged, RequestKey
from planck.records.ports import Ids
from planck.session.undo_steps import (
    Places,
    Step,
    describe_change,
    list_above,
    order_steps,
    require_unchanged,
)
from planck.session.undo_story import Change, OldContents, Selection, Story, UndoError
from planck.store.store import IMPORTED, Log
from planck.toolkit.journal import Journal
from planck.workspace.paths.paths import Root, WorkspaceError
from planck.workspace.recording.facts import digest, is_local, make_fact

__all__ = ["FileDiff", "OldContents", "Selection", "Step", "UndoError", "UndoPlan", "UndoableTurn"]

Files: TypeAlias = Root
"""The folder with the files of a session, for those who only hand it on."""

_NAMED = 20
"""Files that agents are told by name."""


class UndoPlan(msgspec.Struct, frozen=True):
    steps: tuple[Step, ...]
    commands: tuple[str, ...]
    """What ran in the same scope and may have changed more than is on record."""
    request: RequestKey | None = None
    """What a client called its request to do it: recorded with the first change."""

    @property
    def wanted(self) -> list[Step]:
        """The steps that change something."""
        return [step for step in self.steps if step.wanted]


class UndoableTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of the orchestrator's with file changes that are not undone yet."""

    turn: int
    prompt: str
    """What the user wrote last before it."""
    agents: tuple[str, ...]
    paths: tuple[str, ...]
    """The files that an undo of this turn would change now."""
    conflicts: tuple[str, ...]
    """The files that it would leave as they are, because they changed since."""


class FileDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The change that one call made to one file."""

    path: str
    agent: str
    """Its name; `user`: an undo."""
    turn: int
    """The orchestrator's turn in which, or after which, it happened."""
    call_id: str
    diff: str
    """Unified; empty where the log can't tell what the call made of the file."""
    added: int
    removed: int
    undone: bool
    undoes: tuple[str, ...]
    """The calls that it took back."""
    by: Literal["tool", "command"] = "tool"
    """What made it: a tool that writes files or an undo, or a command."""


def open_places(log: Log, root: Root) -> Root:
    """Returns where the user's own undo may write: what an imported log says that a file was may go where an
    agent may write, and no further."""
    return root.of_user(protected=IMPORTED in log.meta)


def plan(log: Log, root: Root, selection: Selection, old: OldContents) -> UndoPlan:
    """Says what an undo would do now, and touches nothing."""
    places = look_at(log, root)
    story = Story(log.read(), old, places.look)
    chosen = story.select(selection)
    return UndoPlan(tuple(places.plan(chosen, old)), tuple(story.list_commands(selection, chosen)))


def list_turns(log: Log, root: Root, old: OldContents) -> tuple[UndoableTurn, ...]:
    """Lists the turns that an undo can name, the newest first."""
    places = look_at(log, root)
    story = Story(log.read(), old, places.look)
    found = []
    for turn, changes in story.group_by_turn().items():
        steps = places.plan(changes, old)
        found.append(
            UndoableTurn(
                turn=turn,
                prompt=story.prompts.get(turn, ""),
                agents=tuple(dict.fromkeys(change.agent for change in changes)),
                paths=tuple(step.path for step in steps if step.wanted),
                conflicts=tuple(step.path for step in steps if step.conflict),
            )
        )
    return tuple(found)


def look_at(log: Log, root: Root) -> Places:
    """Returns the files of a session as the log names them."""
    return Places(root, imported=IMPORTED in log.meta)


class Interrupted(msgspec.Struct, frozen=True):
    """What an undo left when its process was killed."""

    pending: tuple[str, ...]
    """Files that it was about to restore and did not."""
    untold: tuple[str, ...]
    """Files that it restored, and of which no agent was told."""


def clean_up(log: Log, root: Root, old: OldContents, *, resumed: bool = False) -> Interrupted:
    """Removes the temporary files of interrupted undos, and says what they left.

    `resumed`: the newest resume in the log is the caller's own, and not one that looked after them already.
    """
    places = look_at(log, root)
    story = Story(log.read(), old, places.look, resumed=resumed)
    for fact in story.unconfirmed:
        with suppress(WorkspaceError), places.open(fact.path, create=False) as slot:
            slot.sweep(_name_temporary(fact.call_id))
    # An undo that agents were told of was finished: who brought the file back since did so on purpose.
    pending = tuple(fact.path for fact in reversed(story.pending) if fact in story.unconfirmed)
    return Interrupted(pending, tuple(dict.fromkeys(story.untold)))


def list_changes(
    log: Log, selection: Selection, old: OldContents, root: Root | None = None
) -> tuple[FileDiff, ...]:
    """Says what was done to files, in order, also what was undone since; fields of a selection narrow it.

    Without `root` an undo that was interrupted counts as done: only the files can tell.
    """
    story = Story(log.read(), old, look_at(log, root).look if root else None)
    if selection.agent and selection.agent not in story.names.values():
        raise story.refuse_agent(selection.agent)
    return tuple(
        _describe_change(change, story)
        for change in story.changes
        if story.has_happened(change)
        and not change.same
        and selection.call in ("", change.fact.call_id)
        and selection.agent in ("", change.agent)
        and selection.turn in (0, change.turn)
    )


async def apply(plan: UndoPlan, root: Root, ids: Ids, journal: Journal, old: OldContents) -> str:
    """Reverts what has no conflict, and returns the id that undoes the undo."""
    call_id = f"undo-{ids.new()}"
    places, wanted = Places(root, imported=False), plan.wanted
    made = {step.path for step in wanted if step.now.kind != "folder"}
    facts: list[FileChanged] = []
    for at, step in enumerate(wanted):  # all of it or nothing: what is refused halfway was half done
        if not any(one in made for one in list_above(step.path)):
            wanted[at] = step = require_unchanged(places.peek(step.path), step)
        more: dict[str, Any] = {"undoes": step.calls}
        now = step.now
        if step.local:
            more["image"] = old.keep_local(now.content) if now.content is not None else ""
            now = msgspec.structs.replace(now, content=None)
        fact = make_fact(call_id, step.path, now, step.then, **more)
        if plan.request and not facts:
            fact = msgspec.structs.replace(fact, request=plan.request)
        facts.append(fact)
    # The before-images are durable before a file changes: whatever happens now can be undone. They are the
    # intent, all of it in one commit; how much of it was done, the files tell.
    if facts:
        await journal.record(None, 0, *facts, barrier=True)
    begun: set[str] = set()
    for _, step, state in order_steps([*wanted, *places.find_closed(wanted)]):
        with places.open(step.path) as slot:
            found = slot.look()
            if step.path not in begun:
                begun.add(step.path)
                settled = require_unchanged(found, step)
                state = settled.then if state == step.then else state
            slot.put(state, mark=_name_temporary(call_id))
    return call_id


def _name_temporary(call_id: str) -> str:
    """Names what only this undo can have made: the id in the log is random, and the log has one writer."""
    return digest(call_id.encode())[:16]


def describe_undone(plan: UndoPlan) -> str:
    """Says to agents what an undo changed under them; empty: nothing."""
    return describe_restored([step.path for step in plan.wanted])


def describe_restored(done: Sequence[str]) -> str:
    """The same, by the paths of the files."""
    if not done:
        return ""
    more = f" and {len(done) - _NAMED} more" if len(done) > _NAMED else ""
    return (
        f"The user undid changes to {', '.join(map(repr, done[:_NAMED]))}{more} and restored the "
        "earlier state. Read each file again before you rely on it, and do not redo the changes unless asked."
    )


def _describe_change(change: Change, story: Story) -> FileDiff:
    fact, old = change.fact, story.old
    before, after = old.before(fact), old.after(change)
    hidden = is_local(fact)
    told = hidden or (before.kind == "file") <= (before.content is not None)
    rows: list[str] = []
    if told and (hidden or (after.kind == "file") <= (after.content is not None)):
        rows = describe_change(before, after, fact.path, hidden=hidden)
    text = old.redactor("\n".join(rows).encode(errors="replace")).decode(errors="replace")
    return FileDiff(
        path=fact.path,
        agent=change.agent,
        turn=change.turn,
        call_id=fact.call_id,
        diff=text,
        added=sum(line.startswith("+") for line in rows[2:]),
        removed=sum(line.startswith("-") for line in rows[2:]),
        undone=story.is_undone(change),
        undoes=fact.undoes,
        by="command" if change.command else "tool",
    )
