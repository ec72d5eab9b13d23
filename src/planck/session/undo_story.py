"""The log, read for what was changed, by whom, and what was undone since."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from planck.records.authority import CHANGELESS, Mode
from planck.records.events import (
    USER,
    AgentStarted,
    CommandRecorded,
    Envelope,
    Event,
    FileChanged,
    LandingSkipped,
    ModeChanged,
    Origin,
    PermissionDecision,
    SessionResumed,
    SessionStarted,
    ToolEnd,
    ToolStart,
    TurnStart,
    view,
)
from planck.records.history import is_news
from planck.records.outcome import ErrorKind, PlanckError
from planck.records.redact import Redactor
from planck.records.tools import COMMAND_TOOLS, find_row
from planck.session.evidence import has_run, only_reads
from planck.session.merge import merge
from planck.store.store import IMPORTED, Log, StoreError
from planck.workspace.recording.facts import after_of, before_of, digest, is_local
from planck.workspace.recording.local_images import LocalImages
from planck.workspace.recording.states import State

_CONFINING = (*CHANGELESS, Mode.ASK)
"""Modes in which a command that nobody allowed runs only where it can change nothing."""
_PLAIN_BITS = 0o777
"""Of a mode in an imported log: its author must not make a program run as another user."""


class UndoError(PlanckError):
    """Nothing to undo, or no such agent, turn or call."""


class Selection(msgspec.Struct, frozen=True):
    """Of these at most one; none: the newest turn that changed something and is not undone yet."""

    agent: str = ""
    turn: int = 0
    call: str = ""
    files: frozenset[tuple[str, str]] = frozenset()
    """Calls with the path of what each of them did."""
    all: bool = False
    """Everything that agents of the session changed."""


class Change(msgspec.Struct, frozen=True):
    fact: FileChanged
    agent: str
    turn: int
    """The orchestrator's turn in which, or after which, it happened."""
    agent_id: str
    order: int
    """Among all changes of the log."""
    command: bool
    """Whether a command made it."""
    known: bool
    """Whether the content that it left can be told from the log."""
    same: bool
    """Whether the file was written with what it had."""
    content: bytes | None = None
    """What it left, where the arguments of the call tell that."""
    later: FileChanged | None = None
    """The next change, which found what this one left."""


class Look(Protocol):
    def __call__(self, path: str) -> State | None:
        """Returns what has that path now; None where nobody can tell."""


class OldContents:
    """What files had before: in events, in blobs of the log, or beside it where git ignores the file."""

    def __init__(self, log: Log, redactor: Redactor, images: Path) -> None:
        self._log = log
        self.redactor = redactor
        self._images = LocalImages(images)
        self._bits = _PLAIN_BITS if IMPORTED in log.meta else -1

    def before(self, fact: FileChanged) -> State:
        """Returns what had the path, with its content where that is to be had."""
        state = before_of(fact)
        state = self._bound(state)
        if state.kind == "folder" and state.mode < 0:
            return msgspec.structs.replace(state, mode=0o755)
        if state.kind != "file":
            return state
        content = fact.before
        if isinstance(fact.image, str) and content is None:
            content = self._images.load(fact.image)
        elif isinstance(fact.blob, str):
            try:
                content = self._log.blob(fact.blob)
            except StoreError:
                content = None
        if content is not None and fact.keys:
            content = self.redactor.filled(content, fact.keys)
        return msgspec.structs.replace(state, content=content)

    def after(self, change: Change) -> State:
        """Returns what the change left, with its content where that is known."""
        state = after_of(change.fact)
        state = self._bound(state)
        if state.kind != "file" or not change.known:
            return state
        content = change.content
        if content is None and change.later is not None:
            content = self.before(change.later).content
        if content is None:
            content = self.find_landed(change.fact)
        return msgspec.structs.replace(state, content=content)

    def _bound(self, state: State) -> State:
        return state if state.mode < 0 else msgspec.structs.replace(state, mode=state.mode & self._bits)

    def keep_local(self, content: bytes) -> str:
        """Keeps what an undo is about to replace in a file that git ignores; returns its name."""
        return self._images.keep(content)

    def find_landed(self, fact: FileChanged) -> bytes | None:
        """Returns what a landing wrote, which is kept so that it can be finished after a crash."""
        try:
            return self._log.blob(fact.after_sha256)
        except StoreError:
            return self._images.load(fact.after_sha256)

    def why_missing(self, fact: FileChanged) -> str:
        """Says why the old content of a file can't be had."""
        if fact.keys:
            return (
                "the old content contains an API key that Planck no longer has; set that key again "
                "(environment variable or planck auth), then undo"
            )
        if is_local(fact):
            return (
                "git ignores the file, so its old content stayed where the session was recorded; "
                "undo it on that machine, in that session"
            )
        return "its old content was not kept; restore the file yourself"


class Story:
    """Every change of files in a log, and which of them are in force."""

    def __init__(
        self, events: Iterable[Event], old: OldContents, look: Look | None, *, resumed: bool = False
    ) -> None:
        """Without `look`, an undo that was interrupted counts as done: only the files can tell.

        `resumed`: the newest resume in the log is the caller's own, and not one that looked after undos.
        """
        self.names: dict[str, str] = {}
        self.changes: list[Change] = []
        self.pending: list[FileChanged] = []
        """Changes of undos that were recorded and could still be made, newest first."""
        self.prompts: dict[int, str] = {}
        """By turn, what the user wrote last before it."""
        self.old = old
        self._missed: set[tuple[str, str]] = set()
        """Those that did not happen."""
        self._calls: dict[str, tuple[str, int, ToolStart]] = {}
        self._harmless: set[str] = set()
        """Calls that were not run, or only where nothing can be changed."""
        self._recorded: dict[str, bool] = {}
        """By call: whether all that its command changed is on record."""
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
                case CommandRecorded(call_id=id, partial=partial):
                    self._recorded[id] = not partial  # of a command in the background, the last one counts
                case FileChanged(view=str()):
                    pass  # the workspace has it once it lands
                case FileChanged() as fact:
                    facts.append((fact, event.agent_id or "", turn))
                case LandingSkipped(landing=id, path=path):
                    facts = [one for one in facts if (one[0].call_id, one[0].path) != (id, path)]
                case Envelope() as message if is_news(message):
                    told = len(facts)
                case Envelope(kind="prompt", sender="user", origin=None | Origin.USER) as message:
                    if message.receiver == orchestrator:
                        asked = str(message.typed or message.text)
                case SessionResumed():  # it has told of the undos before it
                    resumes.append(len(facts))
                case _:
                    pass
            before, mode = mode, _follow_mode(mode, fact)
            if before != mode and mode not in _CONFINING:
                self._harmless -= running
        later: dict[str, FileChanged] = {}
        written = {(fact.call_id, fact.path): fact for fact, _, _ in facts}
        for fact, agent_id, turn in reversed(facts):
            following = later.get(fact.path)
            if fact.undoes and not self._has_happened(fact, following, written, look):
                self._missed.add((fact.call_id, fact.path))
                self.pending += [] if following else [fact]
            order = len(facts) - len(self.changes)
            self.changes.append(self._change(fact, (agent_id, turn, order), following))
            later[fact.path] = fact
        self.changes.reverse()
        for fact, _, _ in facts:
            if (fact.call_id, fact.path) not in self._missed:
                for call in fact.undoes:
                    self._mark(call, fact.path, undone=True)
                self._undos[fact.call_id, fact.path] = fact.undoes
        told = max(told, resumes[-2 if resumed else -1])
        self.unconfirmed: list[FileChanged] = [fact for fact, _, _ in facts[told:] if fact.undoes]
        self.untold: tuple[str, ...] = tuple(
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
        elif selection.all:
            found = own
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
            raise UndoError(ErrorKind.NOT_FOUND, self._say_nothing())
        return found

    def _say_nothing(self) -> str:
        text = "Nothing to undo: no file was changed, or the change is already undone."
        if any(self._may_have_changed(start) for _, _, start in self._calls.values()):
            text += ' Some changes by commands or other programs were not recorded; "git diff" may show them.'
        return text

    def refuse_agent(self, name: str) -> UndoError:
        known = ", ".join(sorted(set(self.names.values())))
        return UndoError(ErrorKind.NOT_FOUND, f"Agent not found: {name!r}. Agents in this session: {known}.")

    def is_undone(self, change: Change) -> bool:
        return (change.fact.call_id, change.fact.path) in self._undone

    def has_happened(self, change: Change) -> bool:
        return (change.fact.call_id, change.fact.path) not in self._missed

    def list_commands(self, selection: Selection, chosen: list[Change]) -> Iterator[str]:
        """Yields what ran in the same scope and may have changed something that is not on record."""
        turns = {change.turn for change in chosen}
        workers = {(change.agent, change.turn) for change in chosen}
        for agent_id, turn, start in self._calls.values():
            agent = self.names.get(agent_id, "")
            if selection.call:
                in_scope = start.id == selection.call
            elif selection.agent:
                in_scope = agent == selection.agent
            elif selection.files:
                in_scope = (agent, turn) in workers
            else:
                in_scope = selection.all or turn in turns
            if in_scope and self._may_have_changed(start):
                partly = "; partly recorded" if start.id in self._recorded else ""
                yield f"{start.name} {_command_of(start)}".strip() + f"  ({agent}, turn {turn}{partly})"

    def _may_have_changed(self, start: ToolStart) -> bool:
        """Whether a call may have changed something that no event tells of."""
        if start.id in self._harmless or find_row(start.name).changes != "anything":
            return False
        recorded = self._recorded.get(start.id)
        if recorded is not None:
            return not recorded
        return not (start.name in COMMAND_TOOLS and only_reads(_command_of(start)))

    def _mark(self, call: str, path: str, *, undone: bool) -> None:
        """An undo takes calls away from the list; an undo of that undo gives them back."""
        (self._undone.add if undone else self._undone.discard)((call, path))
        for inner in self._undos.get((call, path), ()):
            self._mark(inner, path, undone=not undone)

    def _change(self, fact: FileChanged, made: tuple[str, int, int], later: FileChanged | None) -> Change:
        """`made`: by which agent, in which turn, and its place in the order of changes."""
        agent_id, turn, order = made
        agent = self.names.get(agent_id, USER)
        command = fact.call_id in self._recorded
        before, after = before_of(fact), after_of(fact)
        same = after.kind == before.kind and after.mode == before.mode and after.target == before.target
        same = same and (after.kind != "file" or self._is_result(fact, of=fact))

        def make(*, known: bool, content: bytes | None = None, later: FileChanged | None = None) -> Change:
            return Change(fact, agent, turn, agent_id, order, command, known, same, content, later)

        if after.kind != "file":
            return make(known=True)
        if later is not None and self._is_result(later, of=fact):
            return make(known=True, later=later)
        if isinstance(fact.landing, str):
            return make(known=True)
        _, _, start = self._calls.get(fact.call_id, ("", 0, None))
        args = start.args if start and isinstance(start.args, dict) else {}
        if not command and any(isinstance(args.get(key), str) for key in ("content", "old_string")):
            for content in list_candidates(self.old.before(fact).content or b"", args):
                if digest(content) == fact.after_sha256:
                    return make(known=True, content=content)
        return make(known=False)

    def _is_result(self, fact: FileChanged, *, of: FileChanged) -> bool:
        """Whether what `fact` found is the content that `of` left; reads a blob only where keys were cut."""
        if not of.after_sha256:
            return False
        if isinstance(fact.image, str) and fact.image:
            return fact.image == of.after_sha256
        if isinstance(fact.blob, str) and not fact.keys:
            return of.after_sha256.startswith(fact.blob)
        content = self.old.before(fact).content
        return content is not None and digest(content) == of.after_sha256

    def _has_happened(
        self,
        fact: FileChanged,
        later: FileChanged | None,
        written: Mapping[tuple[str, str], FileChanged],
        look: Look | None,
    ) -> bool:
        """Says whether an undo changed its file.

        The log has the intent, because it is recorded first. What the file was next tells the rest: what the
        next change found, or what is there now.
        """
        found = self.old.before(later) if later else look(fact.path) if look else None
        before, after = self.old.before(fact), after_of(fact)
        if found is None or (found.kind == before.kind and (_is_unread(found) or _is_unread(before))):
            return True
        if "folder" in (before.kind, after.kind) or "link" in (before.kind, after.kind, found.kind):
            return not _is_still(found, before, after)
        if found.content == before.content and found.kind == before.kind:
            changes_content = before.kind != "file" or not is_content(before, fact)
            return not (changes_content or found.mode == before.mode)
        # Somebody may have edited it since. Where the undo can still be merged into that, it did not happen.
        undone = (written.get((call, fact.path)) for call in fact.undoes)
        olds = (self.old.before(one).content for one in undone if one)
        then = next((old for old in olds if _digest_of(old) == fact.after_sha256), None)
        if found.content is None or before.content is None or then is None or is_content(found, fact):
            return True
        return merge(before.content, found.content, then) in (None, found.content)


def is_content(state: State, fact: FileChanged) -> bool:
    """Whether a state has the content that a change left."""
    return _digest_of(state.content) == fact.after_sha256


def is_opened(found: State, mode: int) -> bool:
    """Whether a folder has that mode, or the one that an undo gives it while it works in it."""
    return found.mode in (mode, mode | 0o700)


def is_unfinished(found: State, mode: int) -> bool:
    """Whether a folder is as an undo makes it, before it gets its mode at last."""
    return found.mode != mode and found.mode in (0o700, mode | 0o700)


def _is_unread(state: State) -> bool:
    return state.kind == "file" and state.content is None


def _is_still(found: State, before: State, after: State) -> bool:
    """Whether a name holds what it held before an undo, or nothing where the undo needs two steps."""
    if found.kind == "nothing" and "nothing" not in (before.kind, after.kind):
        return "folder" in (before.kind, after.kind)
    if found.kind == after.kind == "folder" != before.kind:
        return is_unfinished(found, after.mode)
    if found.kind != before.kind:
        return False
    if found.kind == "folder":
        return after.kind != "folder" or (is_opened(found, before.mode) and found.mode != after.mode)
    return (found.content, found.target) == (before.content, before.target)


def _command_of(start: ToolStart) -> str:
    what = start.args.get("command", "") if isinstance(start.args, dict) else ""
    return what if isinstance(what, str) else ""


def _follow_mode(mode: str, fact: object) -> str:
    match fact:
        case SessionStarted(options=options) | SessionResumed(options=options) if options:
            return options.mode
        case ModeChanged(mode=changed):
            return changed
    return mode


def list_candidates(before: bytes, args: dict[str, Any]) -> Iterator[bytes]:
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


def _digest_of(content: bytes | None) -> str:
    return digest(content) if content is not None else ""
