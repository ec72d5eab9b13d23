"""Taking back what agents wrote: from the log's before-images, around later edits, and itself undoable."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import msgspec

from planck.records.authority import CHANGELESS, Mode
from planck.records.diffs import diff_bytes
from planck.records.events import (
    USER,
    AgentStarted,
    Envelope,
    Event,
    FileChanged,
    ModeChanged,
    Origin,
    PermissionDecision,
    RequestKey,
    SessionResumed,
    SessionStarted,
    ToolEnd,
    ToolStart,
    TurnStart,
    view,
)
from planck.records.history import is_news
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.ports import Ids
from planck.records.redact import Redactor
from planck.records.tools import COMMAND_TOOLS, find_row
from planck.session.evidence import has_run, only_reads
from planck.session.merge import merge
from planck.store.store import IMPORTED, Log
from planck.toolkit.journal import Journal
from planck.workspace.paths.paths import Root, Slot, WorkspaceError

Files: TypeAlias = Root
"""The folder with the files of a session, for those who only hand it on."""

_CONFINING = (*CHANGELESS, Mode.ASK)
"""Modes in which a command that nobody allowed runs only where it can change nothing."""
_MAX_FILE = 64 << 20
_NAMED = 20
"""Files that agents are told by name."""


class UndoError(PlanckError):
    """Nothing to undo, or no such agent, turn or call."""


class Selection(msgspec.Struct, frozen=True):
    """Of these at most one; none: the newest turn that changed something and is not undone yet."""

    agent: str = ""
    turn: int = 0
    call: str = ""
    files: frozenset[tuple[str, str]] = frozenset()
    """Calls with the path of what each of them did."""


class Change(msgspec.Struct, frozen=True):
    fact: FileChanged
    agent: str
    turn: int
    """The orchestrator's turn in which, or after which, it happened."""
    after: bytes | None
    """None: the file was removed; see `known`."""
    known: bool
    """Whether `after` could be told from the log."""

    @property
    def same(self) -> bool:
        """Whether the file was written with what it had."""
        return self.fact.before is not None and _digest(self.fact.before) == self.fact.after_sha256


class Step(msgspec.Struct, frozen=True):
    """What happens to one file."""

    path: str
    now: bytes | None
    then: bytes | None
    mode: int | None
    calls: tuple[str, ...]
    by: str
    conflict: str = ""

    @property
    def diff(self) -> str:
        return "\n".join(diff_bytes(self.now, self.then, self.path))


class UndoPlan(msgspec.Struct, frozen=True):
    steps: tuple[Step, ...]
    commands: tuple[str, ...]
    """What ran in the same scope and may have changed more: it can't be undone."""
    request: RequestKey | None = None
    """What a client called its request to do it: recorded with the first change."""


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


def open_places(log: Log, root: Root) -> Root:
    """Returns where the user's own undo may write: what an imported log says that a file was may go where an
    agent may write, and no further."""
    return root.of_user(protected=IMPORTED in log.meta)


def plan(log: Log, root: Root, selection: Selection, redactor: Redactor) -> UndoPlan:
    """Says what an undo would do now, and touches nothing. `redactor` knows the keys that the log has not."""
    story = _Story(log.read(), redactor, root)
    chosen = story.select(selection)
    paths = list(dict.fromkeys(change.fact.path for change in reversed(chosen)))
    imported = IMPORTED in log.meta
    steps = tuple(
        _step(root, path, [c for c in chosen if c.fact.path == path], imported=imported) for path in paths
    )
    return UndoPlan(steps, tuple(story.list_commands(selection, chosen)))


def list_turns(log: Log, root: Root, redactor: Redactor) -> tuple[UndoableTurn, ...]:
    """Lists the turns that an undo can name, the newest first."""
    story = _Story(log.read(), redactor, root)
    imported = IMPORTED in log.meta
    found = []
    for turn, changes in story.group_by_turn().items():
        paths = dict.fromkeys(change.fact.path for change in changes)
        steps = [
            _step(root, path, [one for one in changes if one.fact.path == path], imported=imported)
            for path in paths
        ]
        found.append(
            UndoableTurn(
                turn=turn,
                prompt=story.prompts.get(turn, ""),
                agents=tuple(dict.fromkeys(change.agent for change in changes)),
                paths=tuple(step.path for step in steps if not step.conflict and step.now != step.then),
                conflicts=tuple(step.path for step in steps if step.conflict),
            )
        )
    return tuple(found)


class Interrupted(msgspec.Struct, frozen=True):
    """What an undo left when its process was killed."""

    pending: tuple[str, ...]
    """Files that it was about to restore and did not."""
    untold: tuple[str, ...]
    """Files that it restored, and of which no agent was told."""


def clean_up(log: Log, root: Root, redactor: Redactor, *, resumed: bool = False) -> Interrupted:
    """Removes the temporary files of interrupted undos, and says what they left.

    `resumed`: the newest resume in the log is the caller's own, and not one that looked after them already.
    """
    story = _Story(log.read(), redactor, root, resumed=resumed)
    for fact in story.unconfirmed:
        with suppress(WorkspaceError), root.writing(fact.path, create=False) as slot:
            slot.sweep(_name_temporary(fact.call_id))
    # An undo that agents were told of was finished: who brought the file back since did so on purpose.
    pending = tuple(fact.path for fact in reversed(story.pending) if fact in story.unconfirmed)
    return Interrupted(pending, tuple(dict.fromkeys(story.untold)))


def list_changes(
    log: Log, selection: Selection, redactor: Redactor, root: Root | None = None
) -> tuple[FileDiff, ...]:
    """Says what was done to files, in order, also what was undone since; fields of a selection narrow it.

    Without `root` an undo that was interrupted counts as done: only the files can tell.
    """
    story = _Story(log.read(), redactor, root)
    if selection.agent and selection.agent not in story.names.values():
        raise story.refuse_agent(selection.agent)
    return tuple(
        _describe_change(change, story, redactor)
        for change in story.changes
        if story.has_happened(change)
        and not change.same
        and selection.call in ("", change.fact.call_id)
        and selection.agent in ("", change.agent)
        and selection.turn in (0, change.turn)
    )


async def apply(plan: UndoPlan, root: Root, ids: Ids, journal: Journal) -> str:
    """Reverts what has no conflict, and returns the id that undoes the undo."""
    call_id = f"undo-{ids.new()}"
    wanted = [step for step in plan.steps if not step.conflict and step.now != step.then]
    facts: list[FileChanged] = []
    for step in wanted:  # all of it or nothing: what is refused halfway was half done
        with root.writing(step.path) as slot:
            found = _read_unchanged(slot, step)
        facts.append(
            FileChanged(
                call_id=call_id,
                path=step.path,
                before=step.now,
                mode=found[1] if found else None,
                after_sha256=_digest(step.then) if step.then is not None else "",
                undoes=step.calls,
                request=plan.request if plan.request and not facts else msgspec.UNSET,
            )
        )
    # The before-images are durable before a file changes: whatever happens now can be undone. They are the
    # intent, all of it in one commit; how much of it was done, the files tell.
    if facts:
        await journal.record(None, 0, *facts, barrier=True)
    for step in wanted:
        with root.writing(step.path) as slot:
            found = _read_unchanged(slot, step)
            if step.then is None:
                slot.remove()
            else:
                mode = found[1] if found else step.mode
                slot.replace(step.then, mode, mark=_name_temporary(call_id))
    return call_id


def _name_temporary(call_id: str) -> str:
    """Names what only this undo can have made: the id in the log is random, and the log has one writer."""
    return _digest(call_id.encode())[:16]


def _read_unchanged(slot: Slot, step: Step) -> tuple[bytes, int] | None:
    """Returns what is there; raises where it is not what the plan has seen."""
    _require_same_place(slot, step.path)
    found = slot.read(_MAX_FILE)
    if (found[0] if found else None) != step.now:
        raise UndoError(ErrorKind.EDIT_CONFLICT, f"{step.path!r} changed meanwhile. Run the undo again.")
    return found


def describe_undone(plan: UndoPlan) -> str:
    """Says to agents what an undo changed under them; empty: nothing."""
    done = [step.path for step in plan.steps if not step.conflict and step.now != step.then]
    return describe_restored(done)


def describe_restored(done: Sequence[str]) -> str:
    """The same, by the paths of the files."""
    if not done:
        return ""
    more = f" and {len(done) - _NAMED} more" if len(done) > _NAMED else ""
    return (
        f"The user undid changes to {', '.join(map(repr, done[:_NAMED]))}{more} and restored the "
        "earlier state. Read each file again before you rely on it, and do not redo the changes unless asked."
    )


class _Story:
    """The log, read for what was changed, by whom, and what was undone since."""

    def __init__(
        self, events: Iterable[Event], redactor: Redactor, root: Root | None, *, resumed: bool = False
    ) -> None:
        self.names: dict[str, str] = {}
        self.changes: list[Change] = []
        self.pending: list[FileChanged] = []
        """Changes of undos that were recorded and could still be made, newest first."""
        self.prompts: dict[int, str] = {}
        """By turn, what the user wrote last before it."""
        self._missed: set[tuple[str, str]] = set()
        """Those that did not happen."""
        self._calls: dict[str, tuple[str, int, ToolStart]] = {}
        self._harmless: set[str] = set()
        """Calls that were not run, or only where nothing can be changed."""
        self._undone: set[tuple[str, str]] = set()
        self._undos: dict[tuple[str, str], tuple[str, ...]] = {}
        facts: list[tuple[FileChanged, str, int]] = []
        told, resumes = 0, [0, 0]
        orchestrator, turn, mode, asked = "", 0, "", ""
        running: set[str] = set()
        for event in events:
            match fact := view(event):
                case AgentStarted() as started:
                    self.names[started.agent.id] = started.agent.name
                    orchestrator = orchestrator or started.agent.id
                case TurnStart() if event.agent_id == orchestrator:
                    turn = event.turn
                    self.prompts[turn] = asked
                case ToolStart() as start:
                    self._calls[start.id] = (event.agent_id or "", turn, start)
                    running.add(start.id)
                    if mode in _CONFINING and not start.foreign:
                        self._harmless.add(start.id)
                case PermissionDecision(decision="allow", call_id=id):
                    self._harmless.discard(id)
                case ToolEnd() as end:
                    running.discard(end.id)
                    if not has_run(end):
                        self._harmless.add(end.id)
                case FileChanged() as fact:
                    fact = _restore_keys(fact, redactor)
                    facts.append((fact, self.names.get(event.agent_id or "", USER), turn))
                case Envelope() as message if is_news(message):
                    told = len(facts)
                case Envelope(kind="prompt", sender="user", origin=None | Origin.USER) as message:
                    if message.receiver == orchestrator:
                        asked = str(message.typed or message.text)
                case SessionResumed():  # the resume has told of the undos before
                    resumes.append(len(facts))
                case _:
                    pass
            before, mode = mode, _follow_mode(mode, fact)
            if before != mode and mode not in _CONFINING:
                self._harmless -= running
        later: dict[str, FileChanged] = {}
        written = {(fact.call_id, fact.path): fact for fact, _, _ in facts}
        for fact, agent, turn in reversed(facts):
            following = later.get(fact.path)
            if fact.undoes and not _has_happened(fact, following, written, root):
                self._missed.add((fact.call_id, fact.path))
                self.pending += [] if following else [fact]
            self.changes.append(self._change(fact, agent, turn, following))
            later[fact.path] = fact
        self.changes.reverse()
        for fact, _, _ in facts:
            if (fact.call_id, fact.path) not in self._missed:
                for call in fact.undoes:
                    self._mark(call, fact.path, undone=True)
                self._undos[fact.call_id, fact.path] = fact.undoes
        told = max(told, resumes[-2 if resumed else -1])
        self.unconfirmed = [fact for fact, _, _ in facts[told:] if fact.undoes]
        self.untold = tuple(
            fact.path for fact in self.unconfirmed if (fact.call_id, fact.path) not in self._missed
        )

    def list_live(self) -> list[Change]:
        return [
            change
            for change in self.changes
            if not self.is_undone(change) and not change.same and change.fact.undoable is not False
        ]

    def group_by_turn(self) -> dict[int, list[Change]]:
        """Returns what agents changed and nobody undid, by turn, the newest first."""
        turns: dict[int, list[Change]] = {}
        for change in self.list_live():
            if not change.fact.undoes:
                turns.setdefault(change.turn, []).append(change)
        return dict(sorted(turns.items(), reverse=True))

    def select(self, selection: Selection) -> list[Change]:
        """Returns the changes asked for that are not undone yet, in order."""
        live = self.list_live()
        own = [change for change in live if not change.fact.undoes]
        if selection.call:
            found = [change for change in live if change.fact.call_id == selection.call]
        elif selection.files:
            found = [change for change in live if (change.fact.call_id, change.fact.path) in selection.files]
        elif selection.agent:
            if selection.agent not in self.names.values():
                raise self.refuse_agent(selection.agent)
            found = [change for change in own if change.agent == selection.agent]
        else:
            turn = selection.turn or max((change.turn for change in own), default=0)
            found = [change for change in own if change.turn == turn]
        turns = [*self.group_by_turn()]
        if not found and selection.turn and turns:
            named = ", ".join(map(str, turns))
            raise UndoError(
                ErrorKind.NOT_FOUND,
                f"Nothing to undo in turn {selection.turn}. Turns with changes, newest first: {named}.",
                {"turns": turns},
            )
        if not found:
            raise UndoError(
                ErrorKind.NOT_FOUND,
                "Nothing to undo: no file was changed, or the change is already undone. Planck cannot undo "
                'changes made by commands or other programs; "git diff" may show them.',
            )
        return found

    def refuse_agent(self, name: str) -> UndoError:
        known = ", ".join(sorted(set(self.names.values())))
        return UndoError(ErrorKind.NOT_FOUND, f"Agent not found: {name!r}. Agents in this session: {known}.")

    def is_undone(self, change: Change) -> bool:
        return (change.fact.call_id, change.fact.path) in self._undone

    def has_happened(self, change: Change) -> bool:
        return (change.fact.call_id, change.fact.path) not in self._missed

    def list_commands(self, selection: Selection, chosen: list[Change]) -> Iterator[str]:
        if selection.call:
            return
        turns = {change.turn for change in chosen}
        workers = {(change.agent, change.turn) for change in chosen}
        for agent_id, turn, start in self._calls.values():
            agent = self.names.get(agent_id, "")
            in_scope = agent == selection.agent if selection.agent else turn in turns
            if selection.files:
                in_scope = (agent, turn) in workers
            if in_scope and start.id not in self._harmless and find_row(start.name).changes == "anything":
                what = start.args.get("command", "") if isinstance(start.args, dict) else ""
                if start.name in COMMAND_TOOLS and isinstance(what, str) and only_reads(what):
                    continue
                yield f"{start.name} {what}".strip() + f"  ({agent}, turn {turn})"

    def _mark(self, call: str, path: str, *, undone: bool) -> None:
        """An undo takes calls away from the list; an undo of that undo gives them back."""
        (self._undone.add if undone else self._undone.discard)((call, path))
        for inner in self._undos.get((call, path), ()):
            self._mark(inner, path, undone=not undone)

    def _change(self, fact: FileChanged, agent: str, turn: int, later: FileChanged | None) -> Change:
        if not fact.after_sha256:
            return Change(fact, agent, turn, None, True)
        if later and later.before is not None and _digest(later.before) == fact.after_sha256:
            return Change(fact, agent, turn, later.before, True)
        _, _, start = self._calls.get(fact.call_id, ("", 0, None))
        args = start.args if start and isinstance(start.args, dict) else {}
        for content in _candidates(fact.before or b"", args):
            if _digest(content) == fact.after_sha256:
                return Change(fact, agent, turn, content, True)
        return Change(fact, agent, turn, None, False)


def _follow_mode(mode: str, fact: object) -> str:
    match fact:
        case SessionStarted(options=options) | SessionResumed(options=options) if options:
            return options.mode
        case ModeChanged(mode=changed):
            return changed
    return mode


def _has_happened(
    fact: FileChanged,
    later: FileChanged | None,
    written: Mapping[tuple[str, str], FileChanged],
    root: Root | None,
) -> bool:
    """Says whether an undo changed its file.

    The log has the intent, because it is recorded first. What the file was next tells the rest: what the next
    change found, or what is there now.
    """
    try:
        found = (later.before,) if later else _look(root, fact.path)
    except WorkspaceError:  # nobody can tell; a plan says why
        return True
    if found is None or fact.keys or (later and later.keys):
        return True
    if found[0] == fact.before:
        return False
    # Somebody may have edited it since. Where the undo can still be merged into that, it did not happen.
    undone = (written.get((call, fact.path)) for call in fact.undoes)
    then = next((one.before for one in undone if one and _is_result(one.before, fact)), None)
    if found[0] is None or fact.before is None or then is None or _is_result(found[0], fact):
        return True
    return merge(fact.before, found[0], then) in (None, found[0])


def _look(root: Root | None, path: str) -> tuple[bytes | None] | None:
    """Returns what is in a file, in a tuple because None is a file; None where there is nowhere to look."""
    if root is None:
        return None
    found = _peek(root, path)
    return (found[0] if found else None,)


def _is_result(content: bytes | None, fact: FileChanged) -> bool:
    return (_digest(content) if content is not None else "") == fact.after_sha256


def _describe_change(change: Change, story: _Story, redactor: Redactor) -> FileDiff:
    fact = change.fact
    lines = diff_bytes(fact.before, change.after, fact.path) if change.known else []
    text = redactor("\n".join(lines).encode(errors="replace")).decode(errors="replace")
    return FileDiff(
        path=fact.path,
        agent=change.agent,
        turn=change.turn,
        call_id=fact.call_id,
        diff=text,
        added=sum(line.startswith("+") for line in lines[2:]),
        removed=sum(line.startswith("-") for line in lines[2:]),
        undone=story.is_undone(change),
        undoes=fact.undoes,
    )


def _restore_keys(fact: FileChanged, redactor: Redactor) -> FileChanged:
    """Puts known keys back into a before-image; where one is not known any more, `keys` stay to say so."""
    before = redactor.filled(fact.before, fact.keys) if fact.before and fact.keys else None
    return fact if before is None else msgspec.structs.replace(fact, before=before, keys=())


def _candidates(before: bytes, args: dict[str, Any]) -> Iterator[bytes]:
    """Yields what a call of `write` or `edit` can have made of a file; the digest says which it was."""
    texts = [args.get(key) for key in ("content", "old_string", "new_string")]
    content, old, new = (text.encode() if isinstance(text, str) else b"" for text in texts)
    if texts[0] is not None:
        yield content
        yield content.replace(b"\n", b"\r\n")
    crlf = [text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") for text in (old, new)]
    for wanted in (old, crlf[0]):
        for text in (new, crlf[1]):
            if wanted:
                yield before.replace(wanted, text)


def _step(root: Root, path: str, changes: list[Change], *, imported: bool) -> Step:
    calls = tuple(dict.fromkeys(change.fact.call_id for change in changes))
    by = ", ".join(dict.fromkeys(change.agent for change in changes))
    try:
        found = _peek(root, path)
    except WorkspaceError as refused:
        why = refused.err.details.get("why")
        # An imported log is confined in every mode.
        step = "change it yourself" if imported else "set the session to mode `full` first"
        return Step(path, None, None, None, calls, by, f"{why}; {step}" if why else refused.err.message)
    now = found[0] if found else None
    state, mode = now, changes[0].fact.mode
    for change in reversed(changes):
        merged = _revert(state, change)
        if isinstance(merged, str):
            return Step(path, now, now, mode, calls, by, merged)
        state = merged[0]
    return Step(path, now, state, mode, calls, by)


def _peek(root: Root, path: str) -> tuple[bytes, int] | None:
    try:
        with root.writing(path, create=False) as slot:
            _require_same_place(slot, path)
            return slot.read(_MAX_FILE)
    except WorkspaceError as refused:
        if refused.err.kind is ErrorKind.NOT_FOUND:
            return None
        raise


def _require_same_place(slot: Slot, path: str) -> None:
    """The log has the real place: where a link leads elsewhere now, somebody put it there since."""
    if slot.relative != os.path.normpath(path):
        raise WorkspaceError(
            ErrorKind.WRITE_FAILED,
            f"{path!r} now leads to {slot.relative!r} through a newer link; remove that link first",
        )


def _revert(state: bytes | None, change: Change) -> tuple[bytes | None] | str:
    """Returns the file without this change, in a tuple because None is a file; or why it can't be had."""
    if change.fact.keys:
        return (
            "the old content contains an API key that Planck no longer has; set that key again "
            "(environment variable or planck auth), then undo"
        )
    before, after = change.fact.before, change.after
    if not change.known:
        if state is None or _digest(state) != change.fact.after_sha256:
            return "the file was changed later, and the log does not contain what this call wrote"
        after = state
    if state == after:
        return (before,)
    if state == before:
        return (state,)
    if state is None or before is None or after is None:
        return "the file no longer exists" if state is None else "the file was changed after it was created"
    merged = merge(after, state, before)
    return "later edits change the same lines" if merged is None else (merged,)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
